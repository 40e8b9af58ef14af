//! Gaps in the numbers of a kernel's messages.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

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
    let content = json!({ "execution_state": words.get(4) });
    let [header, parent, content] = [header, parent, content].map(|part| part.to_string().into());
    Message::read(channel, header, parent, content).unwrap()
}

const PRINT: &str = "iopub a execute stream";
const BUSY: &str = "iopub a execute status busy";
const IDLE: &str = "iopub a execute status idle";
const REPLY: &str = "shell a execute execute_reply";
/// A question of somebody's: its beginning, its reply, its end.
const QUESTION: (&str, &str, &str) = (
    "iopub other kernel_info status busy",
    "control other kernel_info kernel_info_reply",
    "iopub other kernel_info status idle",
);

/// What is told while messages come, the server's notice at `!`.
fn told(lines: &[(u64, &str)]) -> Vec<String> {
    let mut numbers = Numbers::default();
    let mut told = Vec::new();
    for &(number, line) in lines {
        let before = match line {
            "!" => numbers.doubt(Cause::Messages, "a".to_owned()),
            "cut" => numbers.cut(),
            _ => numbers.take(&message(number, line), "a").before,
        };
        told.extend(before.map(|message| {
            assert_eq!((message.parent.as_str(), message.kind.as_str()), ("a", "stream"));
            message.content.to_value()["text"].as_str().unwrap().to_owned()
        }));
    }
    told
}

#[test]
fn nothing_is_told_when_nothing_is_missing() {
    assert!(told(&[(1, BUSY), (2, PRINT), (3, REPLY), (4, IDLE)]).is_empty());
    // The reply overtakes what was published, or comes last.
    assert!(told(&[(1, BUSY), (3, REPLY), (2, PRINT), (4, IDLE)]).is_empty());
    assert!(told(&[(1, BUSY), (2, PRINT), (4, IDLE), (3, REPLY)]).is_empty());
    // Nothing is known of what came before us, or between two runs.
    assert!(told(&[(7, BUSY), (8, REPLY), (9, IDLE), (20, BUSY), (21, REPLY), (22, IDLE)]).is_empty());
}

#[test]
fn what_a_server_dropped_is_told_exactly() {
    let lines = told(&[(1, BUSY), (2, PRINT), (0, "!"), (2003, REPLY), (2004, IDLE)]);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("[2000 messages of the kernel are missing here: "), "{lines:?}");
    assert!(lines[0].contains("iopub_msg_rate_limit"), "{lines:?}");
    let one = told(&[(1, BUSY), (3, PRINT), (4, REPLY), (5, IDLE)]);
    assert!(one[0].starts_with("[1 message of the kernel is missing here: the kernel published"), "{one:?}");
    let cut = told(&[(1, BUSY), (0, "cut"), (4, PRINT), (5, REPLY), (6, IDLE)]);
    assert!(cut[0].starts_with("[2 messages") && cut[0].contains("was lost for a while"), "{cut:?}");
}

#[test]
fn two_stretches_of_one_cause_are_told_together() {
    let lines = [(1, BUSY), (0, "!"), (10, PRINT), (0, "!"), (30, PRINT), (31, REPLY), (32, IDLE)];
    assert!(told(&lines)[0].starts_with("[27 "));
    let told = told(&[(1, BUSY), (0, "!"), (10, PRINT), (0, "cut"), (30, PRINT), (31, REPLY), (32, IDLE)]);
    assert!(told[0].starts_with("[8 ") && told[1].starts_with("[19 "), "{told:?}");
}

#[test]
fn replies_that_overtake_belong_where_their_numbers_are() {
    let (busy, reply, idle) = QUESTION;
    let lines = [
        (1, BUSY),
        (7, reply),
        (0, "!"),
        (3, PRINT),
        (0, "cut"),
        (6, busy),
        (8, idle),
        (9, REPLY),
        (10, IDLE),
    ];
    let told = told(&lines);
    assert!(told[0].starts_with("[1 ") && told[1].starts_with("[2 "), "2, then 4 and 5: {told:?}");
}

#[test]
fn replies_after_a_run_are_none_of_it() {
    let (busy, reply, idle) = QUESTION;
    let one = [(1, BUSY), (2, PRINT), (6, reply), (3, REPLY), (4, IDLE), (5, busy), (7, idle)];
    let two = [(8, BUSY), (9, PRINT), (10, REPLY), (11, IDLE)];
    assert!(told(&[&one[..], &two[..]].concat()).is_empty());
}

