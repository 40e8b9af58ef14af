//! `insert_execute_code_cell`: a new code cell, run at once.

use notebook::CellType;

use super::execute_cell::run;
use super::insert_cell::{Position, insert, previewed};
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "insert_execute_code_cell",
    title: "Add and run a cell",
    description: "Add a code cell to a notebook and run it, to load, analyse or plot data (make a chart), train a model: before cell_index (-1: at the end) or after after_cell_id.",
    discovery: Discovery::AlwaysLoaded,
    effect: Effect::Runs,
    groups: &[Group::Edit, Group::Run],
    has_view: true,
};

arguments! {
    struct Arguments {
        position: Position,
        cell_source: String,
        waiting: WaitingArguments,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { position, cell_source, waiting, preview, notebook } = arguments;
    let opened = context.notebook(&notebook).await?;
    let contents = vec![(CellType::Code, cell_source)];
    if preview.preview {
        return previewed(&position, context, &opened, &contents, true).await;
    }
    let inserted = insert(position, context, &opened, contents).await?;
    inserted.check_unchanged()?;
    run(context, &opened, &inserted.notebook, inserted.indices[0], "", &waiting).await
}
