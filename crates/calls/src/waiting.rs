//! Waiting for a run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::arguments::declare::arguments;
use crate::arguments::parameters::BudgetArguments;
use crate::context::Context;
use crate::permissions::{Group, Permission};
use crate::question::{PersonReply, Question, QuestionText};
use place::{Error, RunState};
use runs::Run;
use tokio::time::{sleep, sleep_until, timeout};

/// How long an interrupted run may take to end before we answer that it continues.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How much later than the kernel's question the output before it may arrive.
const OUTPUT_GRACE: Duration = Duration::from_millis(100);
/// The pause between two progress reports.
const INTERVAL: Duration = Duration::from_secs(5);
const MIN_INTERVAL: Duration = Duration::from_millis(100);

arguments! {
    /// How to wait for the run of a cell, and what the reply may hold.
    pub struct WaitingArguments {
        /// Seconds to wait; 0: 50
        timeout: Option<Duration> = 0,
        stream: bool = true,
        progress_interval: Option<Duration> = 5,
        interrupt_on_timeout: bool = false,
        interrupt_on_cancel: bool = false,
        budget: BudgetArguments,
    }
}

arguments! {
    /// Whether a tool that edits a cell runs it too.
    pub struct RunArguments {
        /// Run it too, and return its outputs
        run: bool = false,
        waiting: WaitingArguments,
    }
}

impl RunArguments {
    /// Fails if the call may not run what its tool edits.
    pub async fn permit(&self, context: &Context<'_>) -> Result<(), Error> {
        if !self.run {
            return Ok(());
        }
        let what = format!("{} with run", context.called.tool.name);
        context.permit(&[Group::Run], Permission::Execute, &what).await
    }
}

impl WaitingArguments {
    /// As if nothing else was given.
    pub fn with_timeout(timeout: Option<Duration>) -> Self {
        Self {
            timeout,
            stream: true,
            progress_interval: None,
            interrupt_on_timeout: false,
            interrupt_on_cancel: false,
            budget: BudgetArguments { max_characters: None, max_images: None },
        }
    }

    pub fn waiting(&self, context: &Context<'_>) -> Waiting {
        let interval = self.progress_interval.unwrap_or(INTERVAL).max(MIN_INTERVAL);
        Waiting {
            interval: if self.stream { interval } else { Duration::MAX },
            interrupts_on_timeout: self.interrupt_on_timeout,
            interrupts_on_cancel: self.interrupt_on_cancel,
            ..Waiting::with_timeout(self.timeout, context)
        }
    }
}

/// How an agent wants to wait for a run.
pub struct Waiting {
    pub timeout: Duration,
    pub interval: Duration,
    pub interrupts_on_timeout: bool,
    pub interrupts_on_cancel: bool,
    /// Whether the person behind the agent is asked for `input()`.
    pub asks_person: bool,
}

impl Waiting {
    /// Waits for `timeout`, or as long as the server's settings say, and interrupts nothing.
    pub fn with_timeout(timeout: Option<Duration>, context: &Context<'_>) -> Self {
        let settings = context.session.workspace().settings();
        let default = if context.may_be_task { settings.max_timeout } else { settings.default_timeout };
        Self {
            timeout: timeout.unwrap_or(default).min(settings.max_timeout),
            interval: INTERVAL,
            interrupts_on_timeout: false,
            interrupts_on_cancel: false,
            asks_person: true,
        }
    }

    /// Waits for a run as long as the agent wants, reports progress, and asks the person for `input()` if that is wanted.
    /// The run does not depend on it: neither the timeout nor dropping the future ends the run.
    pub async fn wait(&self, run: &Arc<Run>, context: &Context<'_>) -> Result<(), Error> {
        context.turn.started(run);
        // The run has its place in the order of the session's runs, and the next call need not wait for its end.
        context.turn.finish();
        if self.interrupts_on_cancel {
            interrupt_when_cancelled(run.clone(), context);
        }
        let mut deadline = Instant::now() + self.timeout;
        loop {
            let settled =
                timeout(deadline.saturating_duration_since(Instant::now()), self.watch(run, context)).await;
            if settled.is_err() {
                break;
            }
            let asked = Instant::now();
            let answer = tokio::select! {
                biased;
                answer = self.ask_person(run, context) => answer,
                // Somebody else has answered, or the run has ended.
                () = run.answered() => continue,
            };
            let Some(answer) = answer else { break };
            deadline += asked.elapsed();
            run.answer_input(answer);
        }
        if matches!(run.state(), RunState::WaitingForInput { .. }) {
            // What was printed before the question comes on another channel, and may arrive after it.
            sleep(OUTPUT_GRACE).await;
        }
        if self.interrupts_on_timeout && !run.is_settled() {
            context.session.workspace().runner().interrupt_run(run).await?;
            let _ = timeout(INTERRUPT_TIMEOUT, run.ended()).await;
        }
        Ok(())
    }

    /// The person's answer to the run's `input()`; `None` if it waits for none, or nobody can be asked.
    async fn ask_person(&self, run: &Run, context: &Context<'_>) -> Option<String> {
        let RunState::WaitingForInput { prompt, is_password: false } = run.state() else { return None };
        let person = context.person.filter(|_| self.asks_person)?;
        match person.ask(Question::Line(QuestionText::input(&prompt))).await {
            PersonReply::Accepted { line } => line,
            _ => None,
        }
    }

    async fn watch(&self, run: &Run, context: &Context<'_>) {
        let settled = run.settled();
        tokio::pin!(settled);
        let mut next = Instant::now().checked_add(self.interval);
        loop {
            tokio::select! {
                () = &mut settled => return,
                () = tick(next) => {}
            }
            let elapsed = run.elapsed().as_secs_f64();
            let activity = run.activity();
            let separator = if activity.is_empty() { "" } else { ": " };
            context.report_progress(format!("{elapsed:.0} s{separator}{activity}"));
            next = Instant::now().checked_add(self.interval);
        }
    }
}

async fn tick(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Interrupts the run if the agent cancels the call. The task ends with the run.
fn interrupt_when_cancelled(run: Arc<Run>, context: &Context<'_>) {
    let cancelled = context.cancelled.clone();
    let workspace = context.session.workspace().clone();
    place::spawn(async move {
        let is_cancelled = tokio::select! {
            () = cancelled.cancelled() => true,
            () = run.ended() => false,
        };
        if is_cancelled && let Err(error) = workspace.runner().interrupt_run(&run).await {
            tracing::warn!(run = %run.id(), %error, "a cancelled run could not be interrupted");
        }
    });
}
