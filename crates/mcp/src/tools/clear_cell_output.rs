//! `clear_cell_output`: takes the outputs of a cell away.

use std::sync::Arc;

use notebook::Edit;
use workspace::{Error, ErrorKind, Expected};

use super::arguments::Arguments;
use super::cells::label;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "clear_cell_output",
        description: "Remove the outputs and the execution count of a code cell.",
        schema: Schema::new().cell().notebook().build(),
        effect: Effect::Destroys,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    let reference = arguments.cell("cell_index", "cell_id")?;
    let opened = context.notebook(&arguments).await?;
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
    let id = cell.id().to_owned();
    if let Some(run) = session.workspace().journal().latest_of(opened.path(), &id)
        && run.state().is_over()
    {
        // What its threads still print does not come back.
        run.detach_outputs();
    }
    let edit = Edit::SetOutputs { id: id.clone(), outputs: Arc::new([]), execution_count: None };
    let expected = vec![Expected { id: id.clone(), revision: None }];
    let saved = context.session.edit(&opened, vec![edit], expected).await?.saved;
    let count = cell.output_count();
    Ok(format!(
        "Cell {index} output cleared successfully ({count} output(s) removed). id {id} in {}; {saved}",
        opened.path()
    )
    .into())
}
