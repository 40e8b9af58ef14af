//! Where the page of this user is: written down by the process that serves it, and readable by nobody else.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rest::Secret;
use serde::{Deserialize, Serialize};

const FILE: &str = "page";

/// How a browser reaches the page.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) port: u16,
    pub(super) token: Secret,
}

#[derive(Serialize, Deserialize)]
struct Written {
    port: u16,
    token: String,
}

/// Held by the process that serves the page, as long as it lives.
pub(super) struct AddressFile(File);

impl AddressFile {
    /// `None` if another process serves the page.
    pub(super) fn take(state: &Path) -> io::Result<Option<Self>> {
        let path = state.join(FILE);
        state::create_folder_of(&path)?;
        let file = open(&path)?;
        if !state::try_lock(&file)? {
            return Ok(None);
        }
        // That of a process that has ended.
        file.set_len(0)?;
        Ok(Some(Self(file)))
    }

    pub(super) fn write(&mut self, address: &Address) -> io::Result<()> {
        let Address { port, token } = address;
        let written = Written { port: *port, token: token.expose().to_owned() };
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&serde_json::to_vec(&written)?)
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        // Nobody is led to a port that others may use next.
        let _ = self.0.set_len(0);
    }
}

/// The address of the page, if a process serves it now.
pub(super) fn read(state: &Path) -> Option<Address> {
    let mut file = open(&state.join(FILE)).ok()?;
    if !state::is_locked(&file) {
        return None;
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    let Written { port, token } = serde_json::from_slice(&text).ok()?;
    Some(Address { port, token: Secret::new(token)? })
}

/// Opens the file, if it is in a folder that only this user can use.
fn open(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    if !path.parent().is_some_and(state::is_private) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("others could use {}", path.display()),
        ));
    }
    state::open_lock(path)
}

/// Where it is written down.
pub(super) fn folder(own_state: Option<PathBuf>) -> Option<PathBuf> {
    Some(own_state?.join("view"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_address_is_that_of_a_process_that_lives() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path().join("view");
        assert!(read(&state).is_none());
        let mut file = AddressFile::take(&state).unwrap().unwrap();
        assert!(read(&state).is_none(), "it does not listen yet");
        file.write(&Address { port: 7, token: Secret::new("secret").unwrap() }).unwrap();
        let found = read(&state).unwrap();
        assert_eq!((found.port, found.token.expose()), (7, "secret"));
        assert!(AddressFile::take(&state).unwrap().is_none());
        drop(file);
        assert!(read(&state).is_none());
        assert!(AddressFile::take(&state).unwrap().is_some());
    }

    #[test]
    #[cfg(unix)]
    fn what_others_could_have_written_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let state = tempfile::tempdir().unwrap();
        let state = state.path().join("view");
        let mut file = AddressFile::take(&state).unwrap().unwrap();
        file.write(&Address { port: 7, token: Secret::new("secret").unwrap() }).unwrap();
        let mode = |mode| fs::set_permissions(&state, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(fs::metadata(state.join(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        mode(0o722);
        assert!(read(&state).is_none() && AddressFile::take(&state).is_err());
        mode(0o700);
        assert!(read(&state).is_some());
        let elsewhere = state.with_file_name("linked");
        std::os::unix::fs::symlink(&state, &elsewhere).unwrap();
        assert!(read(&elsewhere).is_none() && AddressFile::take(&elsewhere).is_err());
    }
}
