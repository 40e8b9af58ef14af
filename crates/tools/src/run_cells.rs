//! `run_cells`: runs several cells in order.

use std::sync::Arc;
use std::time::Instant;

use notebook::{Cell, Notebook};
use place::{RunState, SkipReason};
use render::Reply;
use runs::{MemoryChanges, OpenNotebook, Run, RunView};
use workspace::{CellStates, Obstacle, Plan, Session};

use calls::next_step::message;
use calls::prelude::*;
use calls::replies::causes::{Causes, Failure};
use calls::replies::run_report::{add_section, failed_line};

/// In fewer characters, the part about a cell that failed may have no room beside the last lines.
const TIGHT: usize = 1000;
/// The cells that failed take at most this part of a reply in its last line.
const FAILED: usize = 8;
/// Of more queued runs, only the first and the last are named.
const MAX_IDS: usize = 8;

pub(crate) static TOOL: Tool = tool! {
    name: "run_cells",
    title: "Run several cells",
    description: "Run the whole notebook: all cells, everything in order; or from..through (index, id or In[n]), or the stale ones.",
    discovery: Discovery::FoundBy(
        "run a whole notebook from top to bottom, run all above or below, bring outputs up to date",
    ),
    effect: Effect::Runs,
    groups: &[Group::Run],
    has_view: true,
    combinations: &[
        Combination::Excludes("all", &["from", "through", "stale"]),
        Combination::NeedsOne(&["from", "through", "all", "stale"]),
    ],
    shows: Shows::More(|asked| Box::pin(describe(asked))),
};

arguments! {
    struct Arguments {
        from: Option<String>,
        through: Option<String>,
        all: bool = false,
        /// Only stale cells, and those that they need
        stale: bool = false,
        on_error: OnError = OnError::Stop,
        waiting: WaitingArguments,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum OnError {
    Stop,
    Continue,
}

impl Choice for OnError {
    const CHOICES: &'static [(&'static str, Self)] = &[("stop", Self::Stop), ("continue", Self::Continue)];
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (opened, notebook) = context.notebook_and_cells(&arguments.notebook).await?;
    let Plan { cells, left_out } = selected(&arguments, context.session, &opened, &notebook)?;
    let left_out = left_out_line(&cell_states(context.session, &opened, &notebook), &left_out);
    if cells.is_empty() {
        let none = if left_out.is_empty() {
            "No code cell there is stale; nothing was run."
        } else {
            "Nothing was run."
        };
        return Ok(format!("{none}{left_out}").into());
    }
    let heading = if arguments.stale {
        format!("{}{left_out}", reasons(context, &opened, &notebook, &cells))
    } else {
        String::new()
    };
    if arguments.preview.preview {
        return Ok(context.previewed_run(&heading, &opened, &notebook, &cells));
    }
    context.consent.check_shown_in_order(cells.iter().map(|index| &notebook.cells()[*index]))?;
    if arguments.from.is_none() && arguments.through.is_none() && !arguments.stale {
        context.session.checkpoint_if_recorded(&opened, "before run_cells");
    }
    let stops_on_error = arguments.on_error == OnError::Stop;
    let series = Series::start(context, &opened, &notebook, cells, stops_on_error)?;
    series.wait(&heading, &arguments.waiting, context).await
}

/// The stale cells that do not run, in sentences that each begin with a space.
fn left_out_line(states: &CellStates, left_out: &[(usize, Option<usize>)]) -> String {
    let reason = |(index, needs): &(usize, Option<usize>)| match needs {
        Some(needed) => format!("needs cell {needed}"),
        None => states.get(*index).map(|known| known.evidence).unwrap_or_default(),
    };
    let groups = left_out.chunk_by(|one, next| one.0 + 1 == next.0 && reason(one) == reason(next));
    let named = groups.map(|group| {
        let cells: Vec<usize> = group.iter().map(|(index, _)| *index).collect();
        format!(" Not run: {} ({}).", ranges(&cells), reason(&group[0]))
    });
    let is_stopped = |(index, _): &(usize, Option<usize>)| {
        states.get(*index).is_some_and(|known| known.obstacle == Some(Obstacle::Stopped))
    };
    let next = if left_out.iter().any(is_stopped) { " execute_cell runs it again." } else { "" };
    format!("{}{next}", named.collect::<String>())
}

