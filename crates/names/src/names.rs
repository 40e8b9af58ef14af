//! The names of a cell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{magics, parse};

pub type Name = String;

/// The names of a cell of Python, with the magics of `IPython`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// What the cell does when it runs.
    pub effects: Effects,
    /// What the functions and classes that it defines do when they are called.
    pub functions: BTreeMap<Name, Effects>,
    /// Further names for the objects of others, as `a` after `a = df`.
    pub aliases: BTreeMap<Name, Name>,
    /// The names that it imports.
    pub imports: BTreeSet<Name>,
    /// Definitions that give the same value each time they run: imports, and functions without decorators and defaults.
    /// The number stands for their text.
    pub fixed: BTreeMap<Name, u64>,
}

/// What running code does with the names of its module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    /// Read before the code itself binds them.
    pub uses: BTreeSet<Name>,
    /// Read at all.
    pub reads: BTreeSet<Name>,
    pub defines: BTreeSet<Name>,
    pub deletes: BTreeSet<Name>,
    /// Changed by an assignment to a part of their object, or an augmented one.
    pub changes: BTreeSet<Name>,
    /// Of these, the ones that may have got another object instead: `n += 1`.
    pub augments: BTreeSet<Name>,
    /// A method was called that may change their object.
    pub calls: BTreeSet<Name>,
    /// The names whose objects are passed to functions.
    pub passes: BTreeSet<Passed>,
    /// Of a function: its positional parameters, and those whose objects it changes, or calls methods of that may do so.
    pub parameters: Vec<Name>,
    pub changed_parameters: BTreeSet<Name>,
    /// Of a function: the parameters that it passes on.
    pub passed_parameters: BTreeSet<Passed>,
    /// Why the sets may not be complete.
    pub unknown: Option<Unknown>,
}

/// A name that is an argument of a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passed {
    pub name: Name,
    pub function: Name,
    pub argument: Argument,
}

/// For which parameter an argument is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Argument {
    Position(usize),
    Keyword(Name),
}

impl Effects {
    /// The parameter of a function with these effects that gets an argument.
    pub fn parameter<'n>(&'n self, argument: &'n Argument) -> Option<&'n Name> {
        match argument {
            Argument::Position(position) => self.parameters.get(*position),
            Argument::Keyword(name) => Some(name),
        }
    }
}

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

impl Names {
    /// The names of a cell with this source.
    pub fn of_cell(source: &str) -> Self {
        match magics::split(source) {
            magics::Cell::Blank => Self::default(),
            magics::Cell::Other { magic } => Self::unknown(Unknown::CellMagic { magic }),
            magics::Cell::Python { body, magics } => parse::names(body, &magics),
        }
    }

    /// A cell of which nothing is known.
    pub fn unknown(why: Unknown) -> Self {
        let effects = Effects { unknown: Some(why), ..Effects::default() };
        Self { effects, ..Self::default() }
    }

    /// Whether running the cell does nothing with names, which holds for one without code.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
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
