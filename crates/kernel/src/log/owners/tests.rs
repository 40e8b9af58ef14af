use serde_json::{Value, json};

use super::*;
use crate::log::LogEvent;
use crate::log::runs::tests::message;

const LIMIT: u64 = 100;

fn runs() -> RunsInLog {
    let mut runs = RunsInLog::default();
    for (run, message, offset, owner) in [("r1", "m1", 10, 1), ("r2", "m2", 20, 2)] {
        let announcement = Announcement { run: run.into(), message: Some(message.into()), data: Value::Null };
        runs.announced(announcement, offset, owner);
    }
    runs
}

fn read(runs: &mut RunsInLog, record: &LogRecord) {
    runs.read(SystemTime::UNIX_EPOCH, 100, record);
}

/// Whether the record is news.
fn tell(runs: &mut RunsInLog, record: &LogRecord) -> bool {
    let is_news = runs.is_news(record);
    read(runs, record);
    is_news
}

fn acknowledged(run: &str) -> LogRecord {
    LogRecord::Acknowledged { run: run.into() }
}

fn is_running(runs: &RunsInLog) -> bool {
    runs.all().iter().any(LoggedRun::is_running)
}

fn peek(kind: &str, parent: &str, state: Option<&str>) -> Peek {
    let state = state.map(str::to_owned);
    Peek { id: String::new(), kind: kind.to_owned(), parent: parent.to_owned(), state }
}

fn finish(runs: &mut RunsInLog, request: &str) {
    read(runs, &message(Channel::Shell, "execute_reply", request, &json!({})));
    read(runs, &message(Channel::Iopub, "status", request, &json!({ "execution_state": "idle" })));
}

/// The names of the runs that a client adopts, and where the first begins.
fn adopt(runs: &mut RunsInLog, client: ClientId) -> (Vec<String>, Option<u64>) {
    let (adopted, from) = runs.adopt(client);
    (adopted.into_iter().map(|run| run.announcement.run.to_string()).collect(), from)
}

#[test]
fn only_runs_of_clients_that_are_gone_are_adopted_and_by_one_client() {
    let mut runs = runs();
    let nothing = (Vec::new(), None);
    assert_eq!(adopt(&mut runs, 3), nothing);
    assert!(runs.client_gone(1) && !runs.client_gone(1) && !runs.client_gone(77));
    assert_eq!(runs.orphans(), 1);
    assert_eq!(adopt(&mut runs, 3), (vec!["r1".to_owned()], Some(10)));
    assert_eq!(adopt(&mut runs, 4), nothing);
    assert!(runs.client_gone(3), "the one that adopted it has gone, too");
    assert_eq!(adopt(&mut runs, 4).0, ["r1"]);
}

#[test]
fn a_run_is_over_after_its_reply_and_idle() {
    let mut runs = runs();
    read(&mut runs, &message(Channel::Shell, "execute_reply", "m1", &json!({})));
    finish(&mut runs, "m2");
    assert!(is_running(&runs), "m1 is not idle");
    finish(&mut runs, "m1");
    assert!(!is_running(&runs));
    assert!(runs.to_settle().is_empty(), "all have owners");
    runs.client_gone(1);
    assert_eq!(runs.to_settle(), [&RunId::from("r1")]);
    let stored = LogRecord::Stored { run: "r1".into() };
    assert!(tell(&mut runs, &stored));
    assert!(!tell(&mut runs, &stored));
    assert!(runs.to_settle().is_empty());
    let (adopted, _) = runs.adopt(3);
    assert!(adopted[0].is_stored && !adopted[0].is_acknowledged);
}

#[test]
fn a_request_that_its_client_had_no_time_to_send_is_known() {
    let mut runs = runs();
    runs.requested("m1");
    runs.requested("other");
    assert!(runs.unrequested(1).is_empty());
    assert_eq!(runs.unrequested(2), ["m2"]);
    read(&mut runs, &LogRecord::Event(LogEvent::Ended { message: "m2".into() }));
    assert!(runs.unrequested(2).is_empty());
}

#[test]
fn nothing_is_settled_while_an_orphan_runs() {
    let mut runs = runs();
    runs.client_gone(1);
    runs.client_gone(2);
    finish(&mut runs, "m1");
    assert!(runs.to_settle().is_empty());
    read(&mut runs, &LogRecord::Event(LogEvent::Restarting));
    assert_eq!(runs.to_settle(), [&RunId::from("r1"), &"r2".into()]);
    assert!(!is_running(&runs));
}

