//! The walk through the cells.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Expr, IpyEscapeKind, Parameters};
use ruff_text_size::Ranged;

use super::random::{Called, RandomUse};
use super::table::{Action, Cause, Library, lookup};
use crate::locals::Locals;
use crate::magics::{self, LineMagic};
use crate::parse::{MAX_NESTED, bounded, with_statements};
use crate::{Name, NameSet};

mod visit;

/// What is known when a cell starts, and of the cell.
#[derive(Default)]
pub(super) struct Finder {
    /// Names of the notebook, and what they stand for: `numpy.random`, or `pathlib.Path()` for an object.
    paths: BTreeMap<Name, String>,
    /// Other names that cells have bound.
    bound: BTreeSet<Name>,
    /// Modules of which all names were imported.
    stars: Vec<String>,
    /// Objects that give something else each time.
    generators: BTreeMap<Name, Cause>,
    functions: BTreeMap<Name, Facts>,
    seeded: BTreeSet<Library>,
    /// What the cell does with random states.
    pub(super) random: BTreeMap<Library, RandomUse>,
    pub(super) called: Called,
    /// The loops and branches that the walk is in, outside functions: they decide how often it draws.
    pub(super) repeated: Vec<Called>,
    /// Whether the order of items does not matter here.
    is_unordered: bool,
    /// Those of the cell, or of the function that the walk is in.
    pub(super) facts: Facts,
    /// The functions that the walk is in.
    frames: Vec<Frame>,
    source: String,
    sources: usize,
}

/// What code does.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) causes: BTreeMap<Cause, String>,
    /// Of a function: what it draws, which a seed before its call may fix.
    pub(super) draws: BTreeMap<Library, String>,
    pub(super) seeds: BTreeSet<Library>,
    /// Of a function: the names of the notebook that its seeds are made of, or that decide how much it draws.
    pub(super) inputs: NameSet,
}

/// The local names of a function.
#[derive(Default)]
struct Frame {
    bound: BTreeSet<Name>,
    paths: BTreeMap<Name, String>,
}

impl Finder {
    pub(super) fn cell(&mut self, source: &str) -> BTreeMap<Cause, String> {
        self.facts = Facts::default();
        match magics::split(source) {
            magics::Cell::Blank => {}
            magics::Cell::Other { magic } => {
                let is_command =
                    matches!(magic.as_str(), "%%bash" | "%%sh" | "%%script" | "%%cmd" | "%%system" | "%%sx");
                let cause = match magic.as_str() {
                    "%%sql" | "%%bigquery" => Some(Cause::Network),
                    _ => is_command.then_some(Cause::System),
                };
                if let Some(cause) = cause {
                    self.found(cause, magic);
                }
            }
            magics::Cell::Python { body, .. } => {
                let magics = source[..source.len() - body.len()].split_whitespace();
                let timing =
                    magics.into_iter().find(|word| matches!(*word, "%%time" | "%%timeit" | "%%prun"));
                if let Some(magic) = timing {
                    self.found(Cause::Clock, magic.to_owned());
                }
                let (depth, sources) = (self.frames.len(), self.sources);
                if bounded(body, || self.nested(body)).is_err() {
                    self.frames.truncate(depth);
                    self.sources = sources;
                }
            }
        }
        std::mem::take(&mut self.facts).causes
    }

    fn nested(&mut self, source: &str) {
        if self.sources == MAX_NESTED {
            return;
        }
        self.sources += 1;
        let outer = std::mem::replace(&mut self.source, source.to_owned());
        let _ = with_statements(source, |statements| self.visit_body(statements));
        self.source = outer;
        self.sources -= 1;
    }

    pub(super) fn found(&mut self, cause: Cause, code: String) {
        self.facts.causes.entry(cause).or_insert(code);
    }

