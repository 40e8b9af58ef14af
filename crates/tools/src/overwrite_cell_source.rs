//! `overwrite_cell_source`: replaces the whole source of a cell.

use std::sync::Arc;

use notebook::{Edit, diff};
use place::Applied;
use runs::OpenNotebook;

use super::execute_cell;
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "overwrite_cell_source",
    title: "Rewrite a cell",
    description: "Rewrite a notebook cell: replaces its whole source; returns a diff, or the run's outputs. Refused if the cell changed since you saw it.",
    discovery: Discovery::FoundBy("replace, rewrite or fix the code of a notebook cell"),
    effect: Effect::Runs,
    groups: &[Group::Edit],
    permission: Permission::Write,
    combinations: &[Combination::Needs(&["timeout"], &["run"])],
};

arguments! {
    struct Arguments {
        cell: NamedCell,
        cell_source: String,
        /// Revision it must have
        if_revision: Option<String>,
        run: RunArguments,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { cell, cell_source, if_revision, run, preview, notebook } = arguments;
    run.permit(context).await?;
    let opened = context.notebook(&notebook).await?;
    let how = Replacing { if_revision, run, preview, verb: "overwritten" };
    replace(&cell, context, &opened, how, |_| Ok(cell_source)).await
}

/// How a source is replaced.
pub(super) struct Replacing {
    pub(super) if_revision: Option<String>,
    pub(super) run: RunArguments,
    pub(super) preview: PreviewArgument,
    pub(super) verb: &'static str,
}

/// Replaces a cell's source by what `change` makes of it, and runs the cell if that is wanted.
pub(super) async fn replace(
    cell: &NamedCell,
    context: &Context<'_>,
    opened: &Arc<OpenNotebook>,
    how: Replacing,
    change: impl FnOnce(&str) -> Result<String, Error>,
) -> Outcome {
    let Replacing { if_revision, run, preview, verb } = how;
    let (session, path) = (context.session, opened.path());
    let before = opened.document().snapshot().await?;
    let index = cell.index(|cell| session.target(path, &before, cell))?;
    let cell = &before.cells()[index];
    context.consent.check_shown([cell])?;
    if run.run {
        execute_cell::check_is_code(index, cell)?;
    }
    let mut expected = session.expected(path, cell.id(), if_revision);
    let old = cell.source().into_owned();
    // A stale edit is refused below, with the new source. Otherwise the new source, which is made from this revision,
    // must not replace another.
    let is_stale = expected.revision.get_or_insert_with(|| cell.revision().to_owned()) != cell.revision();
    let new = if is_stale { old.clone() } else { change(&old)? };
    let edits = vec![Edit::SetSource { id: cell.id().clone(), source: new.clone() }];
    if preview.preview {
        return context.previewed(opened, &before, &edits, &[expected], run.run);
    }
    let Applied { notebook: after, saved } = session.edit(opened, &before, edits, vec![expected]).await?;
    let path = one_line(path);
    let Some((index, cell)) = after.cell(cell.id()) else {
        return Ok(format!("The cell was deleted from {path}.").into());
    };
    let (what, revision) = (label(index, cell), cell.revision());
    let diff = diff(&old, &new);
    let done = if diff.is_empty() {
        format!("No changes: {what} in {path} already has this source, revision {revision}.")
    } else {
        format!("Cell {index} {verb} successfully! {what} in {path}, revision {revision}; {saved}")
    };
    if run.run {
        execute_cell::check_written(&after, index, &new)
            .map_err(|error| execute_cell::after(&done, error))?;
        return execute_cell::run(context, opened, &after, index, &done, &run.waiting).await;
    }
    if diff.is_empty() {
        return Ok(done.into());
    }
    let undefined = newly_undefined(session, opened, &before, &after);
    let mut reply = context.reply();
    reply.note(&done);
    let more = context.next_calls().read_cell(cell.id(), "");
    reply.quote(&diff, more);
    reply.note_last(&undefined);
    Ok(reply.into())
}
