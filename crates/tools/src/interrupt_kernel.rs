//! `interrupt_kernel`: stops what a kernel runs.

use std::sync::Arc;
use std::time::Duration;

use place::{Kernel, RunState};
use runs::{PendingRun, Run, interrupt_kernel};
use tokio::time::timeout;
use workspace::Session;

use super::get_run::own_run;
use calls::prelude::*;

/// How long the interrupted run may take to end before we answer.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of other agents' runs that are named.
const MAX_NAMED: usize = 5;

pub(crate) static TOOL: Tool = tool! {
    name: "interrupt_kernel",
    title: "Interrupt a run",
    description: "Interrupt: stop a running cell; variables stay. With run_id that run alone, also from the queue.",
    discovery: Discovery::FoundBy("stop, cancel or kill a cell that hangs"),
    effect: Effect::Interrupts,
    groups: &[Group::Run],
    combinations: &[Combination::Excludes("run_id", &["kernel_id"])],
    shows: Shows::More(|asked| Box::pin(describe(asked))),
};

arguments! {
    struct Arguments {
        run_id: Option<String>,
        kernel_id: Option<String>,
        /// It ends a run of others: the person agrees
        confirm: bool = false,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    if let Some(id) = arguments.run_id {
        let run = own_run(context, &id).await?;
        if run.state().is_over() {
            return Ok(format!("Run {} has already ended.", run.id()).into());
        }
        return interrupt(context, &run, "").await;
    }
    let kernel = match arguments.kernel_id {
        Some(id) => session.kernel(&id).await?,
        None => match kernel_or_run(context, &arguments.notebook).await? {
            Target::Kernel(kernel) => kernel,
            Target::Run(run) => return interrupt(context, &run, "").await,
        },
    };
    let (target, others) = current(session, &*kernel).await;
    permit_ending(context, &others, arguments.confirm).await?;
    let who = named(session, &others).await;
    match target {
        Some(PendingRun { run: Some(run), .. }) => interrupt(context, &run, &who).await,
        Some(PendingRun { details, run: None }) => {
            // The person may have taken a while.
            let (now, _) = current(session, &*kernel).await;
            if now.is_none_or(|now| now.details.run != details.run) {
                return Ok(format!("Run {} has already ended; nothing was interrupted.", details.run).into());
            }
            interrupt_kernel(&*kernel).await?;
            Ok(format!("The kernel was interrupted while it ran {who}.").into())
        }
        None => {
            interrupt_kernel(&*kernel).await?;
            Ok("The kernel was interrupted; no run that this server knows was executing.".to_owned().into())
        }
    }
}

/// The run that a kernel works on, and the same once more if another session has requested it.
async fn current(session: &Session, kernel: &dyn Kernel) -> (Option<PendingRun>, Vec<PendingRun>) {
    let target = session.workspace().runner().pending(kernel).await.into_iter().next();
    let is_own =
        target.as_ref().and_then(|target| target.run.as_ref()).is_some_and(|run| session.requested(run));
    let others = target.clone().into_iter().filter(|_| !is_own).collect();
    (target, others)
}

/// Interrupts a run; `who` describes one of others.
async fn interrupt(context: &Context<'_>, run: &Arc<Run>, who: &str) -> Outcome {
    context.session.workspace().runner().interrupt_run(run).await?;
    let is_over = timeout(END_TIMEOUT, run.ended()).await.is_ok();
    let who = if who.is_empty() { String::new() } else { format!("That was {who}. ") };
    Ok(format!("{who}{}", said(run, is_over)).into())
}

/// Fails unless runs of others may end: the person agrees, or the agent confirms where they cannot be asked.
pub(super) async fn permit_ending(
    context: &Context<'_>,
    others: &[PendingRun],
    is_confirmed: bool,
) -> Result<(), Error> {
    if others.is_empty() || is_confirmed && context.person.is_none() {
        return Ok(());
    }
    let effect = effect(context.session, others).await;
    context.consent.permit_effects(context.called.tool.name, &effect, context.preview()).await
}

/// Shows the person which runs of others would end.
pub(super) async fn describe_ending(asked: &mut Asked<'_>, others: &[PendingRun]) {
    if !others.is_empty() {
        let effect = effect(asked.session, others).await;
        asked.question.line(&effect);
    }
}

async fn effect(session: &Session, others: &[PendingRun]) -> String {
    format!("It would end {}.", named(session, others).await)
}

/// Runs of others in words.
pub(super) async fn named(session: &Session, others: &[PendingRun]) -> String {
    let mut names = Vec::new();
    for pending in others.iter().take(MAX_NAMED) {
        names.push(session.described(pending).await);
    }
    if others.len() > MAX_NAMED {
        names.push(format!("{} more runs", others.len() - MAX_NAMED));
    }
    names.join(", ")
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let arguments: Arguments = asked.given.read()?;
    let kernel = match (arguments.run_id, arguments.kernel_id) {
        (Some(_), _) => None,
        (None, Some(id)) => Some(asked.session.kernel(&id).await?),
        (None, None) => asked.notebook().await?.and_then(|(opened, _)| opened.kernel()),
    };
    let Some(kernel) = kernel else { return Ok(()) };
    let (_, others) = current(asked.session, &*kernel).await;
    describe_ending(asked, &others).await;
    Ok(())
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
        (true, RunState::KernelDied { how }) => format!(
            "The interrupt ended the kernel of run {id} ({}): its variables are gone. {shows}",
            one_line(&how.to_string())
        ),
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

enum Target {
    Kernel(Arc<dyn Kernel>),
    /// The kernel may be starting for it.
    Run(Arc<Run>),
}

async fn kernel_or_run(context: &Context<'_>, notebook: &NotebookArgument) -> Result<Target, Error> {
    let opened = context.notebook(notebook).await?;
    if let Some(kernel) = opened.kernel() {
        return Ok(Target::Kernel(kernel));
    }
    let is_of_it = |run: &Arc<Run>| run.cell().is_some_and(|cell| cell.path == *opened.path());
    let mut runs = context.session.workspace().journal().runs().into_iter().rev();
    match runs.find(|run| !run.state().is_over() && is_of_it(run)) {
        Some(run) => Ok(Target::Run(run)),
        None => Err(Error::new(
            ErrorKind::NotFound,
            format!("{} has no kernel yet.", one_line(opened.path())),
            "There is nothing to interrupt; execute_cell starts one.",
        )),
    }
}
