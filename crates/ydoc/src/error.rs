//! Errors of a shared document.

use notebook::EditError;

/// Why an update or a state vector was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YError {
    /// The bytes are not a valid update or state vector.
    #[error("not a Y update: {0}")]
    Malformed(String),
    #[error("the update nests values more than {0} deep")]
    TooDeep(usize),
    /// An update left the document in an undefined state. It has to be replaced by a new one.
    #[error("the live notebook is broken and has to be opened again")]
    Broken,
}

/// Why edits were refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Document(#[from] YError),
}