/// Why each of these cells runs, in a line.
fn reasons(context: &Context<'_>, opened: &OpenNotebook, notebook: &Notebook, cells: &[usize]) -> String {
    let states = cell_states(context.session, opened, notebook);
    let reason = |index: usize| {
        states
            .get(index)
            .filter(|_| states.is_stale(index))
            .map_or("with the others", |known| known.state.name())
    };
    let groups = cells.chunk_by(|one, next| one + 1 == *next && reason(*one) == reason(*next));
    let groups: Vec<_> = groups.map(|group| format!("{} ({})", ranges(group), reason(group[0]))).collect();
    format!("Cells to run: {}.", groups.join(", "))
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let Some((opened, notebook)) = asked.notebook().await? else { return Ok(()) };
    let plan = selected(&asked.given.read()?, asked.session, &opened, &notebook)?;
    asked.show_cells(&notebook, plan.cells);
    Ok(())
}

/// The code cells from `from` through `through`. If only stale ones are wanted, there may be none, and cells above that
/// they need are added; without `from` and `through` also the cells that would be stale afterwards.
fn selected(
    arguments: &Arguments,
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
) -> Result<Plan, Error> {
    let is_whole = arguments.from.is_none() && arguments.through.is_none();
    let end = |text: &Option<String>, default: usize| match text {
        None => Ok(default),
        Some(text) => session.target(opened.path(), notebook, &index_or_id(notebook, text)),
    };
    let from = end(&arguments.from, 0)?;
    let through = end(&arguments.through, notebook.cells().len().saturating_sub(1))?;
    if arguments.stale {
        return Ok(session.workspace().cells_to_run(opened, notebook, from..=through, is_whole));
    }
    let is_code = |index: &usize| notebook.cells().get(*index).is_some_and(Cell::is_code);
    let cells: Vec<usize> = (from..=through).filter(is_code).collect();
    if cells.is_empty() {
        return Err(refused("There is no code cell to run there."));
    }
    Ok(Plan { cells, left_out: Vec::new() })
}

/// Cells that run in order.
pub(super) struct Series<'a> {
    opened: &'a OpenNotebook,
    notebook: &'a Notebook,
    /// Their indices.
    cells: Vec<usize>,
    /// The runs of the cells; all have one from the beginning.
    runs: Vec<Arc<Run>>,
    stops_on_error: bool,
}

impl<'a> Series<'a> {
    /// Starts the runs of the code cells at these indices.
    pub(super) fn start(
        context: &Context<'_>,
        opened: &'a Arc<OpenNotebook>,
        notebook: &'a Notebook,
        cells: Vec<usize>,
        stops_on_error: bool,
    ) -> Result<Self, Error> {
        let source = |index: &usize| {
            let cell = &notebook.cells()[*index];
            (cell.id().clone(), cell.source().into_owned())
        };
        let sources = cells.iter().map(source).collect();
        context.session.listed(opened.path(), notebook, cells.iter().copied());
        let runs = context.session.run_in_order(opened, sources, stops_on_error)?;
        Ok(Self { opened, notebook, cells, runs, stops_on_error })
    }

    /// Waits for one run after the other, until the timeout or the first failure. The answer begins with `heading`.
    pub(super) async fn wait(
        &self,
        heading: &str,
        arguments: &WaitingArguments,
        context: &Context<'_>,
    ) -> Outcome {
        let mut waiting = arguments.waiting(context);
        let deadline = Instant::now() + waiting.timeout;
        let budget = context.budget(&arguments.budget);
        let is_tight = budget.characters < TIGHT;
        let mut reply = Reply::new(budget).after(context.session.shown_outputs());
        for run in &self.runs {
            context.turn.started(run);
        }
        if !heading.is_empty() {
            reply.note(heading);
        }
        let (mut is_failure, mut rest, mut failed, mut waits) = (false, None, Vec::new(), Vec::new());
        for (index, run) in self.cells.iter().copied().zip(&self.runs) {
            waiting.timeout = deadline.saturating_duration_since(Instant::now());
            let waited = waiting.wait(run, context).await;
            if let RunState::Skipped { reason: SkipReason::SeriesStopped(cause) } = run.state() {
                // The same is true of all that follow.
                rest = Some(cause);
                is_failure = true;
                break;
            }
            is_failure |= run.has_failed() || waited.is_err();
            failed.extend(run.has_failed().then_some(index));
            waits.push(waited);
            if (run.has_failed() && self.stops_on_error) || !run.state().is_over() {
                break;
            }
        }
        let shown = waits.len();
        let mut notices = Vec::new();
        let views =
            || self.cells.iter().zip(&self.runs).take(shown).map(|(index, run)| (*index, run, run.view()));
        let failures: Vec<_> =
            views().filter_map(|(index, run, view)| Failure::of_run(index, run, &view)).collect();
        let causes = Causes::of(&failures);
        for ((index, run, view), waited) in views().zip(waits) {
            add_section(&mut reply, context.session, index, run, &causes).await;
            if let Err(error) = waited {
                reply.note(&message(&error));
            }
            if let Some(line) = failed_line(index, run).filter(|_| is_tight && run.has_failed()) {
                reply.note_last(&line);
            }
            notices.extend(
                view.notices.into_iter().filter(|notice| !notices.contains(notice)).collect::<Vec<_>>(),
            );
        }
        reply.end_sections();
        if let Some(cause) = rest {
            reply.note_last(&format!("The rest did not run: {cause}."));
        }
        let calls = context.next_calls();
        let others = || calls.read_notebook("only=\"errors\"");
        let failed = failed_cells(&failed, budget.characters / FAILED, others);
        reply.sections_left_out(move |index| {
            calls.read_notebook(&format!("start_index={index}, include_outputs=true"))
        });
        reply.note_last(&self.summary(shown, &failed));
        for notice in &notices {
            reply.note_last(notice);
        }
        // Of the last lines, the first ones give way.
        let changes = self.changes(shown).filter(|_| !(is_tight && is_failure));
        if let Some(line) = changes.and_then(|changes| changes.line()) {
            reply.note_last(&line);
        }
        let mut answer = Answer::of_code(reply, is_failure);
        let states = self.runs.iter().map(|run| (run.id().clone(), run.state()));
        answer.run = states.into_iter().find(|(_, state)| !state.is_over());
        Ok(answer)
    }

