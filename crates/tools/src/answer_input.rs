//! `answer_input`: a line for a run that waits at `input()`.

use std::time::Duration;

use place::RunState;

use super::get_run::own_run;
use calls::prelude::*;
use calls::replies::run_report::{place_of, report};

pub(crate) static TOOL: Tool = tool! {
    name: "answer_input",
    title: "Answer input()",
    description: "Answer the prompt of a cell that waits for input(), and wait for its outputs.",
    discovery: Discovery::FoundBy("stdin, prompt, type an answer for input()"),
    effect: Effect::Answers,
    groups: &[Group::Run],
};

arguments! {
    struct Arguments {
        run_id: String,
        /// The line, without its end
        value: String,
        /// Seconds to wait; 0: 50
        timeout: Option<Duration> = 0,
        budget: BudgetArguments,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let run = own_run(context, &arguments.run_id).await?;
    if !matches!(run.state(), RunState::WaitingForInput { .. }) || !run.answer_input(arguments.value) {
        let id = arguments.run_id;
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("Run {id} is not waiting for input."),
            format!("get_run(run_id=\"{id}\") shows its state."),
        ));
    }
    Waiting::with_timeout(arguments.timeout, context).wait(&run, context).await?;
    Ok(report(context.session, &run, context.budget(&arguments.budget), "", &place_of(&run)).await)
}
