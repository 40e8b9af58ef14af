//! The modules that a cell imports.

use std::collections::BTreeSet;

use ruff_python_ast::Stmt;
use ruff_python_ast::visitor::{self, Visitor};

use crate::magics;
use crate::parse::{bounded, with_statements};
use crate::tree::is_suppressing;

/// The modules that a cell of Python imports, also in its functions: not where a branch may leave it out, or an error is handled, and
/// not those of its own package (`from . import x`).
pub fn imported_modules(source: &str) -> BTreeSet<String> {
    let magics::Cell::Python { body, .. } = magics::split(source) else { return BTreeSet::new() };
    let walk = || {
        let mut imports = Imports::default();
        let _ = with_statements(body, |statements| imports.visit_body(statements));
        imports.0
    };
    bounded(body, walk).unwrap_or_default()
}

#[derive(Default)]
struct Imports(BTreeSet<String>);

impl<'a> Visitor<'a> for Imports {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => self.0.extend(import.names.iter().map(|alias| alias.name.to_string())),
            Stmt::ImportFrom(import) if import.level == 0 => {
                self.0.extend(import.module.iter().map(ToString::to_string));
            }
            Stmt::With(block) if is_suppressing(block) => {}
            Stmt::Try(block) if !block.handlers.is_empty() => {}
            Stmt::If(_) | Stmt::While(_) | Stmt::Match(_) => {}
            _ => visitor::walk_stmt(self, statement),
        }
    }
}
