//! The walk through the cells.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprContext, IpyEscapeKind, Stmt, StmtIf, StmtWhile};
use ruff_text_size::Ranged;

use super::random::{Called, RandomUse};
use super::table::{Action, Cause, Library, lookup};
use crate::locals::Locals;
use crate::magics::{self, LineMagic};
use crate::parse::{MAX_NESTED, bounded, with_statements};
use crate::tree::{comprehension, imported};
use crate::{Name, NameSet};

/// The path of a generator of random numbers without a seed: its numbers are as random as the system's.
const UNSEEDED: &str = "random.SystemRandom()";

/// What is known when a cell starts, and of the cell.
#[derive(Default)]
pub(super) struct Finder {
    /// The effects of the notebook, or of the function around the walk.
    pub(super) effects: Effects,
    pub(super) is_in_function: bool,
    meanings: Meanings,
    /// Modules of which all names were imported.
    stars: Vec<String>,
    /// What the cell does with random states.
    pub(super) random: BTreeMap<Name, RandomUse>,
    pub(super) called: Called,
    /// The loops and branches that the walk is in: they decide how often it draws.
    pub(super) repeated: Vec<Called>,
    source: String,
    sources: usize,
}

/// The meanings of names where the walk is.
#[derive(Clone, Default)]
struct Meanings {
    /// The objects that they stand for, if they are known: `numpy.random`, or `pathlib.Path()` for an object.
    paths: BTreeMap<Name, Option<String>>,
    functions: BTreeMap<Name, Effects>,
}

/// The effects of the notebook's or a function's code.
#[derive(Clone, Default)]
pub(super) struct Effects {
    causes: BTreeMap<Cause, String>,
    pub(super) seeds: BTreeSet<Library>,
    /// Of a function: what it draws, which a seed before its call may fix.
    pub(super) draws: BTreeSet<Library>,
    /// Of a function: the names of the notebook that its seeds are made of, or that decide how much it draws.
    pub(super) inputs: NameSet,
}

impl Finder {
    /// The causes of the next cell.
    pub(super) fn cell(&mut self, source: &str) -> BTreeMap<Cause, String> {
        let lines = source.lines().map(str::trim_start).filter(|line| !line.is_empty());
        let magics = lines.take_while(|line| line.starts_with("%%"));
        magics.filter_map(|line| line.split_whitespace().next()).for_each(|magic| self.magic(magic));
        if let magics::Cell::Python { body, .. } = magics::split(source)
            && bounded(body, || self.nested(body)).is_err()
        {
            (self.sources, self.is_in_function) = (0, false);
            self.repeated.clear();
        }
        mem::take(&mut self.effects.causes)
    }

    fn nested(&mut self, source: &str) {
        if self.sources == MAX_NESTED {
            return;
        }
        self.sources += 1;
        let outer = mem::replace(&mut self.source, source.to_owned());
        let _ = with_statements(source, |statements| self.visit_body(statements));
        self.source = outer;
        self.sources -= 1;
    }

    pub(super) fn found(&mut self, cause: Cause, code: String) {
        self.effects.causes.entry(cause).or_insert(code);
    }

    pub(super) fn draws(&mut self, library: Library, code: String) {
        self.used(library, false, true);
        if self.effects.seeds.contains(library) {
            return;
        }
        if self.is_in_function {
            self.effects.draws.insert(library);
        } else {
            self.found(Cause::Random, code);
        }
    }

    pub(super) fn seeds(&mut self, library: Library, is_fixed: bool) {
        if is_fixed {
            self.used(library, true, true);
            self.effects.seeds.insert(library);
        } else {
            self.effects.seeds.remove(library);
        }
    }

    pub(super) fn text(&self, part: &impl Ranged) -> &str {
        self.source.get(part.range().to_std_range()).unwrap_or_default()
    }

    /// The code of an expression, in short.
    pub(super) fn code(&self, expression: &Expr) -> String {
        let code = self.text(expression).split_whitespace().collect::<Vec<_>>().join(" ");
        match code.rsplit_once('.') {
            Some((_, last)) if code.chars().count() > 40 => format!("….{last}"),
            _ => code,
        }
    }

    /// What an expression stands for: `numpy.random.rand` for `rnd.rand`, `pathlib.Path().open` for `Path(name).open`.
    pub(super) fn path(&self, expression: &Expr) -> Option<String> {
        match expression {
            Expr::Name(name) => self.path_of_name(&name.id),
            Expr::Attribute(attribute) => {
                Some(format!("{}.{}", self.path(&attribute.value)?, attribute.attr))
            }
            Expr::Call(call) => {
                let path = self.path(&call.func)?;
                let is_unseeded = lookup(&path) == Some(Action::Generator) && !super::calls::has_value(call);
                Some(if is_unseeded { UNSEEDED.to_owned() } else { format!("{path}()") })
            }
            _ => None,
        }
    }

    fn path_of_name(&self, name: &str) -> Option<String> {
        if let Some(path) = self.meanings.paths.get(name) {
            return path.clone();
        }
        let of_star = self.stars.iter().map(|module| format!("{module}.{name}"));
        of_star.into_iter().find(|path| lookup(path).is_some()).or_else(|| Some(name.to_owned()))
    }

    /// A name gets another object.
    fn bind(&mut self, name: &str, path: Option<String>) {
        self.meanings.functions.remove(name);
        self.meanings.paths.insert(name.to_owned(), path);
    }

