//! Ends a kernel and all that it started, also when this program ends without a word.

use std::ffi::OsStr;
use std::io::{self, PipeWriter, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

/// Waits for a line or the end of its input, then ends its process group. Without the line it also removes the
/// files that it was told of, for we are not there to do it.
///
/// The input ends when we do, however that comes about. The group is the one that the kernel joins: so no kernel is
/// ever without a guard, and the group's number belongs to nobody else while the guard lives.
const SCRIPT: &str = "
trap '' HUP INT QUIT TERM TSTP TTIN TTOU
read -r word
kill -CONT 0
kill -TERM 0
sleep 1
[ \"$word\" = bye ] || rm -rf -- \"$@\"
kill -KILL 0
";

/// A process that outlives us by a moment.
pub(crate) struct Guard {
    pub(crate) process: Child,
    pub(crate) leash: Leash,
    pub(crate) group: Pid,
}

/// What the guard holds on to; it acts when this is dropped.
pub(crate) struct Leash(PipeWriter);

impl Guard {
    /// Starts a guard at the head of a new process group. It finds its programs on `path`.
    pub(crate) fn start(path: &OsStr, litter: &[PathBuf]) -> io::Result<Self> {
        // No kernel inherits the writer: the standard library marks it close-on-exec.
        let (input, leash) = io::pipe()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "sh"]).args(litter).env_clear().env("PATH", path).current_dir("/");
        command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let process = command.spawn()?;
        let id = process.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let group = id.ok_or_else(|| io::Error::other("the guard has no number"))?;
        Ok(Self { process, leash: Leash(leash), group })
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Fails if the guard is gone, and cannot wait: the pipe is empty.
        let _ = self.0.write_all(b"bye\n");
    }
}
