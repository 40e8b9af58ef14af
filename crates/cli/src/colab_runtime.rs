//! `runtime_execute_code`, as colab-mcp had it in its runtime mode: runs code on a Colab machine, beside the tools of the tab.

mod outputs;

use std::path::{PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use colab_machines::{Google, OAuthClient, Store};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join, try_join};
use place::{
    Answer, Call, Error, ErrorKind, KernelId, Machines, NextStep, Progress, Relay, Report, RunState, Tool,
    WantedMachine, progress,
};
use runs::Run;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use workspace::{Session, Settings, Workspace};

use crate::run::stop;

const NAME: &str = "runtime_execute_code";
const DESCRIPTION: &str = "Run Python code on a Colab machine without a browser tab. All calls share one kernel, so variables stay. \
    Returns the list of outputs in the format of notebooks (streams, displays, results, errors), or null if there are none.";
const NO_INPUT: &str = "The code asked for input, which is not available here. Put the value into the code.";
const NEW_KERNEL: &str =
    "The kernel was shut down after the last call. This is a new kernel, without its variables.";

/// Time limit for ending the kernel.
const KERNEL_TIMEOUT: Duration = Duration::from_secs(3);

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

/// The login that the machine needs.
pub(crate) struct RequiredLogin {
    pub(crate) store: Store,
    pub(crate) google: Google,
    /// The file of its OAuth client. `None` for any.
    pub(crate) client: Option<PathBuf>,
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
            "title": "Run code on a Colab machine",
            "description": DESCRIPTION,
            "inputSchema": {
                "type": "object",
                "properties": { "code": { "type": "string", "description": "The code to run" } },
                "required": ["code"],
            },
            "annotations": { "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true },
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
            let runtime = self.runtime.clone();
            let work = async move {
                let mut count = 0.0;
                let report = |line| {
                    count += 1.0;
                    let line = Progress { progress: count, total: None, message: Some(line) };
                    if call.wants_progress {
                        let _ = call.reports.try_send(Report::Progress(line));
                    }
                };
                progress::follow(runtime.execute(code, &cancelled), report).await
            };
            // In a task: after a cancelled call, a machine that starts is there for the next call, and the next call's code does
            // not run before this call's code was interrupted.
            tokio::spawn(work.in_current_span().boxed()).await.unwrap_or_else(|_| {
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
            let (offer, list) = try_join(self.machines.offer(wanted), self.machines.list()).await?;
            Ok::<_, Error>((self.machines.start(offer.kind, false).await?, offer.cost, list.notices))
        };
        let (place, cost, mut notes) = tokio::select! {
            started = starting => started?,
            () = self.closing.cancelled() => return Err(cancellation()),
        };
        let machine = place.description();
        notes.extend(
            cost.map(|cost| format!("This call started {machine}. It ends with this server. {cost}")),
        );
        let settings = Settings { asks_for_changes: false, ..Settings::default() };
        let session = Session::new(Workspace::new(place, settings));
        Ok(Machine { session, kernel: None, notes })
    }

    /// Waits until the run is over, or interrupts it. Returns whether its code has asked for input.
    async fn follow(&self, machine: &Machine, run: &Run, cancelled: &CancellationToken) -> bool {
        tokio::select! {
            () = run.settled() => {}
            () = cancelled.cancelled() => {}
        }
        let asks_for_input = matches!(run.state(), RunState::WaitingForInput { .. });
        // At shutdown the kernel ends.
        if run.state().is_over() || self.closing.is_cancelled() {
            return asks_for_input;
        }
        let is_over = stop(&machine.session, run).await;
        if let Some(kernel) = run.kernel().filter(|_| asks_for_input && !is_over) {
            // Code that asks again after each interrupt would block all later calls.
            let _ = timeout(KERNEL_TIMEOUT, join(kernel.shutdown(), run.ended())).await;
        }
        asks_for_input
    }
}

impl Machine {
    fn is_gone(&self) -> bool {
        !self.session.workspace().places().default_place().is_present()
    }

    /// The outputs of a run, then the notes.
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
        notes.extend(view.notices.into_iter().chain(view.notes));
        notes.extend(asked_for_input.then(|| NO_INPUT.to_owned()));
        let is_error = !matches!(view.state, RunState::Done | RunState::Error { .. } | RunState::Interrupted);
        notes.extend(is_error.then(|| format!("The code {}.", view.state.outcome())));
        notes.extend(self.is_gone().then(|| machine_gone().to_string()));
        outputs::result(&view.outputs, notes, is_error)
    }
}

impl RequiredLogin {
    /// Fails if there is no login of the client. An MCP server opens no consent page by itself: nobody may be there to expect
    /// it, and clients wait for a call less long than a consent can take.
    fn check(&self) -> Result<(), Error> {
        // Without a file, the machines find out whether somebody has signed in.
        let Some(file) = &self.client else { return Ok(()) };
        let file_name = absolute(file).unwrap_or_else(|_| file.clone());
        let command = format!("cellbridge colab login --client-oauth-config \"{}\"", file_name.display());
        let next = format!("Ask the person to run this in a terminal, then try again: {command}");
        let failed = |error: Error| Error { next: next.clone().into(), ..error };
        let client = OAuthClient::read(file).map_err(failed)?;
        let cause = match self.store.load(&self.google).map_err(failed)? {
            Some(login) if login.client.id == client.id => return Ok(()),
            Some(_) => "The login to Colab's API belongs to another OAuth client than --client-oauth-config.",
            None => "Nobody is signed in to Colab's API.",
        };
        Err(Error::new(ErrorKind::Unauthorized, cause, next))
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
        NextStep::Say(_)
        | NextStep::SignIn
        | NextStep::ReportBug
        | NextStep::GiveAddress
        | NextStep::GiveToken { .. }
        | NextStep::GivePassword
        | NextStep::GiveCertificate { .. } => error,
        _ => Error { next: NextStep::TryAgain, ..error },
    }
}

fn machine_gone() -> Error {
    let cause = "The Colab machine is gone: it was reclaimed or stopped. Its variables and files are lost.";
    let next =
        format!("The next call of {NAME} starts another machine: run the code first on which yours depends.");
    Error::new(ErrorKind::KernelGone, cause, next)
}

/// Nobody reads it.
fn cancellation() -> Error {
    Error::new(ErrorKind::Disconnected, "The call was cancelled.", NextStep::TryAgain)
}
