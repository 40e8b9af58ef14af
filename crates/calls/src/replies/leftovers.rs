//! What earlier servers have left, in the first reply of this one.

use notebook::one_line;
use place::{KernelState, LeftoverKernel, LeftoverRun, Leftovers, RunDetails, sentence};

use crate::replies::time;

/// What a reply does not say yet, in which `is_said` finds ids; `None` if that is nothing.
pub fn described(left: &Leftovers, is_said: impl Fn(&str) -> bool) -> Option<String> {
    let kernels = left.kernels.iter().filter(|kernel| !is_said(&kernel.id)).map(kernel);
    let runs = left.runs.iter().filter(|left| !is_said(&left.details.run)).map(run);
    let lines: Vec<_> = kernels.chain(runs).chain(left.warnings.iter().cloned()).collect();
    let notices = lines.iter().map(|line| format!("[NOTICE] {line}"));
    (!lines.is_empty()).then(|| notices.collect::<Vec<_>>().join("\n"))
}

fn kernel(LeftoverKernel { id, notebook, started_at, state }: &LeftoverKernel) -> String {
    let started = time(*started_at);
    let (of, next) = match notebook {
        Some(path) => (format!("of {}", one_line(path)), "use_notebook joins it"),
        None => ("for code without a notebook".to_owned(), "execute_code without a notebook uses it"),
    };
    match state {
        KernelState::Dead { how } => format!("The kernel {of} from an earlier server has died ({how})."),
        state => {
            let doing = if *state == KernelState::Busy { "busy" } else { "idle" };
            format!(
                "The kernel {of} from an earlier server is still running since {started}, with its variables, and is {doing}: {next}. \
                 Kernel id {id}."
            )
        }
    }
}

fn run(LeftoverRun { details: RunDetails { run, notebook, cell, .. }, state }: &LeftoverRun) -> String {
    let outcome = if let Some(state) = state {
        state.outcome()
    } else {
        // Only its kernel knows.
        let tool = if notebook.is_some() { "use_notebook" } else { "execute_code" };
        format!("had not finished; call {tool} for its result")
    };
    sentence(run, cell.as_ref(), notebook.as_ref(), &outcome, false)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use place::RunState;

    use super::*;

    fn left() -> Leftovers {
        let kernel = LeftoverKernel {
            id: "k1".into(),
            notebook: Some("a.ipynb".into()),
            started_at: SystemTime::UNIX_EPOCH,
            state: KernelState::Idle,
        };
        let details = RunDetails {
            run: "r1-x".into(),
            notebook: Some("a.ipynb".into()),
            cell: Some("c1".into()),
            source: "1".to_owned(),
            ..RunDetails::default()
        };
        let run = LeftoverRun { details, state: Some(RunState::Done) };
        Leftovers { kernels: vec![kernel], runs: vec![run], warnings: Vec::new() }
    }

    #[test]
    fn kernels_and_runs_are_a_line_each() {
        let said = described(&left(), |_| false).unwrap();
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{said}");
        assert!(
            lines[0]
                .starts_with("[NOTICE] The kernel of a.ipynb from an earlier server is still running since ")
        );
        assert!(lines[0].ends_with("and is idle: use_notebook joins it. Kernel id k1."), "{said}");
        let run = "[NOTICE] From an earlier server: run r1-x of cell c1 in a.ipynb completed.";
        assert_eq!(lines[1], run);
    }

    #[test]
    fn where_only_the_kernel_knows_the_end_the_notebook_is_named() {
        let runs = left().runs.into_iter().map(|run| LeftoverRun { state: None, ..run }).collect();
        let said = described(&Leftovers { runs, ..Leftovers::default() }, |_| false).unwrap();
        let run = "[NOTICE] From an earlier server: run r1-x of cell c1 in a.ipynb had not finished; call use_notebook for its result.";
        assert_eq!(said, run);
    }

    #[test]
    fn what_the_reply_says_itself_is_not_said_again() {
        let reply = "Kernel id k1. run r1-x completed.";
        assert_eq!(described(&left(), |id| reply.contains(id)), None);
        assert_eq!(described(&Leftovers::default(), |_| false), None);
    }
}
