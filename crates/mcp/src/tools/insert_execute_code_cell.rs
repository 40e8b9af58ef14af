//! `insert_execute_code_cell`: a new code cell, run at once.

use notebook::CellType;

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::execute_cell::{place, start, waiting};
use super::insert_cell::insert;
use super::runs::{Waiting, report};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "insert_execute_code_cell",
        description: "Insert a code cell before cell_index (-1: at the end) or after after_cell_id, and run it.",
        schema: waiting(
            Schema::new().integer("cell_index", "").text("after_cell_id", "").text("cell_source", ""),
        )
        .notebook()
        .require(&["cell_source"])
        .build(),
        effect: Effect::Runs,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let source = arguments.text("cell_source")?;
    let waiting = Waiting::read(&arguments, context.session.workspace().settings())?;
    let budget = context.budget(&arguments)?;
    let opened = context.notebook(&arguments).await?;
    let inserted = insert(&arguments, context, &opened, CellType::Code, source).await?;
    let run = start(context, &opened, &inserted.notebook, inserted.index)?;
    waiting.wait(&run, context).await?;
    Ok(report(&run, budget, "", &place(inserted.index, &inserted.notebook, opened.path())))
}
