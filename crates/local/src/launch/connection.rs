//! Where a kernel listens, and the file that tells it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use jupyter_protocol::connection_info::{ConnectionInfo, Transport};
use tempfile::TempDir;

use crate::Surroundings;

/// The longest path of a socket; Linux has room for 108 bytes, macOS for 104, the closing NUL included.
const LONGEST_SOCKET: usize = 100;

/// A connection that a kernel can be given. What it needs on disk goes with it.
pub(crate) struct Connection {
    pub(crate) info: ConnectionInfo,
    /// The connection file.
    pub(crate) file: PathBuf,
    sockets: Option<TempDir>,
}

impl Connection {
    /// Makes sockets or picks ports, and writes `kernel-<id>.json` where other programs of Jupyter look for it
    /// (`jupyter console --existing`).
    ///
    /// IPC is for kernels that are built on ipykernel: many others ignore the transport, or put the endpoint
    /// together in their own way.
    pub(crate) fn make(id: &str, name: &str, by_ipc: bool, surroundings: &Surroundings) -> io::Result<Self> {
        let sockets = if by_ipc { private_folder(surroundings)? } else { None };
        let mut info = match &sockets {
            Some(folder) => {
                let prefix = folder.path().join("k").to_string_lossy().into_owned();
                with(Transport::IPC, prefix, [1, 2, 3, 4, 5])
            }
            None => with(Transport::TCP, "127.0.0.1".to_owned(), free_ports()?),
        };
        info.key = random_key()?;
        info.kernel_name = Some(name.to_owned());
        let folder = surroundings.jupyter_runtime().unwrap_or_else(|| surroundings.temporary());
        let file = folder.join(format!("kernel-{id}.json"));
        // From here on its removal is owed.
        let connection = Self { info, file, sockets };
        make_private(&folder)?;
        write_private(&connection.file, &serde_json::to_vec_pretty(&connection.info)?)?;
        Ok(connection)
    }

    /// What it has on disk.
    pub(crate) fn litter(&self) -> Vec<PathBuf> {
        let sockets = self.sockets.as_ref().map(|folder| folder.path().to_path_buf());
        sockets.into_iter().chain([self.file.clone()]).collect()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn with(transport: Transport, ip: String, ports: [u16; 5]) -> ConnectionInfo {
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

/// A new folder that only we may enter. `None` where paths of sockets in it would be too long.
fn private_folder(surroundings: &Surroundings) -> io::Result<Option<TempDir>> {
    if !cfg!(unix) {
        return Ok(None);
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix("cellbridge-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.tempdir_in(surroundings.temporary())?;
    let path = folder.path();
    let fits = path.to_str().is_some() && path.as_os_str().len() + "/k-5".len() <= LONGEST_SOCKET;
    Ok(fits.then_some(folder))
}

/// Five ports that are free now. Another program may take one before the kernel does.
fn free_ports() -> io::Result<[u16; 5]> {
    let mut ports = [0; 5];
    // All at once, or they would be the same.
    let mut listeners = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn random_key() -> io::Result<String> {
    use std::fmt::Write as _;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn write_private(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::surroundings::tests::with as surroundings;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_and_sockets_are_private_and_go_with_the_connection() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run").to_str().unwrap().to_owned();
        let surroundings = surroundings(&[("JUPYTER_RUNTIME_DIR", &path)]);
        let connection = Connection::make("id", "python3", true, &surroundings).unwrap();
        let sockets = Path::new(&connection.info.ip).parent().unwrap().to_owned();
        assert_eq!(connection.file, Path::new(&path).join("kernel-id.json"));
        assert_eq!(
            (mode(&connection.file), mode(connection.file.parent().unwrap()), mode(&sockets)),
            (0o600, 0o700, 0o700)
        );
        let written: ConnectionInfo = serde_json::from_slice(&fs::read(&connection.file).unwrap()).unwrap();
        assert_eq!((written.transport, written.key.len()), (Transport::IPC, 64));
        let file = connection.file.clone();
        drop(connection);
        assert!(!file.exists() && !sockets.exists());
    }

    #[test]
    fn where_paths_are_too_long_and_for_other_kernels_there_are_ports() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("x".repeat(LONGEST_SOCKET));
        fs::create_dir(&long).unwrap();
        let long = long.to_str().unwrap();
        let surroundings = surroundings(&[("JUPYTER_RUNTIME_DIR", long), ("TMPDIR", long)]);
        for (id, by_ipc) in [("one", true), ("other", false)] {
            let connection = Connection::make(id, "k", by_ipc, &surroundings).unwrap();
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
    fn a_connection_file_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let surroundings = surroundings(&[("JUPYTER_RUNTIME_DIR", folder.path().to_str().unwrap())]);
        let _one = Connection::make("id", "k", true, &surroundings).unwrap();
        assert!(Connection::make("id", "k", true, &surroundings).is_err());
    }
}
