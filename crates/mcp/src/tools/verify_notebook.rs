//! `verify_notebook`: whether a notebook still says the same from a fresh kernel.

use std::collections::BTreeSet;
use std::time::Duration;

use workspace::Error;
use workspace::verify::VerifyOptions;

use super::shared::answer::Outcome;
use super::shared::arguments::{Schema, arguments};
use super::shared::cell_text::index_or_id;
use super::shared::context::Context;
use super::shared::parameters::{NotebookArgument, PreviewArgument};
use super::shared::run_report::report;
use super::shared::waiting::Waiting;
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};

const CELL_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) const TOOL: Tool = Tool {
    name: "verify_notebook",
    title: "Verify a notebook",
    description: "Check that a notebook reruns from a fresh kernel with the same outputs: says in a sentence what differs, and why. \
                  Its kernel and file stay.",
    discovery: Discovery::FoundBy("reproducible, does it still work, test a notebook, rerun from scratch, before a pull request"),
    effect: Effect::Runs,
    groups: &[Group::Run],
    permission: Permission::Execute,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
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
    let cells = match cells {
        None => None,
        Some(cells) => {
            let before = opened.document().snapshot().await?;
            let index = |cell: &String| {
                context.session.target(opened.path(), &before, &index_or_id(&before, cell))
            };
            Some(cells.iter().map(index).collect::<Result<BTreeSet<usize>, Error>>()?)
        }
    };
    if preview.preview {
        let notebook = opened.document().snapshot().await?;
        let last = cells.as_ref().and_then(|cells| cells.last().copied()).unwrap_or(usize::MAX);
        let count = notebook.cells().iter().take(last.saturating_add(1)).filter(|cell| cell.is_code()).count();
        let then = if apply { "fresh outputs would replace those that differ" } else { "the notebook would stay as it is" };
        let path = opened.path();
        return Ok(format!(
            "Would run {count} code cells of {path} in a fresh kernel, and again if an output differs; {then} (nothing was run)."
        )
        .into());
    }
    if !confirm {
        context.consent.permit_effects(name, question(opened.path(), copy)).await?;
    }
    let cell_timeout = cell_timeout.unwrap_or(CELL_TIMEOUT);
    let verifying = context.session.verify(opened.clone(), VerifyOptions { cells, cell_timeout, apply, in_copy: copy })?;
    let settings = context.session.workspace().settings();
    // A verification leaves nothing but its answer, so it ends when nobody waits for that.
    let waiting = Waiting { interrupts_on_cancel: true, ..Waiting::with_timeout(timeout, settings) };
    waiting.wait(&verifying.run, context).await?;
    Ok(report(&verifying.run, settings.budget, "", &format!(" · {}", opened.path())))
}

fn question(path: &str, in_copy: bool) -> String {
    let (stays, again) = if in_copy {
        ("The notebook and the files of its folder stay as they are", "databases and networks")
    } else {
        ("The notebook stays as it is", "files, databases and networks")
    };
    format!("Run all code of {path} again, in a fresh kernel? {stays}, but what the code does to {again} happens again.")
}
