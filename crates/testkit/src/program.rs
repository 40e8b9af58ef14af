//! A child process with its standard error captured.

use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use crate::within;

/// A running program. It is killed when this is dropped.
pub struct Program {
    child: Child,
    stderr: watch::Receiver<String>,
}

impl Program {
    /// Starts `program` with these arguments and these variables in place of what the test was started with.
    pub fn start(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .env_remove("CELLBRIDGE_TOKEN")
            .env_remove("JUPYTER_URL")
            // Nothing is kept for the person who runs the tests.
            .env("XDG_STATE_HOME", "/dev/null")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let mut lines = BufReader::new(child.stderr.take().context("no standard error")?);
        let (sender, stderr) = watch::channel(String::new());
        tokio::spawn(async move {
            let mut line = Vec::new();
            while matches!(lines.read_until(b'\n', &mut line).await, Ok(1..)) {
                sender.send_modify(|text| text.push_str(&String::from_utf8_lossy(&line)));
                line.clear();
            }
        });
        Ok(Self { child, stderr })
    }

    /// The child's standard input, once.
    pub(crate) fn stdin(&mut self) -> Result<ChildStdin> {
        self.child.stdin.take().context("standard input is taken")
    }

    /// The child's standard output, once.
    pub(crate) fn stdout(&mut self) -> Result<ChildStdout> {
        self.child.stdout.take().context("standard output is taken")
    }

    /// The first line on standard output.
    pub async fn line(&mut self) -> Result<String> {
        let mut lines = BufReader::new(self.stdout()?).lines();
        within("a line on standard output", lines.next_line()).await??.context("standard output has ended")
    }

    /// What stands on standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.borrow().clone()
    }

    /// Waits for a line on standard error that contains `part`, and returns that line.
    pub async fn wait_stderr(&mut self, part: &str) -> Result<String> {
        let find = |text: &String| {
            text.split_inclusive('\n').any(|line| line.ends_with('\n') && line.contains(part))
        };
        let seen = within(&format!("{part:?} on standard error"), self.stderr.wait_for(find)).await;
        let text = seen
            .and_then(|found| Ok(found?.clone()))
            .with_context(|| format!("stderr: {}", self.stderr()))?;
        text.lines().find(|line| line.contains(part)).map(str::to_owned).context("the line is gone")
    }

    /// Everything on standard error, once the program has ended and nothing more can come.
    pub async fn whole_stderr(&mut self) -> Result<String> {
        // The reader's task holds the only sender, and ends at the end of the stream.
        within("the end of standard error", async { while self.stderr.changed().await.is_ok() {} }).await?;
        Ok(self.stderr())
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.child.id().context("the program has ended")?;
        let pid = Pid::from_raw(i32::try_from(id)?).context("no process id")?;
        Ok(kill_process(pid, signal)?)
    }

    /// The process id.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the end.
    pub async fn wait_exit(&mut self) -> Result<ExitStatus> {
        Ok(within("the program's end", self.child.wait()).await??)
    }
}