    /// What the first runs have changed in memory, together.
    fn changes(&self, shown: usize) -> Option<MemoryChanges> {
        let mut all = MemoryChanges::default();
        for run in self.runs[..shown].iter().filter(|run| run.state().is_over()) {
            // What one has changed may have been undone by another of which nothing is known.
            all.extend(&run.view().changes?);
        }
        Some(all)
    }

    /// The last line about the cells, after `shown` of them.
    fn summary(&self, shown: usize, failed: &str) -> String {
        let (path, count) = (one_line(self.opened.path()), self.cells.len());
        let is_skipped = |run: &&Arc<Run>| matches!(run.state(), RunState::Skipped { .. });
        let skipped = self.runs[..shown].iter().filter(is_skipped).count();
        let ran = shown - skipped;
        let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
        let views: Vec<_> = self.runs[..shown].iter().map(|run| run.view()).collect();
        let are_saved = views.iter().any(|view| view.saved.is_some()) && views.iter().all(RunView::is_stored);
        let failed = &format!("{}{failed}", if are_saved { "; outputs saved to disk" } else { "" });
        let Some(next) = self.cells.get(shown) else {
            return format!("[{ran} cells run{skipped} in {path}{failed}]");
        };
        let next = label(*next, &self.notebook.cells()[*next]);
        let is_waiting = self.runs[..shown].last().is_some_and(|run| !run.state().is_over());
        if !is_waiting {
            return format!(
                "[{ran} of {count} cells run{skipped} in {path}{failed}; not run: from {next} on]"
            );
        }
        // They are queued, and run whether somebody waits or not.
        let ids = ids(&self.runs[shown..]);
        format!("[{shown} of {count} cells shown{failed}; {next} and the rest run after them: runs {ids}]")
    }
}

/// The cells that failed, for the last line: in at most `room` characters beside the call that lists `others`.
fn failed_cells(failed: &[usize], room: usize, others: impl Fn() -> String) -> String {
    if failed.is_empty() {
        return String::new();
    }
    let fits = |count: &usize| ranges(&failed[..*count]).chars().count() <= room;
    let named = (1..=failed.len()).rev().find(fits).unwrap_or(1);
    let more = failed.len() - named;
    let rest = if more == 0 { String::new() } else { format!(" and {more} more: {}", others()) };
    format!("; failed: {}{rest}", ranges(&failed[..named]))
}

/// The ids of runs; of many only those at both ends.
fn ids(runs: &[Arc<Run>]) -> String {
    let id = |run: &Arc<Run>| run.id().to_string();
    match runs {
        [first, .., last] if runs.len() > MAX_IDS => {
            format!("{} to {} ({} runs)", id(first), id(last), runs.len())
        }
        _ => runs.iter().map(id).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_failed_are_named_with_the_call_for_more_of_them() {
        let others = || "read_notebook()".to_owned();
        assert_eq!(failed_cells(&[], 40, others), "");
        assert_eq!(failed_cells(&[1], 0, others), "; failed: 1");
        assert_eq!(failed_cells(&[1, 5, 6, 7, 9], 40, others), "; failed: 1, 5–7, 9");
        let every_other: Vec<usize> = (0..300).map(|number| 2 * number).collect();
        let line = failed_cells(&every_other, 40, others);
        assert_eq!(line, "; failed: 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 289 more: read_notebook()");
    }
}
