//! Stories of executions: a transcript goes in, and comes out with what the executions were told, indented.
//!
//! A transcript has a line for each thing that happens:
//! `run a` and `run a silently` ask for an execution; `CHANNEL PARENT KIND CONTENT` is a message of the kernel;
//! `answer a TEXT` answers a request for input; `wait 3` lets seconds pass; `reconnect` and `replace` make the
//! connection or the kernel anew; `overtakable` is a connection that others can cut off, `overtaken` that it was seen; `die HOW` ends the kernel.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;

use super::*;

pub(super) fn story(transcript: &str) -> String {
    let log = Arc::new(Mutex::new(String::new()));
    let inputs = Inputs::default();
    let mut executions = Executions::new(inputs.clone());
    let mut now = Instant::now();
    let mut probe = String::new();
    for line in transcript.lines().map(str::trim).filter(|line| !line.is_empty()) {
        writeln!(log.lock().unwrap(), "{line}").unwrap();
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["run", name] => executions.add(ExecutionId::new(name), false, sink(name, &log), now),
            ["run", name, "silently"] => executions.add(ExecutionId::new(name), true, sink(name, &log), now),
            ["orphans"] => executions.set_orphans(sink("orphan", &log)),
            ["overtakable"] => {
                executions.mind_silence(now);
                executions.mind_overtaking();
            }
            ["overtaken"] => drop(executions.cut_off()),
            ["wait", seconds] => now += Duration::from_secs(seconds.parse().unwrap()),
            ["answer", name, ..] => {
                let request = inputs.remove(&ExecutionId::new(name));
                let request = request.map(|header| header.to_value()["msg_id"].to_string());
                writeln!(log.lock().unwrap(), "    answers {request:?}").unwrap();
            }
            ["reconnect" | "replace"] => {
                if line == "replace" {
                    executions.replace();
                }
                let (channel, question) = executions.doubt();
                probe.clone_from(&question.header.msg_id);
                writeln!(log.lock().unwrap(), "    asks on {channel:?}: {}", question.message_type())
                    .unwrap();
            }
            ["die", ..] => executions.end(&Outcome::KernelDied(line[4..].to_owned())),
            _ => executions.handle(&message(line, &probe), now),
        }
        match executions.tick(now) {
            Some(Need::Answer(question)) => {
                let (channel, question) = *question;
                probe.clone_from(&question.header.msg_id);
                let kind = question.message_type();
                writeln!(log.lock().unwrap(), "    asks on {channel:?}: {kind}").unwrap();
            }
            Some(Need::Connection) => writeln!(log.lock().unwrap(), "    wants another connection").unwrap(),
            None => {}
        }
    }
    writeln!(log.lock().unwrap(), "{:?}", executions.status()).unwrap();
    let log = log.lock().unwrap();
    log.clone()
}

pub(super) fn message(line: &str, probe: &str) -> Message {
    let mut words = line.splitn(4, ' ');
    let channel = match words.next().unwrap() {
        "iopub" => Channel::Iopub,
        "shell" => Channel::Shell,
        "stdin" => Channel::Stdin,
        other => panic!("no channel: {other}"),
    };
    let parent = words.next().unwrap();
    let parent = if parent == "probe" { probe } else { parent };
    let kind = words.next().unwrap();
    let content = words.next().unwrap_or("{}");
    let session = if content.contains("anew") { "new" } else { "s" };
    let header = json!({
        "msg_id": format!("of {parent}"), "session": session, "username": "u", "version": "5.3", "msg_type": kind
    });
    let parent = json!({ "msg_id": parent });
    let content = Bytes::copy_from_slice(content.as_bytes());
    Message::read(channel, header.to_string().into(), parent.to_string().into(), content).unwrap()
}

fn sink(name: &str, log: &Arc<Mutex<String>>) -> Sink {
    let (name, log) = (name.to_owned(), log.clone());
    Box::new(move |event| writeln!(log.lock().unwrap(), "    {name} ← {event:?}").unwrap())
}

/// Compares a story with its snapshot, which holds the transcript already.
macro_rules! told {
    ($transcript:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($crate::execution::stories::story($transcript)) })
    };
}
pub(super) use told;

