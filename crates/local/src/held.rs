//! Files that other programs hold. Elsewhere than on Windows they can be replaced nevertheless.

use std::io;
use std::path::Path;
#[cfg(any(windows, test))]
use std::{fmt, time::Duration, time::Instant};

/// How long another program may hold a file that is to be replaced, and how often that is tried.
#[cfg(any(windows, test))]
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);
#[cfg(any(windows, test))]
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Repeats `work` while another program holds a file: virus scanners, indexers and programs that copy to a cloud look at each new
/// file for a moment.
#[cfg(any(windows, test))]
pub(crate) fn while_busy<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let end = Instant::now() + BUSY_TIMEOUT;
    loop {
        match work() {
            Err(error) if is_busy(&error) && Instant::now() < end => std::thread::sleep(BUSY_PAUSE),
            result => return result,
        }
    }
}

/// Whether another program holds the file, or may: Windows says "access denied" in some of these cases.
#[cfg(any(windows, test))]
pub(crate) fn is_busy(error: &io::Error) -> bool {
    const ACCESS_DENIED: i32 = 5;
    error.raw_os_error() == Some(ACCESS_DENIED) || is_held(error)
}

/// Whether Windows says that another program holds the file.
#[cfg(any(windows, test))]
fn is_held(error: &io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    const UNABLE_TO_REMOVE_REPLACED: i32 = 1175;
    [SHARING_VIOLATION, LOCK_VIOLATION, UNABLE_TO_REMOVE_REPLACED]
        .iter()
        .any(|code| error.raw_os_error() == Some(*code))
}

/// The error of a file call, which says who holds the file if that is why it failed. May take some 100 ms.
#[cfg(windows)]
pub(crate) fn naming_holders(error: io::Error, path: &Path) -> io::Error {
    if is_busy(&error) { held_by(error, windows::holders(path).unwrap_or_default()) } else { error }
}

#[cfg(not(windows))]
pub(crate) fn naming_holders(error: io::Error, _path: &Path) -> io::Error {
    error
}

/// The error with the programs that hold the file. Access may be denied for another reason, if none does.
#[cfg(any(windows, test))]
fn held_by(error: io::Error, holders: Vec<String>) -> io::Error {
    if holders.is_empty() && !is_held(&error) {
        return error;
    }
    io::Error::new(error.kind(), Held { holders, source: error })
}

/// Why a file cannot be used.
#[cfg(any(windows, test))]
#[derive(Debug)]
struct Held {
    /// The names of programs, as far as they are known.
    holders: Vec<String>,
    source: io::Error,
}

#[cfg(any(windows, test))]
impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.holders {
            [] => f.write_str("another program holds it"),
            holders => write!(f, "it is open in {}", holders.join(" and in ")),
        }
    }
}

#[cfg(any(windows, test))]
impl std::error::Error for Held {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The words of [`naming_holders`], if the file is held.
#[cfg(any(windows, test))]
pub(crate) fn who_holds(error: &io::Error) -> Option<String> {
    error.get_ref()?.downcast_ref::<Held>().map(ToString::to_string)
}

#[cfg(not(any(windows, test)))]
pub(crate) fn who_holds(_error: &io::Error) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARING_VIOLATION: i32 = 32;
    const ACCESS_DENIED: i32 = 5;

    #[test]
    fn work_is_repeated_while_others_hold_the_file() {
        let mut errors =
            vec![io::ErrorKind::NotFound.into(), io::Error::from_raw_os_error(SHARING_VIOLATION)];
        errors.push(io::Error::from_raw_os_error(ACCESS_DENIED));
        let result = while_busy(|| errors.pop().map_or(Ok(()), Err));
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::NotFound, "which is no reason to try again");
        let held = while_busy(|| -> io::Result<()> { Err(io::Error::from_raw_os_error(SHARING_VIOLATION)) });
        assert!(is_held(&held.unwrap_err()));
    }

    #[test]
    fn an_error_says_who_holds_the_file() {
        let said = |code, holders: &[&str]| {
            let holders = holders.iter().map(ToString::to_string).collect();
            who_holds(&held_by(io::Error::from_raw_os_error(code), holders))
        };
        let text = said(SHARING_VIOLATION, &["Jupyter", "OneDrive"]);
        assert_eq!(text.as_deref(), Some("it is open in Jupyter and in OneDrive"));
        assert_eq!(said(ACCESS_DENIED, &["Excel"]).as_deref(), Some("it is open in Excel"));
        assert_eq!(said(SHARING_VIOLATION, &[]).as_deref(), Some("another program holds it"));
        assert_eq!(said(ACCESS_DENIED, &[]), None, "it may be read-only");
    }
}
