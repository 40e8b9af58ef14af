//! Handles that a new process gets from this one.

use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle};

use parking_lot::Mutex;
use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};

use crate::check;

/// One at a time, so that the process that one caller starts does not get the handles of another.
static STARTING: Mutex<()> = Mutex::new(());

/// Runs `start`, which starts a process, and lets that process have `handles`.
///
/// A process that another part of this program starts in the same moment gets them, too: the standard library cannot say which
/// handles a process inherits. So only pass handles that harm nobody.
pub fn while_inherited<T>(
    handles: &[BorrowedHandle<'_>],
    start: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let _one = STARTING.lock();
    let inherited = Inherited(handles);
    inherited.set(HANDLE_FLAG_INHERIT)?;
    start()
}

struct Inherited<'h>(&'h [BorrowedHandle<'h>]);

impl Inherited<'_> {
    fn set(&self, flag: u32) -> io::Result<()> {
        self.0.iter().try_for_each(|handle| {
            // SAFETY: a borrowed handle is open.
            check(unsafe { SetHandleInformation(handle.as_raw_handle(), HANDLE_FLAG_INHERIT, flag) })
        })
    }
}

impl Drop for Inherited<'_> {
    fn drop(&mut self) {
        let _ = self.set(0);
    }
}

/// Keeps the standard handles of this program from the processes that it starts from now on. Otherwise a browser that outlives this
/// program would hold the pipe of a client that waits for its end. Where a process is meant to have one of them, the standard
/// library gives it a copy.
pub fn inherit_standard_handles() {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    for handle in [input.as_raw_handle(), output.as_raw_handle(), error.as_raw_handle()] {
        // SAFETY: nothing closes the standard handles. Where one is missing, this fails, and nothing is inherited.
        unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) };
    }
}

/// The number of a handle, which is the same in a process that inherits it.
pub fn number(handle: BorrowedHandle<'_>) -> usize {
    handle.as_raw_handle().addr()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use windows_sys::Win32::Foundation::GetHandleInformation;

    use super::*;

    fn is_inherited() -> bool {
        let mut flags = 0;
        // SAFETY: the handle is open, and the flags go to a variable of ours.
        check(unsafe { GetHandleInformation(io::stdout().as_raw_handle(), &raw mut flags) }).unwrap();
        flags & HANDLE_FLAG_INHERIT != 0
    }

    #[test]
    fn standard_handles_are_for_processes_that_are_meant_to_have_them() {
        // SAFETY: the handle is open.
        check(unsafe {
            SetHandleInformation(io::stdout().as_raw_handle(), HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT)
        })
        .unwrap();
        assert!(is_inherited());
        inherit_standard_handles();
        assert!(!is_inherited());
        // A process without one could not print.
        let mut command = Command::new("cmd.exe");
        command.args(["/d", "/c", "echo a line for the output of the tests"]).stdout(Stdio::inherit());
        assert!(command.status().unwrap().success());
    }
}
