//! Gaps in the numbers of a kernel's messages.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::messages::Header;

/// A message as `jupyter_client` numbers them. `line`: channel, parent, kind of the parent, kind, state or nothing.
fn message(number: u64, line: &str) -> Message {
    let words: Vec<_> = line.split(' ').collect();
    let channel = match words[0] {
        "iopub" => Channel::Iopub,
        "shell" => Channel::Shell,
        "control" => Channel::Control,
        other => panic!("no channel: {other}"),
    };
    let header = json!({ "msg_id": format!("k-1_77_{number}"), "session": "k-1", "msg_type": words[3] });
    let parent = json!({ "msg_id": words[1], "msg_type": format!("{}_request", words[2]) });
    let content = json!({ "execution_state": words.get(4), "ename": words.get(4) });
    let [header, parent, content] = [header, parent, content].map(|part| part.to_string().into());
    Message::read(channel, header, parent, content).unwrap()
}

const PRINT: &str = "iopub a execute stream";
const BUSY: &str = "iopub a execute status busy";
const IDLE: &str = "iopub a execute status idle";
const REPLY: &str = "shell a execute execute_reply";
/// A request of another client: its busy, its reply, its idle.
const QUESTION: (&str, &str, &str) = (
    "iopub other kernel_info status busy",
    "control other kernel_info kernel_info_reply",
    "iopub other kernel_info status idle",
);

/// The reports while messages come; the connection is cut at `cut`.
fn reports(lines: &[(u64, &str)]) -> Vec<String> {
    let mut sequence = Sequence::default();
    sequence.requested("a");
    let mut reports = Vec::new();
    for &(number, line) in lines {
        if line == "cut" {
            sequence.cut();
            continue;
        }
        let observed = sequence.observe(&message(number, line));
        reports.extend(observed.notice.map(|message| {
            assert_eq!((message.parent.id.as_str(), message.header.kind.as_str()), ("a", "stream"));
            message.content.to_value()["text"].as_str().unwrap().to_owned()
        }));
    }
    reports
}

#[test]
fn nothing_is_reported_if_nothing_is_missing() {
    let (busy, reply, idle) = QUESTION;
    let shutdown = "iopub other shutdown status busy";
    let interrupt = "iopub a execute error KeyboardInterrupt";
    for lines in [
        &[(1, BUSY), (2, PRINT), (3, REPLY), (4, IDLE)][..],
        // The reply overtakes what was published, or comes last.
        &[(1, BUSY), (3, REPLY), (2, PRINT), (4, IDLE)],
        &[(3, REPLY), (1, BUSY), (2, PRINT), (4, IDLE)],
        &[(1, BUSY), (2, PRINT), (4, IDLE), (3, REPLY)],
        // Messages before the first, or between two runs, do not matter.
        &[(7, BUSY), (8, REPLY), (9, IDLE), (20, BUSY), (21, REPLY), (22, IDLE)],
        // The reply to another request comes, early or late, or goes to another client.
        &[(1, BUSY), (3, reply), (2, busy), (4, idle), (5, PRINT), (6, REPLY), (7, IDLE)],
        &[(1, BUSY), (2, busy), (4, idle), (5, PRINT), (6, REPLY), (7, IDLE), (3, reply)],
        &[(1, BUSY), (2, busy), (4, idle), (5, PRINT), (6, REPLY), (7, IDLE)],
        // Another request is handled in another thread, across the end of the run.
        &[(1, BUSY), (2, PRINT), (6, reply), (3, REPLY), (4, IDLE), (5, busy), (7, idle)],
        &[(1, BUSY), (2, busy), (3, REPLY), (5, IDLE), (4, reply), (6, idle)],
        // The kernel ends, and another thread has numbered messages that do not come.
        &[(1, BUSY), (2, shutdown), (5, PRINT), (6, REPLY), (7, IDLE)],
        &[(1, BUSY), (5, interrupt), (6, REPLY), (7, IDLE), (2, shutdown)],
    ] {
        assert_eq!(reports(lines), [""; 0], "{lines:?}");
    }
}

#[test]
fn what_is_missing_is_reported_with_its_cause() {
    let slow = reports(&[(1, BUSY), (3, PRINT), (4, REPLY), (5, IDLE)]);
    assert!(slow[0].contains("published faster than its messages were read"), "{slow:?}");
    let cut = reports(&[(1, BUSY), (0, "cut"), (4, PRINT), (5, REPLY), (6, IDLE)]);
    assert!(cut[0].contains("was interrupted"), "{cut:?}");
}

#[test]
fn a_run_that_began_while_the_connection_was_cut_has_lost_what_it_published_until_then() {
    let cut = (0, "cut");
    let input = "iopub a execute execute_input";
    let other = "iopub b execute stream";
    for (lines, lost) in [
        (&[cut, (9, PRINT), (10, REPLY), (11, IDLE)][..], 1),
        // The run of another client was seen to begin, and not to end.
        (&[(1, "iopub b execute status busy"), cut, (9, PRINT), (10, PRINT), (12, IDLE)], 1),
        (&[cut, (2, other), (9, PRINT)], 1),
        (&[cut, (9, BUSY), (10, PRINT), (11, REPLY), (12, IDLE)], 0),
        (&[cut, (9, input), (10, PRINT), (11, REPLY), (12, IDLE)], 0),
        (&[(1, BUSY), cut, (2, PRINT), (3, REPLY), (4, IDLE)], 0),
        // What a thread of an earlier run prints, later.
        (&[(1, BUSY), (2, REPLY), (3, IDLE), cut, (9, PRINT)], 0),
    ] {
        assert_eq!(reports(lines).len(), lost, "{lines:?}");
    }
}

