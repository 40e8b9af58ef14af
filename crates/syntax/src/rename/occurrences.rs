//! The places of a name in a cell, and what else a rename of it has to know.

use std::ops::Range;

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Comprehension, Expr, Identifier, Parameters, TypeParams};
use ruff_python_parser::parse_expression;
use ruff_text_size::TextRange;

use super::text::{has_word, offset};
use crate::locals::Locals;
use crate::magics::{self, CellMagic};
use crate::parse::{MAX_NESTED, bounded, with_statements};
use crate::scope::{Resolved, Scope, ScopeKind, Scopes};
use crate::unknown::Unknown;

mod escapes;
mod visit;

/// What a cell has of the old name and of the new one.
#[derive(Debug, Default)]
pub(super) struct Occurrences {
    /// Where the old name is one that cells share.
    pub(super) places: Vec<Place>,
    /// Where it is a local name.
    pub(super) locals: Vec<usize>,
    /// Whether the new name is one that cells share.
    pub(super) has_new: bool,
    /// Why the cell may bind names that cannot be known.
    pub(super) may_bind: Option<Unknown>,
    /// Why a part of the cell that has the old name as a word could not be read.
    pub(super) unread: Option<Unknown>,
}

/// Where the old name is one that cells share.
#[derive(Debug)]
pub(super) struct Place {
    /// In the source of the cell.
    pub(super) range: Range<usize>,
    /// Whether the new name means something local here.
    pub(super) is_captured: bool,
    pub(super) role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Use,
    Binding,
    /// `import old`, which has to say what it imports.
    Import,
    /// `import old.part`
    Submodule,
}

#[derive(Default)]
struct Finder<'n> {
    old: &'n str,
    new: &'n str,
    found: Occurrences,
    scopes: Scopes,
    /// The text that the tree's positions count in, and where it starts in the cell.
    source: String,
    start: usize,
    /// How many sources the walk is in.
    sources: usize,
}

impl Occurrences {
    pub(super) fn of(source: &str, old: &str, new: &str) -> Self {
        let walk = || {
            let mut finder = Finder { old, new, source: source.to_owned(), ..Finder::default() };
            match magics::split(source) {
                magics::Cell::Blank => {}
                magics::Cell::Other { .. } => finder.foreign_cell(),
                magics::Cell::Python { body, magics } => {
                    let start = source.len() - body.len();
                    finder.header(start, &magics);
                    finder.nested(body, start, magics.contains(&CellMagic::Timeit));
                }
            }
            finder.found
        };
        bounded(source, walk).unwrap_or_else(|why| Self {
            unread: has_word(source, old).then(|| why.clone()),
            may_bind: Some(why),
            ..Self::default()
        })
    }
}

impl Finder<'_> {
    /// Walks through a source that starts at `start` of the present one.
    fn nested(&mut self, source: &str, start: usize, is_function: bool) {
        if self.sources == MAX_NESTED {
            return self.cannot_read(source, Unknown::TooDeep);
        }
        self.sources += 1;
        let outer = (std::mem::replace(&mut self.source, source.to_owned()), self.start);
        self.start += start;
        let walked = with_statements(source, |statements| {
            if is_function {
                let scope = Scope::function(Locals::of_body(statements));
                self.within(scope, |finder| finder.visit_body(statements));
            } else {
                self.visit_body(statements);
            }
        });
        (self.source, self.start) = outer;
        self.sources -= 1;
        if let Err(why) = walked {
            self.cannot_read(source, why);
        }
    }

    fn cannot_read(&mut self, text: &str, why: Unknown) {
        if has_word(text, self.old) {
            self.found.unread.get_or_insert_with(|| why.clone());
        }
        self.found.may_bind.get_or_insert(why);
    }

    fn within(&mut self, scope: Scope, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        walk(self);
        self.scopes.pop();
    }

    /// A name at a place of the present source.
    fn name(&mut self, name: &str, range: TextRange, role: Role) {
        let range = self.start + range.start().to_usize()..self.start + range.end().to_usize();
        let is_shared = self.scopes.resolve(name) == Resolved::Module;
        self.found.has_new |= is_shared && name == self.new;
        if name == self.old && is_shared {
            let is_captured = self.scopes.captures(name, self.new);
            self.found.places.push(Place { range, is_captured, role });
        } else if name == self.old {
            self.found.locals.push(range.start);
        }
    }

    fn binding(&mut self, name: &Identifier) {
        self.scopes.bind(name);
        self.name(name, name.range, Role::Binding);
    }

    fn import(&mut self, alias: &ruff_python_ast::Alias) {
        if let Some(name) = &alias.asname {
            return self.binding(name);
        }
        let bound = alias.name.split('.').next().unwrap_or_default();
        let role = if bound.len() == alias.name.len() { Role::Import } else { Role::Submodule };
        self.scopes.bind(bound);
        let start = alias.name.range.start();
        let range = TextRange::at(start, ruff_text_size::TextSize::of(bound));
        self.name(bound, range, role);
    }

    /// The names of parameters, which belong to the function. Their defaults and annotations do not.
    fn parameters(&mut self, parameters: &Parameters) {
        self.visit_parameters(parameters);
        let own = parameters
            .iter()
            .map(ruff_python_ast::AnyParameterRef::name)
            .filter(|name| name.as_str() == self.old);
        self.found.locals.extend(own.map(|name| self.start + name.range.start().to_usize()));
    }

    fn with_type_params(&mut self, params: Option<&TypeParams>, walk: impl FnOnce(&mut Self)) {
        let Some(params) = params else { return walk(self) };
        let names = params.type_params.iter().map(|param| param.name().to_string()).collect();
        self.within(Scope { bound: names, ..Scope::of(ScopeKind::TypeParams) }, |finder| {
            for param in &params.type_params {
                finder.name(param.name(), param.name().range, Role::Binding);
            }
            finder.visit_type_params(params);
            walk(finder);
        });
    }

    /// The first iterable is evaluated outside.
    fn comprehension(&mut self, generators: &[Comprehension], elements: &[&Expr]) {
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.within(Scope::of(ScopeKind::Comprehension), |finder| {
            for (index, generator) in generators.iter().enumerate() {
                if index > 0 {
                    finder.visit_expr(&generator.iter);
                }
                finder.visit_expr(&generator.target);
                generator.ifs.iter().for_each(|test| finder.visit_expr(test));
            }
            for element in elements {
                finder.visit_expr(element);
            }
        });
    }

    /// An expression in the text of a magic.
    fn expression(&mut self, text: &str, start: usize) {
        let trimmed = text.trim();
        let cut = trimmed.find([':', '!', '=']).map_or(trimmed, |at| &trimmed[..at]);
        if let Some(part) = [trimmed, cut].into_iter().find(|part| parse_expression(part).is_ok()) {
            self.nested(part, start + offset(text, part), false);
        }
    }
}
