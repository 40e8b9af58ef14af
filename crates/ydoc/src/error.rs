//! What can go wrong with a document.

use notebook::EditError;

/// Why a document could not take or give something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YError {
    /// The bytes are no update or state vector.
    #[error("not a Y update: {0}")]
    Malformed(String),
    /// Values in the update are nested deeper than any notebook needs.
    #[error("the update nests values more than {0} deep")]
    TooDeep(usize),
    /// An update left the document in a state that cannot be trusted. Only a new one helps.
    #[error("the shared document is broken and has to be opened again")]
    Broken,
}

/// Why edits were not made; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// An edit does not fit the notebook.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The document cannot take edits.
    #[error(transparent)]
    Document(#[from] YError),
}
