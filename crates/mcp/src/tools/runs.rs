//! Waiting for runs, and telling what came of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use render::{Budget, Part, Reply};
use tokio::time::{sleep, sleep_until, timeout};
use workspace::{Error, ErrorKind, LossCause, Run, RunState, Settings};

use super::arguments::Arguments;
use super::context::{Answer, Context, FAILED};
use crate::next_step::message;

/// How long the person behind an agent may take to answer.
const PERSON: Duration = Duration::from_secs(600);

/// How an agent wants to wait for a run.
pub(crate) struct Waiting {
    pub(crate) patience: Duration,
    pub(crate) interval: Duration,
    pub(crate) interrupts_on_timeout: bool,
    pub(crate) interrupts_on_cancel: bool,
}

impl Waiting {
    /// Reads `timeout`, `progress_interval` and the two ways of giving up.
    pub(crate) fn read(arguments: &Arguments, settings: &Settings) -> Result<Self, Error> {
        const INTERVAL: Duration = Duration::from_secs(5);
        const LEAST_INTERVAL: Duration = Duration::from_millis(100);
        let is_quiet = !arguments.flag("stream", true)?;
        let interval = arguments.seconds("progress_interval")?.unwrap_or(INTERVAL).max(LEAST_INTERVAL);
        Ok(Self {
            patience: arguments
                .seconds("timeout")?
                .unwrap_or(settings.default_timeout)
                .min(settings.max_timeout),
            interval: if is_quiet { Duration::MAX } else { interval },
            interrupts_on_timeout: arguments.flag("interrupt_on_timeout", false)?,
            interrupts_on_cancel: arguments.flag("interrupt_on_cancel", false)?,
        })
    }

    /// Waits for a run as long as the agent wants, with progress, and with the person's answers to `input()`.
    /// Dropping this, or the end of the wait, never ends the run.
    pub(crate) async fn wait(&self, run: &Arc<Run>, context: &Context<'_>) -> Result<(), Error> {
        if self.interrupts_on_cancel {
            interrupt_when_cancelled(run.clone(), context);
        }
        let mut deadline = Instant::now() + self.patience;
        loop {
            let settled =
                timeout(deadline.saturating_duration_since(Instant::now()), self.watch(run, context)).await;
            if settled.is_err() {
                break;
            }
            let asked = Instant::now();
            let answer = tokio::select! {
                biased;
                answer = ask_person(run, context) => answer,
                // Somebody else has answered, or the run has ended.
                () = run.answered() => continue,
            };
            let Some(answer) = answer else { break };
            deadline += asked.elapsed();
            run.answer_input(answer);
        }
        if matches!(run.state(), RunState::WaitingForInput { .. }) {
            // What was printed before the question travels on another channel, and may come after it.
            sleep(BEFORE_THE_QUESTION).await;
        }
        if self.interrupts_on_timeout && !run.is_settled() {
            context.session.workspace().runner().interrupt_run(run).await?;
            let _ = timeout(AFTER_INTERRUPT, run.ended()).await;
        }
        Ok(())
    }

    async fn watch(&self, run: &Run, context: &Context<'_>) {
        let begun = Instant::now();
        let settled = run.settled();
        tokio::pin!(settled);
        let mut next = begun.checked_add(self.interval);
        loop {
            tokio::select! {
                () = &mut settled => return,
                () = tick(next) => {}
            }
            // The run's own time stands still while its end is stored; progress has to grow.
            let elapsed = run.elapsed().as_secs_f64();
            let activity = run.activity();
            let separator = if activity.is_empty() { "" } else { ": " };
            context.progress(begun.elapsed().as_secs_f64(), format!("{elapsed:.0} s{separator}{activity}"));
            next = Instant::now().checked_add(self.interval);
        }
    }
}

/// How long an interrupted run may take to end before the agent is told that it runs on.
const AFTER_INTERRUPT: Duration = Duration::from_secs(5);

/// How much later than the kernel's question the output before it may arrive.
const BEFORE_THE_QUESTION: Duration = Duration::from_millis(100);

