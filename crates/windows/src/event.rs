//! Events: what one process sets and another waits for.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle as _, BorrowedHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::System::Threading::{CreateEventW, SetEvent};

use crate::{check, owned};

/// An event without a name, which is reset when somebody has waited for it.
#[derive(Debug)]
pub struct Event(OwnedHandle);

impl Event {
    /// An event that is not set.
    pub fn new() -> io::Result<Self> {
        let (is_manual, is_set) = (0, 0);
        // SAFETY: both pointers may be null. The handle is new.
        unsafe { owned(CreateEventW(ptr::null(), is_manual, is_set, ptr::null())).map(Self) }
    }

    /// Lets one of those who wait go on, or the next who does.
    pub fn set(&self) -> io::Result<()> {
        // SAFETY: the handle is open.
        check(unsafe { SetEvent(self.0.as_raw_handle()) })
    }
}

impl AsHandle for Event {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::Foundation::{WAIT_OBJECT_0, WAIT_TIMEOUT};
    use windows_sys::Win32::System::Threading::WaitForSingleObject;

    use super::*;

    #[test]
    fn an_event_is_reset_by_who_has_waited() {
        let event = Event::new().unwrap();
        // SAFETY: the handle is open.
        let wait = || unsafe { WaitForSingleObject(event.0.as_raw_handle(), 0) };
        assert_eq!(wait(), WAIT_TIMEOUT);
        event.set().unwrap();
        assert_eq!((wait(), wait()), (WAIT_OBJECT_0, WAIT_TIMEOUT));
    }
}
