//! The connection file of a kernel, and the sockets or ports that it names.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use jupyter_protocol::connection_info::{ConnectionInfo, Transport};
use tempfile::TempDir;

use environments::ProcessEnv;

/// Linux has room for 108 bytes in the path of a socket, macOS for 104, both with the closing NUL.
const MAX_SOCKET_PATH: usize = 100;

/// How the names of the folders with sockets start.
pub(super) const SOCKET_FOLDER: &str = "cellbridge-";
/// How the names of sockets start; a hyphen and a number follow.
pub(super) const SOCKET: &str = "k";

/// The member of a connection file that marks kernels of this program. Other programs ignore it.
pub(crate) const STARTED_BY: &str = "started_by";
pub(crate) const THIS_PROGRAM: &str = "cellbridge";

/// A connection file, removed with its sockets when this is dropped.
pub(crate) struct ConnectionFile {
    pub(crate) info: ConnectionInfo,
    pub(crate) path: PathBuf,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no such sockets"))]
    socket_folder: Option<TempDir>,
}

impl ConnectionFile {
    /// Chooses the paths of sockets or free ports, and writes `kernel-<id>.json` where other Jupyter programs look for
    /// it (`jupyter console --existing`).
    ///
    /// IPC is for kernels built on ipykernel: many others ignore the transport, or build the endpoint differently.
    pub(crate) fn create(id: &str, name: &str, use_ipc: bool, process_env: &ProcessEnv) -> io::Result<Self> {
        let socket_folder = if use_ipc { socket_folder(process_env)? } else { None };
        let mut info = match &socket_folder {
            Some(folder) => {
                let prefix = folder.path().join(SOCKET).to_string_lossy().into_owned();
                connection_info(Transport::IPC, prefix, [1, 2, 3, 4, 5])
            }
            None => connection_info(Transport::TCP, "127.0.0.1".to_owned(), free_ports()?),
        };
        info.key = random_key()?;
        info.kernel_name = Some(name.to_owned());
        let folder = process_env.jupyter_runtime_dir().unwrap_or_else(|| process_env.temp_dir());
        let path = folder.join(format!("kernel-{id}.json"));
        let connection = Self { info, path, socket_folder };
        state::create_folder(&folder)?;
        let mut content = serde_json::to_value(&connection.info)?;
        content[STARTED_BY] = THIS_PROGRAM.into();
        #[cfg(windows)]
        {
            use super::stale_files::{note_writer, remove_stale};
            if !process_env.inherits_privacy(&folder) {
                tracing::warn!(
                    "other users of this machine may read the keys of kernels in {}; set JUPYTER_RUNTIME_DIR to a \
                     private folder to prevent that",
                    folder.display()
                );
            }
            let machine = process_env.get("COMPUTERNAME").unwrap_or_default().to_string_lossy();
            remove_stale(&folder, &machine, windows::is_alive);
            note_writer(&mut content, &machine, std::process::id());
        }
        state::write_new(&connection.path, &serde_json::to_vec_pretty(&content)?)?;
        Ok(connection)
    }

    /// The files and folders to remove if this process cannot do it.
    #[cfg(unix)]
    pub(crate) fn cleanup_paths(&self) -> Vec<PathBuf> {
        let sockets = self.socket_folder.as_ref().map(|folder| folder.path().to_path_buf());
        sockets.into_iter().chain([self.path.clone()]).collect()
    }
}

impl Drop for ConnectionFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether this names sockets in our folder.
pub(crate) fn has_own_sockets(info: &ConnectionInfo) -> bool {
    let prefix = Path::new(&info.ip);
    let folder = prefix.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    matches!(info.transport, Transport::IPC)
        && prefix.ends_with(SOCKET)
        && folder.is_some_and(|name| name.starts_with(SOCKET_FOLDER))
}

fn connection_info(transport: Transport, ip: String, ports: [u16; 5]) -> ConnectionInfo {
    let [shell_port, iopub_port, stdin_port, control_port, hb_port] = ports;
    ConnectionInfo {
        ip,
        transport,
        shell_port,
        iopub_port,
        stdin_port,
        control_port,
        hb_port,
        key: String::new(),
        signature_scheme: "hmac-sha256".to_owned(),
        kernel_name: None,
    }
}

/// A new folder that only this user may enter. `None` if the paths of sockets in it would be too long.
fn socket_folder(process_env: &ProcessEnv) -> io::Result<Option<TempDir>> {
    if !cfg!(unix) {
        return Ok(None);
    }
    let folder = state::temporary_folder(SOCKET_FOLDER, &process_env.temp_dir())?;
    let path = folder.path();
    let fits = path.to_str().is_some() && path.as_os_str().len() + "/k-5".len() <= MAX_SOCKET_PATH;
    Ok(fits.then_some(folder))
}

/// Five ports that are free now. Another program may take one before the kernel does; the caller then starts again.
fn free_ports() -> io::Result<[u16; 5]> {
    let mut ports = [0; 5];
    // All stay open until the end, or the same port would be chosen twice.
    let mut listeners = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn random_key() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(const_hex::encode(bytes))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use environments::ProcessEnv;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_and_sockets_are_private_and_removed_with_the_connection() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run").to_str().unwrap().to_owned();
        let process_env = ProcessEnv::with_variables(&[("JUPYTER_RUNTIME_DIR", &path)]);
        let connection = ConnectionFile::create("id", "python3", true, &process_env).unwrap();
        let sockets = Path::new(&connection.info.ip).parent().unwrap().to_owned();
        assert_eq!(connection.path, Path::new(&path).join("kernel-id.json"));
        assert_eq!(
            (mode(&connection.path), mode(connection.path.parent().unwrap()), mode(&sockets)),
            (0o600, 0o700, 0o700)
        );
        let written: ConnectionInfo = serde_json::from_slice(&fs::read(&connection.path).unwrap()).unwrap();
        assert_eq!((written.transport, written.key.len()), (Transport::IPC, 64));
        let written: serde_json::Value =
            serde_json::from_slice(&fs::read(&connection.path).unwrap()).unwrap();
        assert_eq!(written[STARTED_BY], THIS_PROGRAM);
        let path = connection.path.clone();
        drop(connection);
        assert!(!path.exists());
        assert!(!sockets.exists());
    }

    #[test]
    fn long_paths_and_other_kernels_use_ports() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("x".repeat(MAX_SOCKET_PATH));
        fs::create_dir(&long).unwrap();
        let long = long.to_str().unwrap();
        let process_env = ProcessEnv::with_variables(&[("JUPYTER_RUNTIME_DIR", long), ("TMPDIR", long)]);
        for (id, use_ipc) in [("one", true), ("other", false)] {
            let connection = ConnectionFile::create(id, "k", use_ipc, &process_env).unwrap();
            assert_eq!(
                (connection.info.transport.clone(), &*connection.info.ip),
                (Transport::TCP, "127.0.0.1")
            );
            let info = &connection.info;
            let mut ports =
                [info.shell_port, info.iopub_port, info.stdin_port, info.control_port, info.hb_port];
            ports.sort_unstable();
            assert!(ports.windows(2).all(|pair| pair[0] != pair[1]) && ports[0] > 0);
        }
    }

    #[test]
    fn an_existing_connection_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let process_env =
            ProcessEnv::with_variables(&[("JUPYTER_RUNTIME_DIR", folder.path().to_str().unwrap())]);
        let _one = ConnectionFile::create("id", "k", true, &process_env).unwrap();
        assert!(ConnectionFile::create("id", "k", true, &process_env).is_err());
    }
}