async fn tick(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// The task ends with the run.
fn interrupt_when_cancelled(run: Arc<Run>, context: &Context<'_>) {
    let cancelled = context.cancelled.clone();
    let workspace = context.session.workspace().clone();
    tokio::spawn(async move {
        let is_cancelled = tokio::select! {
            () = cancelled.cancelled() => true,
            () = run.ended() => false,
        };
        if is_cancelled && let Err(error) = workspace.runner().interrupt_run(&run).await {
            tracing::warn!(run = %run.id(), %error, "a run that was taken back goes on");
        }
    });
}

/// The answer of the person to what the run asks; `None` if it asks nothing, or nobody can be asked.
async fn ask_person(run: &Run, context: &Context<'_>) -> Option<String> {
    let RunState::WaitingForInput { prompt, is_password: false } = run.state() else { return None };
    let person = context.person?;
    let question =
        if prompt.trim().is_empty() { "The code asks for a line of input.".to_owned() } else { prompt };
    timeout(PERSON, person.ask(question)).await.ok().flatten()
}

/// The run as an agent reads it: `heading`, outputs, notes, and a last line that says how it stands and what to
/// do next. `place` tells where it belongs.
pub(crate) fn report(run: &Run, budget: Budget, heading: &str, place: &str) -> Answer {
    let view = run.view();
    let id = run.id();
    let mut closing = String::new();
    for note in &view.notes {
        closing.push_str(note);
        closing.push('\n');
    }
    closing.push_str(&end_line(id, &view.state, view.elapsed, view.execution_count, place));
    if let Some(saved) = view.saved.as_ref().filter(|_| view.state.is_over()) {
        closing.push_str(&format!(" · outputs {saved}"));
    }
    let reserved = closing.len() + if view.state.is_failure() { FAILED.len() + 1 } else { 0 };
    let characters = budget.characters.saturating_sub(reserved);
    let mut reply = Reply::new(Budget { characters, ..budget });
    if !heading.is_empty() {
        reply.say(heading);
    }
    if view.outputs.is_empty() && view.state == RunState::Done {
        reply.say("[No output generated]");
    }
    reply.outputs(&view.outputs, &|output, offset| {
        format!("get_run(run_id=\"{id}\", output={output}, offset={offset})")
    });
    let mut parts = reply.into_parts();
    append(&mut parts, &closing);
    Answer::of_code(parts, view.state.is_failure())
}

/// Where a run belongs, for its last line, by what the run itself knows.
pub(crate) fn place_of(run: &Run) -> String {
    run.cell().map(|cell| format!(" · cell {} in {}", cell.id, cell.path)).unwrap_or_default()
}

/// Adds a line at the end, to the last text if that ends the reply.
pub(crate) fn append(parts: &mut Vec<Part>, line: &str) {
    match parts.last_mut() {
        Some(Part::Text(text)) => {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        }
        _ => parts.push(Part::Text(line.to_owned())),
    }
}

fn end_line(id: &str, state: &RunState, elapsed: Duration, count: Option<u64>, place: &str) -> String {
    let seconds = elapsed.as_secs_f64();
    let count = count.map(|count| format!(" · In[{count}]")).unwrap_or_default();
    let label = format!("run {id}{count}{place}");
    match state {
        RunState::Queued | RunState::Running => {
            let doing = if *state == RunState::Queued { "QUEUED" } else { "STILL RUNNING" };
            format!(
                "[{doing} after {seconds:.1}s] {label}. It goes on: get_run(run_id=\"{id}\", wait_seconds=60) waits for \
                 more, interrupt_kernel stops it."
            )
        }
        RunState::WaitingForInput { prompt, is_password } => {
            let secret = if *is_password { " (a secret: better ask the person)" } else { "" };
            format!(
                "[WAITING FOR INPUT: {prompt:?}{secret}] {label}. answer_input(run_id=\"{id}\", value=…) answers, \
                 interrupt_kernel stops it."
            )
        }
        RunState::Done => format!("[COMPLETED in {seconds:.2}s] {label}"),
        RunState::Error { name, value } => {
            let value: String = value.lines().next().unwrap_or_default().chars().take(200).collect();
            format!("[ERROR {name}: {value}] after {seconds:.2}s · {label}")
        }
        RunState::Interrupted => format!("[INTERRUPTED after {seconds:.2}s] {label}"),
        RunState::Lost { is_started, cause } => {
            let known = match (is_started, cause) {
                (true, _) => "It started; how it ended is not known, and outputs may be missing",
                (false, LossCause::KernelReplaced) => {
                    "It is not known whether it ran; the variables are gone"
                }
                (false, _) => "It is not known whether it ran",
            };
            format!(
                "[LOST: {cause}] after {seconds:.2}s · {label}. {known}. Check its effects before you run it again."
            )
        }
        RunState::KernelDied { how } => format!(
            "[KERNEL DIED: {how}] after {seconds:.2}s · {label}. Its variables are gone; the next run starts it anew."
        ),
        RunState::Failed(error) => format!("[NOT RUN] {label}. {}", message(error)),
    }
}

/// Refuses what is no code.
pub(crate) fn not_code(label: &str, kind: &str) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!("{label} is a {kind} cell; only code cells run."),
        "read_notebook shows the types of the cells; insert_execute_code_cell adds code.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_of_a_loss_reads_differently() {
        let line = |cause| {
            let state = RunState::Lost { is_started: false, cause };
            end_line("r1", &state, Duration::from_secs(2), None, "")
        };
        assert_eq!(
            line(LossCause::Disconnected),
            "[LOST: the connection to the kernel was cut, and no reply came after it was restored] after 2.00s · run r1. \
             It is not known whether it ran. Check its effects before you run it again."
        );
        assert_eq!(
            line(LossCause::KernelReplaced),
            "[LOST: a new process replaced the kernel before it reported that this started] after 2.00s · run r1. It is \
             not known whether it ran; the variables are gone. Check its effects before you run it again."
        );
        assert_eq!(
            line(LossCause::Superseded),
            "[LOST: another client connected to the kernel, and the server sent the reply there] after 2.00s · run r1. It \
             is not known whether it ran. Check its effects before you run it again."
        );
    }
}
