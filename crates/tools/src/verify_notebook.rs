//! `verify_notebook`: whether a notebook still says the same from a fresh kernel.

use std::collections::BTreeSet;
use std::time::Duration;

use notebook::{CellType, Notebook};
use runs::OpenNotebook;
use verify::VerifyOptions;
use workspace::Session;

use calls::prelude::*;
use calls::replies::missing_package;
use calls::replies::run_report::report;

const CELL_TIMEOUT: Duration = Duration::from_secs(600);

pub(crate) static TOOL: Tool = tool! {
    name: "verify_notebook",
    title: "Verify a notebook",
    description: "Check that a notebook reruns from a fresh kernel with the same outputs: reports what differs, and why. \
                  Its kernel and file stay.",
    discovery: Discovery::FoundBy(
        "reproducible, does it still work, test a notebook, rerun from scratch, before a pull request",
    ),
    effect: Effect::Runs,
    groups: &[Group::Run],
    has_view: true,
    shows: Shows::More(|asked| Box::pin(describe(asked))),
};

arguments! {
    struct Arguments {
        /// Compare these (index, id, In[n]); those above run too
        cells: Option<Vec<String>>,
        /// What the code does outside happens again: the person agrees
        confirm: bool = false,
        /// Seconds for each cell
        cell_timeout: Option<Duration> = 600,
        /// Run in a copy of its folder: files stay
        copy: bool = false,
        /// Keep the fresh outputs
        apply: bool = false,
        /// Seconds to wait; 0: 50
        timeout: Option<Duration> = 0,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { cells, confirm, cell_timeout, copy, apply, timeout, preview, notebook } = arguments;
    let name = context.called.tool.name;
    if apply {
        context.permit(&[Group::Edit], Permission::Write, &format!("{name} with apply")).await?;
    }
    let opened = context.notebook(&notebook).await?;
    let before = opened.document().snapshot().await?;
    let cells = compared(cells.as_deref(), context.session, &opened, &before)?;
    if preview.preview {
        let count = run(&before, cells.as_ref()).len();
        let then = if apply {
            "fresh outputs would replace those that differ"
        } else {
            "the notebook would stay as it is"
        };
        let path = one_line(opened.path());
        return Ok(format!(
            "Would run {count} code cells of {path} in a fresh kernel, and again if an output differs; {then} (nothing was run)."
        )
        .into());
    }
    if !confirm {
        context.consent.permit_effects(name, &effects(copy, apply), context.preview()).await?;
    }
    // The person may have taken a while.
    let now = opened.document().snapshot().await?;
    context
        .consent
        .check_shown_in_order(run(&now, cells.as_ref()).into_iter().map(|index| &now.cells()[index]))?;
    let cell_timeout = cell_timeout.unwrap_or(CELL_TIMEOUT);
    let options = VerifyOptions { cells, cell_timeout, apply, in_copy: copy, notebook: Some(now) };
    let mut verifying = context.session.verify(opened.clone(), options)?;
    let settings = context.session.workspace().settings();
    // A verification leaves nothing but its answer, so it ends when nobody waits for that.
    let waiting = Waiting { interrupts_on_cancel: true, ..Waiting::with_timeout(timeout, context) };
    waiting.wait(&verifying.run, context).await?;
    let place = format!(" · {}", one_line(opened.path()));
    let mut answer = report(context.session, &verifying.run, settings.budget, "", &place).await;
    if let Ok(Ok(verification)) = verifying.answer.try_recv() {
        let packages: BTreeSet<String> =
            verification.missing.into_iter().filter_map(|it| it.package).collect();
        if !packages.is_empty() {
            let packages: Vec<String> = packages.into_iter().collect();
            answer.end_with(&missing_package::of_notebook(&opened, &packages).await);
        }
    }
    Ok(answer)
}

/// What changes, in the notebook and outside of it.
fn effects(in_copy: bool, apply: bool) -> String {
    let notebook = if apply {
        "The notebook gets the fresh outputs that differ."
    } else {
        "The notebook stays as it is."
    };
    let outside = if in_copy {
        "The files of its folder stay as they are, but the effects of the code on databases and networks"
    } else {
        "The effects of the code on files, databases and networks"
    };
    format!("It runs the code again, in a fresh kernel. {notebook} {outside} happen again.")
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let arguments: Arguments = asked.given.read()?;
    asked.question.line(&effects(arguments.copy, arguments.apply));
    let Some((opened, notebook)) = asked.notebook().await? else { return Ok(()) };
    let cells = compared(arguments.cells.as_deref(), asked.session, &opened, &notebook)?;
    asked.show_cells(&notebook, run(&notebook, cells.as_ref()));
    Ok(())
}

/// The indices of the cells whose outputs are compared; `None` for all.
fn compared(
    cells: Option<&[String]>,
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
) -> Result<Option<BTreeSet<usize>>, Error> {
    let index = |cell: &String| {
        let index = session.target(opened.path(), notebook, &index_or_id(notebook, cell))?;
        let kind = notebook.cells()[index].cell_type();
        if *kind == CellType::Code {
            Ok(index)
        } else {
            Err(nothing_to_verify(&format!("Cell #{index} is {kind}")))
        }
    };
    match cells {
        Some([]) => Err(nothing_to_verify("cells is an empty list")),
        cells => cells.map(|cells| cells.iter().map(index).collect()).transpose(),
    }
}

fn nothing_to_verify(cause: &str) -> Error {
    let cause = format!("{cause}, and only code cells are verified.");
    Error::new(
        ErrorKind::InvalidArgument,
        cause,
        "Name code cells, or leave cells out to verify all of them.",
    )
}

/// The indices of the code cells that run: those that are compared, and all above them.
fn run(notebook: &Notebook, compared: Option<&BTreeSet<usize>>) -> Vec<usize> {
    let last = compared.and_then(|cells| cells.last().copied()).unwrap_or(usize::MAX);
    let cells = notebook.cells().iter().enumerate().take(last.saturating_add(1));
    cells.filter(|(_, cell)| cell.is_code()).map(|(index, _)| index).collect()
}
