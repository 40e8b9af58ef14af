//! Which programs hold a file, as the Restart Manager knows it.

use std::io;
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::ERROR_MORE_DATA;
use windows_sys::Win32::System::RestartManager::{
    CCH_RM_SESSION_KEY, RM_PROCESS_INFO, RmEndSession, RmGetList, RmRegisterResources, RmStartSession,
};

use crate::check_code;
use crate::file::wide;

/// How often the list is asked for again because it has grown.
const MAX_ATTEMPTS: usize = 3;

/// The names of the programs that have the file open, besides this one, sorted. Takes some 100 ms.
pub fn holders(path: &Path) -> io::Result<Vec<String>> {
    let path = wide(path)?;
    let session = Session::start()?;
    // SAFETY: the list has one path, which ends with a NUL; the other lists are empty.
    check_code(unsafe {
        RmRegisterResources(session.0, 1, [path.as_ptr()].as_ptr(), 0, ptr::null(), 0, ptr::null())
    })?;
    let processes = session.processes()?;
    let others = processes.iter().filter(|it| it.Process.dwProcessId != std::process::id());
    let mut names: Vec<String> = others.map(|it| text(&it.strAppName)).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

struct Session(u32);

impl Session {
    fn start() -> io::Result<Self> {
        let (mut session, flags) = (0, 0);
        let mut key = [0; CCH_RM_SESSION_KEY as usize + 1];
        // SAFETY: both pointers are to variables of ours, and the key has room for its text and a NUL.
        check_code(unsafe { RmStartSession(&raw mut session, flags, key.as_mut_ptr()) })?;
        Ok(Self(session))
    }

    /// The processes that have one of the registered files open.
    fn processes(&self) -> io::Result<Vec<RM_PROCESS_INFO>> {
        let mut processes = vec![RM_PROCESS_INFO::default(); 8];
        for _ in 0..MAX_ATTEMPTS {
            let (mut needed, mut reasons) = (0, 0);
            let mut count = u32::try_from(processes.len()).map_err(io::Error::other)?;
            // SAFETY: the list has room for `count` entries, and the other pointers are to variables of ours.
            let error = unsafe {
                RmGetList(self.0, &raw mut needed, &raw mut count, processes.as_mut_ptr(), &raw mut reasons)
            };
            if error == ERROR_MORE_DATA {
                processes.resize(needed as usize, RM_PROCESS_INFO::default());
                continue;
            }
            check_code(error)?;
            processes.truncate(count as usize);
            return Ok(processes);
        }
        Err(io::Error::other("the list of processes does not stop growing"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the session was started, and this is the only end.
        unsafe { RmEndSession(self.0) };
    }
}

/// A text that ends with a NUL, or with the array.
fn text(units: &[u16]) -> String {
    let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    String::from_utf16_lossy(&units[..end])
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::is_wine;

    #[test]
    fn who_holds_a_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "").unwrap();
        let _own = File::open(&path).unwrap();
        assert_eq!(holders(&path).unwrap(), [""; 0], "this program does not count");
        // A process that has the file as its output until its input ends.
        let mut command = Command::new("cmd.exe");
        command.args(["/d", "/q", "/k"]).stdin(Stdio::piped()).stderr(Stdio::null());
        command.stdout(File::options().append(true).open(&path).unwrap());
        let mut child = command.spawn().unwrap();
        let found = holders(&path).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        // It does not know who holds a file.
        assert_eq!(found.len(), usize::from(!is_wine()), "{found:?}");
    }

    #[test]
    fn a_text_ends_with_a_nul_or_the_array() {
        let units: Vec<u16> = "ab\0c".encode_utf16().collect();
        assert_eq!((text(&units), text(&units[..2])), ("ab".to_owned(), "ab".to_owned()));
    }
}
