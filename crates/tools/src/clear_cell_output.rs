//! `clear_cell_output`: removes the outputs of a cell, or of all.

use std::sync::Arc;

use notebook::{Cell, CellId, Edit, Notebook};
use place::{Expected, NotebookPath, SaveStatus};
use runs::OpenNotebook;
use workspace::Session;

use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "clear_cell_output",
    title: "Clear outputs",
    description: "Clear the outputs and the execution count of a notebook cell, or of all.",
    discovery: Discovery::FoundBy("remove outputs, clean a notebook before commit"),
    effect: Effect::Changes,
    groups: &[Group::Edit, Group::Delete],
    combinations: &[
        Combination::Excludes("all", &["cell_index", "cell_id"]),
        Combination::NeedsOne(&["cell_index", "cell_id", "all"]),
    ],
};

arguments! {
    struct Arguments {
        cell: Option<NamedCell>,
        /// All code cells
        all: bool = false,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { cell, preview, notebook, .. } = arguments;
    let (session, opened) = (context.session, context.notebook(&notebook).await?);
    let before = opened.document().snapshot().await?;
    let Some(cell) = cell else { return clear_all(context, &opened, &before, preview.preview).await };
    let index = cell.index(|cell| session.target(opened.path(), &before, cell))?;
    let cell = &before.cells()[index];
    context.consent.check_shown([cell])?;
    if !cell.is_code() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("Only code cells have outputs: {} is a {} cell.", label(index, cell), cell.cell_type()),
            "Nothing was done.",
        ));
    }
    if preview.preview {
        return previewed(context, &opened, &before, &[cell]);
    }
    let saved = clear(context, &opened, &before, &[cell]).await?;
    let (count, id) = (cell.output_count(), cell.id());
    Ok(format!(
        "Cell {index} output cleared successfully ({count} output(s) removed). id {} in {}; {saved}",
        one_line(id),
        one_line(opened.path())
    )
    .into())
}

async fn clear_all(
    context: &Context<'_>,
    opened: &OpenNotebook,
    before: &Notebook,
    is_preview: bool,
) -> Outcome {
    let has_run =
        |cell: &&Cell| cell.is_code() && (cell.output_count() > 0 || cell.execution_count().is_some());
    let cells: Vec<&Cell> = before.cells().iter().filter(has_run).collect();
    let path = one_line(opened.path());
    if cells.is_empty() {
        return Ok(format!("No cell of {path} has outputs or an execution count.").into());
    }
    if is_preview {
        return previewed(context, opened, before, &cells);
    }
    let saved = clear(context, opened, before, &cells).await?;
    let removed: usize = cells.iter().map(|cell| cell.output_count()).sum();
    let count = cells.len();
    Ok(format!(
        "Outputs of {count} cell(s) cleared successfully ({removed} output(s) removed) in {path}; {saved}"
    )
    .into())
}

fn previewed(context: &Context<'_>, opened: &OpenNotebook, before: &Notebook, cells: &[&Cell]) -> Outcome {
    let (edits, expected) = clearing(cells);
    context.previewed(opened, before, &edits, &expected, false)
}

fn clearing(cells: &[&Cell]) -> (Vec<Edit>, Vec<Expected>) {
    let edit = |cell: &&Cell| Edit::SetOutputs {
        id: cell.id().clone(),
        outputs: Arc::new([]),
        execution_count: None,
    };
    (cells.iter().map(edit).collect(), cells.iter().map(|cell| Expected::exists(cell)).collect())
}

/// Removes the outputs of code cells, of all or of none.
async fn clear(
    context: &Context<'_>,
    opened: &OpenNotebook,
    before: &Notebook,
    cells: &[&Cell],
) -> Result<SaveStatus, Error> {
    let session = context.session;
    for cell in cells {
        detach_late_outputs(session, opened.path(), cell.id());
    }
    let (edits, expected) = clearing(cells);
    Ok(session.edit(opened, before, edits, expected).await?.saved)
}

/// What the threads of an ended run print later must not be stored in a cell whose outputs are removed.
pub(super) fn detach_late_outputs(session: &Session, path: &NotebookPath, cell: &CellId) {
    if let Some(run) = session.workspace().journal().latest_of(path, cell)
        && run.state().is_over()
    {
        run.detach_outputs();
    }
}
