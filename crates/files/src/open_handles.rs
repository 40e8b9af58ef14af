//! Files that other programs have open. Only Windows refuses to replace them.

#[cfg(any(windows, test))]
use std::fmt;
use std::io;
use std::path::Path;

/// The error of a file call, which says who holds the file if that is why it failed. May take some 100 ms.
#[cfg(windows)]
pub(crate) fn naming_holders(error: io::Error, path: &Path) -> io::Error {
    if !windows::is_busy(&error) {
        return error;
    }
    let is_held = windows::is_held(&error);
    held_by(error, is_held, windows::holders(path).unwrap_or_default())
}

#[cfg(not(windows))]
pub(crate) fn naming_holders(error: io::Error, _path: &Path) -> io::Error {
    error
}

/// The error with the programs that hold the file. If none is found, it `is_held` if Windows says so.
#[cfg(any(windows, test))]
fn held_by(error: io::Error, is_held: bool, holders: Vec<String>) -> io::Error {
    if holders.is_empty() && !is_held {
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
            [] => f.write_str("another program has it open"),
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

    #[test]
    fn an_error_says_who_holds_the_file() {
        let said = |is_held, holders: &[&str]| {
            let holders = holders.iter().map(ToString::to_string).collect();
            who_holds(&held_by(io::ErrorKind::PermissionDenied.into(), is_held, holders))
        };
        let text = said(true, &["Jupyter", "OneDrive"]);
        assert_eq!(text.as_deref(), Some("it is open in Jupyter and in OneDrive"));
        assert_eq!(said(false, &["Excel"]).as_deref(), Some("it is open in Excel"));
        assert_eq!(said(true, &[]).as_deref(), Some("another program has it open"));
        assert_eq!(said(false, &[]), None, "it may be read-only");
    }
}
