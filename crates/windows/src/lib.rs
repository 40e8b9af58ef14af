//! What Windows offers and the standard library does not, behind safe functions. On other systems this crate is empty.
//!
//! It holds the program's only calls of the Windows API, so that unsafe code is read in one place.
#![cfg(windows)]
#![expect(unsafe_code, reason = "the Windows API is called here, and nowhere else")]

mod busy;
mod event;
mod file;
mod holders;
mod inheritance;
mod job;
mod name;
mod process;
mod socket;

use std::io;
use std::os::windows::io::{FromRawHandle as _, OwnedHandle};

pub use busy::{is_busy, is_held, while_busy};
pub use event::Event;
pub use file::{Identity, identity, move_new, open_for_metadata, replace};
pub use holders::holders;
pub use inheritance::{inherit_standard_handles, number, while_inherited};
pub use job::{CREATION_FLAGS, Job};
pub use name::Name;
pub use process::{is_alive, own_handle};
pub use socket::make_exclusive;
use windows_sys::Win32::Foundation::{ERROR_SUCCESS, HANDLE, WIN32_ERROR};
/// With this flag a program for the console starts without a window.
pub use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;
use windows_sys::core::BOOL;

/// Whether these tests run under wine, which lacks some functions.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "wine says so in the environment")]
fn is_wine() -> bool {
    std::env::var_os("WINEPREFIX").is_some()
}

/// What a function returns that tells success by a number.
fn check(succeeded: BOOL) -> io::Result<()> {
    if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What a function returns that tells the error itself.
fn check_code(error: WIN32_ERROR) -> io::Result<()> {
    if error == ERROR_SUCCESS { Ok(()) } else { Err(io::Error::from_raw_os_error(error.cast_signed())) }
}

/// A handle that a function has just opened, or its error.
///
/// # Safety
/// The handle is null, or open and nobody else's.
unsafe fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller says so.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
