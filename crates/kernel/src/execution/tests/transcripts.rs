//! Transcripts of executions. Each snapshot here holds many, with an empty line between them; a heading begins with `#`. The lines
//! that are not indented go in, and come out with the events of the executions and the last status, indented.
//!
//! A new transcript is written into a snapshot without its indented lines; `cargo insta review` then adds them.
//!
//! There is a line for each thing that happens: `run a` requests an execution; `CHANNEL PARENT KIND CONTENT` is a message of the
//! kernel; `answer a TEXT` answers a request for input; `wait 3` lets seconds pass and `wait 5ms` milliseconds; `reconnect` and
//! `replace` replace the connection or the kernel; `supersedable` is a connection that another client can take over,
//! `superseded` that it was noticed; `unnumbered` is a kernel that does not number its messages; `owned` is one whose process is
//! watched, `connected P` one that was process P when the connection was made, and `before P` one of which an earlier connection knew
//! process P, or with `before` that it has ended; `die HOW` ends the kernel. A message with the parent
//! `server` comes from the server, and one with the parent `session=S` names a session and no request. `METADATA > CONTENT` is the
//! content of a message with metadata.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;

use super::super::checks::Action;
use crate::execution::{Executions, InputRequests};
use crate::messages::{Channel, Message, write_parts};
use crate::{MessageId, Outcome, Sink};

fn play(transcript: &str) -> String {
    let log = Arc::new(Mutex::new(String::new()));
    let input_requests = InputRequests::default();
    let mut executions = Executions { input_requests: input_requests.clone(), ..Executions::default() };
    let mut now = Instant::now();
    let mut probe = String::new();
    let mut is_numbered = true;
    for line in transcript.lines().filter(|line| !line.starts_with(' ')) {
        writeln!(log.lock().unwrap(), "{line}").unwrap();
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["#", ..] => {}
            ["run", name] => executions.add(MessageId::new(name), sink(name, &log), now),
            ["supersedable"] => {
                executions.silence_check.watch(now);
                executions.can_be_superseded = true;
            }
            ["superseded"] => executions.superseded(),
            ["unnumbered"] => is_numbered = false,
            ["owned"] => executions.process.is_end_reported = true,
            ["connected", process] => executions.process.begin_with(Some(process.to_owned())),
            ["before", process] => executions.process.follow(Some(process.to_owned())),
            ["before"] => executions.process.follow(None),
            ["wait", time] => {
                now += match time.strip_suffix("ms") {
                    Some(milliseconds) => Duration::from_millis(milliseconds.parse().unwrap()),
                    None => Duration::from_secs(time.parse().unwrap()),
                }
            }
            ["answer", name, ..] => {
                let request = input_requests.remove(&MessageId::new(name));
                let request = request.map(|header| header.to_value()["msg_id"].to_string());
                writeln!(log.lock().unwrap(), "    answers {request:?}").unwrap();
            }
            ["reconnect" | "replace"] => {
                let (channel, question) = if line == "replace" {
                    executions.replaced()
                } else {
                    executions.reconnected("a cut".to_owned())
                };
                probe.clone_from(&question.header.msg_id);
                writeln!(log.lock().unwrap(), "    asks on {channel:?}: {}", question.message_type())
                    .unwrap();
            }
            ["die", ..] => executions.end(&Outcome::KernelDied { how: line[4..].into() }),
            _ => {
                if let Some((channel, answer)) = executions.handle(&message(line, &probe, is_numbered), now) {
                    let kind = answer.message_type().to_owned();
                    let parts = write_parts(answer, "ours").unwrap();
                    let [_, parent, _, content] = parts.each_ref().map(|part| String::from_utf8_lossy(part));
                    writeln!(log.lock().unwrap(), "    answers on {channel:?}: {kind} {parent} {content}")
                        .unwrap();
                }
            }
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
    writeln!(log.lock().unwrap(), "    {:?}", executions.status()).unwrap();
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
    let (metadata, content) = content.split_once(" > ").unwrap_or(("{}", content));
    let session = if content.contains("restarted") { "new" } else { "s" };
    let id = if is_numbered { "s_77_1".to_owned() } else { format!("of {parent}") };
    let header =
        json!({ "msg_id": id, "session": session, "username": "u", "version": "5.3", "msg_type": kind });
    let parent = match parent.strip_prefix("session=") {
        Some(session) => json!({ "session": session }),
        None => json!({ "msg_id": parent, "session": "ours" }),
    };
    let content = Bytes::copy_from_slice(content.as_bytes());
    let message =
        Message::read(channel, header.to_string().into(), parent.to_string().into(), content).unwrap();
    Message { is_of_server, ..message }.with_metadata(Bytes::copy_from_slice(metadata.as_bytes()))
}

fn sink(name: &str, log: &Arc<Mutex<String>>) -> Sink {
    let (name, log) = (name.to_owned(), log.clone());
    Box::new(move |event| writeln!(log.lock().unwrap(), "    {name} ← {event:?}").unwrap())
}

/// Plays the transcripts of a snapshot, which is what must come out.
fn assert_transcripts(name: &str, snapshot: &str) {
    let (_, transcripts) = snapshot.split_once("\n---\n").unwrap();
    let played: Vec<String> = transcripts.split("\n\n").map(play).collect();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, played.join("\n"));
    });
}

#[test]
fn executions_match_their_transcripts() {
    assert_transcripts("transcripts", include_str!("snapshots/transcripts.snap"));
}

/// Connections that are cut, and kernels that are replaced.
#[test]
fn losses_match_their_transcripts() {
    assert_transcripts("losses", include_str!("snapshots/losses.snap"));
}

/// What code on Google's Colab machines asks of a page that is not there.
#[test]
fn requests_to_colab_match_their_transcripts() {
    assert_transcripts("colab_requests", include_str!("snapshots/colab_requests.snap"));
}
