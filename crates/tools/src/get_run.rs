//! `get_run`: the state and the outputs of a run, and a closer look at one output.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use notebook::Output;
use place::{FoundRun, RunId, RunState};
use render::{Budget, Reply, full_text, merged, terminal_text};
use runs::Run;
use tokio::time::sleep;
use workspace::Session;

use super::read_cell::paged;
use calls::prelude::*;
use calls::replies::run_report::{more, report_since};
use calls::replies::seen_outputs::SeenOutputs;

/// How many runs are listed.
const MAX_RUNS: usize = 20;
/// How much of a run's first line is listed, in characters.
const MAX_CODE: usize = 60;
/// How often it is looked whether a run of another server is over.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How many times as long as a look the pause after it is at least.
const POLL_COST: u32 = 10;
/// How much of a line that was found is shown, in characters.
const MAX_LINE: usize = 300;

pub(crate) static TOOL: Tool = tool! {
    name: "get_run",
    title: "See a run",
    description: "See whether a run still runs, and its outputs. With output: one output from offset on, or its lines with pattern. Without run_id: the latest runs.",
    discovery: Discovery::FoundBy("wait for a long-running cell, is training done, page through long output"),
    effect: Effect::Watches,
    groups: &[Group::Read],
    has_view: true,
    combinations: &[
        Combination::Needs(&["since", "output", "offset", "pattern"], &["run_id", "wait_seconds"]),
        Combination::Needs(&["offset"], &["output", "pattern"]),
        Combination::Excludes("pattern", &["since"]),
        Combination::Excludes("output", &["since"]),
    ],
};

arguments! {
    struct Arguments {
        /// Default with wait_seconds: the current run
        run_id: Option<String>,
        /// Wait for its end
        wait_seconds: Option<Duration> = 0,
        /// Only output after this marker of the last reply
        since: Option<SeenOutputs>,
        output: Option<usize>,
        /// Character to start at; with pattern, the lines to skip
        offset: usize = 0,
        /// Text to find in the output
        pattern: Option<FreeText>,
        budget: BudgetArguments,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let id = match (arguments.run_id, arguments.wait_seconds.and_then(|_| running(context.session))) {
        (Some(id), _) => RunId::from(id.trim()),
        (None, Some(run)) => run.id().clone(),
        (None, None) => {
            return Ok(latest(context.session, context.budget(&arguments.budget).characters).into());
        }
    };
    let began = Instant::now();
    let timeout = arguments.wait_seconds.map(|timeout| Waiting::with_timeout(Some(timeout), context).timeout);
    let budget = context.budget(&arguments.budget);
    let run = match run_or_other(context, &id, timeout.unwrap_or_default()).await? {
        Lookup::Run(run) => run,
        Lookup::OfOtherServer(found) => {
            let answer = Answer::from(of_other_server(&id, &found, budget));
            return Ok(answer.about(id, found.state));
        }
    };
    if let Some(timeout) = timeout {
        let waiting = Waiting::with_timeout(Some(timeout.saturating_sub(began.elapsed())), context);
        // A line for `input()` runs code, and this tool only reads.
        Waiting { interval: Duration::from_secs(1), asks_person: false, ..waiting }
            .wait(&run, context)
            .await?;
    }
    if let Some(FreeText(pattern)) = arguments.pattern {
        let (view, limit) = (run.view(), budget.characters);
        let outputs = merged(&view.outputs);
        let found = lines_with(&outputs, run.id(), &pattern, arguments.output, arguments.offset, limit);
        return Ok(found.into());
    }
    if let Some(output) = arguments.output {
        let more = |offset| more(run.id(), output, offset);
        return paged(&merged(&run.view().outputs), output, arguments.offset, budget, &more);
    }
    let mut answer = report_since(context.session, &run, budget, arguments.since).await;
    // The call itself succeeded.
    answer.is_failure = false;
    Ok(answer)
}

enum Lookup {
    Run(Arc<Run>),
    /// Its server lives, and only the log of its kernel tells of it.
    OfOtherServer(FoundRun),
}

/// The run with this id, to act on it: that of another server is only seen from here.
pub(super) async fn own_run(context: &Context<'_>, id: &str) -> Result<Arc<Run>, Error> {
    let id = RunId::from(id.trim());
    match run_or_other(context, &id, Duration::ZERO).await? {
        Lookup::Run(run) => Ok(run),
        Lookup::OfOtherServer(found) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("Run {id} was started by another server; it {}.", found.state.outcome()),
            "get_run shows it. Only its own server can answer it; interrupt_kernel without run_id interrupts it.",
        )),
    }
}

