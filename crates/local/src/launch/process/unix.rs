//! A kernel is a process group, which a watchdog leads.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{KILL_TIMEOUT, LAST_LINES, OUTPUT_TIMEOUT, ProcessExit, ProcessSpec};
use crate::launch::watchdog::{KeepAlive, Watchdog};
use environments::OutputCapture;

/// A kernel in the background that reads from a terminal (the prompt of git or ssh) would be stopped, and its whole
/// group with it. With the signals ignored, the reading fails instead.
const SCRIPT: &str = "trap '' TTIN TTOU; exec \"$@\"";

/// The process of a kernel, with all processes that it started. They are ended when this is dropped.
pub(crate) struct Process {
    group: Pid,
    pid: Option<Pid>,
    exit: watch::Receiver<Option<ProcessExit>>,
    /// Known before the last output has arrived.
    exit_status: Arc<OnceLock<String>>,
    keep_alive: Mutex<Option<KeepAlive>>,
}

impl Process {
    /// Starts the process, and a task that reads its output until it exits and passes every line to `on_line`.
    pub(crate) fn start(
        spec: &ProcessSpec,
        on_line: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let path = spec.variables.get("PATH").unwrap_or(OsStr::new("/usr/bin:/bin"));
        let Watchdog { process: mut watchdog, keep_alive, group } =
            Watchdog::start(path, &spec.cleanup_paths)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "sh"]).args(env_command(spec)).arg(&spec.program).args(&spec.arguments);
        command.env_clear().envs(spec.variables.iter()).current_dir(&spec.folder);
        command.process_group(group.as_raw_nonzero().get());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let mut capture = OutputCapture::start(&mut child, on_line);
        let (sender, exit) = watch::channel(None);
        let exit_status = Arc::new(OnceLock::new());
        let process = Self {
            group,
            pid,
            exit,
            exit_status: exit_status.clone(),
            keep_alive: Mutex::new(Some(keep_alive)),
        };
        // Ends with the process, which ends at the latest when it is dropped.
        place::spawn(async move {
            let status = child.wait().await.map_or_else(|error| error.to_string(), describe);
            let _ = exit_status.set(status.clone());
            capture.finish(OUTPUT_TIMEOUT).await;
            sender.send_replace(Some(ProcessExit { status, output: capture.last_lines(LAST_LINES) }));
            let _ = watchdog.wait().await;
        });
        Ok(process)
    }

    /// Its id.
    pub(crate) fn id(&self) -> Option<u32> {
        u32::try_from(self.pid?.as_raw_nonzero().get()).ok()
    }

    /// How it exited, with its last output; `None` while it runs.
    pub(crate) fn exit(&self) -> Option<ProcessExit> {
        self.exit.borrow().clone()
    }

    /// How it exited. Known as soon as it has, while its last output may still be arriving.
    pub(crate) fn exit_status(&self) -> Option<String> {
        if let Some(status) = self.exit_status.get() {
            return Some(status.clone());
        }
        // The task that waits for the process may not have run since the exit.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = match waitid(WaitId::Pid(self.pid?), options) {
            Ok(status) => status?,
            Err(Errno::CHILD) => return Some("it is gone".to_owned()),
            Err(_) => return None,
        };
        Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => killed_by(signal),
            (None, None) => "it is gone".to_owned(),
        })
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

    /// Sends SIGINT to it and its children. SIGCONT wakes a stopped process, which would not notice otherwise.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
        self.signal(Signal::CONT);
    }

    /// Ends it: SIGTERM, a second later SIGKILL.
    pub(crate) async fn stop(&self) {
        drop(self.keep_alive.lock().take());
        // The watchdog sends SIGKILL after one second.
        if timeout(KILL_TIMEOUT, self.wait()).await.is_err() {
            // Somebody killed the watchdog.
            self.signal(Signal::KILL);
            let _ = timeout(KILL_TIMEOUT, self.wait()).await;
        }
    }

    fn signal(&self, signal: Signal) {
        // The group's id may be reused once the watchdog is gone.
        if self.exit.borrow().is_none()
            && let Err(error) = kill_process_group(self.group, signal)
        {
            tracing::debug!("signal {signal:?} to group {:?}: {error}", self.group);
        }
    }
}

/// The arguments `/usr/bin/env NAME=value …` for variables that the shell does not pass on. `env` sets them again.
fn env_command(spec: &ProcessSpec) -> Vec<OsString> {
    let dropped = spec.variables.iter().filter(|(name, _)| is_dropped(name, cfg!(target_os = "macos")));
    let mut arguments: Vec<OsString> = dropped
        .map(|(name, value)| {
            let mut setting = name.to_owned();
            setting.push("=");
            setting.push(value);
            setting
        })
        .collect();
    if !arguments.is_empty() {
        arguments.insert(0, "/usr/bin/env".into());
    }
    arguments
}

/// Whether `/bin/sh` does not pass on the variable of this name.
///
/// `dash`, which it is on Debian, drops variables whose names it could not use itself, such as functions exported by bash. macOS
/// starts programs of its own, of which it is one, without the variables that change which libraries they load.
fn is_dropped(name: &OsStr, is_macos: bool) -> bool {
    let name = name.as_encoded_bytes();
    !name.iter().all(|b| *b == b'_' || b.is_ascii_alphanumeric())
        || is_macos && (name.starts_with(b"DYLD_") || name == b"LD_LIBRARY_PATH")
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    if let Some(code) = status.code() {
        return format!("exit code {code}");
    }
    status.signal().map_or_else(|| status.to_string(), killed_by)
}

fn killed_by(signal: i32) -> String {
    match signal {
        9 => "killed by signal 9 (out of memory?)".to_owned(),
        4 | 6 | 7 | 8 | 11 => format!("crashed with signal {signal}"),
        _ => format!("ended by signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_the_shell_drops_are_known() {
        let dropped = |is_macos| {
            let names = ["PATH", "BASH_FUNC_odd%%", "DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "MY_DYLD_"];
            names.into_iter().filter(|name| is_dropped(OsStr::new(name), is_macos)).collect::<Vec<_>>()
        };
        assert_eq!(dropped(false), ["BASH_FUNC_odd%%"]);
        assert_eq!(dropped(true), ["BASH_FUNC_odd%%", "DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH"]);
    }
}