#[test]
fn on_a_direct_connection_only_runs_longer_than_the_queue_can_lose_messages() {
    let reports_of = |last: u64| {
        let mut sequence = Sequence::of_direct_connection();
        sequence.observe(&message(1, BUSY));
        // Number 2 is missing.
        for number in 3..last {
            assert!(sequence.observe(&message(number, PRINT)).notice.is_none());
        }
        sequence.observe(&message(last, REPLY));
        sequence.observe(&message(last + 1, IDLE)).notice
    };
    assert!(reports_of(500).is_none());
    assert!(reports_of(2000).is_some());
}

#[test]
fn a_run_whose_idle_is_missing_is_reported_at_the_next_request() {
    let mut sequence = Sequence::default();
    sequence.observe(&message(1, BUSY));
    sequence.observe(&message(2, REPLY));
    sequence.requested("b");
    let next = sequence.observe(&message(4, "iopub b execute status busy"));
    assert_eq!(next.notice.unwrap().parent.id, "a");
}

#[test]
fn a_new_process_is_noticed() {
    let mut sequence = Sequence::default();
    assert!(!sequence.observe(&message(9, BUSY)).is_new_process);
    let header = br#"{"msg_id": "k-2_78_0", "session": "k-2", "msg_type": "status"}"#;
    let parts = [&header[..], b"{}", br#"{"execution_state": "starting"}"#].map(Bytes::from_static);
    let [header, parent, content] = parts;
    let started = Message::read(Channel::Iopub, header, parent, content).unwrap();
    assert!(sequence.observe(&started).is_new_process);
    assert!(!sequence.observe(&started).is_new_process);
}

#[test]
fn messages_of_a_forked_process_are_not_counted() {
    let mut sequence = Sequence::default();
    sequence.observe(&message(1, BUSY));
    let header = br#"{"msg_id": "k-1_78_900", "session": "k-1", "msg_type": "stream"}"#;
    let [header, parent, content] = [&header[..], br#"{"msg_id": "a"}"#, b"{}"].map(Bytes::from_static);
    let forked = Message::read(Channel::Iopub, header, parent, content).unwrap();
    assert!(!sequence.observe(&forked).is_new_process);
    assert!(sequence.observe(&message(3, IDLE)).notice.is_none());
}

#[test]
fn only_ids_that_end_in_a_number_are_numbered() {
    let sequence = |id: &str, session: &str| {
        let header = Header { id: id.to_owned(), session: session.to_owned(), kind: String::new() };
        header.sequence().map(|(process, number)| (process.to_owned(), number))
    };
    assert_eq!(sequence("s_1_42", "s"), Some(("s_1".to_owned(), 42)));
    assert_eq!(sequence("s_42", "s"), Some(("s".to_owned(), 42)));
    for (id, session) in
        [("s_1_x", "s"), ("s-1", "s"), ("t_1_42", "s"), ("_42", ""), ("", ""), ("s_1_-3", "s")]
    {
        assert_eq!(sequence(id, session), None, "{id}");
    }
}

#[test]
fn only_the_servers_notices_are_recognised() {
    let notice = |name: &str, text: &str| {
        let content = json!({ "name": name, "text": text }).to_string();
        let header = Bytes::from_static(br#"{"msg_type": "stream"}"#);
        let parts = (header, Bytes::from_static(b"{}"), Bytes::from(content));
        GapCause::of_notice(&Message::read(Channel::Iopub, parts.0, parts.1, parts.2).unwrap())
    };
    assert_eq!(notice("stderr", "IOPub message rate exceeded.\nThe Jupyter …"), Some(GapCause::MessageRate));
    assert_eq!(notice("stderr", "IOPub data rate exceeded.\n"), Some(GapCause::DataRate));
    assert_eq!(notice("stdout", "IOPub data rate exceeded.\n"), None);
    assert_eq!(notice("stderr", "my IOPub data rate exceeded.\n"), None);
}

proptest! {
    /// Whatever is dropped of a run, and however its reply travels, a loss is reported if and only if there is one.
    #[test]
    fn every_loss_is_reported(kept in proptest::collection::vec(any::<bool>(), 1..60), reply_at in 0..60_usize) {
        let total = kept.len() as u64;
        let mut lines: Vec<_> = (1..).zip(&kept).filter(|(_, kept)| **kept).map(|(n, _)| (n, PRINT)).collect();
        lines.insert(reply_at.min(lines.len()), (total + 1, REPLY));
        lines.insert(0, (0, BUSY));
        lines.push((total + 2, IDLE));
        prop_assert_eq!(reports(&lines).is_empty(), kept.iter().all(|kept| *kept));
    }
}
