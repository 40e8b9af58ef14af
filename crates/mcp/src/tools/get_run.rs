//! `get_run`: how a run stands, what it has put out, and a closer look at one output.

use std::time::Duration;

use render::full_text;
use workspace::{Run, RunId};

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::read_cell::paged;
use super::runs::{Waiting, place_of, report};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "get_run",
        description: "State and outputs of a run. With output: one output from offset on, or its lines with pattern. Without run_id: the latest runs.",
        schema: Schema::new()
            .text("run_id", "")
            .seconds_or("wait_seconds", 0, "Wait for its end")
            .integer("output", "")
            .integer_or("offset", 0, "Character to begin at")
            .text("pattern", "Text to find in the output")
            .budget()
            .build(),
        effect: Effect::Reads,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let journal = context.session.workspace().journal();
    let Some(id) = arguments.optional_text("run_id")? else {
        return Ok(latest(&journal.runs()).into());
    };
    let run = journal.run(&RunId::from(id.trim()))?;
    let budget = context.budget(&arguments)?;
    if let Some(patience) = arguments.seconds("wait_seconds")? {
        let waiting = Waiting::plain(patience);
        waiting.wait(&run, context).await?;
    }
    let id = run.id();
    if let Some(pattern) = arguments.optional_text("pattern")? {
        return Ok(found(&run, &pattern, arguments.integer("output")?, budget.characters).into());
    }
    if arguments.has("output") {
        let (output, offset) = (arguments.count("output", 0)?, arguments.count("offset", 0)?);
        let more = |offset| format!("get_run(run_id=\"{id}\", output={output}, offset={offset})");
        return paged(&run.view().outputs, output, offset, budget.characters, &more);
    }
    let mut answer = report(&run, budget, "", &place_of(&run));
    // That the run failed is what was asked for.
    answer.is_error = false;
    Ok(answer)
}

fn latest(runs: &[std::sync::Arc<Run>]) -> String {
    const SHOWN: usize = 20;
    if runs.is_empty() {
        return "Nothing has run yet.".to_owned();
    }
    let rows = runs.iter().take(SHOWN).map(|run| {
        let cell = run.cell().map(|cell| format!("{} in {}", cell.id, cell.path)).unwrap_or_default();
        let state = format!("{:?}", run.state());
        let state = state.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        let first: String = run.source().lines().next().unwrap_or_default().chars().take(60).collect();
        [run.id().to_string(), state, format!("{:.1}s", run.elapsed().as_secs_f64()), cell, first]
    });
    super::cells::table(["Run", "State", "Elapsed", "Cell", "Code"], rows)
}

fn found(run: &Run, pattern: &str, output: Option<i64>, limit: usize) -> String {
    let wanted = output.and_then(|output| usize::try_from(output).ok());
    let needle = pattern.to_lowercase();
    let mut text = String::new();
    let mut left_out = 0_usize;
    for (index, output) in run.view().outputs.iter().enumerate() {
        if wanted.is_some_and(|wanted| wanted != index) {
            continue;
        }
        let mut offset = 0;
        for line in full_text(output).split('\n') {
            if line.to_lowercase().contains(&needle) {
                let shown: String = line.chars().take(300).collect();
                let row = format!("output {index} offset {offset}: {shown}\n");
                if text.len() + row.len() > limit {
                    left_out += 1;
                } else {
                    text.push_str(&row);
                }
            }
            offset += line.chars().count() + 1;
        }
    }
    match (text.is_empty(), left_out) {
        (true, 0) => format!("{pattern:?} does not occur in the outputs of run {}.", run.id()),
        (_, 0) => text,
        _ => format!("{text}… and {left_out} further lines."),
    }
}

impl Waiting {
    /// Waits this long, and interrupts nothing.
    fn plain(patience: Duration) -> Self {
        const INTERVAL: Duration = Duration::from_secs(1);
        Self { patience, interval: INTERVAL, interrupts_on_timeout: false, interrupts_on_cancel: false }
    }
}
