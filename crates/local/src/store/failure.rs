//! What can go wrong with a file, in words for an agent.

use std::fmt::Display;
use std::io;

use workspace::{Error, ErrorKind};

/// A file or its folder cannot be read.
pub(crate) fn reading(path: &str, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::new(
            ErrorKind::NotFound,
            format!("there is no notebook {path:?}."),
            "list_notebooks shows those that there are; use_notebook with mode \"create\" makes a new one.",
        ),
        io::ErrorKind::PermissionDenied => Error::new(
            ErrorKind::Unavailable,
            format!("the notebook {path:?} may not be read by this program."),
            "Give it access to the file and its folders, or use another notebook.",
        ),
        _ => Error::new(
            ErrorKind::Unavailable,
            format!("the notebook {path:?} cannot be read: {error}."),
            "See what is wrong with the disk or the file, then try again.",
        ),
    }
}

/// What is in a file is no notebook, or not yet.
pub(crate) fn content(path: &str, problem: &dyn Display) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("{path:?} does not hold a readable notebook: {problem}. Nothing was written."),
        "If another program is writing it, try again in a moment; else restore it from version control or a backup, \
         or use another notebook.",
    )
}

/// A new file cannot be made.
pub(crate) fn creating(path: &str, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        let cause = format!("{path:?} has just been made by another program; it was left as it is.");
        return Error::new(
            ErrorKind::Conflict,
            cause,
            "Open it with mode \"connect\", or give another path.",
        );
    }
    Error { cause: format!("the notebook {path:?} cannot be made: {}.", why(error)), ..writing(path, error) }
}

/// A file cannot be written. It is as it was.
pub(crate) fn writing(path: &str, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Make the file and its folder writable, or work on a copy in another folder."
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "Free some space, then try again."
        }
        io::ErrorKind::NotFound => "list_notebooks shows where the notebooks are now.",
        _ => "See what is wrong with the disk or the folder, then try again.",
    };
    let cause = format!("the notebook {path:?} could not be written: {}. The file is as it was.", why(error));
    Error::new(ErrorKind::Unavailable, cause, hint)
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "the file or its folder is read-only".to_owned(),
        io::ErrorKind::NotFound => "the file or its folder is gone".to_owned(),
        _ => error.to_string(),
    }
}

/// Others write the file faster than we can.
pub(crate) fn contended(path: &str) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!("other programs keep changing or locking the notebook {path:?}; nothing was written."),
        "Try again in a moment.",
    )
}

/// A task of ours ended without an answer.
pub(crate) fn ours(error: &dyn Display) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the work on the notebook was cut short: {error}."),
        "Read it, then try again.",
    )
}
