//! The modules that a cell imports.

use std::collections::BTreeSet;

use ruff_python_ast::AnyNodeRef;

use crate::magics;
use crate::parse::{bounded, with_statements};
use crate::tree::{is_suppressing, look_through};

/// The modules that a cell of Python imports, also in its functions: not where a branch may leave it out, or an error is handled, and
/// not those of its own package (`from . import x`).
pub fn imported_modules(source: &str) -> BTreeSet<String> {
    let magics::Cell::Python { body, .. } = magics::split(source) else { return BTreeSet::new() };
    let walk = || {
        let mut imports = BTreeSet::new();
        let mut look = |node: AnyNodeRef<'_>, _| match node {
            AnyNodeRef::StmtImport(import) => {
                imports.extend(import.names.iter().map(|alias| alias.name.to_string()));
                false
            }
            AnyNodeRef::StmtImportFrom(import) => {
                imports.extend(import.module.iter().filter(|_| import.level == 0).map(ToString::to_string));
                false
            }
            AnyNodeRef::StmtWith(block) => !is_suppressing(block),
            AnyNodeRef::StmtTry(block) => block.handlers.is_empty(),
            AnyNodeRef::StmtIf(_) | AnyNodeRef::StmtWhile(_) | AnyNodeRef::StmtMatch(_) => false,
            _ => true,
        };
        let _ = with_statements(body, |statements| look_through(statements, &mut look));
        imports
    };
    bounded(body, walk).unwrap_or_default()
}
