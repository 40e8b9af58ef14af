use kernel::{LossCause, Outcome};
use notebook::Output;

use super::record::{INTERRUPTED, LATE_OUTPUT};
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
fn idle_without_a_reply_means_interrupted() {
    let run = run();
    run.on_event(Event::Finished(Outcome::Interrupted));
    let view = run.view();
    assert_eq!(view.state, RunState::Interrupted);
    assert!(view.notes[0].contains("went idle without replying"), "{:?}", view.notes);
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
