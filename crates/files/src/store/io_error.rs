//! Errors of the file system, explained for agents.

use std::io;

use place::{Error, ErrorKind, NextStep};

const CLOSE_IT: &str = "Close the file in other programs, then try again.";

pub(crate) fn reading(path: &str, error: io::Error) -> Error {
    let (cause, next) = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            return Error::no_notebook(path).with_source(error);
        }
        io::ErrorKind::ResourceBusy => (format!("The notebook {path:?} cannot be read: {error}."), CLOSE_IT),
        io::ErrorKind::PermissionDenied => (
            format!("This program may not read the notebook {path:?} ({error})."),
            "Give it access to the file and its folders, or use another notebook.",
        ),
        _ => (
            format!("The notebook {path:?} cannot be read: {error}."),
            "Check the disk and the file, then try again.",
        ),
    };
    Error::new(ErrorKind::Unavailable, cause, next).with_source(error)
}

pub(crate) fn creating(path: &str, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Error::notebook_exists(path).with_source(error);
    }
    let cause = format!("The notebook {path:?} cannot be created: {}.", reason(&error));
    Error { cause, ..writing(path, error) }
}

/// The file was not changed.
pub(crate) fn writing(path: &str, error: io::Error) -> Error {
    let next = match error.kind() {
        io::ErrorKind::ResourceBusy => CLOSE_IT.into(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Make the file and its folder writable, or work on a copy in another folder.".into()
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "Free some space, then try again.".into()
        }
        io::ErrorKind::NotFound => NextStep::ListNotebooks,
        _ => "Check the disk and the folder, then try again.".into(),
    };
    let cause =
        format!("The notebook {path:?} could not be written: {}. It was not changed.", reason(&error));
    Error::new(ErrorKind::Unavailable, cause, next).with_source(error)
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        #[cfg(windows)]
        io::ErrorKind::PermissionDenied => {
            "Windows denies it: the file or its folder is read-only, or another program has the file open"
                .to_owned()
        }
        #[cfg(not(windows))]
        io::ErrorKind::PermissionDenied => format!("the file or its folder is read-only ({error})"),
        io::ErrorKind::NotFound => "the file or its folder is gone".to_owned(),
        _ => error.to_string(),
    }
}
