//! The walk through a cell in the order in which it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{
    Comprehension, Expr, IpyEscapeKind, ParameterWithDefault, Parameters, StmtClassDef, StmtFunctionDef,
    Suite, TypeParams,
};
use ruff_text_size::{Ranged, TextRange};

use crate::builtins::VARIABLES;
use crate::locals::Locals;
use crate::magics::{self, CellMagic, LineMagic};
use crate::names::{Effects, Name, Names, Repeat, Step, Unknown};
use crate::parse::{MAX_NESTED, with_statements};
use crate::scope::{Kind, Resolved, Scope, Scopes};

mod arguments;
mod branches;
mod calls;
mod derived;
mod figures;
mod late;
mod options;
mod repeats;
mod shared;
mod streams;
mod visit;
mod wrappers;

use branches::Branch;
pub(crate) use branches::is_suppressing;
use derived::Derived;
pub use options::{ARRAYS, FLOATS, FRAMES};
pub use shared::{CONFIGURATION, is_configuration, is_shared};
pub use streams::is_counting;

pub(crate) struct Walker {
    names: Names,
    /// The effects of the statement that the walk is in.
    step: Effects,
    /// What it has bound, and the branches of it that the walk is in.
    branches: Vec<Branch>,
    /// What changing an object at this place once more does.
    repeat: Repeat,
    /// Whether nothing is done with the result of the call that is visited next.
    is_discarded: bool,
    /// What is called next.
    callee: Option<TextRange>,
    /// Whether objects are only looked at here.
    is_looking: bool,
    /// The streams that the cell reads from a place that it has chosen.
    rewound: BTreeSet<Name>,
    scopes: Scopes,
    /// The effects of the function or class of the cell that is being defined.
    deferred: Effects,
    /// The parameters of the outermost function that the walk is in.
    parameters: BTreeSet<Name>,
    /// The local names in it that were assigned from others, which have the same objects.
    local_aliases: BTreeMap<Name, Name>,
    /// What the names of this scope are made of.
    derived: Derived,
    /// How many bodies the walk is in that a condition chooses.
    conditions: usize,
    /// How many functions and classes the walk is in.
    definitions: usize,
    /// How many of them are functions.
    functions: usize,
    /// The text that the tree's positions count in.
    source: String,
    /// How many sources the walk is in.
    sources: usize,
    /// In how many places the walk is where a name that nothing defines is no error.
    tolerant: usize,
}

