//! `move_cell`: a cell to another place.

use notebook::Edit;
use workspace::{Applied, Expected};

use super::arguments::Arguments;
use super::cells::surroundings;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "move_cell",
        description: "Move a cell to the place of another, by index or id.",
        schema: Schema::new()
            .integer("source_index", "")
            .text("source_cell_id", "")
            .integer("target_index", "Index it has afterwards; -1: last")
            .text("target_cell_id", "")
            .notebook()
            .build(),
        effect: Effect::Edits,
    }
}

pub(super) async fn call(mut arguments: Arguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    let opened = context.notebook(&arguments).await?;
    let before = opened.document().snapshot().await?;
    if matches!(arguments.integer("target_index"), Ok(Some(-1))) {
        arguments.set("target_index", before.cells().len().saturating_sub(1));
    }
    let source = arguments.cell("source_index", "source_cell_id")?;
    let target = arguments.cell("target_index", "target_cell_id")?;
    let source = session.target(opened.path(), &before, &source)?;
    let target = session.target(opened.path(), &before, &target)?;
    let exists = |index: usize| Expected { id: before.cells()[index].id().to_owned(), revision: None };
    let id = before.cells()[source].id().to_owned();
    let edit = Edit::Move { id: id.clone(), index: target };
    let expected = vec![exists(source), exists(target)];
    let Applied { notebook: after, saved } = context.session.edit(&opened, vec![edit], expected).await?;
    let index = after.cell(&id).map_or(target, |(index, _)| index);
    session.removed(opened.path(), source);
    session.inserted(opened.path(), index);
    let order = surroundings(session, &opened, &after, index);
    Ok(format!("Cell {id} moved from index {source} to {index} in {}; {saved}.\n\n{order}", opened.path())
        .into())
}
