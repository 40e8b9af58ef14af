//! The walk through a cell in the order in which it runs.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::Suite;
use ruff_python_ast::visitor::Visitor;
use ruff_text_size::{Ranged, TextRange};
use syntax::magics::CellMagic;
use syntax::{Locals, MAX_NESTED, Name, Scope, Scopes, Unknown, with_statements};

use crate::names::{Effects, Names, Repeat, Step};
use syntax::hash;

mod aliases;
mod bindings;
mod branches;
mod calls;
mod changes;
mod definitions;
mod derived;
mod escapes;
mod expressions;
mod files;
mod held;
mod methods;
mod object_uses;
mod patches;
mod reading;
mod settings;
mod streams;
mod visit;

use branches::Branch;
use derived::Derived;
use expressions::has_inner_expressions;
use methods::Method;

#[derive(Default)]
pub(crate) struct Walker {
    names: Names,
    /// The effects of the statement that the walk is in.
    step: Effects,
    /// The names that it has bound, and the branches of it that the walk is in.
    branches: Vec<Branch>,
    /// The effect of changing an object at this place once more.
    repeat: Repeat,
    /// Whether nothing is done with the result of the call that is visited next.
    is_discarded: bool,
    /// The function that is called next.
    callee: Option<TextRange>,
    scopes: Scopes,
    /// The effects of the function or class of the cell that is being defined.
    deferred: Effects,
    /// The parameters of the outermost function that the walk is in.
    parameters: BTreeSet<Name>,
    /// The local names in it that were assigned from others, which have the same objects.
    local_aliases: BTreeMap<Name, Name>,
    /// The files that names of the cell are open for writing.
    written_files: BTreeMap<Name, Name>,
    /// The origins of the names of this scope.
    derived: Derived,
    /// The methods of the outermost class, as far as the walk has come.
    methods: Vec<Method>,
    /// The number of bodies around the walk that a condition chooses.
    conditions: usize,
    /// The number of functions and classes around the walk.
    definitions: usize,
    /// The functions among them.
    functions: usize,
    /// The text that the tree's positions count in.
    source: String,
    /// The number of sources around the walk.
    sources: usize,
    /// In how many places the walk is where a name that nothing defines is no error.
    tolerant: usize,
}

impl Walker {
    /// The caller provides the stack, see [`syntax::bounded`].
    pub(crate) fn walk_cell(body: &str, magics: &[CellMagic]) -> Names {
        let mut walker = Self::default();
        if magics.contains(&CellMagic::Timeit) {
            walker.step(body, |walker| walker.walk_as_function(body));
        } else {
            walker.walk_steps(body);
        }
        for magic in magics {
            if let CellMagic::Capture(name) = magic {
                walker.step(body, |walker| walker.capture(name));
            }
        }
        // `import os` in a cell that then sets `os.environ["X"]` does not give the same each time.
        for step in &walker.names.steps {
            walker
                .names
                .fixed
                .retain(|name, _| !step.effects.changes.get(name).is_some_and(|change| change.is_sure));
        }
        walker.names.steps.shrink_to_fit();
        walker.names
    }

    /// A statement of the cell that is in no other one.
    fn step(&mut self, text: &str, walk: impl FnOnce(&mut Self)) {
        self.branches.push(Branch::default());
        walk(self);
        let bound = self.branches.pop().unwrap_or_default();
        let mut effects = std::mem::take(&mut self.step);
        let defines = effects.defines.iter().filter(|name| !bound.surely.contains(*name));
        effects.may_define = defines.cloned().collect();
        effects.binds = bound.likely.into_iter().collect();
        self.names.effects.then(&effects);
        self.names.steps.push(Step { effects, code: hash(text) });
    }

    /// A name for what the cell has shown, which is made of all that it has read.
    fn capture(&mut self, name: &str) {
        let Effects { uses, reads, varies, .. } = &self.names.effects;
        self.step =
            Effects { uses: uses.clone(), reads: reads.clone(), varies: *varies, ..Effects::default() };
        self.define(name);
    }

    fn walk_steps(&mut self, source: &str) {
        let walked = self.nested(source, |walker, statements| {
            walker.names.has_inner_expressions = has_inner_expressions(statements);
            for statement in statements {
                let text = source.get(statement.range().to_std_range()).unwrap_or_default();
                walker.step(text, |walker| walker.visit_stmt(statement));
            }
        });
        if walked.is_err() {
            self.step(source, |walker| walker.collect(walked));
        }
    }

    fn walk_source(&mut self, source: &str) {
        let walked = self.nested(source, |walker, statements| walker.visit_body(statements));
        self.collect(walked);
    }

    /// The names that the source binds are lost.
    fn walk_as_function(&mut self, source: &str) {
        let walked = self.nested(source, |walker, statements| {
            let scope = Scope::function(Locals::of_body(statements));
            walker.within(scope, |walker| walker.visit_body(statements));
        });
        self.collect(walked);
    }

    fn nested(&mut self, source: &str, walk: impl FnOnce(&mut Self, &Suite)) -> Result<(), Unknown> {
        if self.sources == MAX_NESTED {
            return Err(Unknown::TooDeep);
        }
        self.sources += 1;
        let outer = std::mem::replace(&mut self.source, source.to_owned());
        let walked = with_statements(source, |statements| walk(self, statements));
        self.source = outer;
        self.sources -= 1;
        if walked.is_err() {
            self.names.may_bind(source);
        }
        walked
    }

    fn collect(&mut self, walked: Result<(), Unknown>) {
        if let Err(why) = walked {
            self.names.binds_anything |= why.binds_anything();
            self.effects().unknown.get_or_insert(why);
        }
    }

    fn tolerant(&mut self, walk: impl FnOnce(&mut Self)) {
        self.tolerant += 1;
        walk(self);
        self.tolerant -= 1;
    }

    fn text(&self, node: &impl Ranged) -> &str {
        self.source.get(node.range().to_std_range()).unwrap_or_default()
    }

    /// The effects of the code that the walk is in.
    fn effects(&mut self) -> &mut Effects {
        if self.functions > 0 { &mut self.deferred } else { &mut self.step }
    }

    fn within(&mut self, scope: Scope, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        walk(self);
        self.scopes.pop();
    }
}
