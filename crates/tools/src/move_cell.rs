//! `move_cell`: moves a cell to another index.

use notebook::{CellRef, Edit};
use place::{Applied, Expected};

use calls::prelude::*;

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
        cells: Cells,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

/// The cell that moves, and the one to whose place; `None` for the last.
struct Cells {
    source: NamedCell,
    target: Option<NamedCell>,
}

impl Argument for Cells {
    fn describe(schema: &mut Schema, _: &'static str, _: &str) {
        Option::<CellIndex>::describe(schema, "source_index", "");
        Option::<String>::describe(schema, "source_cell_id", "");
        Option::<CellIndex>::describe(schema, "target_index", "Index it has afterwards; -1: last");
        Option::<String>::describe(schema, "target_cell_id", "");
    }

    fn read(given: &Given, _: &'static str) -> Result<Self, Error> {
        let is_last = given.integer("target_index").ok().flatten() == Some(-1);
        let target = (!is_last).then(|| named_cell(given, "target_index", "target_cell_id")).transpose()?;
        Ok(Self { source: named_cell(given, "source_index", "source_cell_id")?, target })
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (session, opened) = (context.session, context.notebook(&arguments.notebook).await?);
    let before = opened.document().snapshot().await?;
    let index = |cell: &CellRef| session.target(opened.path(), &before, cell);
    let source = arguments.cells.source.index(index)?;
    let last = || before.cells().len().saturating_sub(1);
    let target = arguments.cells.target.map_or_else(|| Ok(last()), |target| target.index(index))?;
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
    reply.say_or(&order, String::new());
    reply.note_last(&newly_undefined(session, &opened, &before, &after));
    Ok(reply.into())
}
