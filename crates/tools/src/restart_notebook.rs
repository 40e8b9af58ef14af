//! `restart_notebook`: a fresh kernel for a notebook.

use std::sync::Arc;

use place::{Kernel, KernelChoice, KernelSelector};
use runs::{OpenNotebook, Run};
use workspace::Session;

use super::interrupt_kernel::{describe_ending, named, permit_ending};
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "restart_notebook",
    title: "Restart a kernel",
    description: "Restart a notebook's kernel: all variables are lost, outputs stay.",
    discovery: Discovery::FoundBy("restart kernel, reset variables and memory"),
    effect: Effect::Changes,
    // A kernel that starts runs the code of its startup files.
    groups: &[Group::Run, Group::Kernels, Group::Delete],
    permission: Permission::Execute,
    shows: Shows::More(|asked| Box::pin(describe(asked))),
};

arguments! {
    struct Arguments {
        /// It ends runs of others: the person agrees
        confirm: bool = false,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let opened = context.notebook(&arguments.notebook).await?;
    let Some(kernel) = kernel_of(context.session, &opened).await? else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("{} has no kernel yet, so there is nothing to restart.", one_line(opened.path())),
            "Run a cell; that starts one.",
        ));
    };
    let is_its = |run: &Run| run.kernel().is_none_or(|its| its.id() == kernel.id());
    context.turn.after_earlier_runs(is_its).await;
    let others = context.session.runs_of_others(&*kernel).await;
    permit_ending(context, &others, arguments.confirm).await?;
    let runner = context.session.workspace().runner();
    let pending = named(context.session, &runner.pending(&*kernel).await).await;
    runner.restart(&*kernel).await?;
    let ended = if pending.is_empty() { String::new() } else { format!(" That ended {pending}.") };
    Ok(format!(
        "The kernel of {} was restarted successfully and answers. Memory state and imported packages have been cleared. \
         Kernel id {}.{ended}",
        one_line(opened.path()),
        kernel.id()
    )
    .into())
}

async fn kernel_of(session: &Session, opened: &Arc<OpenNotebook>) -> Result<Option<Arc<dyn Kernel>>, Error> {
    Ok(match session.choose_kernel(opened, KernelSelector::Any).await? {
        KernelChoice::Kernel { kernel, .. } => Some(kernel),
        KernelChoice::OnFirstRun(_) => None,
    })
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let Some((opened, _)) = asked.notebook().await? else { return Ok(()) };
    let Some(kernel) = opened.kernel() else { return Ok(()) };
    let others = asked.session.runs_of_others(&*kernel).await;
    describe_ending(asked, &others).await;
    Ok(())
}
