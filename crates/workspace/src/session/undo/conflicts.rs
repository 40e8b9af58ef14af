//! The reasons why nothing is undone.

use notebook::{CellId, Notebook};
use operations::{Conflict, Obstacle, Operation, Part, Since, live};
use place::{Error, ErrorKind, KernelState};
use render::without_data_uris;
use runs::OpenNotebook;

pub(super) fn unknown(since: &Since) -> Error {
    let what = match since {
        Since::Checkpoint(name) => format!("There is no checkpoint {name:?}"),
        Since::Operation(id) => format!("There is no operation {id}"),
        Since::Time(_) => "There is no such time".to_owned(),
    };
    Error::new(
        ErrorKind::NotFound,
        format!("{what} in the history of this notebook."),
        "The history lists all recorded operations; old ones are removed.",
    )
}

pub(super) fn nothing(cause: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, cause, "The history lists what can be undone.")
}

/// The obstacles, and the later operations that changed it, if it was one of `all`.
pub(super) fn refused(now: &Notebook, conflicts: &[Conflict], all: &[Operation]) -> Error {
    // An operation that is undone is not in the way, and its id would send the agent to an undo that is refused.
    let live = live(all);
    let later = |conflict: &Conflict| {
        let is_later = |it: &&Operation| it.id > conflict.operation && conflict.part.is_changed_by(it);
        // The newest one, with which the agent must start: those below it would be refused.
        let later = live.iter().find(is_later);
        later.map(|it| format!(" by {}", it.id))
    };
    // One change that is not recorded is enough: after undoing all later operations, the undo would still be refused.
    let is_recorded = conflicts.iter().all(|conflict| later(conflict).is_some());
    let who = if is_recorded { "later operations have" } else { "somebody else has" };
    let mut cause = format!("Nothing was undone: {who} changed these since:");
    for conflict @ Conflict { operation, part, obstacle } in conflicts {
        let by = later(conflict).unwrap_or_default();
        match part {
            Part::Cell(id) => {
                let index = now.cell(id).map(|(index, _)| format!("#{index}, ")).unwrap_or_default();
                cause.push_str(&format!("\n- cell {id} ({index}{operation}) "));
            }
            Part::Metadata(name) => cause.push_str(&format!("\n- the notebook's {name} ({operation}) ")),
        }
        match obstacle {
            Obstacle::Changed { diff } => {
                cause.push_str(&format!("has changed{by}:\n{}", without_data_uris(diff.trim_end())));
            }
            Obstacle::NewOutputs => cause.push_str(&format!("has other outputs{by}")),
            Obstacle::Moved => cause.push_str(&format!("was moved{by}")),
            Obstacle::Deleted => cause.push_str(&format!("was deleted{by}")),
            Obstacle::Exists => cause.push_str(&format!("was restored{by}")),
            // Without `by`: nobody's change is the cause.
            Obstacle::Forgotten => cause.push_str("can no longer be restored: its earlier content is gone"),
        }
    }
    Error::new(
        ErrorKind::Conflict,
        cause,
        "Undo later operations of these cells first, or undo only the other cells.",
    )
}

/// The cells that other programs run now or have waiting, as far as that is known.
pub(super) async fn running_elsewhere(opened: &OpenNotebook) -> Result<Vec<CellId>, Error> {
    let mut cells = match opened.place().earlier_runs() {
        Some(runs) => runs.cells_to_run(opened.path()).await?,
        None => Vec::new(),
    };
    let running = opened.document().running_cells();
    if !running.is_empty() {
        // A program that was killed may have left them so.
        let kernels = opened.place().kernels().await?;
        // Any busy kernel counts, as the mark names none: waiting in vain is better than writing below a run.
        if kernels.iter().any(|kernel| kernel.description().state == KernelState::Busy) {
            cells.extend(running);
        }
    }
    Ok(cells)
}
