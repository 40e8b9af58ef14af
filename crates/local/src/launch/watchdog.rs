//! Ends a kernel and every process it started, even if this program is killed.

use std::ffi::OsStr;
use std::io::{self, PipeWriter, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, setpgid};
use tokio::process::{Child, Command};

/// Waits for a line or the end of its input, then ends its process group. Without the line it also removes the given
/// files, because this program is no longer there to do it.
///
/// The input ends when this program ends, whatever the cause. The watchdog leads the process group that the kernel
/// joins, so every kernel has a watchdog, and the group's id cannot be reused while the watchdog lives.
///
/// Example: this program is killed with SIGKILL. The kernel of process 4711 in group 4710 goes on computing, but the
/// pipe to the watchdog, process 4710, has lost its only writer. `read` fails, `line` stays empty, the whole group
/// gets SIGTERM, the connection file is removed, and a second later SIGKILL ends what is left, the watchdog included.
const SCRIPT: &str = "
trap '' HUP INT QUIT TERM TSTP TTIN TTOU
read -r line
kill -CONT 0
kill -TERM 0
sleep 1
[ \"$line\" = stop ] || rm -rf -- \"$@\"
kill -KILL 0
";

pub(crate) struct Watchdog {
    pub(crate) process: Child,
    pub(crate) keep_alive: KeepAlive,
    pub(crate) group: Pid,
}

/// The watchdog ends the process group when this is dropped.
pub(crate) struct KeepAlive(PipeWriter);

impl Watchdog {
    /// Starts a watchdog as leader of a new process group. It finds its programs on `path`, and removes
    /// `cleanup_paths` if this program does not end it.
    pub(crate) fn start(path: &OsStr, cleanup_paths: &[PathBuf]) -> io::Result<Self> {
        // No kernel inherits the writer: the standard library marks it close-on-exec.
        let (input, writer) = io::pipe()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "sh"]).args(cleanup_paths).env_clear().env("PATH", path).current_dir("/");
        command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let process = command.spawn()?;
        let id = process.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let group = id.ok_or_else(|| io::Error::other("the watchdog has no process id"))?;
        // qemu forks where Linux would wait (vfork), so the watchdog may not lead its group yet, which the kernel joins.
        let _ = setpgid(Some(group), Some(group));
        Ok(Self { process, keep_alive: KeepAlive(writer), group })
    }
}

impl Drop for KeepAlive {
    fn drop(&mut self) {
        // Fails if the watchdog is gone. Never blocks: the pipe is empty.
        let _ = self.0.write_all(b"stop\n");
    }
}