#[test]
fn reply_and_idle_end_an_execution_in_either_order() {
    told!(
        r#"
        run a
        iopub a status {"execution_state": "busy"}
        iopub a execute_input {"code": "1+1", "execution_count": 7}
        iopub a execute_result {"data": {"text/plain": "2"}, "metadata": {}, "execution_count": 7}
        shell a execute_reply {"status": "ok", "execution_count": 7, "payload": []}
        iopub a status {"execution_state": "idle"}
        run b
        iopub b status {"execution_state": "busy"}
        iopub b execute_input {"execution_count": 8.0}
        iopub b status {"execution_state": "idle"}
        shell b execute_reply {"status": "ok", "execution_count": 8.0}
        "#
    );
}

#[test]
fn a_reply_may_come_before_outputs() {
    told!(
        r#"
        run a
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "busy"}
        iopub a execute_input {"execution_count": 1}
        iopub a stream {"name": "stdout", "text": "one\n"}
        iopub a stream {"name": "stderr", "text": "two\n"}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn displays_are_updated_for_the_execution_that_made_them() {
    told!(
        r#"
        run a
        iopub a display_data {"data": {"text/plain": "0 %"}, "transient": {"display_id": "bar"}}
        iopub a update_display_data {"data": {"text/plain": "50 %"}, "transient": {"display_id": "bar"}}
        iopub a status {"execution_state": "idle"}
        shell a execute_reply {"status": "ok"}
        run b
        iopub b update_display_data {"data": {"text/plain": "99 %"}, "transient": {"display_id": "bar"}}
        iopub nobody update_display_data {"data": {"text/plain": "100 %"}, "transient": {"display_id": "bar"}}
        iopub b update_display_data {"data": {"text/plain": "?"}, "transient": {"display_id": "unknown"}}
        iopub b update_display_data {"data": {"text/plain": "?"}}
        "#
    );
}

#[test]
fn threads_that_print_late_belong_to_their_execution() {
    told!(
        r#"
        orphans
        run a
        iopub a status {"execution_state": "idle"}
        shell a execute_reply {"status": "ok"}
        iopub a stream {"name": "stdout", "text": "late\n"}
        run b
        iopub a stream {"name": "stdout", "text": "later\n"}
        iopub of-somebody-else stream {"name": "stdout", "text": "not ours\n"}
        iopub of-somebody-else update_display_data {"data": {}, "transient": {"display_id": "bar"}}
        "#
    );
}

#[test]
fn an_error_is_shown_once() {
    told!(
        r#"
        run published
        iopub published error {"ename": "E", "evalue": "why", "traceback": ["1", "2"]}
        shell published execute_reply {"status": "error", "ename": "E", "evalue": "why", "traceback": ["1", "2"]}
        iopub published status {"execution_state": "idle"}
        run replied
        shell replied execute_reply {"status": "error", "ename": "E", "evalue": "why", "traceback": ["1", "2"]}
        iopub replied status {"execution_state": "idle"}
        run quiet silently
        shell quiet execute_reply {"status": "error", "ename": "E", "evalue": "why"}
        iopub quiet status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn what_an_error_aborts_needs_no_idle() {
    told!(
        r#"
        run a
        run b
        run c
        iopub a execute_input {"execution_count": 1}
        iopub a error {"ename": "E", "evalue": "", "traceback": []}
        shell a execute_reply {"status": "error", "ename": "E", "evalue": ""}
        iopub a status {"execution_state": "idle"}
        shell b execute_reply {"status": "aborted"}
        iopub c status {"execution_state": "busy"}
        iopub c status {"execution_state": "idle"}
        shell c execute_reply {"status": "abort"}
        "#
    );
}

#[test]
fn input_is_asked_for_and_answered_once() {
    told!(
        r#"
        run a
        answer a too early
        stdin a input_request {"prompt": "name? ", "password": false}
        answer a Ada
        answer a again
        stdin a input_request {"password": true}
        shell a execute_reply {"status": "error", "ename": "KeyboardInterrupt"}
        iopub a status {"execution_state": "idle"}
        answer a too late
        stdin a input_request {"prompt": "of a thread"}
        stdin nobody input_request {"prompt": "of somebody else"}
        "#
    );
}

#[test]
fn a_silent_execution_starts_when_the_kernel_is_busy() {
    told!(
        r#"
        run loud
        run quiet silently
        iopub loud status {"execution_state": "busy"}
        iopub quiet status {"execution_state": "busy"}
        shell quiet execute_reply {"status": "ok"}
        iopub quiet status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn payloads_are_shown_at_the_end() {
    told!(
        r#"
        run a
        shell a execute_reply {"status": "ok", "payload": [{"source": "page", "data": {"text/plain": "help"}, "start": 0}, {"source": "set_next_input", "text": "x = 1", "replace": false}, {"source": "ask_exit"}, {}]}
        iopub a stream {"text": "before\n"}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn what_is_of_no_use_does_no_harm() {
    told!(
        r#"
        run a
        iopub a comm_open {"comm_id": "x", "data": {}}
        iopub a comm_msg {}
        iopub a something_new [1]
        iopub a stream {"name": 3, "text": ["no", "text"]}
        iopub a stream [1]
        iopub a display_data {"data": 7, "metadata": null}
        iopub a display_data {"data": {"text/plain": "R"}, "metadata": [], "transient": []}
        iopub a error {"traceback": null}
        iopub a error {"ename": null, "evalue": "v", "traceback": "a line"}
        iopub a status {}
        iopub a status {"execution_state": "thinking"}
        iopub a clear_output {}
        iopub a clear_output {"wait": true}
        iopub a execute_input {"execution_count": "five"}
        shell a kernel_info_reply {}
        shell a execute_reply 5
        shell a execute_reply {}
        shell a execute_reply {"status": "aborted"}
        iopub a status {"execution_state": "idle"}
        iopub a status {"execution_state": "idle"}
        shell a execute_reply {}
        "#
    );
}

#[test]
fn a_reply_with_odd_parts_keeps_the_others() {
    told!(
        r#"
        run a
        iopub a status {"execution_state": "idle"}
        shell a execute_reply {"status": "error", "execution_count": null, "payload": {}, "ename": "E", "evalue": 1, "traceback": null}
        "#
    );
}

#[test]
fn what_others_run_shows_in_the_status_only() {
    told!(
        r#"
        iopub of-somebody-else status {"execution_state": "busy"}
        iopub of-somebody-else execute_input {"execution_count": 3}
        shell of-somebody-else execute_reply {"status": "ok"}
        "#
    );
    told!(
        r#"
        run a
        iopub of-somebody-else status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_kernel_that_starts_anew_lost_what_it_was_asked() {
    told!(
        r#"
        run a
        run b
        iopub a status {"execution_state": "busy"}
        iopub a execute_input {"execution_count": 1}
        iopub nobody status {"execution_state": "starting", "process": "anew"}
        run c
        iopub c status {"execution_state": "busy", "process": "anew"}
        "#
    );
}

#[test]
fn a_kernel_that_says_late_that_it_starts_lost_nothing() {
    told!(
        r#"
        run a
        iopub a status {"execution_state": "busy"}
        iopub nobody status {"execution_state": "starting"}
        iopub a execute_input {"execution_count": 1}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_kernel_that_dies_ends_everything_in_order() {
    told!(
        r#"
        run done
        iopub done status {"execution_state": "idle"}
        shell done execute_reply {"status": "ok"}
        run running
        run queued
        iopub running stream {"text": "half a li"}
        die of hunger
        die of hunger
        iopub running stream {"text": "ne\n"}
        "#
    );
}

#[test]
fn a_lost_idle_is_noticed_by_what_comes_next() {
    told!(
        r#"
        run a
        run b
        shell a execute_reply {"status": "ok"}
        iopub b status {"execution_state": "busy"}
        "#
    );
}

#[test]
fn a_lost_idle_is_asked_for_when_nothing_comes_next() {
    told!(
        r#"
        run a
        iopub a status {"execution_state": "busy"}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        wait 1
        wait 1
        iopub a stream {"text": "still on its way\n"}
        wait 3
        iopub probe status {"execution_state": "busy"}
        iopub probe status {"execution_state": "idle"}
        wait 9
        "#
    );
}

#[test]
fn a_reply_that_never_comes_is_asked_for() {
    told!(
        r#"
        run a
        iopub a status {"execution_state": "busy"}
        iopub a execute_input {"execution_count": 1}
        iopub a status {"execution_state": "idle"}
        run b
        wait 1
        wait 1
        shell probe kernel_info_reply {}
        iopub b status {"execution_state": "busy"}
        "#
    );
}

#[test]
fn a_late_reply_is_waited_for() {
    told!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        iopub a status {"execution_state": "idle"}
        wait 3
        shell a execute_reply {"status": "ok", "execution_count": 1}
        shell probe kernel_info_reply {}
        "#
    );
}
