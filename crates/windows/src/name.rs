//! Names that one process has at a time.

use std::io;
use std::iter::once;
use std::os::windows::io::OwnedHandle;
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, ERROR_ALREADY_EXISTS, GetLastError, SetLastError};
use windows_sys::Win32::System::Threading::CreateEventW;

use crate::owned;

/// A name that belongs to this process until this is dropped, or the process ends. It leaves no file behind, and belongs to no
/// thread, as a mutex would.
#[derive(Debug)]
pub struct Name {
    _event: OwnedHandle,
}

impl Name {
    /// `None` if somebody on this machine has the name. It consists of letters, digits and hyphens.
    pub fn take(name: &str) -> io::Result<Option<Self>> {
        let wide: Vec<u16> = format!("Global\\{name}").encode_utf16().chain(once(0)).collect();
        let (is_manual, is_set) = (1, 0);
        // SAFETY: the name ends with a NUL, and the handle is new.
        let (event, error) = unsafe {
            SetLastError(0);
            let event = owned(CreateEventW(ptr::null(), is_manual, is_set, wide.as_ptr()));
            (event, GetLastError())
        };
        match (event, error) {
            // Of another user, or of this one.
            (_, ERROR_ACCESS_DENIED | ERROR_ALREADY_EXISTS) => Ok(None),
            (event, _) => Ok(Some(Self { _event: event? })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_one_until_it_is_dropped() {
        let name = format!("cellbridge-test-{}", std::process::id());
        let first = Name::take(&name).unwrap();
        assert!(first.is_some());
        assert!(Name::take(&name).unwrap().is_none());
        assert!(Name::take(&format!("{name}-other")).unwrap().is_some());
        drop(first);
        assert!(Name::take(&name).unwrap().is_some());
    }
}
