//! Transcripts of executions. A transcript goes in and comes out with the events of the executions, indented.
//!
//! It has a line for each thing that happens: `run a` requests an execution; `CHANNEL PARENT KIND CONTENT` is a message of the
//! kernel; `answer a TEXT` answers a request for input; `wait 3` lets seconds pass and `wait 5ms` milliseconds; `reconnect` and
//! `replace` replace the connection or the kernel; `supersedable` is a connection that another client can take over,
//! `superseded` that it was noticed; `unnumbered` is a kernel that does not number its messages; `owned` is one whose process is
//! watched, `connected P` one that was process P when the connection was made, and `before P` one of which an earlier connection knew
//! process P, or with `before` that it has ended; `die HOW` ends the kernel. A message with the parent
//! `server` comes from the server.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;

use super::super::loss_check::Action;
use crate::execution::{Executions, InputRequests};
use crate::messages::{Channel, Message};
use crate::{ExecutionId, Outcome, Sink};

pub(super) fn play(transcript: &str) -> String {
    let log = Arc::new(Mutex::new(String::new()));
    let input_requests = InputRequests::default();
    let mut executions = Executions::new(input_requests.clone());
    let mut now = Instant::now();
    let mut probe = String::new();
    let mut is_numbered = true;
    for line in transcript.lines().map(str::trim).filter(|line| !line.is_empty()) {
        writeln!(log.lock().unwrap(), "{line}").unwrap();
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["run", name] => executions.add(ExecutionId::new(name), sink(name, &log), now),
            ["supersedable"] => {
                executions.watch_for_silence(now);
                executions.watch_for_superseding();
            }
            ["superseded"] => executions.superseded(),
            ["unnumbered"] => is_numbered = false,
            ["owned"] => executions.trust_process_end(),
            ["connected", process] => executions.begin_with(Some(process.to_owned())),
            ["before", process] => executions.follow_process(Some(process.to_owned())),
            ["before"] => executions.follow_process(None),
            ["wait", time] => {
                now += match time.strip_suffix("ms") {
                    Some(milliseconds) => Duration::from_millis(milliseconds.parse().unwrap()),
                    None => Duration::from_secs(time.parse().unwrap()),
                }
            }
            ["answer", name, ..] => {
                let request = input_requests.remove(&ExecutionId::new(name));
                let request = request.map(|header| header.to_value()["msg_id"].to_string());
                writeln!(log.lock().unwrap(), "    answers {request:?}").unwrap();
            }
            ["reconnect" | "replace"] => {
                let (channel, question) =
                    if line == "replace" { executions.replaced() } else { executions.reconnected() };
                probe.clone_from(&question.header.msg_id);
                writeln!(log.lock().unwrap(), "    asks on {channel:?}: {}", question.message_type())
                    .unwrap();
            }
            ["die", ..] => executions.end(&Outcome::KernelDied { how: line[4..].to_owned() }),
            _ => executions.handle(&message(line, &probe, is_numbered), now),
        }
        match executions.tick(now) {
            Some(Action::Send(question)) => {
                let (channel, question) = *question;
                probe.clone_from(&question.header.msg_id);
                let kind = question.message_type();
                writeln!(log.lock().unwrap(), "    asks on {channel:?}: {kind}").unwrap();
            }
            Some(Action::Reconnect) => writeln!(log.lock().unwrap(), "    reconnects").unwrap(),
            None => {}
        }
    }
    writeln!(log.lock().unwrap(), "{:?}", executions.status()).unwrap();
    let log = log.lock().unwrap();
    log.clone()
}

