//! The process of a kernel on macOS, where `lsof` knows who listens. It is a part of the system there.
//!
//! Nothing means a process for good there. So `lsof` is asked again right before a signal: within that moment, no other process gets
//! the id of one that ends, since ids are given out in turn.

use std::borrow::Cow;
use std::io;
use std::process::{Command, Stdio};

use jupyter_protocol::connection_info::{ConnectionInfo, Transport};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::{is_ipykernel, only_origin};

#[cfg(target_os = "macos")]
const LSOF: &str = "/usr/sbin/lsof";
#[cfg(not(target_os = "macos"))]
const LSOF: &str = "/usr/bin/lsof";
const PS: &str = "/bin/ps";

/// The process of a kernel.
pub(crate) struct KernelProcess {
    id: i32,
    socket: Socket,
    /// Whether its command line says that it is an ipykernel.
    pub(crate) runs_ipykernel: bool,
}

/// On which the kernel takes requests.
enum Socket {
    /// An address with a port.
    Tcp(String),
    /// A path.
    Unix(String),
}

impl KernelProcess {
    /// Finds the process that listens on the kernel's shell socket. `None` if it is not one of this user that is surely the
    /// kernel. Starts programs.
    pub(crate) fn find(info: &ConnectionInfo) -> Option<Self> {
        let socket = match info.transport {
            Transport::TCP if info.ip == "localhost" => Socket::Tcp(format!("127.0.0.1:{}", info.shell_port)),
            Transport::TCP => Socket::Tcp(format!("{}:{}", info.ip, info.shell_port)),
            Transport::IPC => Socket::Unix(format!("{}-{}", info.ip, info.shell_port)),
        };
        let id = socket.listener()?;
        let command = answer(PS, &["-ww", "-o", "args=", "-p", &id.to_string()])?;
        let runs_ipykernel = is_ipykernel(command.split_whitespace().map(Cow::from));
        Some(Self { id, socket, runs_ipykernel })
    }

    /// Sends SIGINT to it. SIGCONT wakes a stopped process, which would not notice otherwise.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        let id = self.socket.listener().filter(|id| *id == self.id).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        kill_process(id, Signal::INT)?;
        Ok(kill_process(id, Signal::CONT)?)
    }
}

impl Socket {
    fn listener(&self) -> Option<i32> {
        let user = geteuid().as_raw().to_string();
        let (at, name) = match self {
            Self::Tcp(address) => (format!("-iTCP@{address}"), address),
            Self::Unix(path) => ("-U".to_owned(), path),
        };
        let mut arguments = vec!["-nPw", "-a", "-u", &user, &at, "-F", "pRn"];
        if matches!(self, Self::Tcp(_)) {
            arguments.push("-sTCP:LISTEN");
        }
        only_origin(&holders(&answer(LSOF, &arguments)?, name))
    }
}

/// The processes that have a socket of this name, each with its parent, from lines such as `p17`, `R1` and `n127.0.0.1:8888`.
fn holders(lines: &str, name: &str) -> Vec<(i32, i32)> {
    let mut found = Vec::new();
    let (mut id, mut parent) = (None, None);
    for line in lines.lines() {
        let Some((field, value)) = line.split_at_checked(1) else { continue };
        match field {
            "p" => (id, parent) = (value.parse().ok(), None),
            "R" => parent = value.parse().ok(),
            // Some versions add the type of a socket.
            "n" if value.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) => {
                found.extend(id.zip(parent));
            }
            _ => {}
        }
    }
    found.dedup();
    found
}

/// What a program prints, if it has something to say.
fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let output =
        command.args(arguments).env_clear().stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::*;
    use crate::foreign::process::tests::info;

    #[test]
    fn the_process_that_listens_is_found() {
        // Nothing to see on a machine without it.
        if !Path::new(LSOF).exists() {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = KernelProcess::find(&info("tcp", "127.0.0.1", port)).unwrap();
        assert_eq!(found.id, std::process::id().cast_signed());
        assert!(!found.runs_ipykernel);
        drop(listener);
        assert!(KernelProcess::find(&info("tcp", "127.0.0.1", port)).is_none());
        assert!(found.interrupt().is_err(), "it no longer listens");

        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("kernel");
        let prefix = prefix.to_str().unwrap();
        assert!(KernelProcess::find(&info("ipc", prefix, 1)).is_none());
        let _listener = UnixListener::bind(format!("{prefix}-1")).unwrap();
        assert!(KernelProcess::find(&info("ipc", prefix, 1)).is_some());
    }

    #[test]
    fn only_sockets_of_this_name_count() {
        let lines = "p7\nR1\nf3\nn127.0.0.1:80\nf4\nn127.0.0.1:80\np8\nR7\nn127.0.0.1:8080\np9\nR7\nn/run/k-1 type=STREAM\n";
        assert_eq!(holders(lines, "127.0.0.1:80"), [(7, 1)]);
        assert_eq!(holders(lines, "127.0.0.1:8080"), [(8, 7)]);
        assert_eq!(holders(lines, "/run/k-1"), [(9, 7)]);
        assert_eq!(holders("p\nn\n\nnx", "x"), []);
    }
}