impl Walker {
    /// The caller provides the stack, see [`crate::parse`].
    pub(crate) fn walk_cell(body: &str, magics: &[CellMagic]) -> Names {
        let mut walker = Self {
            names: Names::default(),
            step: Effects::default(),
            branches: Vec::new(),
            repeat: Repeat::Unknown,
            is_discarded: false,
            callee: None,
            is_looking: false,
            rewound: BTreeSet::new(),
            scopes: Scopes::default(),
            deferred: Effects::default(),
            parameters: BTreeSet::new(),
            local_aliases: BTreeMap::new(),
            derived: Derived::default(),
            conditions: 0,
            definitions: 0,
            functions: 0,
            source: String::new(),
            sources: 0,
            tolerant: 0,
        };
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
            walker.names.fixed.retain(|name, _| !step.effects.changes.contains(name));
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
            for statement in statements {
                let text = source.get(statement.range().to_std_range()).unwrap_or_default();
                walker.step(text, |walker| walker.visit_stmt(statement));
            }
        });
        if walked.is_err() {
            self.step(source, |walker| walker.note(walked));
        }
    }

    fn walk_source(&mut self, source: &str) {
        let walked = self.nested(source, |walker, statements| walker.visit_body(statements));
        self.note(walked);
    }

    /// What the source binds is lost.
    fn walk_as_function(&mut self, source: &str) {
        let walked = self.nested(source, |walker, statements| {
            let scope = Scope::function(Locals::of_body(statements));
            walker.within(scope, |walker| walker.visit_body(statements));
        });
        self.note(walked);
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

    fn note(&mut self, walked: Result<(), Unknown>) {
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

    /// Whether the name is one of the cell, and not one that the cell itself has bound already.
    fn is_from_outside(&self, name: &str) -> bool {
        self.scopes.resolve(name) == Resolved::Module && (self.functions > 0 || !self.is_bound(name))
    }

    /// Whether the cell has bound the name of the module before.
    fn has_defined(&self, name: &str) -> bool {
        self.step.defines.contains(name) || self.names.effects.defines.contains(name)
    }

    fn read(&mut self, name: &str) {
        self.hand_on(name);
        if self.scopes.resolve(name) == Resolved::Module {
            self.effects().reads.insert(name.to_owned());
        }
    }

    /// The object of a name goes into another one. If it is a function, it is not called here.
    fn hand_on(&mut self, name: &str) {
        if self.scopes.resolve(name) == Resolved::Module && self.is_from_outside(name) {
            self.effects().uses.insert(name.to_owned());
            self.take(name);
            if self.tolerant == 0 && (self.functions > 0 || !self.step.defines.contains(name)) {
                self.effects().needs.insert(name.to_owned());
            }
        }
    }

    fn bind(&mut self, name: &str) {
        self.derived.forget(name);
        if self.scopes.bind(name) == Resolved::Module {
            self.define(name);
        } else {
            forget_alias(&mut self.local_aliases, name);
        }
    }

    /// Binds a name of the module.
    fn define(&mut self, name: &str) {
        self.effects().deletes.remove(name);
        self.effects().defines.insert(name.to_owned());
        if self.functions == 0 {
            if let Some(branch) = self.branches.last_mut() {
                branch.surely.insert(name.to_owned());
                branch.likely.insert(name.to_owned());
            }
            self.forget(name);
        } else {
            // Nobody knows whether it is called where it is read.
            self.deferred.may_define.insert(name.to_owned());
            // The function may be called under another name.
            self.names.possible.insert(name.to_owned());
        }
    }

    fn forget(&mut self, name: &str) {
        forget_alias(&mut self.names.aliases, name);
        self.names.functions.remove(name);
        self.names.imports.remove(name);
        self.names.fixed.remove(name);
        self.names.streams.remove(name);
        self.names.made_by.remove(name);
        self.names.holds.remove(name);
    }

    fn delete(&mut self, name: &str) {
        if self.scopes.resolve(name) != Resolved::Module {
            return;
        }
        if self.is_from_outside(name) {
            self.read(name);
        }
        self.effects().defines.remove(name);
        self.effects().deletes.insert(name.to_owned());
        if self.functions == 0 {
            for branch in &mut self.branches {
                branch.surely.remove(name);
                branch.likely.remove(name);
            }
            self.forget(name);
        }
    }

    /// The object behind an expression like `a.b[c]` is changed; `changed` stands for the part of it that is another one then, if it is known.
    fn change_part(&mut self, part: &Expr, repeat: Repeat, changed: Option<String>) {
        if self.configures_part(part) || self.sets_option(part) {
            return;
        }
        let Some(alias) = root(part) else { return };
        let name = self.whole(alias);
        let changed = changed.unwrap_or_default();
        if name != alias {
            self.change_name(alias, repeat, &changed);
        }
        self.change_name(&name, repeat, &changed);
        self.change_parameter(&name);
    }

    fn change_name(&mut self, name: &str, repeat: Repeat, part: &str) {
        if self.is_from_outside(name) {
            let effects = self.effects();
            effects.augments.remove(name);
            effects.changes.insert(name.to_owned());
            effects.parts.entry(name.to_owned()).or_default().insert(part.to_owned());
            self.repeats(name, repeat);
        }
    }

    /// What changing the object once more does.
    fn repeats(&mut self, name: &str, repeat: Repeat) {
        let known = self.effects().repeats.entry(name.to_owned()).or_insert(repeat);
        *known = (*known).max(repeat);
    }

    /// `name += …` changes the object, or gives the name another one.
    fn augment(&mut self, name: &str) {
        if self.is_from_outside(name) {
            if self.effects().changes.insert(name.to_owned()) {
                self.effects().augments.insert(name.to_owned());
            }
            self.repeats(name, Repeat::Differs);
        }
        self.change_parameter(name);
        if let Some(aliases) = self.aliases_of(name) {
            forget_alias(aliases, name);
        }
    }

    /// `name = other`
    fn alias(&mut self, name: &str, other: &str) {
        let other = self.original(other);
        let is_same_scope = self.functions > 0 || self.scopes.resolve(&other) == Resolved::Module;
        if name != other
            && is_same_scope
            && let Some(aliases) = self.aliases_of(name)
        {
            aliases.insert(name.to_owned(), other);
        }
    }

    /// The name that a name of the same object was assigned from.
    fn original(&mut self, name: &str) -> Name {
        self.aliases_of(name)
            .and_then(|aliases| aliases.get(name).cloned())
            .unwrap_or_else(|| name.to_owned())
    }

    /// The name of the object that is changed if an object with this name is: itself, or the one that it is an item of.
    fn whole(&mut self, name: &str) -> Name {
        let original = self.original(name);
        self.derived.whole(&original).to_owned()
    }

    /// Where the alias that a name may be is kept. What a function does with names of the module is not followed.
    fn aliases_of(&mut self, name: &str) -> Option<&mut BTreeMap<Name, Name>> {
        match (self.scopes.resolve(name), self.functions) {
            (Resolved::Module, 0) => Some(&mut self.names.aliases),
            (Resolved::Local, 1..) => Some(&mut self.local_aliases),
            _ => None,
        }
    }

    fn change_parameter(&mut self, name: &str) {
        if self.is_parameter(name) {
            self.deferred.changed_parameters.insert(name.to_owned());
        }
    }

    fn is_parameter(&self, name: &str) -> bool {
        self.parameters.contains(name) && self.scopes.resolve(name) == Resolved::Local
    }

    /// Remembers that the definition of a name always gives the same value, unless it `is_chosen` among several.
    fn fix(&mut self, name: &str, text: &str, is_chosen: bool) {
        if self.definitions == 0 && self.scopes.are_empty() && !is_chosen {
            self.names.fixed.insert(name.to_owned(), hash(text));
        }
    }

    fn import(&mut self, name: &str, text: &str) {
        self.bind(name);
        if self.scopes.are_empty() {
            self.names.imports.insert(name.to_owned());
        }
        // Which import of a `try` succeeds depends on what is installed.
        self.fix(name, text, self.conditions > 0);
    }

    /// Walks through the definition of a function or class. Its effects when it is called are kept under its name.
    fn defining(&mut self, name: &str, walk: impl FnOnce(&mut Self)) {
        self.definitions += 1;
        walk(self);
        self.definitions -= 1;
        self.bind(name);
        if self.definitions == 0 {
            let effects = std::mem::take(&mut self.deferred);
            self.names.functions.insert(name.to_owned(), effects);
        }
    }

    /// Walks through the body of a function, which runs when it is called.
    fn called_later(&mut self, locals: Locals, walk: impl FnOnce(&mut Self)) {
        self.functions += 1;
        let outer = std::mem::take(&mut self.derived);
        self.within(Scope::function(locals), walk);
        self.derived = outer;
        self.functions -= 1;
    }

    fn function(&mut self, function: &StmtFunctionDef) {
        function.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        self.defining(&function.name, |walker| {
            walker.with_type_params(function.type_params.as_deref(), |walker| {
                walker.visit_parameters(&function.parameters);
                function.returns.iter().for_each(|returns| walker.visit_annotation(returns));
                let locals = Locals::of_function(&function.parameters, &function.body);
                let is_outermost = walker.definitions == 1;
                if is_outermost {
                    walker.enter_parameters(&function.parameters);
                }
                walker.called_later(locals, |walker| walker.visit_body(&function.body));
                if is_outermost {
                    walker.leave_parameters();
                }
            });
        });
        let has_defaults = |parameters: &Parameters| {
            parameters.iter_non_variadic_params().any(|parameter| parameter.default.is_some())
        };
        if function.decorator_list.is_empty() && !has_defaults(&function.parameters) {
            let text = self.text(function).to_owned();
            self.fix(&function.name, &text, self.branches.len() > 1);
        }
        self.keep_state(function);
        self.keep_results(function);
        if self.definitions == 0 {
            self.gives_code(function);
        }
    }

    fn enter_parameters(&mut self, parameters: &Parameters) {
        let name = |parameter: &ParameterWithDefault| parameter.parameter.name.to_string();
        self.deferred.parameters = parameters.posonlyargs.iter().chain(&parameters.args).map(name).collect();
        self.parameters = parameters.iter_non_variadic_params().map(name).collect();
    }

    fn leave_parameters(&mut self) {
        self.parameters.clear();
        self.local_aliases.clear();
    }

    fn class(&mut self, class: &StmtClassDef) {
        class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        self.defining(&class.name, |walker| {
            walker.with_type_params(class.type_params.as_deref(), |walker| {
                class.arguments.iter().for_each(|arguments| walker.visit_arguments(arguments));
                walker.within(Scope::of(Kind::Class), |walker| walker.visit_body(&class.body));
            });
        });
        self.hold_bases(class);
    }

    fn with_type_params(&mut self, params: Option<&TypeParams>, walk: impl FnOnce(&mut Self)) {
        let Some(params) = params else { return walk(self) };
        let names = params.type_params.iter().map(|param| param.name().to_string()).collect();
        let scope = Scope { bound: names, ..Scope::of(Kind::TypeParams) };
        self.within(scope, |walker| {
            walker.visit_type_params(params);
            walk(walker);
        });
    }

    /// `name = lambda …`
    fn assigned_lambda(&mut self, name: &str, lambda: &ruff_python_ast::ExprLambda) {
        self.defining(name, |walker| {
            let is_outermost = walker.definitions == 1;
            if let Some(parameters) = &lambda.parameters {
                walker.visit_parameters(parameters);
                if is_outermost {
                    walker.enter_parameters(parameters);
                }
            }
            let locals = Locals::of_lambda(lambda.parameters.as_deref(), &lambda.body);
            walker.called_later(locals, |walker| walker.visit_expr(&lambda.body));
            if is_outermost {
                walker.leave_parameters();
            }
        });
    }

    /// The first iterable is evaluated outside.
    fn comprehension(&mut self, generators: &[Comprehension], elements: &[&Expr]) {
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        let outer = self.derived.clone();
        self.within(Scope::of(Kind::Comprehension), |walker| {
            for (index, generator) in generators.iter().enumerate() {
                if index > 0 {
                    walker.visit_expr(&generator.iter);
                }
                walker.visit_expr(&generator.target);
                walker.derive_items(&generator.target, &generator.iter);
                walker.repeatedly(generator.ifs.iter());
            }
            walker.repeatedly(elements.iter().copied());
        });
        self.derived = outer;
    }

    /// Reads what `IPython` replaces, unless it means something else, as `$HOME` does.
    fn expand(&mut self, text: &str) {
        self.tolerant(|walker| magics::expanded(text).for_each(|name| walker.read(name)));
    }

    /// `x.name?` shows what is known of the object.
    fn look_up(&mut self, text: &str) {
        let name = magics::words(text).next().map(ToOwned::to_owned);
        self.tolerant(|walker| walker.looking(|walker| name.iter().for_each(|name| walker.read(name))));
    }

    fn escape(&mut self, kind: IpyEscapeKind, text: &str) {
        match kind {
            IpyEscapeKind::Help | IpyEscapeKind::Help2 => self.look_up(text),
            IpyEscapeKind::Magic | IpyEscapeKind::Magic2 => match magics::line(text) {
                LineMagic::Python(source) => self.walk_source(source),
                LineMagic::Function(source) => self.walk_as_function(source),
                LineMagic::Unknown(why) => self.note(Err(why)),
                LineMagic::Text => {
                    self.names.binds_anything |= magics::may_bind_anything(text);
                    if magics::may_bind(text) {
                        self.names.may_bind(text);
                    }
                    self.expand(text);
                    self.configures_by_magic(text);
                    match text.split_once(char::is_whitespace).unwrap_or((text, "")) {
                        ("pinfo" | "pinfo2" | "psource" | "pdoc" | "pdef" | "pfile", name) => {
                            self.look_up(name);
                        }
                        ("who" | "whos" | "who_ls", _) => {
                            self.effects().uses.insert(VARIABLES.to_owned());
                        }
                        _ => {}
                    }
                }
            },
            IpyEscapeKind::Shell | IpyEscapeKind::ShCap => self.expand(text),
            IpyEscapeKind::Quote | IpyEscapeKind::Quote2 | IpyEscapeKind::Paren => {
                self.note(Err(Unknown::DynamicCode { by: "a line that IPython calls".to_owned() }));
            }
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    hash.finish()
}

/// A name gets another object.
fn forget_alias(aliases: &mut BTreeMap<Name, Name>, name: &str) {
    aliases.retain(|alias, original| alias != name && original != name);
}

/// `a` of `a.b[c].d`.
fn root(part: &Expr) -> Option<&str> {
    match part {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        _ => None,
    }
}
