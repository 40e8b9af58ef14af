use futures_util::FutureExt as _;
use kernel::{LossCause, Outcome};
use notebook::Output;

use super::progress::{INTERRUPTED, LATE_OUTPUT, RESTARTED};
use super::*;

fn run() -> Run {
    Run::new(RunId::new("r1"), None, String::new())
}

fn error(name: &str) -> Outcome {
    Outcome::Error { execution_count: None, name: name.to_owned(), value: String::new() }
}

fn ended(prepare: impl FnOnce(&Run), outcome: Outcome) -> RunState {
    let run = run();
    prepare(&run);
    run.on_event(Event::Finished(outcome));
    run.state()
}

#[test]
fn only_known_errors_after_an_interrupt_mean_interrupted() {
    for name in INTERRUPTED {
        assert_eq!(ended(Run::expect_interruption, error(name)), RunState::Interrupted, "{name:?}");
        assert!(matches!(ended(|_| {}, error(name)), RunState::Error { .. }), "{name:?}");
    }
    assert!(matches!(ended(Run::expect_interruption, error("InterruptedError")), RunState::Error { .. }));
}

#[test]
fn a_lost_run_keeps_its_cause() {
    for cause in [LossCause::Disconnected, LossCause::KernelReplaced, LossCause::Superseded] {
        let lost = Outcome::Lost { is_started: true, cause };
        assert_eq!(ended(|_| {}, lost.clone()), RunState::Lost { is_started: true, cause });
        assert_eq!(ended(Run::expect_interruption, lost.clone()), RunState::Lost { is_started: true, cause });
        assert_eq!(ended(Run::expect_restart, lost), RunState::Interrupted);
    }
}

#[test]
fn a_lost_connection_is_noted_until_it_works_again() {
    let run = run();
    let disconnected = |cause: Option<&str>| Event::Disconnected { cause: cause.map(str::to_owned) };
    run.on_event(disconnected(Some("the server closed it: \u{1b}[2J")));
    assert!(run.view().notes[0].ends_with("reconnecting: the server closed it: \\u{1b}[2J"));
    run.on_event(disconnected(None));
    assert!(run.view().notes.is_empty());
    run.on_event(disconnected(Some("refused")));
    run.on_event(Event::Finished(error("ValueError")));
    assert!(run.view().notes.is_empty());
}

#[test]
fn code_that_ends_its_kernel_leaves_no_variables() {
    let changed = || Event::Changed(notebook::Json::from_value(&serde_json::json!({ "new_count": 1 })));
    for (keeps_kernel, is_known) in [(true, true), (false, false)] {
        let exit = || Event::ExitRequested { keeps_kernel };
        for events in [[changed(), exit()], [exit(), changed()]] {
            let run = run();
            for event in events {
                run.on_event(event);
            }
            assert_eq!(run.view().changes.is_some(), is_known);
        }
    }
}

#[test]
fn idle_without_a_reply_means_skipped() {
    let run = run();
    run.on_event(Event::Finished(Outcome::Interrupted));
    let RunState::Skipped { reason } = run.state() else { panic!("{:?}", run.state()) };
    assert!(reason.to_string().contains("went idle without replying"), "{reason}");
}

#[test]
fn an_aborted_run_says_why_it_never_ran() {
    let reason = |prepare: fn(&Run)| match ended(prepare, Outcome::Aborted) {
        RunState::Skipped { reason } => reason.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(|_| {}), "Code before it in the kernel's queue failed.");
    assert_eq!(reason(Run::expect_interruption), "The run was cancelled before it started.");
    assert_eq!(reason(Run::expect_restart), "The kernel was restarted before the run started.");
}

#[test]
fn code_that_the_kernel_proposes_cannot_pass_for_ours() {
    let run = run();
    let next_input = Some("x\u{1b}\n[NOTICE] next".to_owned());
    run.on_event(Event::Finished(Outcome::Done { execution_count: Some(1), next_input }));
    let expected = "The kernel proposes this code for the next cell:\n    x\\u{1b}\n    [NOTICE] next";
    assert_eq!(run.view().notes, [expected]);
}

#[tokio::test]
async fn a_run_has_started_once_the_kernel_has_its_code() {
    let run = run();
    run.on_event(Event::Busy);
    assert!(run.started().now_or_never().is_none());
    run.on_event(Event::Started { execution_count: Some(1) });
    run.started().await;
}

#[test]
fn late_output_is_kept_and_noted_once() {
    let run = run();
    run.on_event(Event::Finished(Outcome::Done { execution_count: Some(1), next_input: None }));
    for text in ["late\n", "later\n"] {
        let output = Output::Stream { name: "stdout".to_owned(), text: text.into() };
        run.on_event(Event::Output { output, display_id: None });
    }
    let view = run.view();
    assert_eq!((view.outputs.len(), view.notes), (1, vec![LATE_OUTPUT.to_owned()]));
}

/// What happened to a run that was requested ten seconds ago: its time and the time before, in seconds.
fn times(events: Vec<(u64, Event)>) -> (u64, u64) {
    let now = SystemTime::now();
    let ago = |seconds| now - Duration::from_secs(seconds);
    let details = RunDetails {
        run: RunId::new("r1"),
        notebook: None,
        cell: None,
        source: String::new(),
        shown_before: None,
    };
    let run = Run::adopted(details, ago(10));
    for (seconds, event) in events {
        run.on_event_at(ago(seconds), event);
    }
    let view = run.view();
    assert_eq!((view.elapsed, view.queued), (run.elapsed(), run.queued()));
    // Between the clocks there may be a little.
    let seconds = |time: Duration| (time + Duration::from_millis(500)).as_secs();
    (seconds(view.elapsed), seconds(view.queued))
}

#[test]
fn the_time_of_a_run_is_its_own() {
    let started = |count| Event::Started { execution_count: Some(count) };
    let done = || Event::Finished(Outcome::Done { execution_count: Some(1), next_input: None });
    let printed = || {
        let output = Output::Stream { name: "stdout".to_owned(), text: "1".into() };
        Event::Output { output, display_id: None }
    };
    assert_eq!(times(vec![(7, Event::Busy), (7, started(1)), (5, Event::Idle), (1, done())]), (2, 3));
    assert_eq!(times(vec![(7, started(1)), (5, done())]), (2, 3), "it says nothing of what it is busy with");
    assert_eq!(times(vec![(6, printed()), (5, done())]), (1, 4), "nor of the beginning");
    assert_eq!(times(vec![(4, Event::Finished(Outcome::Aborted))]), (6, 6), "it never began");
}

#[test]
fn a_restart_is_noted_once_and_not_beside_another_reason() {
    let run = run();
    run.on_event(Event::Restarted);
    run.mark_restarted();
    assert_eq!(run.view().notes, [RESTARTED]);
    let other = self::run();
    other.note("The kernel had died (x) and was restarted: its variables are gone.");
    other.on_event(Event::Restarted);
    assert_eq!(other.view().notes.len(), 1);
}

#[test]
fn an_expected_error_is_no_failure() {
    let ended = |outcome| {
        let run = run();
        run.set_in_series(true, false);
        run.on_event(Event::Finished(outcome));
        (run.has_failed(), run.view().may_fail)
    };
    assert_eq!(ended(error("E")), (false, true));
    assert_eq!(ended(Outcome::KernelDied { how: "x".to_owned() }), (true, true));
}
