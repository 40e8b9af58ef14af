//! `interrupt_kernel`: stops what a kernel runs.

use std::sync::Arc;
use std::time::Duration;

use notebook::one_line;
use tokio::time::timeout;
use workspace::{Error, ErrorKind, Run, RunId};

use super::shared::answer::Outcome;
use super::shared::arguments::{Schema, arguments};
use super::shared::context::Context;
use super::shared::parameters::NotebookArgument;
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};

/// How long the interrupted run may take to end before we answer.
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) const TOOL: Tool = Tool {
    name: "interrupt_kernel",
    title: "Interrupt a run",
    description: "Interrupt: stop a running cell; variables stay. With run_id that run alone, also from the queue.",
    discovery: Discovery::FoundBy("stop, cancel or kill a cell that hangs"),
    effect: Effect::Interrupts,
    groups: &[Group::Run],
    permission: Permission::Execute,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        run_id: Option<String>,
        kernel_id: Option<String>,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (workspace, runner) = (context.session.workspace(), context.session.workspace().runner());
    let run = match (arguments.run_id, arguments.kernel_id) {
        (Some(id), _) => {
            let run = workspace.journal().run(&RunId::from(id.trim()))?;
            if run.state().is_over() {
                return Ok(format!("Run {id} is already over.").into());
            }
            runner.interrupt_run(&run).await?;
            Some(run)
        }
        (None, Some(id)) => runner.interrupt(&*context.session.kernel(&id).await?).await?,
        (None, None) => interrupt_notebook(context, &arguments.notebook).await?,
    };
    let Some(run) = run else {
        return Ok("The kernel was interrupted; it was running none of our runs.".to_owned().into());
    };
    let id = run.id();
    if timeout(END_TIMEOUT, run.ended()).await.is_ok() {
        return Ok(
            format!("Interrupted run {id}: it is over. get_run(run_id=\"{id}\") shows its outputs.").into()
        );
    }
    let is_restartable = run.kernel().is_none_or(|kernel| kernel.check_restartable().is_ok());
    let restart = if is_restartable { "; restart_notebook ends it in any case" } else { "" };
    Ok(format!(
        "The kernel was asked to interrupt run {id}, which has not ended yet. get_run(run_id=\"{id}\", wait_seconds=10) waits \
         for it{restart}."
    )
    .into())
}

async fn interrupt_notebook(
    context: &Context<'_>,
    notebook: &NotebookArgument,
) -> Result<Option<Arc<Run>>, Error> {
    let opened = context.notebook(notebook).await?;
    let Some(kernel) = opened.kernel() else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("{} has no kernel yet.", one_line(opened.path())),
            "There is nothing to interrupt; execute_cell starts one.",
        ));
    };
    context.session.workspace().runner().interrupt(&*kernel).await
}
