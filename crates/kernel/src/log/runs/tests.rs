use serde_json::Value;

use super::*;

const LIMIT: u64 = 100;

fn runs() -> Runs {
    let mut runs = Runs::default();
    for (run, message, offset, owner) in [("r1", "m1", 10, 1), ("r2", "m2", 20, 2)] {
        let announcement = Announcement { run: run.into(), message: Some(message.into()), data: Value::Null };
        runs.announce(announcement, offset, Some(owner), SystemTime::UNIX_EPOCH);
    }
    runs
}

fn peek(kind: &str, parent: &str, state: Option<&str>) -> Peek {
    let state = state.map(str::to_owned);
    Peek { id: String::new(), kind: kind.to_owned(), parent: parent.to_owned(), state }
}

fn finish(runs: &mut Runs, message: &str) {
    runs.received(Channel::Shell, &peek("execute_reply", message, None), 1, LIMIT);
    runs.received(Channel::Iopub, &peek("status", message, Some("idle")), 1, LIMIT);
}

/// The names of the runs that a client adopts, and where the first begins.
fn adopt(runs: &mut Runs, client: ClientId) -> (Vec<String>, Option<u64>) {
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
    runs.received(Channel::Iopub, &peek("status", "m1", Some("busy")), 1, LIMIT);
    runs.received(Channel::Shell, &peek("execute_reply", "m1", None), 1, LIMIT);
    finish(&mut runs, "m2");
    assert!(runs.is_running(), "m1 is not idle");
    finish(&mut runs, "m1");
    assert!(!runs.is_running());
    assert!(runs.to_settle().is_empty(), "all have owners");
    runs.client_gone(1);
    assert_eq!(runs.to_settle(), [&RunId::from("r1")]);
    assert!(runs.store(&"r1".into()) && !runs.store(&"r1".into()));
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
    runs.ended("m2");
    assert!(runs.unrequested(2).is_empty());
}

#[test]
fn nothing_is_settled_while_an_orphan_runs() {
    let mut runs = runs();
    runs.client_gone(1);
    runs.client_gone(2);
    finish(&mut runs, "m1");
    assert!(runs.to_settle().is_empty());
    runs.kernel_ended();
    assert_eq!(runs.to_settle(), [&RunId::from("r1"), &"r2".into()]);
    assert!(!runs.is_running());
}

#[test]
fn what_was_acknowledged_is_shown_until_newer_runs_need_its_place() {
    let mut runs = runs();
    assert!(runs.acknowledge(&"r1".into()) && !runs.acknowledge(&"r1".into()));
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
    assert!(runs.acknowledge(&"r2".into()) && !runs.has_unread());
    for number in 0..HISTORY {
        let run = RunId::from(format!("later {number}"));
        let announcement = Announcement { run: run.clone(), message: None, data: Value::Null };
        runs.announce(announcement, 100, None, SystemTime::UNIX_EPOCH);
        runs.acknowledge(&run);
    }
    runs.forget(200);
    assert_eq!((adopt(&mut runs, 5).0.len(), runs.oldest()), (HISTORY, Some(100)));
}

#[test]
fn a_run_whose_request_was_never_sent_is_no_running_one() {
    let mut runs = Runs::default();
    let announcement = |message: Option<&str>| Announcement {
        run: "r1".into(),
        message: message.map(Into::into),
        data: Value::Null,
    };
    runs.announce(announcement(None), 5, Some(1), SystemTime::UNIX_EPOCH);
    assert!(!runs.is_running());
    runs.announce(announcement(Some("m")), 50, Some(1), SystemTime::UNIX_EPOCH);
    assert!(runs.is_running());
    runs.announce(announcement(None), 60, Some(1), SystemTime::UNIX_EPOCH);
    assert!(runs.is_running(), "a late announcement changes nothing");
    assert_eq!(runs.oldest(), Some(5));
}

#[test]
fn outputs_beyond_the_limit_are_cut_and_nothing_else() {
    let mut runs = runs();
    let stream = peek("stream", "m1", None);
    assert_eq!(runs.received(Channel::Iopub, &stream, 90, LIMIT), LogDecision::Keep);
    assert_eq!(runs.received(Channel::Iopub, &stream, 90, LIMIT), LogDecision::CutFromHere);
    assert_eq!(runs.received(Channel::Iopub, &stream, 1, LIMIT), LogDecision::Drop);
    for (channel, kind) in [(Channel::Shell, "execute_reply"), (Channel::Iopub, "error")] {
        assert_eq!(runs.received(channel, &peek(kind, "m1", None), 90, LIMIT), LogDecision::Keep);
    }
    let error = peek("error", "m1", None);
    assert_eq!(runs.received(Channel::Iopub, &error, 90, LIMIT), LogDecision::Drop, "many tracebacks");
    assert_eq!(runs.received(Channel::Iopub, &peek("stream", "m2", None), 90, LIMIT), LogDecision::Keep);
    assert_eq!(runs.received(Channel::Iopub, &peek("stream", "x", None), 900, LIMIT), LogDecision::Keep);
    assert_eq!(runs.received(Channel::Iopub, &peek("stream", "x", None), 1, 0), LogDecision::Drop);
    assert_eq!(runs.received(Channel::Iopub, &peek("status", "x", None), 1, 0), LogDecision::Keep);
}

#[test]
fn displays_results_and_messages_of_widgets_count_as_text_does() {
    let widgets = ["comm_open", "comm_msg", "comm_close", "data_pub"];
    for kind in ["display_data", "update_display_data", "execute_result"].into_iter().chain(widgets) {
        let mut runs = runs();
        let output = peek(kind, "m1", None);
        let decided = [90, 90, 1].map(|bytes| runs.received(Channel::Iopub, &output, bytes, LIMIT));
        assert_eq!(decided, [LogDecision::Keep, LogDecision::CutFromHere, LogDecision::Drop], "{kind}");
    }
}