#[test]
fn replies_to_others_are_not_missing() {
    let (busy, idle) = ("iopub other usage status busy", "iopub other usage status idle");
    assert!(told(&[(1, BUSY), (2, busy), (4, idle), (5, PRINT), (6, REPLY), (7, IDLE)]).is_empty());
    // Ours come, sooner or later.
    let (reply, shown) = ("control other interrupt interrupt_reply", "iopub other interrupt status idle");
    assert!(told(&[(1, BUSY), (3, shown), (2, reply), (4, REPLY), (5, IDLE)]).is_empty());
    assert!(told(&[(1, BUSY), (3, shown), (4, REPLY), (5, IDLE), (2, reply)]).is_empty());
}

#[test]
fn another_process_is_noticed() {
    let mut numbers = Numbers::default();
    assert!(!numbers.take(&message(9, BUSY), "").is_new_process);
    let header = br#"{"msg_id": "k-2_78_0", "session": "k-2", "msg_type": "status"}"#;
    let parts = [&header[..], b"{}", br#"{"execution_state": "starting"}"#].map(Bytes::from_static);
    let [header, parent, content] = parts;
    let started = Message::read(Channel::Iopub, header, parent, content).unwrap();
    assert!(numbers.take(&started, "").is_new_process);
    assert!(!numbers.take(&started, "").is_new_process);
}

#[test]
fn what_the_code_forked_off_is_not_counted() {
    let mut numbers = Numbers::default();
    numbers.take(&message(1, BUSY), "a");
    let header = br#"{"msg_id": "k-1_78_900", "session": "k-1", "msg_type": "stream"}"#;
    let [header, parent, content] = [&header[..], br#"{"msg_id": "a"}"#, b"{}"].map(Bytes::from_static);
    let forked = Message::read(Channel::Iopub, header, parent, content).unwrap();
    assert!(!numbers.take(&forked, "a").is_new_process);
    let told = numbers.take(&message(4, IDLE), "a").before.unwrap();
    // Of 2 and 3 one is the reply.
    assert!(told.content.as_str().contains("[1 message of"), "{told:?}");
}

#[test]
fn only_ids_with_a_number_count() {
    let number = |id: &str, session: &str| {
        let (msg_id, session) = (id.to_owned().into(), session.to_owned().into());
        Stamp { msg_id, session }.number().map(|(process, number)| (process.to_owned(), number))
    };
    assert_eq!(number("s_1_42", "s"), Some(("s_1".to_owned(), 42)));
    assert_eq!(number("s_42", "s"), Some(("s".to_owned(), 42)));
    for (id, session) in
        [("s_1_x", "s"), ("s-1", "s"), ("t_1_42", "s"), ("_42", ""), ("", ""), ("s_1_-3", "s")]
    {
        assert_eq!(number(id, session), None, "{id}");
    }
}

#[test]
fn the_servers_notices_are_known_and_no_others() {
    let notice = |name: &str, text: &str| {
        let content = json!({ "name": name, "text": text }).to_string();
        let header = Bytes::from_static(br#"{"msg_type": "stream"}"#);
        let parts = (header, Bytes::from_static(b"{}"), Bytes::from(content));
        Cause::of_notice(&Message::read(Channel::Iopub, parts.0, parts.1, parts.2).unwrap())
    };
    assert_eq!(notice("stderr", "IOPub message rate exceeded.\nThe Jupyter …"), Some(Cause::Messages));
    assert_eq!(notice("stderr", "IOPub data rate exceeded.\n"), Some(Cause::Bytes));
    assert_eq!(notice("stdout", "IOPub data rate exceeded.\n"), None);
    assert_eq!(notice("stderr", "my IOPub data rate exceeded.\n"), None);
}

proptest! {
    /// Whatever is dropped of a run, and however the reply travels, the count is right.
    #[test]
    fn the_count_is_exact(kept in proptest::collection::vec(any::<bool>(), 1..60), reply_at in 0..60_usize) {
        let mut numbers = Numbers::default();
        let total = kept.len() as u64;
        let mut lines: Vec<_> = (1..).zip(&kept).filter(|(_, kept)| **kept).map(|(n, _)| (n, PRINT)).collect();
        lines.insert(reply_at.min(lines.len()), (total + 1, REPLY));
        lines.push((total + 2, IDLE));
        prop_assert!(numbers.take(&message(0, BUSY), "a").before.is_none());
        let told = lines.iter().find_map(|&(number, line)| numbers.take(&message(number, line), "a").before);
        let text = told.map(|message| message.content.as_str().to_owned()).unwrap_or_default();
        let missing = kept.iter().filter(|kept| !**kept).count();
        let expected = format!("[{missing} message");
        prop_assert!(if missing == 0 { text.is_empty() } else { text.contains(&expected) }, "{missing}: {text}");
    }
}
