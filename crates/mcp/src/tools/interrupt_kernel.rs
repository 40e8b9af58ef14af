//! `interrupt_kernel`: stops what a kernel runs.

use std::time::Duration;

use tokio::time::timeout;
use workspace::{Error, ErrorKind, RunId};

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

/// How long the run that was interrupted may take to end before we answer.
const ENDING: Duration = Duration::from_secs(5);

pub(super) fn tool() -> Tool {
    Tool {
        name: "interrupt_kernel",
        description: "Interrupt what runs; variables stay. With run_id that run alone, also from the queue.",
        schema: Schema::new().text("run_id", "").text("kernel_id", "").notebook().build(),
        effect: Effect::Destroys,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let workspace = context.session.workspace();
    let run = match (arguments.optional_text("run_id")?, arguments.optional_text("kernel_id")?) {
        (Some(id), _) => {
            let run = workspace.journal().run(&RunId::from(id.trim()))?;
            if run.state().is_over() {
                return Ok(format!("Run {id} was over already.").into());
            }
            workspace.runner().interrupt_run(&run).await?;
            Some(run)
        }
        (None, Some(id)) => workspace.runner().interrupt(&*context.session.kernel(&id).await?).await?,
        (None, None) => {
            let opened = context.notebook(&arguments).await?;
            let Some(kernel) = opened.kernel() else {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("{} has no kernel yet.", opened.path()),
                    "There is nothing to interrupt; execute_cell starts one.",
                ));
            };
            workspace.runner().interrupt(&*kernel).await?
        }
    };
    let Some(run) = run else {
        return Ok("The kernel was interrupted; none of our runs was at work on it.".to_owned().into());
    };
    let id = run.id();
    Ok(match timeout(ENDING, run.ended()).await {
        Ok(()) => format!("Interrupted run {id}: it is over. get_run(run_id=\"{id}\") shows its outputs."),
        Err(_) => format!(
            "The kernel was told to interrupt run {id}, which has not ended yet. get_run(run_id=\"{id}\", \
             wait_seconds=10) waits for it; restart_notebook ends it for sure."
        ),
    }
    .into())
}
