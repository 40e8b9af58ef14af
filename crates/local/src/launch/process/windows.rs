//! A kernel is a job object, which ends with this program.

use std::io;
use std::os::windows::io::AsHandle as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};

use ::windows::{CREATION_FLAGS, Event, Job, number, own_handle, while_inherited};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{KILL_TIMEOUT, LAST_LINES, OUTPUT_TIMEOUT, ProcessExit, ProcessSpec, exit_code};
use crate::output_capture::OutputCapture;

/// What kernels built on ipykernel wait for, as `jupyter_client` names it.
const INTERRUPT_EVENT: &str = "JPY_INTERRUPT_EVENT";
/// On Windows it is no id: ipykernel waits for the handle, and exits when this program has ended.
const PARENT_HANDLE: &str = "JPY_PARENT_PID";

/// The process of a kernel, with all processes that it started. They are ended when this is dropped.
pub(crate) struct Process {
    job: Job,
    /// `None` if the kernel does not know of it.
    interrupt_event: Option<Event>,
    exit: watch::Receiver<Option<ProcessExit>>,
    /// Known before the last output has arrived.
    exit_status: Arc<OnceLock<String>>,
}

impl Process {
    /// Starts the process, and a task that reads its output until it exits.
    pub(crate) fn start(spec: &ProcessSpec) -> io::Result<Self> {
        let (job, event, parent) = (Job::new()?, Event::new()?, own_handle()?);
        let handles = [event.as_handle(), parent.as_handle()];
        let mut command = Command::new(&spec.program);
        command.args(&spec.arguments).env_clear().envs(spec.variables.iter()).current_dir(&spec.folder);
        command.env(INTERRUPT_EVENT, number(handles[0]).to_string());
        command.env(PARENT_HANDLE, number(handles[1]).to_string());
        command.creation_flags(CREATION_FLAGS).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = while_inherited(&handles, || command.spawn())?;
        let id = child.id().ok_or_else(|| io::Error::other("the kernel's process has no id"))?;
        // If it cannot be adopted, it is ended, because it is dropped.
        job.adopt(id)?;
        let mut capture = OutputCapture::start(&mut child, |line| tracing::trace!("kernel: {line}"));
        let (sender, exit) = watch::channel(None);
        let exit_status = Arc::new(OnceLock::new());
        let process = Self {
            job,
            interrupt_event: is_python(spec).then_some(event),
            exit,
            exit_status: exit_status.clone(),
        };
        // Ends with the process, which ends at the latest when its job is dropped.
        tokio::spawn(async move {
            let status = child.wait().await.map_or_else(|error| error.to_string(), describe);
            let _ = exit_status.set(status.clone());
            capture.finish(OUTPUT_TIMEOUT).await;
            sender.send_replace(Some(ProcessExit { status, output: capture.last_lines(LAST_LINES) }));
        });
        Ok(process)
    }

    /// How it exited, with its last output; `None` while it runs.
    pub(crate) fn exit(&self) -> Option<ProcessExit> {
        self.exit.borrow().clone()
    }

    /// How it exited. Known as soon as it has, while its last output may still be arriving.
    pub(crate) fn exit_status(&self) -> Option<String> {
        self.exit_status.get().cloned()
    }

    /// Waits until it has exited.
    pub(crate) fn wait(&self) -> impl Future<Output = ProcessExit> + Send + use<> {
        let mut exit = self.exit.clone();
        async move {
            match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.clone().unwrap_or(ProcessExit::UNKNOWN),
                Err(_) => ProcessExit::UNKNOWN,
            }
        }
    }

    /// Whether the kernel knows of the event that [`Process::interrupt`] sets.
    pub(crate) fn waits_for_interrupts(&self) -> bool {
        self.interrupt_event.is_some()
    }

    /// Sets the event for which the kernel waits.
    pub(crate) fn interrupt(&self) {
        if let Some(event) = &self.interrupt_event
            && let Err(error) = event.set()
        {
            tracing::debug!(%error, "the interrupt event cannot be set");
        }
    }

    /// Ends it, and what it has started.
    pub(crate) async fn stop(&self) {
        if let Err(error) = self.job.end() {
            tracing::debug!(%error, "the job of a kernel cannot be ended");
        }
        let _ = timeout(KILL_TIMEOUT, self.wait()).await;
    }
}

/// Whether the kernel runs in Python, and so, as good as certainly, on ipykernel. Others ignore the event: `IRkernel`, for one.
fn is_python(spec: &ProcessSpec) -> bool {
    let stem = Path::new(&spec.program).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.to_ascii_lowercase().starts_with("python")
}

fn describe(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| exit_code::describe(code.cast_unsigned()))
}
