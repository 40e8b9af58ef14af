//! `execute_cell`: runs a code cell.

use std::sync::Arc;

use notebook::{Cell, Notebook};
use place::NotebookPath;
use runs::{OpenNotebook, Run};

use calls::prelude::*;
use calls::replies::run_report::report;

pub(crate) static TOOL: Tool = tool! {
    name: "execute_cell",
    title: "Run a cell",
    description: "Run a notebook cell in the live kernel; returns its outputs, plots and errors. After timeout the run continues: get_run.",
    discovery: Discovery::AlwaysLoaded,
    effect: Effect::Runs,
    groups: &[Group::Run],
    has_view: true,
};

arguments! {
    struct Arguments {
        cell: NamedCell,
        waiting: WaitingArguments,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let cell = arguments.cell;
    let (opened, notebook) = context.notebook_and_cells(&arguments.notebook).await?;
    let index = cell.index(|cell| context.session.target(opened.path(), &notebook, cell))?;
    if arguments.preview.preview {
        check_is_code(index, &notebook.cells()[index])?;
        return Ok(context.previewed_run("", &opened, &notebook, &[index]));
    }
    context.consent.check_shown([&notebook.cells()[index]])?;
    run(context, &opened, &notebook, index, "", &arguments.waiting).await
}

/// Runs the cell at `index` and waits for it. The answer begins with `heading`, which says what was done before.
pub(super) async fn run(
    context: &Context<'_>,
    opened: &Arc<OpenNotebook>,
    notebook: &Notebook,
    index: usize,
    heading: &str,
    arguments: &WaitingArguments,
) -> Outcome {
    let run = start(context, opened, notebook, index).map_err(|error| after(heading, error))?;
    let waiting = arguments.waiting(context);
    waiting.wait(&run, context).await.map_err(|error| after(heading, error))?;
    let place = place(index, notebook, opened.path());
    Ok(report(context.session, &run, context.budget(&arguments.budget), heading, &place).await)
}

/// An error that does not hide what was done before.
pub(super) fn after(heading: &str, error: Error) -> Error {
    if heading.is_empty() {
        return error;
    }
    // Below the first line of a cause is what others have written.
    Error { cause: format!("{} {}", heading.replace('\n', " "), error.cause), ..error }
}

fn start(
    context: &Context<'_>,
    opened: &Arc<OpenNotebook>,
    notebook: &Notebook,
    index: usize,
) -> Result<Arc<Run>, Error> {
    let cell = &notebook.cells()[index];
    check_is_code(index, cell)?;
    let (id, source) = (cell.id().clone(), cell.source().into_owned());
    context.session.listed(opened.path(), notebook, [index]);
    context.session.run(opened.clone(), Some(id), source)
}

/// Fails unless it is a code cell.
pub(super) fn check_is_code(index: usize, cell: &Cell) -> Result<(), Error> {
    if cell.is_code() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        format!("Only code cells run: {} is a {} cell.", label(index, cell), cell.cell_type()),
        "read_notebook shows the types of the cells; insert_execute_code_cell adds code.",
    ))
}

/// Fails unless the cell at `index` is the code that this call has just written there. Somebody else may have changed it
/// since, and what runs is what the agent wrote.
pub(super) fn check_written(notebook: &Notebook, index: usize, source: &str) -> Result<(), Error> {
    if notebook.cells().get(index).is_some_and(|cell| cell.is_code() && cell.source() == source) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Conflict,
        "Somebody else changed the cell before it could run.",
        "It was not run. read_cell shows it as it is now; execute_cell runs it.",
    ))
}

/// Where a run of a cell belongs, for its last line.
pub(super) fn place(index: usize, notebook: &Notebook, path: &NotebookPath) -> String {
    format!(" · cell {index} (id {}) in {}", one_line(notebook.cells()[index].id()), one_line(path))
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Edit, NewCell};

    use super::*;

    #[test]
    fn only_what_the_call_has_written_runs() {
        let mut notebook = Notebook::new();
        for (index, cell) in [NewCell::new(CellType::Code, "a = 1"), NewCell::new(CellType::Markdown, "b")]
            .into_iter()
            .enumerate()
        {
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        let may_run = |index, source| check_written(&notebook, index, source).is_ok();
        assert!(may_run(0, "a = 1"));
        assert!(!may_run(0, "a = 2"), "somebody has edited it");
        assert!(!may_run(1, "b"), "somebody has changed its type");
        assert!(!may_run(2, "a = 1"), "somebody has deleted it");
    }
}
