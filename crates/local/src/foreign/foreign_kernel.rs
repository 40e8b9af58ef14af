//! One kernel that another program has started: what is known of it, and what it refuses.

use std::borrow::Cow;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use kernel::{Client, Status};
use notebook::Json;
use parking_lot::Mutex;
use place::{
    ClientExecutor, Error, ErrorKind, Executor, Fault, Foreign, Future, Kernel, KernelDescription, KernelId,
    KernelState, NextStep,
};
use transports::Probe;

use super::file::ForeignFile;
use super::process::KernelProcess;
use environments::{InstalledKernelspec, InterruptMode, ProcessEnv};

mod joining;

/// A kernel that another program has started. It is never restarted or ended from here.
pub(crate) struct ForeignKernel {
    this: Weak<Self>,
    id: KernelId,
    process_env: Arc<ProcessEnv>,
    /// Held while a connection is made.
    connecting: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

struct State {
    file: ForeignFile,
    /// What it was seen to do when it was not connected.
    probe: Option<Probe>,
    client: Option<Client>,
    /// The kernelspec of its name, if that is installed here.
    kernelspec: Option<InstalledKernelspec>,
    /// Found when the connection was made.
    process: Option<Arc<KernelProcess>>,
    last_activity: Option<SystemTime>,
    is_gone: bool,
}

impl ForeignKernel {
    pub(super) fn new(file: ForeignFile, process_env: Arc<ProcessEnv>) -> Arc<Self> {
        let id = KernelId::from(&*file.id);
        let state = State {
            file,
            probe: None,
            client: None,
            kernelspec: None,
            process: None,
            last_activity: None,
            is_gone: false,
        };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            id,
            process_env,
            connecting: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
        })
    }

    /// Records what was seen of it. `None`: it is connected, and was not asked.
    pub(super) fn update(&self, file: ForeignFile, probe: Option<Probe>) {
        let mut state = self.state.lock();
        if let Some(probe) = probe {
            (state.file, state.probe, state.is_gone) = (file, Some(probe), false);
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.living_client().is_some()
    }

    /// Ends the connection. The kernel goes on.
    pub(super) fn disconnect(&self) {
        self.state.lock().client = None;
    }

    /// How it can be interrupted. Fails if neither a message nor a signal is sure to interrupt it and nothing else.
    fn interruption(&self) -> Result<Interruption, Error> {
        let state = self.state.lock();
        let client = state.client.clone().ok_or_else(|| self.not_connected())?;
        let mode = state.kernelspec.as_ref().map(|kernelspec| kernelspec.interrupt_mode);
        if mode == Some(InterruptMode::Message) {
            return Ok(Interruption::Message(client));
        }
        // A signal can end a kernel that does not expect it.
        let takes_signals = |process: &&Arc<KernelProcess>| mode.is_some() || process.runs_ipykernel;
        match state.process.as_ref().filter(takes_signals) {
            Some(process) => Ok(Interruption::Signal(process.clone())),
            None => Err(self.of_others(
                "interrupted from here: its process cannot be identified",
                "The person can interrupt it in the program that started it (Ctrl+C in a console, the stop button).",
            )),
        }
    }

    fn not_connected(&self) -> Error {
        let cause = format!("Kernel {} is not connected, so there is nothing to interrupt.", self.id);
        Error::new(ErrorKind::InvalidArgument, cause, NextStep::Run)
    }

    /// What only the program may do that started it.
    fn of_others(&self, what: &str, next: &'static str) -> Error {
        let cause = format!("Kernel {} belongs to another program and cannot be {what}.", self.id);
        Error::new(ErrorKind::Unsupported, cause, next).with_fault(Fault::Person)
    }
}

enum Interruption {
    Message(Client),
    Signal(Arc<KernelProcess>),
}

impl Kernel for ForeignKernel {
    fn id(&self) -> &KernelId {
        &self.id
    }

    fn description(&self) -> KernelDescription {
        let state = self.state.lock();
        let client = state.client.as_ref();
        let probed = state.probe.as_ref();
        let kernelspec = state.kernelspec.as_ref();
        let reported = || match client {
            Some(client) => language_name(client.language_info()),
            None => probed.and_then(|probe| language_name(probe.language_info.as_ref()?)),
        };
        let language = kernelspec.map(|it| it.language.clone()).or_else(reported).unwrap_or_default();
        let name = state.file.kernel_name().unwrap_or_else(|| generic_name(&language)).to_owned();
        let kernel_state = match (client.map(|client| client.status().borrow().clone()), probed) {
            (Some(Status::Dead { how }), _) => KernelState::Dead { how },
            (Some(Status::Starting), _) => KernelState::Starting,
            (Some(Status::Busy), _) => KernelState::Busy,
            (None, Some(probe)) if probe.is_busy => KernelState::Busy,
            (Some(Status::Idle) | None, _) => KernelState::Idle,
        };
        KernelDescription {
            display_name: kernelspec.map_or_else(|| name.clone(), |it| it.display_name.clone()),
            name,
            language,
            environment: String::new(),
            state: kernel_state,
            last_activity: state.last_activity,
            connections: None,
            keeping: None,
            foreign: Some(Foreign { started_at: state.file.written_at, origin: state.file.origin() }),
        }
    }

    fn is_gone(&self) -> bool {
        self.state.lock().is_gone
    }

    /// The program that started it uses it.
    fn is_shared(&self) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }

    fn outlives_us(&self) -> bool {
        true
    }

    fn instance(&self) -> Option<String> {
        self.living_client()?.process()
    }

    fn ended_instance(&self) -> Option<String> {
        self.living_client()?.ended_process()
    }

    fn executor(&self) -> Future<'_, Arc<dyn Executor>> {
        async { Ok(ClientExecutor::new(self.connect().await?) as Arc<dyn Executor>) }.boxed()
    }

    fn check_interruptible(&self) -> Result<(), Error> {
        self.interruption().map(drop)
    }

    fn check_restartable(&self) -> Result<(), Error> {
        Err(self.of_others("restarted from here", RESTARTED_BY))
    }

    fn interrupt(&self) -> Future<'_, ()> {
        async {
            let failed = |cause: String| {
                let cause = format!("Kernel {} could not be interrupted: {cause}.", self.id);
                Error::new(ErrorKind::RemoteFailure, cause, NextStep::TryAgain)
            };
            match self.interruption()? {
                Interruption::Message(client) => {
                    client.interrupt_message().await.map_err(|error| failed(error.to_string()))
                }
                Interruption::Signal(process) => {
                    let sent = tokio::task::spawn_blocking(move || process.interrupt()).await;
                    sent.unwrap_or_else(|error| Err(error.into())).map_err(|error| failed(error.to_string()))
                }
            }
        }
        .boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        ready(self.check_restartable()).boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        ready(Err(self.of_others("ended from here", RESTARTED_BY))).boxed()
    }
}

const RESTARTED_BY: &str = "The person can do that in the program that started it. Starting a new kernel for the notebook does not affect this one.";

/// The name of the language that a kernel speaks, in lower case.
pub(super) fn language_name(language_info: &Json) -> Option<String> {
    language_info.member("name")?.text().filter(|name| !name.is_empty()).map(Cow::into_owned)
}

/// The kernelspec that a notebook names if its kernel does not say from which it was started.
fn generic_name(language: &str) -> &str {
    if language.eq_ignore_ascii_case("python") { "python3" } else { language }
}

#[cfg(test)]
mod tests;
