//! `answer_input`: a line for a run that waits at `input()`.

use workspace::{Error, ErrorKind, RunId, RunState};

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::runs::{Waiting, place_of, report};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "answer_input",
        description: "Answer a run that waits for input(), and wait on for its outputs.",
        schema: Schema::new()
            .text("run_id", "")
            .text("value", "The line, without its end")
            .seconds_or("timeout", 0, "Seconds to wait; 0: 120")
            .budget()
            .require(&["run_id", "value"])
            .build(),
        effect: Effect::Runs,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let workspace = context.session.workspace();
    let (id, value) = (arguments.text("run_id")?, arguments.text("value")?);
    let waiting = Waiting::read(&arguments, workspace.settings())?;
    let budget = context.budget(&arguments)?;
    let run = workspace.journal().run(&RunId::from(id.trim()))?;
    if !matches!(run.state(), RunState::WaitingForInput { .. }) || !run.answer_input(value) {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("Run {id} waits for no input."),
            format!("get_run(run_id=\"{id}\") says how it stands."),
        ));
    }
    waiting.wait(&run, context).await?;
    Ok(report(&run, budget, "", &place_of(&run)))
}
