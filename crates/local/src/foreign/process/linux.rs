//! The process of a kernel on Linux, from `/proc`.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use jupyter_protocol::connection_info::{ConnectionInfo, Transport};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{is_ipykernel, only_origin};

/// The process of a kernel.
pub(crate) struct KernelProcess {
    handle: OwnedFd,
    /// Whether its command line says that it is an ipykernel.
    pub(crate) runs_ipykernel: bool,
}

impl KernelProcess {
    /// Finds the process that listens on the kernel's shell socket. `None` if it is not one of this user that is surely
    /// the kernel. Reads all of `/proc`.
    pub(crate) fn find(info: &ConnectionInfo) -> Option<Self> {
        let socket = format!("socket:[{}]", listening_inode(info)?);
        let id = only_origin(&holders(&socket))?;
        let handle = pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
        // From here on the descriptor means this process; the id could have been reused before.
        if !holds(id, &socket) {
            return None;
        }
        let command = fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let arguments = command.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        Some(Self { handle, runs_ipykernel: is_ipykernel(arguments) })
    }

    /// Sends SIGINT to it. SIGCONT wakes a stopped process, which would not notice otherwise.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        pidfd_send_signal(&self.handle, Signal::INT)?;
        Ok(pidfd_send_signal(&self.handle, Signal::CONT)?)
    }
}

/// The inode of the socket on which the kernel takes requests.
fn listening_inode(info: &ConnectionInfo) -> Option<u64> {
    match info.transport {
        Transport::TCP => {
            let address = info.ip.parse().unwrap_or(Ipv4Addr::LOCALHOST);
            let table = fs::read_to_string("/proc/net/tcp").ok()?;
            tcp_inode(&table, address, info.shell_port)
        }
        Transport::IPC => {
            let table = fs::read_to_string("/proc/net/unix").ok()?;
            unix_inode(&table, &format!("{}-{}", info.ip, info.shell_port))
        }
    }
}

/// The inode of the listening socket, from the content of `/proc/net/tcp`: `0: 0100007F:6F2C 00000000:0000 0A … inode`.
fn tcp_inode(table: &str, address: Ipv4Addr, port: u16) -> Option<u64> {
    let wanted = format!("{:08X}:{port:04X}", u32::from_ne_bytes(address.octets()));
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.find(|row| row.get(1) == Some(&&*wanted) && row.get(3) == Some(&"0A"))?.get(9)?.parse().ok()
}

/// The same from the content of `/proc/net/unix`: `address: references protocol flags type state inode path`.
fn unix_inode(table: &str, path: &str) -> Option<u64> {
    const LISTENS: &str = "00010000";
    let mut rows = table.lines().filter_map(|line| {
        let (numbers, its) = line.split_once(" /")?;
        (its == path.strip_prefix('/')?).then(|| numbers.split_whitespace().collect::<Vec<_>>())
    });
    rows.find(|row| row.get(3) == Some(&LISTENS))?.get(6)?.parse().ok()
}

/// The processes of this user that hold a socket, each with its parent.
fn holders(socket: &str) -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| holds(*id, socket)).filter_map(|id| Some((id, parent(id)?))).collect()
}

fn holds(id: i32, socket: &str) -> bool {
    let folder = PathBuf::from(format!("/proc/{id}/fd"));
    let is_own = fs::metadata(&folder).is_ok_and(|it| state::is_own(&it));
    let mut descriptors = fs::read_dir(folder).into_iter().flatten().flatten();
    is_own && descriptors.any(|entry| fs::read_link(entry.path()).is_ok_and(|it| it.as_os_str() == socket))
}

fn parent(id: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::foreign::process::tests::info;

    #[test]
    fn the_process_that_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = KernelProcess::find(&info("tcp", "127.0.0.1", port)).unwrap();
        assert!(!found.runs_ipykernel);
        drop(listener);
        assert!(KernelProcess::find(&info("tcp", "127.0.0.1", port)).is_none());

        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("a kernel");
        let prefix = prefix.to_str().unwrap();
        assert!(KernelProcess::find(&info("ipc", prefix, 1)).is_none());
        let _listener = UnixListener::bind(format!("{prefix}-1")).unwrap();
        assert!(KernelProcess::find(&info("ipc", prefix, 1)).is_some());
    }

    #[test]
    fn no_signal_reaches_a_process_after_its_end() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let id = Pid::from_child(&child);
        let handle = pidfd_open(id, PidfdFlags::empty()).unwrap();
        let process = KernelProcess { handle, runs_ipykernel: false };
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(process.interrupt().is_err());
    }

    #[test]
    fn only_sockets_that_listen_count() {
        let table = "  sl  local_address rem_address   st\n\
            0: 0100007F:6F2C 0100007F:1234 01 0:0 0:0 0 0 0 11 1\n\
            1: 0100007F:6F2C 00000000:0000 0A 0:0 0:0 0 0 0 12 1";
        if cfg!(target_endian = "little") {
            assert_eq!(tcp_inode(table, Ipv4Addr::LOCALHOST, 0x6F2C), Some(12));
            assert_eq!(tcp_inode(table, Ipv4Addr::new(127, 0, 0, 2), 0x6F2C), None);
        }
        let table = "Num RefCount Protocol Flags Type St Inode Path\n\
            0: 3 0 00000000 0001 03 21 /run/k-1\n\
            0: 2 0 00010000 0001 01 22 /run/k-1\n\
            0: 2 0 00010000 0001 01 23 /run/k-11";
        assert_eq!(unix_inode(table, "/run/k-1"), Some(22));
        assert_eq!(unix_inode(table, "/run/k-2"), None);
    }
}
