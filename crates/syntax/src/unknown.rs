//! Why code cannot be read.

/// Why the names of code cannot be known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    #[error("from {module} import *")]
    StarImport { module: String },
    /// Code that is made at run time, or is elsewhere, by this function or magic.
    #[error("{by}")]
    DynamicCode { by: String },
    /// A cell magic whose body is not Python.
    #[error("{magic}")]
    CellMagic { magic: String },
    #[error("not Python")]
    NotPython,
    #[error("a syntax error")]
    SyntaxError,
    #[error("a very long source")]
    TooLong,
    #[error("deeply nested code")]
    TooDeep,
}

impl Unknown {
    /// Whether such code may bind names that its text does not have.
    pub fn binds_anything(&self) -> bool {
        match self {
            Self::StarImport { .. } | Self::NotPython | Self::TooLong => true,
            Self::DynamicCode { by } => by != "eval()",
            Self::CellMagic { .. } | Self::SyntaxError | Self::TooDeep => false,
        }
    }
}
