//! The process of a kernel that another program has started: the one that listens where its connection file says.
//!
//! A signal must reach that process and no other. On Linux it goes to a file descriptor of the process, which no later process with
//! the same id can take over. Where neither that nor `lsof` is known, no process is found.

#[cfg(unix)]
use std::borrow::Cow;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_os = "macos", all(unix, test)))]
mod lsof;

#[cfg(target_os = "linux")]
pub(crate) use linux::KernelProcess;
#[cfg(target_os = "macos")]
pub(crate) use lsof::KernelProcess;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) use none::KernelProcess;

/// Whether the arguments are those with which the kernels of Jupyter or Spyder are started.
#[cfg(unix)]
fn is_ipykernel<'a>(arguments: impl Iterator<Item = Cow<'a, str>>) -> bool {
    let modules = ["ipykernel", "ipykernel_launcher", "spyder_kernels.console"];
    arguments
        .map(|argument| argument.trim_start_matches("-m").to_owned())
        .any(|argument| modules.contains(&&*argument) || argument.ends_with("/ipykernel_launcher.py"))
}

/// The process from which the others have their socket, because they were forked; `None` if there is not exactly one.
#[cfg(unix)]
fn only_origin(holders: &[(i32, i32)]) -> Option<i32> {
    let mut origins = holders.iter().filter(|(_, parent)| !holders.iter().any(|(id, _)| id == parent));
    match (origins.next(), origins.next()) {
        (Some((id, _)), None) => Some(*id),
        _ => None,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod none {
    use std::io;

    use jupyter_protocol::ConnectionInfo;

    /// The process of a kernel, which is never found here.
    pub(crate) struct KernelProcess {
        pub(crate) runs_ipykernel: bool,
    }

    impl KernelProcess {
        pub(crate) fn find(_info: &ConnectionInfo) -> Option<Self> {
            None
        }

        pub(crate) fn interrupt(&self) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use jupyter_protocol::ConnectionInfo;
    use serde_json::json;

    use super::*;

    pub(super) fn info(transport: &str, ip: &str, port: u16) -> ConnectionInfo {
        let info = json!({
            "transport": transport, "ip": ip, "signature_scheme": "hmac-sha256", "key": "k", "shell_port": port,
            "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5,
        });
        serde_json::from_value(info).unwrap()
    }

    #[test]
    fn forked_processes_are_not_taken_for_the_kernel() {
        assert_eq!(only_origin(&[(7, 1), (8, 7), (9, 8)]), Some(7));
        assert_eq!(only_origin(&[(7, 1), (8, 1)]), None, "which of them is the kernel?");
        assert_eq!(only_origin(&[]), None);
    }

    #[test]
    fn an_ipykernel_is_known_by_its_command_line() {
        let is_ipykernel = |command: &str| is_ipykernel(command.split('\0').map(Cow::from));
        for command in [
            "python\0-m\0ipykernel_launcher\0-f\0x",
            "python\0-mipykernel",
            "/usr/bin/python\0/v/ipykernel_launcher.py",
        ] {
            assert!(is_ipykernel(command), "{command:?}");
        }
        for command in ["deno\0jupyter\0--kernel", "python\0app.py", ""] {
            assert!(!is_ipykernel(command), "{command:?}");
        }
    }
}
