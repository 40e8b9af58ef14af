//! Which messages pass, and with which reports.

use serde_json::{Value, json};

use super::*;

/// A numbered message of the kernel.
fn of_kernel(number: u32, kind: &str, content: &Value) -> Message {
    message(&format!("k_1_{number}"), "k", kind, content)
}

fn message(id: &str, session: &str, kind: &str, content: &Value) -> Message {
    let header = json!({ "msg_id": id, "session": session, "msg_type": kind });
    let parent = json!({ "msg_id": "a", "msg_type": "execute_request", "session": "ours" });
    let [header, parent, content] = [&header, &parent, content].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

/// What a server reports about its kernel: it has no parent.
fn of_server(id: &str, content: &Value) -> Message {
    let header = json!({ "msg_id": id, "session": "ours", "msg_type": "status" });
    let [header, parent, content] = [&header, &json!({}), content].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

fn status(state: &str) -> Value {
    json!({ "execution_state": state })
}

/// What is passed on, a line each.
fn passed(inbox: &mut Inbox) -> Vec<String> {
    std::iter::from_fn(|| inbox.pop())
        .map(|received| match received {
            Received::Message(message) => format!("{} {}", message.header.kind, message.content.as_str()),
            Received::Reconnected { .. } => "Reconnected".to_owned(),
            Received::Replaced => "Replaced".to_owned(),
            _ => panic!("a server sends no such thing"),
        })
        .collect()
}

#[test]
fn replayed_messages_pass_once() {
    let mut inbox = Inbox::new("ours");
    inbox.push(of_kernel(1, "stream", &json!(1)), Instant::now());
    inbox.push(of_kernel(2, "stream", &json!(2)), Instant::now());
    // Two threads of a kernel can take the same number.
    inbox.push(of_kernel(2, "stream", &json!(3)), Instant::now());
    inbox.reconnected("a cut".to_owned());
    inbox.push(of_kernel(2, "stream", &json!(2)), Instant::now());
    inbox.push(of_kernel(3, "stream", &json!(4)), Instant::now());
    assert_eq!(passed(&mut inbox), ["stream 1", "stream 2", "stream 3", "Reconnected", "stream 4"]);
}

#[test]
fn messages_without_an_id_are_never_replays() {
    let mut inbox = Inbox::new("ours");
    for _ in 0..3 {
        inbox.reconnected("a cut".to_owned());
        inbox.push(message("", "", "stream", &json!(1)), Instant::now());
    }
    assert_eq!(passed(&mut inbox).iter().filter(|line| *line == "stream 1").count(), 3);
}

#[test]
fn a_notice_of_the_server_is_reported_once() {
    let notice = json!({ "name": "stderr", "text": "IOPub message rate exceeded.\n" });
    let mut inbox = Inbox::new("ours");
    inbox.push(of_kernel(1, "status", &status("busy")), Instant::now());
    inbox.push(message("ours_5_1", "ours", "stream", &notice), Instant::now());
    inbox.push(message("ours_5_2", "ours", "stream", &notice), Instant::now());
    inbox.push(of_kernel(9, "status", &status("idle")), Instant::now());
    let lines = passed(&mut inbox);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[1].contains("[Messages of the kernel are missing: the Jupyter server dropped"),
        "{lines:?}"
    );
    assert!(lines[1].contains("iopub_msg_rate_limit"), "{lines:?}");
}

#[test]
fn a_new_process_is_reported_before_its_messages() {
    let mut inbox = Inbox::new("ours");
    inbox.push(of_kernel(1, "status", &status("busy")), Instant::now());
    inbox.push(of_server("ours_5_1", &status("restarting")), Instant::now());
    inbox.push(message("l_2_0", "l", "iopub_welcome", &json!({})), Instant::now());
    inbox.push(message("l_2_1", "l", "status", &status("starting")), Instant::now());
    inbox.push(message("l_2_2", "l", "status", &status("busy")), Instant::now());
    let expected = [
        "status {\"execution_state\":\"busy\"}",
        "status {\"execution_state\":\"restarting\"}",
        "Replaced",
        "iopub_welcome {}",
        "status {\"execution_state\":\"busy\"}",
    ];
    assert_eq!(passed(&mut inbox), expected);
}

#[test]
fn only_the_server_reports_the_end_of_a_kernel() {
    let is_of_server = |message: Message| {
        let mut inbox = Inbox::new("ours");
        inbox.push(of_kernel(1, "status", &status("busy")), Instant::now());
        inbox.push(message, Instant::now());
        let messages = std::iter::from_fn(|| inbox.pop()).filter_map(|received| match received {
            Received::Message(message) => Some(message.is_of_server),
            _ => None,
        });
        messages.last().unwrap()
    };
    assert!(is_of_server(of_server("ours_5_1", &status("dead"))));
    assert!(!is_of_server(of_kernel(2, "status", &status("dead"))));
    assert!(!is_of_server(message("ours_5_1", "ours", "status", &status("dead"))), "it quotes a request");
    assert!(!is_of_server(message("x", "someone", "status", &status("dead"))));
}

/// Many outputs, until the kernel is asked something.
fn flood(inbox: &mut Inbox, numbers: std::ops::Range<u32>) -> String {
    inbox.push(of_kernel(numbers.start, "status", &status("busy")), Instant::now());
    for number in numbers.skip(1) {
        inbox.push(of_kernel(number, "stream", &json!(number)), Instant::now());
    }
    passed(inbox);
    inbox.rate_limit.question(Instant::now()).expect("there is too much").1.header.msg_id
}

fn answer(question: &str, number: u32, state: &str) -> Message {
    let header = json!({ "msg_id": format!("k_1_{number}"), "session": "k", "msg_type": "status" });
    let parent = json!({ "msg_id": question, "msg_type": "kernel_info_request" });
    let [header, parent, content] = [&header, &parent, &status(state)].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

#[test]
fn late_answers_are_not_losses() {
    let mut inbox = Inbox::new("ours");
    let question = flood(&mut inbox, 1..200);
    inbox.push(of_kernel(204, "status", &status("idle")), Instant::now());
    assert_eq!(passed(&mut inbox), [""; 0]);
    assert!(inbox.held.is_some());
    // The replies, 201 and 203, come over other channels.
    inbox.push(answer(&question, 200, "busy"), Instant::now());
    inbox.push(answer(&question, 202, "idle"), Instant::now());
    assert_eq!(passed(&mut inbox), ["status {\"execution_state\":\"idle\"}"]);
}

#[test]
fn a_loss_is_reported_when_nothing_more_can_come() {
    type Come = fn(&mut Inbox, &str);
    let ends: [(&str, Come); 4] = [
        ("all answers came", |inbox, question| {
            inbox.push(answer(question, 210, "busy"), Instant::now());
            inbox.push(answer(question, 212, "idle"), Instant::now());
        }),
        ("answers came that the kernel gave after the run", |inbox, question| {
            for number in 0..13 {
                inbox.push(answer(&format!("{question}{number}"), 215 + 3 * number, "busy"), Instant::now());
            }
            inbox.push(answer(question, 300, "idle"), Instant::now());
        }),
        ("the kernel went on", |inbox, _| {
            inbox.push(message("k_1_215", "k", "comm_msg", &json!({})), Instant::now());
        }),
        ("it took too long", |inbox, _| inbox.release()),
    ];
    for (end, come) in ends {
        let mut inbox = Inbox::new("ours");
        let question = flood(&mut inbox, 1..200);
        inbox.push(of_kernel(214, "status", &status("idle")), Instant::now());
        assert_eq!(passed(&mut inbox), [""; 0], "{end}");
        assert!(inbox.held.is_some(), "{end}");
        come(&mut inbox, &question);
        let lines = passed(&mut inbox);
        assert!(lines[0].contains("[Messages of the kernel are missing"), "{end}: {lines:?}");
        assert!(lines[1].starts_with("status"), "{end}: {lines:?}");
    }
}
