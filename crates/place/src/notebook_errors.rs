//! The errors of notebooks that every place reports in the same words.

use std::fmt::Display;

use crate::{Error, ErrorKind, NextStep};

impl Error {
    pub fn no_notebook(path: &str) -> Self {
        Self::new(ErrorKind::NotFound, format!("There is no notebook {path:?}."), NextStep::ListNotebooks)
    }

    /// The path names something else than a notebook.
    pub fn not_a_notebook(path: &str, why: impl Display) -> Self {
        let cause = format!("{path:?} is not a notebook: {why}.");
        Self::new(ErrorKind::InvalidArgument, cause, NextStep::ListNotebooks)
    }

    pub fn notebook_exists(path: &str) -> Self {
        let cause = format!("The notebook {path:?} already exists; it was not changed.");
        Self::new(ErrorKind::Conflict, cause, NextStep::OpenExisting)
    }

    /// The content cannot be parsed.
    pub fn unreadable_notebook(path: &str, problem: impl Display) -> Self {
        Self::new(
            ErrorKind::Unavailable,
            format!("{path:?} does not contain a readable notebook: {problem}. Nothing was written."),
            "If another program is writing it, try again in a moment. Otherwise repair it, restore it from a backup, \
             or use another notebook.",
        )
    }

    /// An edit does not fit the notebook.
    pub fn edit_refused(path: &str, why: impl Display) -> Self {
        let cause = format!("The notebook {path:?} was not changed: {why}.");
        Self::new(ErrorKind::Conflict, cause, NextStep::ReadNotebook)
    }

    pub fn notebook_busy(path: &str) -> Self {
        let cause = format!("Others keep changing or locking the notebook {path:?}; nothing was written.");
        Self::new(ErrorKind::Busy, cause, "Try again in a moment.")
    }

    /// A task of this program that worked on a notebook panicked or was cancelled.
    pub fn notebook_task_failed(problem: impl Display) -> Self {
        let cause = format!("An internal task failed while working on the notebook: {problem}.");
        Self::new(ErrorKind::Internal, cause, NextStep::ReadNotebook)
    }
}
