//! What a notebook that ran again says about the one that is saved.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::compare::{Comparison, Rerun, compare};
use notebook::{CellId, Output};
use syntax::{Cause, nondeterminism};

use crate::cells::{Checked, Expectation};
use crate::imports::MissingModule;
use crate::rerun::Ran;

/// The verification of a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Of each code cell that was to run, in order.
    pub cells: Vec<CellVerdict>,
    /// How many the notebook wants to be skipped.
    pub skipped: usize,
    /// How many cells ended with an error that the notebook expects.
    pub errors: usize,
    /// The cells that kept their outputs, because somebody has changed, deleted or run them since it started.
    pub not_applied: Vec<CellId>,
    /// The modules that the notebook imports and its environment lacks, if a cell has failed for that.
    pub missing: Vec<MissingModule>,
    /// Such as `Python 3.12.4`; empty if the kernel does not say.
    pub runtime: String,
    /// Notices for the person about the choice of the kernel.
    pub introduction: Vec<String>,
    pub elapsed: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellVerdict {
    /// Its index in the notebook.
    pub index: usize,
    pub id: CellId,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Identical,
    /// Pictures differ slightly from the saved ones, as if another version of a library had drawn them; nothing else differs.
    Close {
        pictures: usize,
    },
    /// It ran, and nobody wants its outputs to be compared.
    NotCompared,
    /// It ran, and the notebook has no outputs of it.
    NoneSaved,
    /// It differs from what is saved, and not from another run: it is stale, or the environment has changed.
    Stale {
        diff: String,
        /// What else may have changed it since, as far as the source tells: a file, for example.
        causes: Vec<(Cause, String)>,
    },
    /// It differs in each run.
    NotDeterministic {
        diff: String,
        /// Why, as far as the source tells, each with the code: of the cell, and of those that it depends on.
        causes: Vec<(Cause, String)>,
    },
    /// It ran to its end, but not a second time: it needs what it changes.
    FailsAgain {
        cause: String,
        /// What it showed the second time.
        shown: String,
    },
    /// It differs from what is saved; the second run, which would tell why, failed before it.
    Unexplained {
        diff: String,
    },
    /// It uses what a cell before it makes, which differs.
    Follows,
    /// It could not run to its end.
    Failed {
        cause: String,
        /// What it showed, its traceback included.
        shown: String,
    },
    /// A cell before it failed.
    NotRun,
}

/// In order of how bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conclusion {
    Identical,
    /// Pictures differ slightly, and nothing else.
    Close,
    Differs,
    Fails,
}

/// Whether anything that is compared differs from what is saved: then another run has to show why. Why a cell has failed is
/// known already.
pub(crate) fn differs(cells: &[Checked], ran: &Ran, rerun: &Rerun) -> bool {
    cells.iter().enumerate().take(ran.passed()).any(|(position, cell)| {
        cell.expectation == Expectation::WithSaved
            && matches!(ran.compare(position, cell, rerun), Comparison::Different { .. })
    })
}

/// How many cells ended with an error and did not fail.
pub(crate) fn errors(ran: &Ran) -> usize {
    let has_error = |outputs: &&Vec<Output>| outputs.iter().any(|it| matches!(it, Output::Error { .. }));
    ran.outputs.iter().take(ran.passed()).filter(has_error).count()
}

