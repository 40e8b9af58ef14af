//! `interrupt_kernel`: stops what a kernel runs.

use std::sync::Arc;
use std::time::Duration;

use notebook::one_line;
use place::{Error, ErrorKind, Kernel, RunId, RunState};
use runs::Run;
use tokio::time::timeout;

use calls::arguments::parameters::NotebookArgument;
use calls::prelude::*;

/// How long the interrupted run may take to end before we answer.
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) static TOOL: Tool = tool! {
    name: "interrupt_kernel",
    title: "Interrupt a run",
    description: "Interrupt: stop a running cell; variables stay. With run_id that run alone, also from the queue.",
    discovery: Discovery::FoundBy("stop, cancel or kill a cell that hangs"),
    effect: Effect::Interrupts,
    groups: &[Group::Run],
    permission: Permission::Execute,
};

arguments! {
    struct Arguments {
        run_id: Option<String>,
        kernel_id: Option<String>,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let runner = context.session.workspace().runner();
    let run = match (arguments.run_id, arguments.kernel_id) {
        (Some(id), _) => {
            let run = context.session.workspace().journal().run(&RunId::from(id.trim()))?;
            if run.state().is_over() {
                return Ok(format!("Run {} has already ended.", run.id()).into());
            }
            run
        }
        (None, Some(id)) => match running(context, &*context.session.kernel(&id).await?).await? {
            Some(run) => run,
            None => return Ok(none_of_ours()),
        },
        (None, None) => match of_notebook(context, &arguments.notebook).await? {
            Some(run) => run,
            None => return Ok(none_of_ours()),
        },
    };
    runner.interrupt_run(&run).await?;
    let is_over = timeout(END_TIMEOUT, run.ended()).await.is_ok();
    Ok(said(&run, is_over).into())
}

fn none_of_ours() -> Answer {
    "The kernel was interrupted; no run of this server was executing.".to_owned().into()
}

fn said(run: &Run, is_over: bool) -> String {
    let id = run.id();
    let shows = format!("get_run(run_id=\"{id}\") shows its outputs.");
    match (is_over, run.state()) {
        (true, RunState::Done) => {
            format!(
                "Run {id} has completed: it ended before the interrupt, or its code continued after it. {shows}"
            )
        }
        (true, _) => format!("Interrupted run {id}: it has ended. {shows}"),
        (false, _) => {
            let is_restartable = run.kernel().is_none_or(|kernel| kernel.check_restartable().is_ok());
            let restart = if is_restartable { "; restart_notebook always stops it" } else { "" };
            format!(
                "The kernel was asked to interrupt run {id}, which has not ended yet. get_run(run_id=\"{id}\", wait_seconds=10) \
                 waits for it{restart}."
            )
        }
    }
}

/// Our run in this kernel. If there is none, the kernel is interrupted at once.
async fn running(context: &Context<'_>, kernel: &dyn Kernel) -> Result<Option<Arc<Run>>, Error> {
    let is_in_it = |run: &Arc<Run>| run.kernel().is_some_and(|its| its.id() == kernel.id());
    match oldest(context, is_in_it) {
        Some(run) => Ok(Some(run)),
        None => context.session.workspace().runner().interrupt(kernel).await,
    }
}

/// The oldest run that is not over, rather one that has its turn.
fn oldest(context: &Context<'_>, is_meant: impl Fn(&Arc<Run>) -> bool) -> Option<Arc<Run>> {
    let runs = context.session.workspace().journal().runs().into_iter().rev();
    runs.filter(|run| !run.state().is_over() && is_meant(run))
        .min_by_key(|run| run.state() == RunState::Queued)
}

async fn of_notebook(context: &Context<'_>, notebook: &NotebookArgument) -> Result<Option<Arc<Run>>, Error> {
    let opened = context.notebook(notebook).await?;
    if let Some(kernel) = opened.kernel() {
        return running(context, &*kernel).await;
    }
    // Its kernel may be starting for this run.
    let is_of_it = |run: &Arc<Run>| run.cell().is_some_and(|cell| cell.path == *opened.path());
    match oldest(context, is_of_it) {
        Some(run) => Ok(Some(run)),
        None => Err(Error::new(
            ErrorKind::NotFound,
            format!("{} has no kernel yet.", one_line(opened.path())),
            "There is nothing to interrupt; execute_cell starts one.",
        )),
    }
}
