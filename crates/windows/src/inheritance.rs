//! Handles that a new process gets from this one.

use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle};
use std::sync::{Mutex, PoisonError};

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
    let _one = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
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

/// The number of a handle, which is the same in a process that inherits it.
pub fn number(handle: BorrowedHandle<'_>) -> usize {
    handle.as_raw_handle().addr()
}
