//! `execute_cell`: runs a code cell.

use std::sync::Arc;

use notebook::Notebook;
use workspace::{Error, OpenNotebook, Run};

use super::arguments::Arguments;
use super::cells::label;
use super::context::{Context, Outcome};
use super::runs::{Waiting, not_code, report};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "execute_cell",
        description: "Run a code cell; answers its outputs. After timeout it runs on: get_run.",
        schema: waiting(Schema::new().cell()).notebook().build(),
        effect: Effect::Runs,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    let reference = arguments.cell("cell_index", "cell_id")?;
    let waiting = Waiting::read(&arguments, session.workspace().settings())?;
    let budget = context.budget(&arguments)?;
    let opened = context.notebook(&arguments).await?;
    let notebook = opened.document().snapshot().await?;
    let index = session.target(opened.path(), &notebook, &reference)?;
    let run = start(context, &opened, &notebook, index)?;
    waiting.wait(&run, context).await?;
    Ok(report(&run, budget, "", &place(index, &notebook, opened.path())))
}

/// The arguments of all tools that run a cell.
pub(super) fn waiting(schema: Schema) -> Schema {
    schema
        .seconds_or("timeout", 0, "Seconds to wait; 0: 120")
        .flag("stream", true, "Report progress")
        .seconds_or("progress_interval", 5, "")
        .flag("interrupt_on_timeout", false, "")
        .flag("interrupt_on_cancel", false, "")
        .budget()
}

/// Starts a run of the cell at `index`.
pub(super) fn start(
    context: &Context<'_>,
    opened: &Arc<OpenNotebook>,
    notebook: &Notebook,
    index: usize,
) -> Result<Arc<Run>, Error> {
    let cell = &notebook.cells()[index];
    if !cell.is_code() {
        return Err(not_code(&label(index, cell), &cell.cell_type().to_string()));
    }
    let (id, source) = (cell.id().to_owned(), cell.source().into_owned());
    context.session.run(opened.clone(), Some(id), source)
}

/// Where a run of a cell belongs, for its last line.
pub(super) fn place(index: usize, notebook: &Notebook, path: &str) -> String {
    format!(" · cell {index} (id {}) in {path}", notebook.cells()[index].id())
}