    pub(super) fn draws(&mut self, library: Library, code: String) {
        if self.frames.is_empty() {
            self.drawn(library);
            if !self.seeded.contains(&library) {
                self.found(Cause::Random, code);
            }
        } else if !self.facts.seeds.contains(&library) {
            self.facts.draws.entry(library).or_insert(code);
            self.called_in_function();
        }
    }

    pub(super) fn seeds(&mut self, libraries: &[Library], is_fixed: bool) {
        if is_fixed && self.frames.is_empty() {
            for library in libraries {
                self.sown(*library);
            }
        } else if is_fixed {
            self.called_in_function();
        }
        let seeded = if self.frames.is_empty() { &mut self.seeded } else { &mut self.facts.seeds };
        for library in libraries {
            if is_fixed {
                seeded.insert(*library);
            } else {
                seeded.remove(library);
            }
        }
    }

    pub(super) fn is_in_function(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Whether code has set a seed of any library.
    pub(super) fn has_seeds(&self) -> bool {
        !self.seeded.is_empty() || !self.facts.seeds.is_empty()
    }

    pub(super) fn text(&self, part: &impl Ranged) -> &str {
        self.source.get(part.range().to_std_range()).unwrap_or_default()
    }

    /// The code of an expression, in short.
    pub(super) fn code(&self, expression: &Expr) -> String {
        let code = self.source.get(expression.range().to_std_range()).unwrap_or_default();
        let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
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
            Expr::Call(call) => Some(format!("{}()", self.path(&call.func)?)),
            _ => None,
        }
    }

    fn path_of_name(&self, name: &str) -> Option<String> {
        for frame in self.frames.iter().rev() {
            if let Some(path) = frame.paths.get(name) {
                return Some(path.clone());
            }
            if frame.bound.contains(name) {
                return None;
            }
        }
        if let Some(path) = self.paths.get(name) {
            return Some(path.clone());
        }
        if self.bound.contains(name) {
            return None;
        }
        let of_star = self.stars.iter().map(|module| format!("{module}.{name}"));
        of_star.into_iter().find(|path| is_exported(path)).or_else(|| Some(name.to_owned()))
    }

