//! `runtime_execute_code`, as colab-mcp had it in its runtime mode: runs code on a Colab machine, beside the tools of the tab.

mod login;
mod outputs;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use place::{
    Answer, Call, Error, ErrorKind, KernelId, Machines, NextStep, Progress, Relay, Report, RunState, Tool,
    WantedMachine, progress,
};
use runs::Run;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::{Mutex, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use workspace::{Session, Settings, Workspace};

pub(crate) use login::RequiredLogin;

const NAME: &str = "runtime_execute_code";
const DESCRIPTION: &str = "Run Python code on a Colab machine without a browser tab. All calls share one kernel, so variables stay. \
    Returns the list of outputs in the format of notebooks (streams, displays, results, errors), or null if there are none.";
/// How long an interrupted run may take to end.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(10);
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// Time limit for ending the kernel at shutdown.
const KERNEL_TIMEOUT: Duration = Duration::from_secs(3);

const NO_INPUT: &str = "The code asked for input, which is not available here, so it was interrupted. Put the value into the code.";
const NOT_STOPPED: &str = "The code did not stop after an interrupt. Later calls wait for it, until the person restarts this server.";
const NEW_KERNEL: &str =
    "The kernel was shut down after the last call. This is a new kernel, without its variables.";
const MACHINE_GONE: &str =
    "The Colab machine is gone: it was reclaimed or stopped. Its variables and files are lost.";
const NEXT_MACHINE: &str = "Call runtime_execute_code again: the next call starts another machine. Run the code first on which yours depends.";

/// The tools of the tab, and the tool of the machine.
pub(crate) struct ColabRuntime {
    tab: Arc<dyn Relay>,
    tool: Tool,
    runtime: Arc<Runtime>,
}

/// What all calls share.
struct Runtime {
    machines: Arc<dyn Machines>,
    login: RequiredLogin,
    /// Held by the call that starts it, or runs code on it.
    machine: Mutex<Option<Machine>>,
    closing: CancellationToken,
}

struct Machine {
    session: Session,
    kernel: Option<KernelId>,
    /// What the next answer has to say.
    notes: Vec<String>,
}

impl ColabRuntime {
    /// Contacts nothing, and starts nothing.
    pub(crate) fn new(
        tab: Arc<dyn Relay>,
        machines: Arc<dyn Machines>,
        login: RequiredLogin,
    ) -> serde_json::Result<Arc<Self>> {
        let definition = to_raw_value(&json!({
            "name": NAME,
            "description": DESCRIPTION,
            "inputSchema": {
                "type": "object",
                "properties": { "code": { "type": "string", "description": "The code to run" } },
                "required": ["code"],
            },
        }))?;
        let (machine, closing) = (Mutex::default(), CancellationToken::new());
        let runtime = Arc::new(Runtime { machines, login, machine, closing });
        let tool = Tool { name: NAME.to_owned(), definition: definition.into() };
        Ok(Arc::new(Self { tab, tool, runtime }))
    }

    /// Ends the kernel and the machine, if there is one. Returns in bounded time.
    pub(crate) async fn shutdown(&self) {
        self.runtime.closing.cancel();
        let ending = async {
            if let Some(machine) = self.runtime.machine.lock().await.take() {
                machine.session.workspace().shutdown().await;
            }
        };
        // A machine on which code still runs would be left running.
        let _ = timeout(KERNEL_TIMEOUT, ending).await;
        self.runtime.machines.shutdown().await;
    }
}

impl Relay for ColabRuntime {
    fn instructions(&self) -> String {
        format!("{}\n{NAME} needs no tab: it runs code on a Colab machine.", self.tab.instructions())
    }

    fn tools(&self) -> Vec<Tool> {
        self.tab.tools().into_iter().chain([self.tool.clone()]).collect()
    }

    fn group(&self) -> &'static str {
        self.tab.group()
    }

    fn reads(&self, tool: &str, params: Option<&RawValue>) -> bool {
        tool != NAME && self.tab.reads(tool, params)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.tab.changes()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        if call.name != NAME {
            return self.tab.call(call);
        }
        async move {
            let code = code(&call.params)?;
            let cancelled = self.runtime.closing.child_token();
            let _cancels_when_dropped = cancelled.clone().drop_guard();
            let (runtime, (sender, answer)) = (self.runtime.clone(), oneshot::channel());
            // A task of its own: after a cancelled call, a machine that starts is there for the next call, and the next call's
            // code does not run before this call's code was interrupted.
            let work = async move {
                let mut count = 0.0;
                let report = |line| {
                    count += 1.0;
                    let line = Progress { progress: count, total: None, message: Some(line) };
                    if call.wants_progress {
                        let _ = call.reports.try_send(Report::Progress(line));
                    }
                };
                let _ = sender.send(progress::follow(runtime.execute(code, &cancelled), report).await);
            };
            place::spawn(work.in_current_span());
            answer.await.unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::Internal, "The call was aborted.", NextStep::ReportBug))
            })
        }
        .boxed()
    }
}