/// The run with this id. Waits for `timeout` until one of another server is over.
async fn run_or_other(context: &Context<'_>, id: &RunId, timeout: Duration) -> Result<Lookup, Error> {
    let journal = context.session.workspace().journal();
    let began = Instant::now();
    loop {
        let error = match journal.run(id) {
            Ok(run) => return Ok(Lookup::Run(run)),
            Err(error) => error,
        };
        // Its outputs may be written into its cell.
        if !context.consent.may(&[Group::Run], Permission::Execute) {
            return Err(error);
        }
        let asked = Instant::now();
        let Some(found) = context.session.find_run(id).await else { return Err(error) };
        if let Ok(run) = journal.run(id) {
            return Ok(Lookup::Run(run));
        }
        let remaining = timeout.saturating_sub(began.elapsed());
        let is_settled = found.state.is_over() || matches!(found.state, RunState::WaitingForInput { .. });
        if is_settled || remaining.is_zero() {
            return Ok(Lookup::OfOtherServer(found));
        }
        let seconds = began.elapsed().as_secs_f64();
        context.report_progress(format!("{seconds:.0} s: another server runs it"));
        // A long log takes long to read.
        sleep(POLL_INTERVAL.max(POLL_COST * asked.elapsed()).min(remaining)).await;
    }
}

/// A run that is only in the log of its kernel.
fn of_other_server(id: &RunId, FoundRun { text, state, .. }: &FoundRun, budget: Budget) -> Reply {
    let is_over = state.is_over();
    let printed = match (text.is_empty(), is_over) {
        (true, true) => "nothing",
        (true, false) => "nothing yet",
        (false, _) => "",
    };
    let how = match state {
        RunState::Queued => "The run waits for its turn".to_owned(),
        RunState::Running => {
            format!("The run is still running: get_run(run_id=\"{id}\", wait_seconds=45) waits for more")
        }
        RunState::WaitingForInput { prompt, .. } => {
            format!(
                "The run waits for input ({:?}), which must be answered through its own server",
                shortened(prompt, MAX_LINE)
            )
        }
        RunState::Error { name, value } => {
            format!("The run failed with {}: {}", one_line(name), one_line(&shortened(value, MAX_LINE)))
        }
        state => format!("The run {}", state.outcome()),
    };
    let verb = if is_over { "Output" } else { "Output so far" };
    let mut reply = Reply::new(budget);
    reply.note(&format!(
        "[INFO] Run {id} was started by another server, which stores its outputs. {how}. {verb}: {printed}"
    ));
    if !text.is_empty() {
        reply.quote(text, String::new());
    }
    reply
}

/// The run to wait for if none is named: one that runs, rather one of the current notebook, else the next.
fn running(session: &Session) -> Option<Arc<Run>> {
    let name = session.current();
    let current = session.names().into_iter().find(|(of, _)| Some(of) == name.as_ref()).map(|(_, path)| path);
    let order = |run: &Arc<Run>| {
        let is_queued = run.state() == RunState::Queued;
        let is_elsewhere = run.cell().is_none_or(|cell| current.as_ref() != Some(&cell.path));
        (is_queued, is_elsewhere)
    };
    // The newest come first, and of those that wait for their turn, the oldest runs first.
    session
        .workspace()
        .journal()
        .runs()
        .into_iter()
        .rev()
        .filter(|run| !run.state().is_over())
        .min_by_key(order)
}

