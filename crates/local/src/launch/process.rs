//! The process of a kernel: started, listened to, signalled, ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::Command;
use tokio::sync::watch;

use super::guard::{Guard, Leash};
use crate::capture::Capture;

/// How long the guard has to end the group; it kills after a second.
const GRACE: Duration = Duration::from_secs(2);

/// How long output that was printed before the end may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How many of the last lines tell why a kernel ended.
const LINES: usize = 8;

/// A kernel in the background that reads from a terminal (the prompt of git or ssh) would be stopped, and its
/// whole group with it. With the signal ignored the reading fails instead.
const SCRIPT: &str = "trap '' TTIN TTOU; exec \"$@\"";

/// What is run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The whole environment.
    pub(crate) variables: std::collections::BTreeMap<OsString, OsString>,
    pub(crate) folder: PathBuf,
    /// What is to be removed when the kernel has ended and we are not there to do it.
    pub(crate) litter: Vec<PathBuf>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// For example `exit code 1`.
    pub(crate) how: String,
    /// The last lines that it printed.
    pub(crate) said: String,
}

/// A kernel's process with all that it started. They end when this is dropped.
pub(crate) struct Process {
    group: Pid,
    ended: watch::Receiver<Option<Ended>>,
    pid: Option<Pid>,
    /// How it ended, known before its last words are.
    how: Arc<OnceLock<String>>,
    leash: Mutex<Option<Leash>>,
}

impl Process {
    /// Starts it. Needs to be called within a runtime, whose task listens to it from then on.
    pub(crate) fn start(plan: &Plan) -> io::Result<Self> {
        let path =
            plan.variables.get(OsStr::new("PATH")).map_or(OsStr::new("/usr/bin:/bin"), OsString::as_os_str);
        let Guard { process: mut guard, leash, group } = Guard::start(path, &plan.litter)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "sh"]).args(odd_variables(plan)).arg(&plan.program).args(&plan.arguments);
        command.env_clear().envs(&plan.variables).current_dir(&plan.folder);
        command.process_group(group.as_raw_nonzero().get());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let mut capture = Capture::of(&mut child, |line| tracing::trace!("kernel: {line}"));
        let (tell, ended) = watch::channel(None);
        let how_it_ended = Arc::new(OnceLock::new());
        let process = Self { group, ended, pid, how: how_it_ended.clone(), leash: Mutex::new(Some(leash)) };
        // Ends with the process, which ends at the latest when it is dropped.
        tokio::spawn(async move {
            let how = child.wait().await.map_or_else(|error| error.to_string(), describe);
            let _ = how_it_ended.set(how.clone());
            capture.finish(LAST_WORDS).await;
            tell.send_replace(Some(Ended { how, said: capture.last_lines(LINES) }));
            let _ = guard.wait().await;
        });
        Ok(process)
    }

    /// How it ended; `None` while it runs.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.borrow().clone()
    }

    /// How it ended, as soon as it has; its last words may still be on their way.
    pub(crate) fn how_it_ended(&self) -> Option<String> {
        if let Some(how) = self.how.get() {
            return Some(how.clone());
        }
        // Nobody may have had the time yet to hear of it.
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

    /// Completes when it has ended. What it left behind in its group is ended, too.
    pub(crate) fn end(&self) -> impl Future<Output = Ended> + Send + use<> {
        let mut ended = self.ended.clone();
        async move {
            match ended.wait_for(Option::is_some).await {
                Ok(ended) => ended.clone().unwrap_or(UNKNOWN),
                Err(_) => UNKNOWN,
            }
        }
    }

    /// Sends SIGINT to it and its children. One that was stopped goes on, or it would not notice.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
        self.signal(Signal::CONT);
    }

    /// Ends it: SIGTERM, a second later SIGKILL.
    pub(crate) async fn stop(&self) {
        self.release();
        if tokio::time::timeout(GRACE, self.end()).await.is_err() {
            // Somebody killed the guard.
            self.signal(Signal::KILL);
            let _ = tokio::time::timeout(GRACE, self.end()).await;
        }
    }

    /// Lets the guard do its work.
    fn release(&self) {
        self.leash.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn signal(&self, signal: Signal) {
        // The number may be another's once the guard is gone.
        if self.ended.borrow().is_none()
            && let Err(error) = kill_process_group(self.group, signal)
        {
            tracing::debug!("signal {signal:?} to group {:?}: {error}", self.group);
        }
    }
}

const UNKNOWN: Ended = Ended { how: String::new(), said: String::new() };

/// `dash`, which is `/bin/sh` on Debian, drops variables whose names it could not use itself, such as exported
/// functions of bash. `env` puts them back.
fn odd_variables(plan: &Plan) -> Vec<OsString> {
    let is_odd =
        |name: &OsStr| !name.as_encoded_bytes().iter().all(|b| *b == b'_' || b.is_ascii_alphanumeric());
    let odd = plan.variables.iter().filter(|(name, _)| is_odd(name));
    let mut arguments: Vec<OsString> = odd
        .map(|(name, value)| {
            let mut setting = name.clone();
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