impl Runtime {
    async fn execute(&self, code: String, cancelled: &CancellationToken) -> Result<Answer, Error> {
        let mut held = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(cancellation()),
            held = self.machine.lock() => held,
        };
        if held.as_ref().is_some_and(Machine::is_gone) {
            *held = None;
            return Err(machine_gone());
        }
        let machine = match &mut *held {
            Some(machine) => machine,
            empty => empty.insert(self.start().await.map_err(without_tools)?),
        };
        if cancelled.is_cancelled() {
            return Err(cancellation());
        }
        let run = machine.session.run_code(None, code).await?;
        let asked_for_input = self.follow(machine, &run, cancelled).await;
        let answer = machine.answer(&run, asked_for_input);
        if machine.is_gone() {
            *held = None;
        }
        answer
    }

    async fn start(&self) -> Result<Machine, Error> {
        self.login.check()?;
        let starting = async {
            let wanted = WantedMachine { variant: Some("CPU".to_owned()), ..WantedMachine::default() };
            let offer = self.machines.offer(wanted).await?;
            Ok::<_, Error>((self.machines.start(offer.kind, false).await?, offer.cost))
        };
        let (place, cost) = tokio::select! {
            started = starting => started?,
            () = self.closing.cancelled() => return Err(cancellation()),
        };
        let cost = cost.map(|cost| {
            format!("This call started {}. It ends with this server. {cost}", place.description())
        });
        let settings = Settings { asks_for_changes: false, ..Settings::default() };
        let session = Session::new(Workspace::new(place, settings));
        Ok(Machine { session, kernel: None, notes: cost.into_iter().collect() })
    }

    /// Waits until the run is over, or interrupts it. Returns whether its code has asked for input.
    async fn follow(&self, machine: &Machine, run: &Run, cancelled: &CancellationToken) -> bool {
        loop {
            tokio::select! {
                () = run.settled() => break,
                () = cancelled.cancelled() => break,
                () = sleep(PROGRESS_INTERVAL) => {}
            }
            let (seconds, activity) = (run.view().elapsed.as_secs(), run.activity());
            let activity = if activity.is_empty() { "running" } else { &activity };
            progress::report(format!("{activity} ({seconds} s)"));
        }
        let asks_for_input = matches!(run.state(), RunState::WaitingForInput { .. });
        // At shutdown the kernel ends.
        if !run.state().is_over() && !self.closing.is_cancelled() {
            if let Err(error) = machine.session.workspace().runner().interrupt_run(run).await {
                tracing::warn!(%error, "the code was not interrupted");
            }
            let _ = timeout(INTERRUPT_TIMEOUT, run.ended()).await;
        }
        asks_for_input
    }
}

impl Machine {
    fn is_gone(&self) -> bool {
        !self.session.workspace().place().is_present()
    }

    /// The outputs of a run, and what else is to be said.
    fn answer(&mut self, run: &Run, asked_for_input: bool) -> Result<Answer, Error> {
        let view = run.view();
        if let RunState::Failed(error) = view.state {
            return Err(if self.is_gone() { machine_gone() } else { without_tools(error) });
        }
        let mut notes = std::mem::take(&mut self.notes);
        let kernel = run.kernel().map(|kernel| kernel.id().clone());
        if self.kernel.is_some() && self.kernel != kernel {
            notes.push(NEW_KERNEL.to_owned());
        }
        self.kernel = kernel;
        notes.extend(view.notes);
        notes.extend(asked_for_input.then(|| NO_INPUT.to_owned()));
        let is_error = match &view.state {
            RunState::Done | RunState::Error { .. } | RunState::Interrupted => false,
            state if state.is_over() => {
                notes.push(format!("The code {}.", state.outcome()));
                true
            }
            _ => {
                notes.push(NOT_STOPPED.to_owned());
                true
            }
        };
        if self.is_gone() {
            notes.push(format!("{MACHINE_GONE} {NEXT_MACHINE}"));
        }
        outputs::result(&view.outputs, notes, is_error)
    }
}

fn code(params: &RawValue) -> Result<String, Error> {
    let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
    params["arguments"]["code"].as_str().map(str::to_owned).ok_or_else(|| {
        let cause = "The argument \"code\" is missing or not a string.";
        Error::new(ErrorKind::InvalidArgument, cause, format!(r#"Call {NAME} with {{"code": "…"}}."#))
    })
}

/// The error without next steps that need tools of another server.
fn without_tools(error: Error) -> Error {
    match error.next {
        NextStep::Say(_) | NextStep::SignIn | NextStep::ReportBug | NextStep::Server(_) => error,
        _ => Error { next: NextStep::TryAgain, ..error },
    }
}

fn machine_gone() -> Error {
    Error::new(ErrorKind::KernelGone, MACHINE_GONE, NEXT_MACHINE)
}

/// Nobody reads it.
fn cancellation() -> Error {
    Error::new(ErrorKind::Disconnected, "The call was cancelled.", NextStep::TryAgain)
}