/// The verdicts on the cells. `again`: another run, if the first one differs.
pub(crate) fn verdicts(cells: &[Checked], ran: &Ran, again: Option<&Ran>, rerun: &Rerun) -> Vec<CellVerdict> {
    let mut tainted = BTreeSet::new();
    let mut verdicts = Vec::with_capacity(cells.len());
    for (position, cell) in cells.iter().enumerate() {
        let failed = |ran: &Ran| ran.failure_at(position).map(|cause| (cause, shown(&ran.outputs[position])));
        let verdict = if ran.outputs.len() <= position {
            Verdict::NotRun
        } else if let Some((cause, shown)) = failed(ran) {
            Verdict::Failed { cause, shown }
        } else if let Some((cause, shown)) = again.and_then(failed) {
            Verdict::FailsAgain { cause, shown }
        } else {
            match cell.expectation {
                Expectation::Ignored | Expectation::NotWanted => Verdict::NotCompared,
                Expectation::NoneSaved => Verdict::NoneSaved,
                Expectation::WithSaved => match ran.compare(position, cell, rerun) {
                    Comparison::Same => Verdict::Identical,
                    Comparison::Close { pictures } => Verdict::Close { pictures },
                    Comparison::Different { .. } if !cell.inputs.is_disjoint(&tainted) => Verdict::Follows,
                    Comparison::Different { .. } => {
                        // What it uses may differ, too, without having shown it.
                        let is_silent = |input: &&usize| cells[**input].saved.is_empty();
                        tainted.extend(cell.inputs.iter().filter(is_silent).copied());
                        let diff = ran.difference(position, cell, rerun);
                        explained(cells, position, ran, again, rerun, diff)
                    }
                },
            }
        };
        if verdict.differs() {
            tainted.insert(position);
        }
        verdicts.push(CellVerdict { index: cell.index, id: cell.id.clone(), verdict });
    }
    verdicts
}

/// Why a cell differs from what is saved, as another run shows.
fn explained(
    cells: &[Checked],
    position: usize,
    ran: &Ran,
    again: Option<&Ran>,
    rerun: &Rerun,
    diff: String,
) -> Verdict {
    let Some(other) = again.and_then(|again| again.outputs.get(position)) else {
        return Verdict::Unexplained { diff };
    };
    let is_same = !matches!(compare(&ran.outputs[position], other, rerun), Comparison::Different { .. });
    let mut causes = causes(cells, position);
    // Two runs of parallel code may agree by chance.
    let is_parallel = causes.iter().any(|(cause, _)| *cause == Cause::Parallel);
    if is_same && !(is_parallel && are_reordered(&cells[position].saved, &ran.outputs[position])) {
        // Random numbers would differ in each run.
        causes.retain(|(cause, _)| !matches!(cause, Cause::Random | Cause::Parallel));
        Verdict::Stale { diff, causes }
    } else {
        // A file is the same in both runs.
        causes.retain(|(cause, _)| *cause != Cause::File);
        Verdict::NotDeterministic { diff, causes }
    }
}

/// Whether both show the same lines, in whatever order.
fn are_reordered(before: &[Output], after: &[Output]) -> bool {
    let sorted = |outputs: &[Output]| {
        let mut lines: Vec<_> = shown(outputs).lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    sorted(before) == sorted(after)
}

impl Verdict {
    pub(crate) fn differs(&self) -> bool {
        match self {
            Self::Stale { .. }
            | Self::NotDeterministic { .. }
            | Self::FailsAgain { .. }
            | Self::Unexplained { .. }
            | Self::Follows => true,
            Self::Identical
            | Self::Close { .. }
            | Self::NotCompared
            | Self::NoneSaved
            | Self::Failed { .. }
            | Self::NotRun => false,
        }
    }
}

fn shown(outputs: &[Output]) -> String {
    outputs.iter().map(render::full_text).collect::<Vec<_>>().join("\n")
}

/// Why a cell may show something else each time.
fn causes(cells: &[Checked], position: usize) -> Vec<(Cause, String)> {
    let sources: Vec<&str> = cells[..=position].iter().map(|cell| cell.source.as_str()).collect();
    let known = nondeterminism(&sources);
    let (mut concerned, mut open) = (BTreeSet::from([position]), vec![position]);
    while let Some(cell) = open.pop() {
        open.extend(cells[cell].inputs.iter().filter(|input| concerned.insert(**input)));
    }
    let mut causes = BTreeMap::new();
    for cell in &concerned {
        for (cause, code) in &known[*cell] {
            causes.entry(*cause).or_insert_with(|| code.clone());
        }
    }
    causes.into_iter().collect()
}

#[cfg(test)]
mod tests;