fn latest(session: &Session, limit: usize) -> String {
    let runs = session.workspace().journal().runs();
    if runs.is_empty() {
        return "Nothing has run yet.".to_owned();
    }
    let rows = runs.iter().take(MAX_RUNS).map(|run| {
        let cell = run
            .cell()
            .map(|cell| format!("{} in {}", cell.id, session.shown_open(&cell.path)))
            .unwrap_or_default();
        let state = run.state().name().to_owned();
        let code = shortened(run.source().lines().next().unwrap_or_default(), MAX_CODE);
        [run.id().to_string(), state, format!("{:.1}s", run.elapsed().as_secs_f64()), cell, code]
    });
    let table = table(["Run", "State", "Elapsed", "Cell", "Code"], rows);
    whole_lines(&table, "", limit, |_, left| {
        format!("… and {left} older runs; a larger max_characters shows them.")
    })
}

/// The lines with `pattern` in the outputs, or in one of them, but the first `skipped`: as many as fit into `limit` characters.
fn lines_with(
    outputs: &[Output],
    id: &str,
    pattern: &str,
    wanted: Option<usize>,
    skipped: usize,
    limit: usize,
) -> String {
    let needle = pattern.to_lowercase();
    let mut lines = Vec::new();
    for (index, output) in outputs.iter().enumerate() {
        if wanted.is_some_and(|wanted| wanted != index) {
            continue;
        }
        let mut add = |offset: usize, line: &str| {
            if line.to_lowercase().contains(&needle) {
                lines.push(format!("output {index} offset {offset}: {}", shortened(line, MAX_LINE)));
            }
        };
        let mut offset = 0;
        if let Output::Stream { text, .. } = output {
            for line in text.as_str().split_inclusive('\n') {
                let is_plain = !line.trim_end().contains(char::is_control);
                add(offset, &if is_plain { line.trim_end().into() } else { Cow::from(terminal_text(line)) });
                offset += line.len();
            }
        } else {
            for line in full_text(output).split('\n') {
                add(offset, line);
                offset += line.chars().count() + 1;
            }
        }
    }
    if lines.is_empty() {
        return format!("{pattern:?} does not occur in the outputs of run {id}.");
    }
    let Some(rest) = lines.get(skipped..).filter(|rest| !rest.is_empty()) else {
        return format!(
            "{pattern:?} occurs in {} lines; with pattern, offset is a number of lines to skip.",
            lines.len()
        );
    };
    let same = wanted.map(|output| format!(", output={output}")).unwrap_or_default();
    whole_lines(&rest.join("\n"), "", limit, |shown, left| {
        let next = skipped + shown;
        format!("… and {left} more lines: get_run(run_id=\"{id}\", pattern={pattern:?}{same}, offset={next})")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_that_is_found_can_be_reached() {
        let text = (0..100).map(|number| format!("hit {number}\nmiss")).collect::<Vec<_>>().join("\n");
        let stream = |text: &str| Output::Stream { name: "stdout".to_owned(), text: text.into() };
        let error = Output::Error { name: "hit".to_owned(), value: "x".to_owned(), traceback: Vec::new() };
        for wanted in [None, Some(0)] {
            let outputs = [stream(&text), error.clone()];
            let (mut found, mut skipped) = (0, 0);
            loop {
                let page = lines_with(&outputs, "r1", "HIT", wanted, skipped, 400);
                assert!(page.chars().count() <= 400, "{page}");
                found += page.lines().filter(|line| line.starts_with("output ")).count();
                let same = wanted.map_or("", |_| ", output=0");
                let way = format!("get_run(run_id=\"r1\", pattern=\"HIT\"{same}, offset=");
                let Some((_, next)) = page.split_once(&way) else { break };
                skipped = next.trim_end_matches(')').parse().unwrap();
            }
            assert_eq!(found, if wanted.is_some() { 100 } else { 101 });
        }
        let past = lines_with(&[stream(&text)], "r1", "hit", None, 100, 400);
        assert!(past.starts_with("\"hit\" occurs in 100 lines"), "{past}");
    }
}
