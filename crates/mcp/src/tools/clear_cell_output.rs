//! `clear_cell_output`: removes the outputs of a cell.

use std::sync::Arc;

use notebook::Edit;
use workspace::{Error, Expected, ErrorKind};

use super::shared::answer::Outcome;
use super::shared::arguments::{Schema, arguments};
use super::shared::cell_text::label;
use super::shared::context::Context;
use super::shared::parameters::{CellArguments, NotebookArgument};
use super::{Availability, Effect, Tool};
use crate::permissions::Permission;

pub(super) const TOOL: Tool = Tool {
    name: "clear_cell_output",
    description: "Remove the outputs and the execution count of a code cell.",
    effect: Effect::Destroys,
    permission: Permission::Write,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        cell: CellArguments,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let reference = arguments.cell.reference()?;
    let (session, opened) = (context.session, context.notebook(&arguments.notebook).await?);
    let before = opened.document().snapshot().await?;
    let index = session.target(opened.path(), &before, &reference)?;
    let cell = &before.cells()[index];
    if !cell.is_code() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("{} is a {} cell; only code cells have outputs.", label(index, cell), cell.cell_type()),
            "Nothing was done.",
        ));
    }
    let id = cell.id().clone();
    if let Some(run) = session.workspace().journal().latest_of(opened.path(), &id)
        && run.state().is_over()
    {
        // What its threads print later must not be stored.
        run.detach_outputs();
    }
    let edit = Edit::SetOutputs { id: id.clone(), outputs: Arc::new([]), execution_count: None };
    let expected = vec![Expected { id: id.clone(), revision: None }];
    let saved = session.edit(&opened, &before, vec![edit], expected).await?.saved;
    let count = cell.output_count();
    Ok(format!(
        "Cell {index} output cleared successfully ({count} output(s) removed). id {id} in {}; {saved}",
        opened.path()
    )
    .into())
}
