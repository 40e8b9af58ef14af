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
use environments::OutputCapture;

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
    /// Starts the process, and a task that reads its output until it exits and passes every line to `on_line`.
    ///
    /// If this program is killed before the job has adopted the process, the process is left, and never runs. The standard library
    /// cannot start a process in a job.
    pub(crate) fn start(
        spec: &ProcessSpec,
        on_line: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Self> {
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
        let mut capture = OutputCapture::start(&mut child, on_line);
        let (sender, exit) = watch::channel(None);
        let exit_status = Arc::new(OnceLock::new());
        let process = Self {
            job,
            interrupt_event: is_python(spec).then_some(event),
            exit,
            exit_status: exit_status.clone(),
        };
        // Ends with the process, which ends at the latest when its job is dropped.
        place::spawn(async move {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use environments::Variables;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn cmd(line: &str) -> ProcessSpec {
        #[expect(clippy::disallowed_methods, reason = "the test needs a shell of this machine")]
        let variables: Variables = std::env::vars_os().collect();
        ProcessSpec {
            program: variables.get("ComSpec").unwrap().into(),
            arguments: ["/d", "/c", line].map(Into::into).into(),
            variables,
            folder: std::env::temp_dir(),
        }
    }

    #[tokio::test]
    async fn how_a_process_exited_is_known_with_what_it_printed() {
        let process = Process::start(&cmd("echo one & echo two 1>&2 & exit 3"), |_| {}).unwrap();
        let exit = timeout(TIMEOUT, process.wait()).await.unwrap();
        assert_eq!(exit.status, "exit code 3");
        assert!(exit.output.contains("one") && exit.output.contains("two"), "{exit:?}");
        assert_eq!((process.exit_status().as_deref(), process.exit()), (Some("exit code 3"), Some(exit)));
    }

    #[tokio::test]
    async fn the_numbers_of_the_handles_are_in_the_environment() {
        let process =
            Process::start(&cmd("echo [%JPY_INTERRUPT_EVENT%] [%JPY_PARENT_PID%]"), |_| {}).unwrap();
        let exit = timeout(TIMEOUT, process.wait()).await.unwrap();
        let numbers: Vec<&str> = exit.output.split_whitespace().collect();
        let is_number = |text: &&&str| text.trim_matches(['[', ']']).parse::<usize>().is_ok_and(|it| it > 0);
        assert_eq!(numbers.iter().filter(is_number).count(), 2, "{exit:?}");
    }

    #[tokio::test]
    async fn a_process_is_ended_with_what_it_started() {
        // The inner shell waits for an answer, as nobody gives one.
        let process = Process::start(&cmd("cmd /d /c pause"), |_| {}).unwrap();
        assert!(!process.waits_for_interrupts(), "it is no Python");
        assert_eq!(process.exit(), None);
        timeout(TIMEOUT, process.stop()).await.unwrap();
        assert!(process.exit().is_some());
    }
}