pub(super) fn message(line: &str, probe: &str, is_numbered: bool) -> Message {
    let mut words = line.splitn(4, ' ');
    let channel = match words.next().unwrap() {
        "iopub" => Channel::Iopub,
        "shell" => Channel::Shell,
        "stdin" => Channel::Stdin,
        other => panic!("no channel: {other}"),
    };
    let parent = words.next().unwrap();
    let is_of_server = parent == "server";
    let parent = if parent == "probe" { probe } else { parent };
    let kind = words.next().unwrap();
    let content = words.next().unwrap_or("{}");
    let session = if content.contains("restarted") { "new" } else { "s" };
    let id = if is_numbered { "s_77_1".to_owned() } else { format!("of {parent}") };
    let header =
        json!({ "msg_id": id, "session": session, "username": "u", "version": "5.3", "msg_type": kind });
    let parent = json!({ "msg_id": parent });
    let content = Bytes::copy_from_slice(content.as_bytes());
    let message =
        Message::read(channel, header.to_string().into(), parent.to_string().into(), content).unwrap();
    Message { is_of_server, ..message }
}

fn sink(name: &str, log: &Arc<Mutex<String>>) -> Sink {
    let (name, log) = (name.to_owned(), log.clone());
    Box::new(move |event| writeln!(log.lock().unwrap(), "    {name} ← {event:?}").unwrap())
}

/// Compares a transcript with its snapshot, which repeats it.
macro_rules! assert_transcript {
    ($transcript:expr) => {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!($crate::execution::tests::transcripts::play($transcript))
        })
    };
}
pub(super) use assert_transcript;

