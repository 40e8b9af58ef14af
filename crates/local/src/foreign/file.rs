//! Connection files that other programs have left: which are read, and which are refused.
//!
//! A file says where code is sent, and with which key. So one that somebody else could have written is not used.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jupyter_protocol::connection_info::{ConnectionInfo, Transport};

use super::Refusal;
use super::own_file::{is_own_socket, read_own};
use crate::launch::{STARTED_BY, THIS_PROGRAM, has_own_sockets};

pub(super) const MALFORMED: &str = "it is not the connection file of a kernel";
/// How much is shown of what a kernel was started for, in characters.
const MAX_SESSION: usize = 200;

/// A connection file of a kernel that another program has started. It holds the kernel's key, so it cannot be printed.
#[derive(Clone)]
pub(crate) struct ForeignFile {
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) info: ConnectionInfo,
    /// What the kernel was started for, often the path of a notebook; Jupyter servers write it.
    pub(crate) session: Option<String>,
    /// When the file was written, which is when the kernel was started.
    pub(crate) written_at: SystemTime,
}

/// The id of the kernel whose connection file is named so: what `jupyter console --existing` takes. `None` for other names.
pub(super) fn id_of(path: &Path) -> Option<&str> {
    let id = path.file_name()?.to_str()?.strip_prefix("kernel-")?.strip_suffix(".json")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (!id.is_empty() && id.bytes().all(is_plain)).then_some(id)
}

impl ForeignFile {
    /// Reads a connection file. `None` if there is none, or it is of a kernel of this program.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Refusal> {
        let Some(id) = id_of(path) else { return Ok(None) };
        let Some((text, written_at)) = read_own(path)? else { return Ok(None) };
        // What serde says may quote the key.
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|_| MALFORMED)?;
        if value.get(STARTED_BY).is_some_and(|by| by == THIS_PROGRAM) {
            return Ok(None);
        }
        let is_encrypted = value.get("curve_publickey").is_some_and(|key| !key.is_null());
        let session = value.get("jupyter_session").and_then(|session| session.as_str()).map(printable);
        let info: ConnectionInfo = serde_json::from_value(value).map_err(|_| MALFORMED)?;
        if has_own_sockets(&info) {
            return Ok(None);
        }
        if is_encrypted {
            return Err("its kernel encrypts, which is not supported".into());
        }
        check(&info)?;
        let session = session.filter(|session| !session.is_empty());
        Ok(Some(Self { id: id.to_owned(), path: path.to_path_buf(), info, session, written_at }))
    }

    /// The kernelspec's name, if the file has it.
    pub(crate) fn kernel_name(&self) -> Option<&str> {
        self.info.kernel_name.as_deref().filter(|name| !name.is_empty())
    }

    /// Who has started the kernel, as far as the file shows it.
    pub(crate) fn origin(&self) -> String {
        // As VS Code names the files of the kernels that it starts itself.
        if self.id.starts_with("v2-") {
            return "started by VS Code".to_owned();
        }
        match &self.session {
            Some(session) => format!("started for {session}, probably by a Jupyter server"),
            None => "started by another program".to_owned(),
        }
    }
}

/// Fails unless the kernel belongs to this user on this machine and can be distinguished from another program.
fn check(info: &ConnectionInfo) -> Result<(), Refusal> {
    if !info.key.is_empty() && info.signature_scheme != "hmac-sha256" {
        return Err("its kernel does not sign with hmac-sha256".into());
    }
    match info.transport {
        Transport::TCP => {
            let is_loopback = info.ip == "localhost"
                || info.ip.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
            if !is_loopback {
                let ip = printable(&info.ip);
                return Err(format!("it names the address {ip:?}, which is not local to this machine"));
            }
            // Any user of this machine can listen on a port.
            if info.key.is_empty() {
                return Err("it has no key, so messages from other users could not be distinguished from the kernel's".into());
            }
        }
        Transport::IPC => {
            let ports = [info.shell_port, info.iopub_port, info.stdin_port, info.control_port, info.hb_port];
            let mut sockets = ports.iter().map(|port| PathBuf::from(format!("{}-{port}", info.ip)));
            let is_usable = Path::new(&info.ip).is_absolute() && sockets.all(|socket| is_own_socket(&socket));
            if !is_usable {
                return Err("its sockets belong to another user, or are not named by an absolute path".into());
            }
        }
    }
    Ok(())
}

/// Without what could break a line, and not longer than people read.
fn printable(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(MAX_SESSION).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
