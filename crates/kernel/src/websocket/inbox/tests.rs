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
    let parent = json!({ "msg_id": "a", "msg_type": "execute_request", "session": "ours" });
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
    let mut inbox = Inbox::new("ours");
    inbox.take(kernels(1, "stream", &json!(1)), Instant::now());
    inbox.take(kernels(2, "stream", &json!(2)), Instant::now());
    // Two threads of a kernel can take the same number.
    inbox.take(kernels(2, "stream", &json!(3)), Instant::now());
    inbox.reconnect();
    inbox.take(kernels(2, "stream", &json!(2)), Instant::now());
    inbox.take(kernels(3, "stream", &json!(4)), Instant::now());
    assert_eq!(given(&mut inbox), ["stream 1", "stream 2", "stream 3", "Reconnected", "stream 4"]);
}

#[test]
fn messages_without_an_id_are_never_the_same() {
    let mut inbox = Inbox::new("ours");
    for _ in 0..3 {
        inbox.reconnect();
        inbox.take(message("", "", "stream", &json!(1)), Instant::now());
    }
    assert_eq!(given(&mut inbox).iter().filter(|line| *line == "stream 1").count(), 3);
}

#[test]
fn a_notice_becomes_a_count_if_the_kernel_counts() {
    let notice = json!({ "name": "stderr", "text": "IOPub message rate exceeded.\n" });
    let mut inbox = Inbox::new("ours");
    inbox.take(kernels(1, "status", &status("busy")), Instant::now());
    inbox.take(message("ours_5_1", "ours", "stream", &notice), Instant::now());
    inbox.take(kernels(9, "status", &status("idle")), Instant::now());
    let lines = given(&mut inbox);
    assert_eq!(lines.len(), 3, "{lines:?}");
    // The seventh is the reply, which is not published.
    assert!(lines[1].contains("[6 messages of the kernel are missing here"), "{lines:?}");

    let mut inbox = Inbox::new("ours");
    inbox.take(message("1234", "k", "status", &status("busy")), Instant::now());
    inbox.take(message("ours_5_1", "ours", "stream", &notice), Instant::now());
    assert!(given(&mut inbox)[1].contains("IOPub message rate exceeded"));
}

#[test]
fn a_new_process_is_told_before_it_speaks() {
    let mut inbox = Inbox::new("ours");
    inbox.take(kernels(1, "status", &status("busy")), Instant::now());
    inbox.take(message("ours_5_1", "ours", "status", &status("restarting")), Instant::now());
    inbox.take(message("l_2_0", "l", "iopub_welcome", &json!({})), Instant::now());
    inbox.take(message("l_2_1", "l", "status", &status("starting")), Instant::now());
    inbox.take(message("l_2_2", "l", "status", &status("busy")), Instant::now());
    let expected = [
        "status {\"execution_state\":\"busy\"}",
        "status {\"execution_state\":\"restarting\"}",
        "Replaced",
        "iopub_welcome {}",
        "status {\"execution_state\":\"busy\"}",
    ];
    assert_eq!(given(&mut inbox), expected);
}

/// Many outputs, until the kernel is asked something.
fn flood(inbox: &mut Inbox, numbers: std::ops::Range<u32>) -> String {
    inbox.take(kernels(numbers.start, "status", &status("busy")), Instant::now());
    for number in numbers.skip(1) {
        inbox.take(kernels(number, "stream", &json!(number)), Instant::now());
    }
    given(inbox);
    inbox.question(Instant::now()).expect("there is too much").1.header.msg_id
}

fn answer(question: &str, number: u32, state: &str) -> Message {
    let header = json!({ "msg_id": format!("k_1_{number}"), "session": "k", "msg_type": "status" });
    let parent = json!({ "msg_id": question, "msg_type": "kernel_info_request" });
    let [header, parent, content] = [&header, &parent, &status(state)].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

#[test]
fn answers_that_come_late_are_no_loss() {
    let mut inbox = Inbox::new("ours");
    let question = flood(&mut inbox, 1..200);
    inbox.take(kernels(204, "status", &status("idle")), Instant::now());
    assert!(given(&mut inbox).is_empty() && inbox.is_holding());
    // The replies, 201 and 203, come over other channels.
    inbox.take(answer(&question, 200, "busy"), Instant::now());
    inbox.take(answer(&question, 202, "idle"), Instant::now());
    assert_eq!(given(&mut inbox), ["status {\"execution_state\":\"idle\"}"]);
}

#[test]
fn a_loss_is_told_as_soon_as_nothing_more_can_come() {
    type Come = fn(&mut Inbox, &str);
    let ends: [(&str, u32, Come); 3] = [
        ("all answers came", 10, |inbox, question| {
            inbox.take(answer(question, 210, "busy"), Instant::now());
            inbox.take(answer(question, 212, "idle"), Instant::now());
        }),
        ("the kernel went on", 13, |inbox, _| {
            inbox.take(message("k_1_215", "k", "comm_msg", &json!({})), Instant::now());
        }),
        ("it took too long", 13, |inbox, _| inbox.release()),
    ];
    for (end, missing, come) in ends {
        let mut inbox = Inbox::new("ours");
        let question = flood(&mut inbox, 1..200);
        inbox.take(kernels(214, "status", &status("idle")), Instant::now());
        assert!(given(&mut inbox).is_empty() && inbox.is_holding(), "{end}");
        come(&mut inbox, &question);
        let lines = given(&mut inbox);
        assert!(lines[0].contains(&format!("[{missing} messages")), "{end}: {lines:?}");
        assert!(lines[1].starts_with("status"), "{end}: {lines:?}");
    }
}
