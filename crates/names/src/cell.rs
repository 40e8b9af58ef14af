//! The names of a whole cell: first come its magics, then the walk through its body.

use syntax::{
    Unknown, bounded,
    magics::{self, Cell, CellMagic},
};

use crate::names::Names;
use crate::walker::Walker;

impl Names {
    /// The names of a cell in this language.
    pub fn in_language(source: &str, language: &str) -> Self {
        if language.eq_ignore_ascii_case("python") {
            Self::of_cell(source)
        } else {
            Self::unknown(Unknown::NotPython)
        }
    }

    /// The names of a cell with this source.
    pub fn of_cell(source: &str) -> Self {
        match magics::split(source) {
            Cell::Blank => Self::default(),
            Cell::Other { magic } => {
                let mut names = Self::unknown(Unknown::CellMagic { magic });
                if !magics::binds_nothing(source) {
                    names.may_bind(source);
                }
                names
            }
            Cell::Python { body, magics } => {
                let mut names = of_body(body, &magics);
                if magics.contains(&CellMagic::Timeit) {
                    // The code behind the magic is code that runs before the body.
                    names.may_bind(&source[..source.len() - body.len()]);
                }
                names
            }
        }
    }
}

/// The names of a cell's body. It has been freed of its cell magics, which are given from the outermost inwards.
fn of_body(body: &str, magics: &[CellMagic]) -> Names {
    bounded(body, || Walker::walk_cell(body, magics)).unwrap_or_else(|why| {
        let mut names = Names::unknown(why);
        names.may_bind(body);
        names
    })
}
