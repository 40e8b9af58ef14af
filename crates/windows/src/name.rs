//! Names that one process has at a time.

use std::io;
use std::iter::once;
use std::os::windows::io::OwnedHandle;
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, ERROR_ALREADY_EXISTS, GetLastError, SetLastError};
use windows_sys::Win32::System::Threading::{CreateEventW, OpenEventW, SYNCHRONIZATION_SYNCHRONIZE};

use crate::owned;

/// A name that belongs to this process until this is dropped, or the process ends. It leaves no file behind, and belongs to no
/// thread, as a mutex would.
#[derive(Debug)]
pub struct Name {
    /// `None` if this process may create no such names.
    _event: Option<OwnedHandle>,
}

impl Name {
    /// `None` if somebody on this machine has the name. It consists of letters, digits and hyphens. A process with few rights, such as
    /// one in an app container, can only notice that others have it.
    pub fn take(name: &str) -> io::Result<Option<Self>> {
        let wide = wide(name);
        let (is_manual, is_set) = (1, 0);
        // SAFETY: the name ends with a NUL, and the handle is new.
        let (event, error) = unsafe {
            SetLastError(0);
            let event = owned(CreateEventW(ptr::null(), is_manual, is_set, wide.as_ptr()));
            (event, GetLastError())
        };
        match (event, error) {
            (_, ERROR_ALREADY_EXISTS) => Ok(None),
            // Of another user, or of nobody.
            (_, ERROR_ACCESS_DENIED) => Ok((!exists(&wide)).then_some(Self { _event: None })),
            (event, _) => Ok(Some(Self { _event: Some(event?) })),
        }
    }
}

fn wide(name: &str) -> Vec<u16> {
    format!("Global\\{name}").encode_utf16().chain(once(0)).collect()
}

/// Whether an event has this name, which ends with a NUL.
fn exists(name: &[u16]) -> bool {
    let is_inherited = 0;
    // SAFETY: the name ends with a NUL, and the handle is new.
    let event = unsafe { owned(OpenEventW(SYNCHRONIZATION_SYNCHRONIZE, is_inherited, name.as_ptr())) };
    !event.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_one_until_it_is_dropped() {
        let name = format!("cellbridge-test-{}", std::process::id());
        let first = Name::take(&name).unwrap();
        assert!(first.is_some() && exists(&wide(&name)));
        assert!(Name::take(&name).unwrap().is_none());
        assert!(Name::take(&format!("{name}-other")).unwrap().is_some());
        drop(first);
        assert!(!exists(&wide(&name)));
        assert!(Name::take(&name).unwrap().is_some());
    }
}