#[test]
fn reply_and_idle_end_an_execution_in_either_order() {
    assert_transcript!(
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
    assert_transcript!(
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
    assert_transcript!(
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
fn late_output_of_threads_belongs_to_its_execution() {
    assert_transcript!(
        r#"
        run a
        iopub a status {"execution_state": "idle"}
        shell a execute_reply {"status": "ok"}
        iopub a stream {"name": "stdout", "text": "late\n"}
        run b
        iopub a stream {"name": "stdout", "text": "later\n"}
        iopub of-another-client stream {"name": "stdout", "text": "not ours\n"}
        "#
    );
}

#[test]
fn an_error_is_shown_once() {
    assert_transcript!(
        r#"
        run published
        iopub published error {"ename": "E", "evalue": "why", "traceback": ["1", "2"]}
        shell published execute_reply {"status": "error", "ename": "E", "evalue": "why", "traceback": ["1", "2"]}
        iopub published status {"execution_state": "idle"}
        run replied
        shell replied execute_reply {"status": "error", "ename": "E", "evalue": "why", "traceback": ["1", "2"]}
        iopub replied status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn an_aborted_execution_needs_no_idle() {
    assert_transcript!(
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
    assert_transcript!(
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
        stdin nobody input_request {"prompt": "of another client"}
        "#
    );
}

#[test]
fn payloads_become_outputs_at_the_end() {
    assert_transcript!(
        r#"
        run a
        shell a execute_reply {"status": "ok", "payload": [{"source": "page", "data": {"text/plain": "help"}, "start": 0}, {"source": "set_next_input", "text": "x = 1", "replace": false}, {"source": "ask_exit"}, {}]}
        iopub a stream {"text": "before\n"}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn output_widgets_take_outputs_from_the_cell_and_give_them_back() {
    assert_transcript!(
        r#"
        run a
        iopub a comm_open {"comm_id": "out", "target_name": "jupyter.widget", "data": {"state": {"_model_name": "OutputModel"}}}
        iopub a comm_open {"comm_id": "inner", "target_name": "jupyter.widget", "data": {"state": {"_model_name": "OutputModel"}}}
        iopub a stream {"text": "in the cell\n"}
        iopub a comm_msg {"comm_id": "slider", "data": {"method": "update", "state": {"value": 3}}}
        iopub a comm_msg {"comm_id": "out", "data": {"method": "update", "state": {"msg_id": "a"}}}
        iopub a stream {"text": "in the widget\n"}
        iopub a comm_msg {"comm_id": "inner", "data": {"method": "update", "state": {"msg_id": "a"}}}
        iopub a comm_msg {"comm_id": "inner", "data": {"method": "update", "state": {"msg_id": ""}}}
        iopub a comm_msg {"comm_id": "out", "data": {"method": "update", "state": {"msg_id": ""}}}
        iopub a comm_msg {"comm_id": "out", "data": {"method": "update", "state": {"msg_id": 5}}}
        iopub a stream {"text": "in the cell\n"}
        shell a execute_reply {"status": "ok"}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn an_error_that_an_output_widget_shows_does_not_fail_the_cell() {
    assert_transcript!(
        r#"
        run a
        iopub a comm_open {"comm_id": "out", "target_name": "jupyter.widget", "data": {"state": {"_model_name": "OutputModel"}}}
        iopub a comm_msg {"comm_id": "out", "data": {"method": "update", "state": {"msg_id": "a"}}}
        iopub a error {"ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": []}
        iopub a comm_msg {"comm_id": "out", "data": {"method": "update", "state": {"msg_id": ""}}}
        iopub a stream {"text": "after\n"}
        shell a execute_reply {"status": "ok"}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn what_a_run_does_to_widgets_of_others_is_known_before_it_ends() {
    assert_transcript!(
        r#"
        run a
        iopub a comm_open {"comm_id": "m", "target_name": "jupyter.widget", "data": {"state": {"_model_name": "LabelModel", "value": "start"}}}
        iopub a display_data {"data": {"application/vnd.jupyter.widget-view+json": {"model_id": "m"}, "text/plain": "Label()"}}
        shell a execute_reply {"status": "ok"}
        iopub a status {"execution_state": "idle"}
        run b
        iopub b comm_msg {"comm_id": "m", "data": {"method": "update", "state": {"value": "first"}}}
        iopub b comm_msg {"comm_id": "m", "data": {"method": "update", "state": {"value": "second"}}}
        shell b execute_reply {"status": "ok"}
        iopub b status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn malformed_messages_change_nothing() {
    assert_transcript!(
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
fn a_reply_with_malformed_parts_keeps_the_others() {
    assert_transcript!(
        r#"
        run a
        iopub a status {"execution_state": "idle"}
        shell a execute_reply {"status": "error", "execution_count": null, "payload": {}, "ename": "E", "evalue": 1, "traceback": null}
        "#
    );
}

#[test]
fn code_of_other_clients_shows_in_the_status_only() {
    assert_transcript!(
        r#"
        iopub of-another-client status {"execution_state": "busy"}
        iopub of-another-client execute_input {"execution_count": 3}
        shell of-another-client execute_reply {"status": "ok"}
        "#
    );
    assert_transcript!(
        r#"
        run a
        iopub of-another-client status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_restarted_kernel_ends_what_it_was_asked() {
    assert_transcript!(
        r#"
        run a
        run b
        iopub a status {"execution_state": "busy"}
        iopub a execute_input {"execution_count": 1}
        iopub nobody status {"execution_state": "starting", "process": "restarted"}
        run c
        iopub c status {"execution_state": "busy", "process": "restarted"}
        "#
    );
}

#[test]
fn a_late_starting_status_ends_nothing() {
    assert_transcript!(
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
    assert_transcript!(
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
fn a_kernel_that_reports_its_own_end_goes_on() {
    assert_transcript!(
        r#"
        run a
        iopub a status {"execution_state": "busy"}
        iopub a status {"execution_state": "dead"}
        iopub nobody status {"execution_state": "restarting"}
        iopub a stream {"text": "alive\n"}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        iopub server status {"execution_state": "dead"}
        "#
    );
}

#[test]
fn the_session_of_another_process_ends_nothing_where_its_end_is_reported() {
    assert_transcript!(
        r#"
        owned
        connected s
        run a
        iopub a status {"execution_state": "busy"}
        iopub nobody status {"execution_state": "starting", "process": "restarted"}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn the_first_execution_of_another_process_is_told_so() {
    assert_transcript!(
        r#"
        connected s
        run a
        iopub a status {"execution_state": "busy"}
        iopub a execute_input {"execution_count": 7}
        shell a execute_reply {"status": "ok", "execution_count": 7}
        iopub a status {"execution_state": "idle"}
        iopub nobody status {"execution_state": "starting", "process": "restarted"}
        run b
        iopub b status {"execution_state": "busy", "process": "restarted"}
        iopub b execute_input {"execution_count": 1}
        shell b execute_reply {"status": "ok", "execution_count": 1}
        iopub b status {"execution_state": "idle", "process": "restarted"}
        run c
        iopub c status {"execution_state": "busy", "process": "restarted"}
        "#
    );
}

#[test]
fn another_connection_knows_the_process_before() {
    assert_transcript!(
        r#"
        connected new
        before old
        run a
        iopub a status {"execution_state": "busy", "process": "restarted"}
        iopub a status {"execution_state": "idle", "process": "restarted"}
        shell a execute_reply {"status": "ok"}
        "#
    );
    assert_transcript!(
        r#"
        connected s
        before s
        run a
        iopub a status {"execution_state": "busy"}
        iopub a status {"execution_state": "idle"}
        shell a execute_reply {"status": "ok"}
        before
        run b
        iopub b execute_input {"execution_count": 1}
        "#
    );
}

#[test]
fn what_a_restart_interrupts_has_ended_with_its_kernel() {
    assert_transcript!(
        r#"
        connected s
        run a
        iopub a status {"execution_state": "busy"}
        iopub a execute_input {"execution_count": 7}
        iopub nobody shutdown_reply {"status": "ok", "restart": true}
        iopub a error {"ename": "KeyboardInterrupt", "evalue": "", "traceback": ["KeyboardInterrupt"]}
        shell a execute_reply {"status": "error", "ename": "KeyboardInterrupt", "evalue": "", "execution_count": 7}
        iopub a status {"execution_state": "idle"}
        run b
        iopub b status {"execution_state": "busy", "process": "restarted"}
        iopub b execute_input {"execution_count": 1}
        shell b execute_reply {"status": "error", "ename": "KeyboardInterrupt", "evalue": "", "execution_count": 1}
        iopub b status {"execution_state": "idle", "process": "restarted"}
        "#
    );
    assert_transcript!(
        r#"
        connected s
        run a
        iopub a execute_input {"execution_count": 1}
        iopub a error {"ename": "KeyboardInterrupt", "evalue": "", "traceback": ["KeyboardInterrupt"]}
        shell a execute_reply {"status": "error", "ename": "KeyboardInterrupt", "evalue": "", "execution_count": 7}
        iopub a status {"execution_state": "idle"}
        wait 100ms
        iopub nobody shutdown_reply {"status": "ok", "restart": true}
        wait 50ms
        "#
    );
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        iopub nobody shutdown_reply {"status": "ok", "restart": false}
        shell a execute_reply {"status": "error", "ename": "KeyboardInterrupt", "evalue": ""}
        iopub a status {"execution_state": "idle"}
        "#
    );
    assert_transcript!(
        r#"
        owned
        run a
        iopub a execute_input {"execution_count": 1}
        iopub nobody shutdown_reply {"status": "ok", "restart": true}
        shell a execute_reply {"status": "error", "ename": "KeyboardInterrupt", "evalue": ""}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_count_that_falls_back_is_another_process_where_nothing_else_tells() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 7}
        iopub other execute_input {"execution_count": 7}
        run b
        iopub b execute_input {"execution_count": 8}
        run c
        iopub c execute_input {"execution_count": 1}
        "#
    );
}

#[test]
fn code_that_shows_an_error_and_goes_on_has_failed() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 3}
        iopub a error {"ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": ["in script.py"]}
        iopub a stream {"text": "goes on\n"}
        shell a execute_reply {"status": "ok", "execution_count": 3}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_result_that_cannot_be_shown_fails_with_the_error_that_was_published() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 3}
        iopub a error {"ename": "ValueError", "evalue": "bad repr", "traceback": ["1"]}
        shell a execute_reply {"status": "error", "execution_count": 3, "ename": "NoneType", "evalue": "None", "traceback": []}
        iopub a status {"execution_state": "idle"}
        run b
        shell b execute_reply {"status": "error", "execution_count": 4, "ename": "NoneType", "evalue": "None", "traceback": []}
        iopub b status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_request_for_the_end_of_the_kernel_comes_before_the_end() {
    assert_transcript!(
        r#"
        run a
        shell a execute_reply {"status": "ok", "payload": [{"source": "ask_exit", "keepkernel": false}]}
        iopub a status {"execution_state": "idle"}
        run b
        shell b execute_reply {"status": "ok", "payload": [{"source": "ask_exit", "keepkernel": 3}]}
        iopub b status {"execution_state": "idle"}
        run c
        shell c execute_reply {"status": "error", "ename": "E", "traceback": ["1"], "payload": [{"source": "ask_exit"}]}
        iopub c status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn widgets_move_while_code_runs_and_afterwards() {
    assert_transcript!(
        r#"
        run a
        iopub a comm_open {"comm_id": "bar", "target_name": "jupyter.widget", "data": {"state": {"_model_name": "FloatProgressModel", "value": 0.0, "max": 4.0, "min": 0.0}}}
        iopub a display_data {"data": {"text/plain": "FloatProgress(value=0.0, max=4.0)", "application/vnd.jupyter.widget-view+json": {"model_id": "bar"}}}
        iopub a comm_msg {"comm_id": "bar", "data": {"method": "update", "state": {"value": 1.0}}}
        iopub a comm_msg {"comm_id": "bar", "data": {"method": "update", "state": {"value": 2.0}}}
        iopub a comm_msg {"comm_id": "bar", "data": {"method": "custom", "content": {}}}
        wait 100ms
        iopub a comm_msg {"comm_id": "bar", "data": {"method": "update", "state": {"value": 4.0}}}
        shell a execute_reply {"status": "ok"}
        iopub a status {"execution_state": "idle"}
        iopub of-another-client comm_msg {"comm_id": "bar", "data": {"method": "update", "state": {"value": 3.0}}}
        wait 100ms
        iopub a comm_close {"comm_id": "bar"}
        wait 100ms
        "#
    );
}

#[test]
fn a_widget_of_an_earlier_process_is_gone() {
    assert_transcript!(
        r#"
        run a
        iopub a comm_open {"comm_id": "x", "target_name": "jupyter.widget", "data": {"state": {"_model_name": "LabelModel", "value": "before"}}}
        replace
        run b
        iopub b display_data {"data": {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}}}
        wait 1
        "#
    );
}

#[test]
fn a_lost_idle_is_noticed_by_the_next_request() {
    assert_transcript!(
        r#"
        run a
        run b
        shell a execute_reply {"status": "ok"}
        iopub b status {"execution_state": "busy"}
        "#
    );
}

#[test]
fn a_lost_idle_is_asked_for() {
    assert_transcript!(
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
    assert_transcript!(
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
fn a_late_reply_still_counts() {
    assert_transcript!(
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

#[test]
fn a_result_after_idle_belongs_to_the_answer() {
    assert_transcript!(
        r#"
        unnumbered
        run a
        iopub a status {"execution_state": "busy"}
        iopub a execute_input {"execution_count": 1}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        wait 20ms
        iopub a execute_result {"data": {"text/plain": "2"}, "execution_count": 1}
        wait 150ms
        run b
        iopub b stream {"text": "in order\n"}
        shell b execute_reply {"status": "ok", "execution_count": 2}
        iopub b status {"execution_state": "idle"}
        wait 149ms
        iopub b stream {"text": "late\n"}
        wait 1ms
        "#
    );
}

#[test]
fn an_error_after_idle_is_shown_once() {
    assert_transcript!(
        r#"
        unnumbered
        run a
        iopub a execute_input {"execution_count": 1}
        shell a execute_reply {"status": "error", "ename": "E", "evalue": "why", "traceback": ["1"]}
        iopub a status {"execution_state": "idle"}
        iopub a error {"ename": "E", "evalue": "why", "traceback": ["1"]}
        wait 1
        "#
    );
}

#[test]
fn a_kernel_that_numbers_its_messages_is_not_waited_for() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_kernel_that_dies_during_the_grace_ends_as_it_replied() {
    assert_transcript!(
        r#"
        unnumbered
        run a
        iopub a execute_input {"execution_count": 1}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        run b
        die of hunger
        "#
    );
}