#[test]
fn what_was_acknowledged_is_shown_until_newer_runs_need_its_place() {
    let mut runs = runs();
    assert!(tell(&mut runs, &acknowledged("r1")));
    assert!(!tell(&mut runs, &acknowledged("r1")));
    assert!(!runs.client_gone(1), "nothing is left to do");
    assert_eq!((runs.orphans(), runs.has_unread()), (0, true));
    for client in [3, 4] {
        let (adopted, from) = runs.adopt(client);
        assert_eq!((&*adopted[0].announcement.run, adopted.len(), from), ("r1", 1, Some(10)));
        assert!(adopted[0].is_acknowledged);
    }
    runs.forget(HISTORY_BYTES);
    assert_eq!(runs.oldest(), Some(10));
    runs.forget(HISTORY_BYTES + 50);
    assert_eq!(runs.oldest(), Some(20), "it was not acknowledged");
    assert!(tell(&mut runs, &acknowledged("r2")));
    assert!(!runs.has_unread());
    for number in 0..HISTORY {
        let run = RunId::from(format!("later {number}"));
        let announcement = Announcement { run: run.clone(), message: None, data: Value::Null };
        read(&mut runs, &LogRecord::Announced(announcement));
        read(&mut runs, &LogRecord::Acknowledged { run });
    }
    runs.forget(200);
    assert_eq!((adopt(&mut runs, 5).0.len(), runs.oldest()), (HISTORY, Some(100)));
}

#[test]
fn a_run_whose_request_was_never_sent_is_no_running_one() {
    let mut runs = RunsInLog::default();
    let announcement = |message: Option<&str>| Announcement {
        run: "r1".into(),
        message: message.map(Into::into),
        data: Value::Null,
    };
    runs.announced(announcement(None), 5, 1);
    assert!(!is_running(&runs));
    runs.announced(announcement(Some("m")), 50, 1);
    assert!(is_running(&runs));
    runs.announced(announcement(None), 60, 1);
    assert!(is_running(&runs), "a late announcement changes nothing");
    assert_eq!(runs.oldest(), Some(5));
}

#[test]
fn outputs_beyond_the_limit_are_cut_and_nothing_else() {
    let mut runs = runs();
    let stream = peek("stream", "m1", None);
    assert_eq!(runs.decide(Channel::Iopub, &stream, 90, LIMIT), LogDecision::Keep);
    assert_eq!(runs.decide(Channel::Iopub, &stream, 90, LIMIT), LogDecision::CutFromHere);
    assert_eq!(runs.decide(Channel::Iopub, &stream, 1, LIMIT), LogDecision::Drop);
    for (channel, kind) in [(Channel::Shell, "execute_reply"), (Channel::Iopub, "error")] {
        assert_eq!(runs.decide(channel, &peek(kind, "m1", None), 90, LIMIT), LogDecision::Keep);
    }
    let error = peek("error", "m1", None);
    assert_eq!(runs.decide(Channel::Iopub, &error, 90, LIMIT), LogDecision::Drop, "many tracebacks");
    assert_eq!(runs.decide(Channel::Iopub, &peek("stream", "m2", None), 90, LIMIT), LogDecision::Keep);
    assert_eq!(runs.decide(Channel::Iopub, &peek("stream", "x", None), 900, LIMIT), LogDecision::Keep);
    assert_eq!(runs.decide(Channel::Iopub, &peek("stream", "x", None), 1, 0), LogDecision::Drop);
    assert_eq!(runs.decide(Channel::Iopub, &peek("status", "x", None), 1, 0), LogDecision::Keep);
}

#[test]
fn displays_results_and_messages_of_widgets_count_as_text_does() {
    let widgets = ["comm_open", "comm_msg", "comm_close", "data_pub"];
    for kind in ["display_data", "update_display_data", "execute_result"].into_iter().chain(widgets) {
        let mut runs = runs();
        let output = peek(kind, "m1", None);
        let decided = [90, 90, 1].map(|bytes| runs.decide(Channel::Iopub, &output, bytes, LIMIT));
        assert_eq!(decided, [LogDecision::Keep, LogDecision::CutFromHere, LogDecision::Drop], "{kind}");
    }
}