    fn is_local(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| frame.bound.contains(name))
    }

    /// A name gets another object.
    fn bind(&mut self, name: &str) {
        if let Some(frame) = self.frames.last_mut().filter(|frame| frame.bound.contains(name)) {
            frame.paths.remove(name);
            return;
        }
        self.paths.remove(name);
        self.generators.remove(name);
        self.functions.remove(name);
        self.bound.insert(name.to_owned());
    }

    fn bind_path(&mut self, name: &str, path: String) {
        self.bind(name);
        let frame = self.frames.last_mut().filter(|frame| frame.bound.contains(name));
        frame.map_or(&mut self.paths, |frame| &mut frame.paths).insert(name.to_owned(), path);
    }

    /// A name is read: of a function, to call it.
    pub(super) fn read(&mut self, name: &str, code: &str) {
        if self.is_local(name) {
            return;
        }
        if let Some(cause) = self.generators.get(name).copied() {
            self.found(cause, code.to_owned());
        }
        let Some(facts) = self.functions.get(name).cloned() else { return };
        let code = format!("{name}()");
        // Seeds and draws of a function depend on what it reads, too.
        self.called.depends_on(&facts.inputs);
        for cause in facts.causes.into_keys() {
            self.found(cause, code.clone());
        }
        for library in facts.draws.into_keys() {
            self.draws(library, code.clone());
        }
        let seeds: Vec<_> = facts.seeds.into_iter().collect();
        self.seeds(&seeds, true);
    }

    /// A set is made. `code` words it.
    pub(super) fn set(&mut self, code: &str) {
        if !self.is_unordered {
            self.found(Cause::Counter, code.to_owned());
        }
    }

    /// Visits where the order of items does or does not matter.
    pub(super) fn ordered(&mut self, is_unordered: bool, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.is_unordered, is_unordered);
        visit(self);
        self.is_unordered = outer;
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

    fn function(
        &mut self,
        name: &str,
        parameters: Option<&Parameters>,
        locals: Locals,
        body: impl FnOnce(&mut Self),
    ) {
        if let Some(parameters) = parameters {
            self.visit_parameters(parameters);
        }
        self.bind(name);
        let outer = std::mem::take(&mut self.facts);
        self.frames.push(Frame { bound: locals.bound, paths: BTreeMap::new() });
        body(self);
        let locals = self.frames.pop().unwrap_or_default().bound;
        let mut facts = std::mem::replace(&mut self.facts, outer);
        facts.inputs = facts.inputs.iter().filter(|name| !locals.contains(*name)).cloned().collect();
        if self.frames.is_empty() {
            self.functions.insert(name.to_owned(), facts);
        } else {
            // A function inside another one counts as called.
            self.facts.seeds.extend(facts.seeds);
            self.facts.inputs.extend(facts.inputs.iter().cloned());
            facts.causes.into_iter().for_each(|(cause, code)| self.found(cause, code));
            facts.draws.into_iter().for_each(|(library, code)| self.draws(library, code));
        }
    }

    fn assign(&mut self, name: &str, value: &Expr) {
        match value {
            Expr::Lambda(lambda) => {
                let locals = Locals::of_lambda(lambda.parameters.as_deref(), &lambda.body);
                self.function(name, lambda.parameters.as_deref(), locals, |finder| {
                    finder.visit_expr(&lambda.body);
                });
            }
            // A further name for a module or a function of one.
            Expr::Name(_) | Expr::Attribute(_)
                if self.path(value).is_some_and(|path| !path.contains("()") && is_function(&path)) =>
            {
                if let Some(path) = self.path(value) {
                    self.bind_path(name, path);
                }
            }
            _ => {
                self.visit_expr(value);
                let cause = self.made_by(value);
                match self.path(value).filter(|_| value.is_call_expr()) {
                    Some(path) => self.bind_path(name, path),
                    None => self.bind(name),
                }
                if let Some(cause) = cause.filter(|_| self.frames.is_empty()) {
                    self.generators.insert(name.to_owned(), cause);
                }
            }
        }
    }

    fn escape(&mut self, kind: IpyEscapeKind, text: &str) {
        let word = text.split_whitespace().next().unwrap_or_default();
        match kind {
            IpyEscapeKind::Shell | IpyEscapeKind::ShCap => self.found(Cause::System, format!("!{word}")),
            IpyEscapeKind::Magic | IpyEscapeKind::Magic2 => {
                let cause = match word {
                    "time" | "timeit" | "prun" | "lprun" => Some(Cause::Clock),
                    "run" | "load" | "loadpy" | "cat" | "pycat" => Some(Cause::File),
                    "sql" | "bigquery" => Some(Cause::Network),
                    "conda" | "env" | "ls" | "ll" | "memit" | "mprun" | "pip" | "pwd" | "sc" | "sx"
                    | "system" | "who" | "whos" => Some(Cause::System),
                    _ => None,
                };
                if let Some(cause) = cause {
                    self.found(cause, format!("%{word}"));
                }
                if let LineMagic::Python(source) | LineMagic::Function(source) = magics::line(text) {
                    self.nested(source);
                }
            }
            _ => {}
        }
    }
}

/// Whether a star import brings this function, as far as we know.
fn is_exported(path: &str) -> bool {
    let drawing =
        "choice choices gauss normal permutation rand randint randn random randrange sample shuffle uniform";
    match lookup(path) {
        Some(Action::Draws(_)) => drawing.split(' ').any(|name| path.ends_with(&format!(".{name}"))),
        action => action.is_some(),
    }
}

/// Whether a full name is that of a module or a function which is known, or has known ones in it.
fn is_function(path: &str) -> bool {
    !matches!(lookup(path), Some(Action::Has(Cause::System)))
        && (lookup(path).is_some() || lookup(&format!("{path}.x")).is_some() || path.contains('.'))
}