    /// A name is read: of a function, to call it.
    pub(super) fn read(&mut self, name: &str, code: &str) {
        if let Some(function) = self.meanings.functions.get(name).cloned() {
            // Seeds and draws of a function depend on what it reads, too.
            self.called.inputs.extend(function.inputs.iter().cloned());
            self.runs(function, code);
        }
    }

    fn runs(&mut self, function: Effects, code: &str) {
        function.causes.into_keys().for_each(|cause| self.found(cause, code.to_owned()));
        function.draws.into_iter().for_each(|library| self.draws(library, code.to_owned()));
        function.seeds.into_iter().for_each(|library| self.seeds(library, true));
    }

    fn magic(&mut self, magic: &str) {
        if let Some(Action::Has(cause)) = lookup(magic) {
            self.found(cause, magic.to_owned());
        }
    }

    /// A function that is named but not called here: something else may call it.
    fn reference(&mut self, expression: &Expr) {
        let action = self.path(expression).and_then(|path| lookup(&path));
        let code = self.code(expression);
        match action {
            Some(Action::Draws(library)) => self.draws(library, code),
            Some(Action::Has(cause)) => self.found(cause, code),
            _ => {}
        }
    }

    fn function(&mut self, name: &str, locals: &Locals, body: impl FnOnce(&mut Self)) {
        self.bind(name, None);
        let (outer, meanings) = (mem::take(&mut self.effects), self.meanings.clone());
        let is_within = mem::replace(&mut self.is_in_function, true);
        locals.bound.iter().for_each(|name| self.bind(name, None));
        body(self);
        self.is_in_function = is_within;
        self.meanings = meanings;
        let mut function = mem::replace(&mut self.effects, outer);
        function.inputs.retain(|name| !locals.bound.contains(name));
        if is_within {
            // One inside another counts as called.
            self.called = Called::default();
            self.called.inputs = mem::take(&mut function.inputs);
            self.runs(function, &format!("{name}()"));
        } else {
            self.meanings.functions.insert(name.to_owned(), function);
        }
    }

    fn assign(&mut self, name: &str, value: &Expr) {
        let path = self.path(value);
        // A further name for a module or a function of one.
        let is_alias = |path: &String| {
            !value.is_call_expr() && !path.contains("()") && lookup(path) != Some(Action::Has(Cause::System))
        };
        match value {
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                let locals = Locals::of_lambda(lambda.parameters.as_deref(), &lambda.body);
                self.function(name, &locals, |finder| finder.visit_expr(&lambda.body));
            }
            _ if path.as_ref().is_some_and(is_alias) => self.bind(name, path),
            _ => {
                self.visit_expr(value);
                self.bind(name, path.filter(|_| value.is_call_expr()));
            }
        }
    }

    fn escape(&mut self, kind: IpyEscapeKind, text: &str) {
        let word = text.split_whitespace().next().unwrap_or_default();
        match kind {
            IpyEscapeKind::Shell | IpyEscapeKind::ShCap => self.found(Cause::System, format!("!{word}")),
            IpyEscapeKind::Magic | IpyEscapeKind::Magic2 => {
                self.magic(&format!("%{word}"));
                if let LineMagic::Python(source) | LineMagic::Function(source) = magics::line(text) {
                    self.nested(source);
                }
            }
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Finder {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&function.parameters);
                let locals = Locals::of_function(&function.parameters, &function.body);
                self.function(&function.name, &locals, |finder| finder.visit_body(&function.body));
            }
            Stmt::ClassDef(class) => {
                // Its methods belong to it.
                class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                let locals = Locals::of_body(&class.body);
                self.function(&class.name, &locals, |finder| finder.visit_body(&class.body));
            }
            Stmt::Assign(assign) if let [Expr::Name(name)] = &*assign.targets => {
                self.assign(&name.id, &assign.value);
            }
            Stmt::AnnAssign(assign)
                if let (Expr::Name(name), Some(value)) = (&*assign.target, &assign.value) =>
            {
                self.assign(&name.id, value);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let path = if alias.asname.is_some() { alias.name.as_str() } else { imported(alias) };
                    self.bind(imported(alias), Some(path.to_owned()));
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_deref().unwrap_or_default();
                for alias in &import.names {
                    if alias.name.as_str() == "*" {
                        let module = if module == "pylab" { "numpy.random" } else { module };
                        self.stars.push(module.to_owned());
                    } else {
                        let path = (import.level == 0).then(|| format!("{module}.{}", alias.name));
                        self.bind(imported(alias), path);
                    }
                }
            }
            Stmt::IpyEscapeCommand(escape) => self.escape(escape.kind, &escape.value),
            _ => {
                let header = match statement {
                    Stmt::For(block) => Some(&*block.iter),
                    Stmt::While(StmtWhile { test, .. }) | Stmt::If(StmtIf { test, .. }) => Some(&**test),
                    _ => None,
                };
                self.repeatedly(header, |finder| visitor::walk_stmt(finder, statement));
            }
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx == ExprContext::Load => {
                self.read(&name.id, &name.id);
                self.reference(expression);
            }
            Expr::Name(name) => self.bind(&name.id, None),
            Expr::Attribute(attribute) if attribute.ctx == ExprContext::Load => {
                self.reference(expression);
                self.visit_expr(&attribute.value);
            }
            Expr::Call(call) => self.call(call),
            Expr::IpyEscapeCommand(escape) => self.escape(escape.kind, &escape.value),
            _ => {
                let generators = comprehension(expression).map_or(&[][..], |(generators, _)| generators);
                let headers = generators.iter().flat_map(|it| [&it.iter].into_iter().chain(&it.ifs));
                self.repeatedly(headers, |finder| visitor::walk_expr(finder, expression));
            }
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}
}
