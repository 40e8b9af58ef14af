//! What is given out of what the sockets say.

use serde_json::{Value, json};

use super::*;
use crate::message::Channel;

/// A message of the kernel, numbered.
fn kernels(number: u32, kind: &str, content: &Value) -> Message {
    message(&format!("k_1_{number}"), "k", kind, content)
}

fn message(id: &str, session: &str, kind: &str, content: &Value) -> Message {
    let header = json!({ "msg_id": id, "session": session, "msg_type": kind });
    let parent = json!({ "msg_id": "a", "msg_type": "execute_request" });
    let [header, parent, content] = [&header, &parent, content].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

fn status(state: &str) -> Value {
    json!({ "execution_state": state })
}

/// What is given out, a line each.
fn given(inbox: &mut Inbox) -> Vec<String> {
    std::iter::from_fn(|| inbox.next())
        .map(|received| match received {
            Received::Message(message) => format!("{} {}", message.kind, message.content.as_str()),
            other => format!("{other:?}"),
        })
        .collect()
}

#[test]
fn what_is_replayed_is_given_out_once() {
    let mut inbox = Inbox::default();
    inbox.take(kernels(1, "stream", &json!(1)), 0, "ours");
    inbox.take(kernels(2, "stream", &json!(2)), 0, "ours");
    // Two threads of a kernel can take the same number.
    inbox.take(kernels(2, "stream", &json!(3)), 0, "ours");
    inbox.reconnect(1);
    inbox.take(kernels(2, "stream", &json!(2)), 1, "ours");
    inbox.take(kernels(3, "stream", &json!(4)), 1, "ours");
    assert_eq!(given(&mut inbox), ["stream 1", "stream 2", "stream 3", "Reconnected", "stream 4"]);
}

#[test]
fn messages_without_an_id_are_never_the_same() {
    let mut inbox = Inbox::default();
    for source in 0..3 {
        inbox.reconnect(source);
        inbox.take(message("", "", "stream", &json!(1)), source, "ours");
    }
    assert_eq!(given(&mut inbox).iter().filter(|line| *line == "stream 1").count(), 3);
}

#[test]
fn a_notice_becomes_a_count_if_the_kernel_counts() {
    let notice = json!({ "name": "stderr", "text": "IOPub message rate exceeded.\n" });
    let mut inbox = Inbox::default();
    inbox.take(kernels(1, "status", &status("busy")), 0, "ours");
    inbox.take(message("ours_5_1", "ours", "stream", &notice), 0, "ours");
    inbox.take(kernels(9, "status", &status("idle")), 0, "ours");
    let lines = given(&mut inbox);
    assert_eq!(lines.len(), 3, "{lines:?}");
    // The seventh is the reply, which is not published.
    assert!(lines[1].contains("[6 messages of the kernel are missing here"), "{lines:?}");

    let mut inbox = Inbox::default();
    inbox.take(message("1234", "k", "status", &status("busy")), 0, "ours");
    inbox.take(message("ours_5_1", "ours", "stream", &notice), 0, "ours");
    assert!(given(&mut inbox)[1].contains("IOPub message rate exceeded"));
}

#[test]
fn a_new_process_is_told_before_it_speaks() {
    let mut inbox = Inbox::default();
    inbox.take(kernels(1, "status", &status("busy")), 0, "ours");
    inbox.take(message("ours_5_1", "ours", "status", &status("restarting")), 0, "ours");
    inbox.take(message("l_2_0", "l", "iopub_welcome", &json!({})), 0, "ours");
    inbox.take(message("l_2_1", "l", "status", &status("starting")), 0, "ours");
    inbox.take(message("l_2_2", "l", "status", &status("busy")), 0, "ours");
    let expected = [
        "status {\"execution_state\":\"busy\"}",
        "status {\"execution_state\":\"restarting\"}",
        "Replaced",
        "iopub_welcome {}",
        "status {\"execution_state\":\"busy\"}",
    ];
    assert_eq!(given(&mut inbox), expected);
}

#[test]
fn a_servers_words_are_heard_once() {
    let mut inbox = Inbox::default();
    inbox.prefer(1);
    inbox.take(message("ours_5_1", "ours", "status", &status("dead")), 0, "ours");
    inbox.take(message("more_5_1", "more", "status", &status("dead")), 1, "more");
    assert_eq!(given(&mut inbox), ["status {\"execution_state\":\"dead\"}"]);
}
