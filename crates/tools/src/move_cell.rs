//! `move_cell`: moves a cell to another index.

use notebook::{CellRef, Edit, one_line};
use place::{Applied, Expected};

use calls::arguments::parameters::{CellIndex, NotebookArgument, PreviewArgument, named_cell};
use calls::prelude::*;
use calls::replies::cell_text::{newly_undefined, surroundings};

pub(crate) static TOOL: Tool = tool! {
    name: "move_cell",
    title: "Move a cell",
    description: "Move a notebook cell up or down, to the place of another, by index or id.",
    discovery: Discovery::FoundBy("reorder notebook cells"),
    effect: Effect::Changes,
    groups: &[Group::Edit],
};

arguments! {
    struct Arguments {
        source_index: Option<CellIndex>,
        source_cell_id: Option<String>,
        /// Index it has afterwards; -1: last
        target_index: Option<CellIndex>,
        target_cell_id: Option<String>,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (session, opened) = (context.session, context.notebook(&arguments.notebook).await?);
    let before = opened.document().snapshot().await?;
    let source = named_cell(
        ("source_index", arguments.source_index.as_ref()),
        ("source_cell_id", arguments.source_cell_id.as_deref()),
    )?;
    let last = || i64::try_from(before.cells().len().saturating_sub(1)).ok().map(CellIndex::Number);
    let target_index = match arguments.target_index {
        Some(CellIndex::Number(-1)) => last(),
        index => index,
    };
    let target = named_cell(
        ("target_index", target_index.as_ref()),
        ("target_cell_id", arguments.target_cell_id.as_deref()),
    )?;
    let index = |cell: &CellRef| session.target(opened.path(), &before, cell);
    let (source, target) = (source.index(index)?, target.index(index)?);
    let exists = |index: usize| Expected::exists(&before.cells()[index]);
    let id = before.cells()[source].id().clone();
    let edits = vec![Edit::Move { id: id.clone(), index: target }];
    let expected = vec![exists(source), exists(target)];
    if arguments.preview.preview {
        return context.previewed(&opened, &before, &edits, &expected, false);
    }
    let Applied { notebook: after, saved } = session.edit(&opened, &before, edits, expected).await?;
    let index = after.cell(&id).map_or(target, |(index, _)| index);
    let order = surroundings(session, &opened, &after, index..=index);
    let mut reply = context.reply();
    reply.note(&format!(
        "Cell {id} moved from index {source} to {index} in {}; {saved}.\n",
        one_line(opened.path())
    ));
    reply.say(&order);
    if let Some(line) = newly_undefined(session, &opened, &before, &after) {
        reply.note_last(&line);
    }
    Ok(reply.into())
}
