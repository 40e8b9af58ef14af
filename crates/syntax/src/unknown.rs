//! Why code cannot be read.

use std::fmt;

/// Why the names of code cannot be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    StarImport {
        module: String,
    },
    /// Code that is made at run time, or is elsewhere, by this function or magic.
    DynamicCode {
        by: String,
    },
    /// A cell magic whose body is not Python.
    CellMagic {
        magic: String,
    },
    NotPython,
    SyntaxError,
    TooLong,
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

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StarImport { module } => write!(f, "from {module} import *"),
            Self::DynamicCode { by } | Self::CellMagic { magic: by } => f.write_str(by),
            Self::NotPython => f.write_str("not Python"),
            Self::SyntaxError => f.write_str("a syntax error"),
            Self::TooLong => f.write_str("a very long source"),
            Self::TooDeep => f.write_str("deeply nested code"),
        }
    }
}
