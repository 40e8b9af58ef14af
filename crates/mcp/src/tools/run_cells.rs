//! `run_cells`: several cells, one after the other.

use std::time::Instant;

use notebook::Cell;
use render::{Budget, Part};

use super::arguments::{Arguments, refused};
use super::cells::{index_or_id, label};
use super::context::{Answer, Context, Outcome};
use super::execute_cell::{place, waiting};
use super::runs::{Waiting, append, report};
use super::schema::Schema;
use super::{Effect, Tool};
use crate::next_step::message;

pub(super) fn tool() -> Tool {
    Tool {
        name: "run_cells",
        description: "Run code cells in order: from..through, or all. from and through are an index, id or In[n].",
        schema: waiting(Schema::new().text("from", "").text("through", "").flag("all", false, "").choice(
            "on_error",
            &["stop", "continue"],
            Some("stop"),
        ))
        .notebook()
        .build(),
        effect: Effect::Runs,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    let mut waiting = Waiting::read(&arguments, session.workspace().settings())?;
    let budget = context.budget(&arguments)?;
    let stops = arguments.choice("on_error", &[("stop", true), ("continue", false)], true)?;
    let opened = context.notebook(&arguments).await?;
    let notebook = opened.document().snapshot().await?;
    let count = notebook.cells().len();
    let end = |name: &str, default: usize| match arguments.optional_text(name)? {
        None => Ok(default),
        Some(text) => session.target(opened.path(), &notebook, &index_or_id(&notebook, &text)),
    };
    let is_bounded = arguments.has("from") || arguments.has("through");
    if !is_bounded && !arguments.flag("all", false)? {
        return Err(refused("run_cells needs from, through or all.".to_owned()));
    }
    let (from, through) = (end("from", 0)?, end("through", count.saturating_sub(1))?);
    let cells: Vec<usize> =
        (from..=through).filter(|index| notebook.cells().get(*index).is_some_and(Cell::is_code)).collect();
    if cells.is_empty() {
        return Err(refused("There is no code cell to run there.".to_owned()));
    }
    let deadline = Instant::now() + waiting.patience;
    let mut parts: Vec<Part> = Vec::new();
    let mut left = budget;
    let (mut is_error, mut done) = (false, 0);
    let source = |index: &usize| {
        let cell = &notebook.cells()[*index];
        (cell.id().to_owned(), cell.source().into_owned())
    };
    let runs = session.run_in_order(&opened, cells.iter().map(source).collect(), stops)?;
    for (position, (index, run)) in cells.iter().copied().zip(&runs).enumerate() {
        waiting.patience = deadline.saturating_duration_since(Instant::now());
        if let Err(error) = waiting.wait(run, context).await {
            append(&mut parts, &message(&error));
            is_error = true;
        }
        let heading = format!("=====Cell {index}=====");
        // What is left is shared evenly by the cells to come.
        let share = share_of(left, cells.len() - position);
        let Answer { parts: shown, is_error: failed } =
            report(run, share, &heading, &place(index, &notebook, opened.path()));
        left = spend(left, &shown);
        for part in shown {
            match part {
                Part::Text(text) => append(&mut parts, &text),
                image @ Part::Image { .. } => parts.push(image),
            }
        }
        is_error |= failed;
        done += 1;
        if (failed && stops) || !run.state().is_over() {
            break;
        }
    }
    let summary = match cells.get(done) {
        None => format!("[{done} cells run in {}]", opened.path()),
        Some(next) => {
            let next = label(*next, &notebook.cells()[*next]);
            let last = runs.get(done.saturating_sub(1)).filter(|run| !run.state().is_over());
            match last {
                // They are queued, and run whether somebody waits or not.
                Some(_) => {
                    let ids: Vec<&str> = runs[done..].iter().map(|run| run.id().as_str()).collect();
                    let ids = ids.join(", ");
                    format!(
                        "[{done} of {} cells shown; {next} and the rest follow by themselves: runs {ids}]",
                        cells.len()
                    )
                }
                None => format!(
                    "[{done} of {} cells run in {}; not run: from {next} on]",
                    cells.len(),
                    opened.path()
                ),
            }
        }
    };
    append(&mut parts, &summary);
    Ok(Answer::of_code(parts, is_error))
}

/// Below this a cell's share shows nothing.
const LEAST_SHARE: usize = 400;

fn share_of(left: Budget, cells: usize) -> Budget {
    Budget { characters: (left.characters / cells.max(1)).max(LEAST_SHARE), images: left.images }
}

fn spend(left: Budget, shown: &[Part]) -> Budget {
    let mut left = left;
    for part in shown {
        match part {
            Part::Text(text) => left.characters = left.characters.saturating_sub(text.chars().count()),
            Part::Image { .. } => left.images = left.images.saturating_sub(1),
        }
    }
    left
}
