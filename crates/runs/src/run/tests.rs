use futures_util::FutureExt as _;
use kernel::{LossCause, Outcome};
use notebook::Output;

use super::progress::{LATE_OUTPUT, RESTARTED};
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
fn the_errors_of_interrupts_mean_interrupted_whoever_requested_it() {
    for name in ["KeyboardInterrupt", "InterruptException", "InterruptedException", "Interrupt", "interrupt"]
    {
        for prepare in [Run::expect_interruption, |_: &Run| {}] {
            assert_eq!(ended(prepare, error(name)), RunState::Interrupted, "{name:?}");
        }
    }
    // Kernels that give no name give none to any error.
    assert_eq!(ended(Run::expect_interruption, error("")), RunState::Interrupted);
    assert!(matches!(ended(|_| {}, error("")), RunState::Error { .. }));
    assert!(matches!(ended(Run::expect_interruption, error("InterruptedError")), RunState::Error { .. }));
}

#[test]
fn a_lost_run_keeps_its_cause() {
    for cause in
        [LossCause::Disconnected { cause: String::new() }, LossCause::KernelReplaced, LossCause::Superseded]
    {
        let lost = Outcome::Lost { is_started: true, cause: cause.clone() };
        let state = RunState::Lost { is_started: true, cause };
        assert_eq!(ended(|_| {}, lost.clone()), state);
        assert_eq!(ended(Run::expect_interruption, lost.clone()), state);
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
fn a_kernel_that_was_asked_to_exit_has_lost_its_variables_only_if_it_was_seen_to_end() {
    let changed = || Event::Changed(notebook::Json::from_value(&serde_json::json!({ "new_count": 1 })));
    for (has_ended, note) in [(true, "its variables are gone"), (false, "its variables are there")] {
        let run = run();
        run.on_event(Event::ExitRequested { keeps_kernel: false });
        run.on_event(changed());
        assert_eq!(run.view().notes, [""; 0]);
        run.exited(has_ended);
        let view = run.view();
        assert_eq!(view.changes.is_some(), !has_ended);
        assert!(
            view.notes[0].contains(note) || view.notes[0].contains("variables are there"),
            "{:?}",
            view.notes
        );
    }
}

#[test]
fn a_run_that_its_kernel_has_and_does_not_work_on_is_queued() {
    struct Sent;
    impl Execution for Sent {}
    let run = run();
    assert!(!run.is_sent());
    run.executing(Arc::new(Sent));
    assert_eq!((run.state(), run.is_sent()), (RunState::Queued, true));
    run.on_event(Event::Busy);
    assert_eq!(run.state(), RunState::Running);
}

#[test]
fn what_a_widget_of_another_cell_takes_is_shown_last_and_not_in_the_cell() {
    let run = run();
    let print = |text: &str| Event::Output {
        output: Output::Stream { name: "stdout".to_owned(), text: text.into() },
        display_id: None,
    };
    for event in [Event::Captured(Some("w".to_owned())), print("inside"), Event::Captured(None), print("own")]
    {
        run.on_event(event);
    }
    assert_eq!((run.view().outputs.len(), run.cell_outputs().len()), (2, 1));
    assert_eq!(run.captured_by(), (vec!["w".to_owned()], true));
}

#[test]
fn the_times_of_a_run_are_those_of_jupyterlab() {
    let run = run();
    assert_eq!(run.times(), serde_json::json!({}));
    let done = Outcome::Done { execution_count: Some(1), next_input: None };
    for event in
        [Event::Busy, Event::Started { execution_count: Some(1) }, Event::Idle, Event::Finished(done)]
    {
        run.on_event(event);
    }
    let times = run.times();
    for name in ["iopub.status.busy", "iopub.execute_input", "shell.execute_reply", "iopub.status.idle"] {
        let time = times[name].as_str().unwrap();
        assert!(DateTime::parse_from_rfc3339(time).is_ok() && time.ends_with('Z'), "{time}");
    }
}

#[test]
fn idle_without_a_reply_means_skipped() {
    let run = run();
    run.on_event(Event::Finished(Outcome::Interrupted { is_started: false }));
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
    let details = RunDetails { run: RunId::new("r1"), ..RunDetails::default() };
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
    other.note_restart("The kernel had died (x) and was restarted: its variables are gone.");
    other.on_event(Event::Restarted);
    assert_eq!(other.view().notes.len(), 1);
}

#[test]
fn an_expected_error_is_no_failure() {
    let ended = |outcome| {
        let run = run();
        run.with(|it| it.may_fail = true);
        run.on_event(Event::Finished(outcome));
        (run.has_failed(), run.view().may_fail)
    };
    assert_eq!(ended(error("E")), (false, true));
    assert_eq!(ended(Outcome::KernelDied { how: "x".into() }), (true, true));
}

#[test]
fn a_notice_is_one_line_whatever_the_names_in_it_are() {
    let run = run();
    run.add_notices(vec!["Stopped the idle kernel of a\n[COMPLETED]\u{1b}.ipynb.".to_owned()]);
    assert_eq!(run.view().notices, ["Stopped the idle kernel of a\\n[COMPLETED]\\u{1b}.ipynb."]);
}
