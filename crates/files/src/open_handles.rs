//! Files that other programs have open. Only Windows refuses to replace them.

use std::io;
use std::path::Path;

/// The error of a file call. If programs hold the file, it is busy, and the error names them. May take some 100 ms.
#[cfg(windows)]
pub(crate) fn naming_holders(error: io::Error, path: &Path) -> io::Error {
    if !windows::is_busy(&error) {
        return error;
    }
    let is_held = windows::is_held(&error);
    held_by(error, is_held, &windows::holders(path).unwrap_or_default())
}

#[cfg(not(windows))]
pub(crate) fn naming_holders(error: io::Error, _path: &Path) -> io::Error {
    error
}

/// The error of a busy file, with the programs that hold it. If none is found, it `is_held` if Windows says so.
#[cfg(any(windows, test))]
fn held_by(error: io::Error, is_held: bool, holders: &[String]) -> io::Error {
    let cause = match holders {
        [] if !is_held => return error,
        [] => "another program has it open".to_owned(),
        holders => format!("it is open in {}", holders.join(" and in ")),
    };
    io::Error::new(io::ErrorKind::ResourceBusy, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_who_holds_the_file() {
        let error = |is_held, holders: &[&str]| {
            let holders: Vec<_> = holders.iter().map(ToString::to_string).collect();
            held_by(io::ErrorKind::PermissionDenied.into(), is_held, &holders)
        };
        let text = |is_held, holders: &[&str]| error(is_held, holders).to_string();
        assert_eq!(text(true, &["Jupyter", "OneDrive"]), "it is open in Jupyter and in OneDrive");
        assert_eq!(text(false, &["Excel"]), "it is open in Excel");
        assert_eq!(text(true, &[]), "another program has it open");
        assert_eq!(error(false, &[]).kind(), io::ErrorKind::PermissionDenied, "it may be read-only");
    }
}
