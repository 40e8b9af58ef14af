//! Where the objects of a class have their attributes from, and what objects are given that may be a stream.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtClassDef, WithItem};
use syntax::is_builtin;
use syntax::tree::path_of;

use super::super::expressions::items_of;
use super::super::streams::{Results, is_stream};
use crate::methods::{has_word, mutation_by, only_reads};
use crate::names::Content;

/// Modules whose functions give arrays, frames and other objects of which one can go through the items repeatedly.
pub(in crate::walker) const MODULES: &str =
    "np numpy jnp pd pandas pl plt sns tf torch nn F math re json pickle joblib yaml copy sk datetime time";
/// Functions that are called through a module and give containers.
const CONTAINERS: &str =
    "defaultdict deque namedtuple field fields asdict astuple choices randint uniform getenv listdir";
/// Methods that only read and give a stream.
const GIVING: &str = "elements glob rglob neighbors successors predecessors parameters named_parameters children buffers modules \
    staged_predict staged_predict_proba nbunch_iter adjacency";

/// Where an attribute has its value from, the worst last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// It is no stream.
    #[default]
    Container,
    /// From outside of the class.
    Given,
    /// From a call of which nothing is known.
    Unknown,
    Stream,
}

/// What is in a value that may be a stream.
#[derive(Default)]
pub(in crate::walker) struct Contents<'c> {
    pub(in crate::walker) found: BTreeSet<Content>,
    /// Whether the value may be one itself, for all that it shows.
    is_open: bool,
    /// The methods of `self` that give a stream.
    streaming: Option<&'c BTreeSet<&'c str>>,
}

impl Contents<'_> {
    pub(in crate::walker) fn add(&mut self, value: &Expr) {
        match value {
            _ if is_stream(value) => self.add_stream(),
            Expr::Name(name) => drop(self.found.insert(Content::Object(name.id.to_string()))),
            Expr::Attribute(part) if is_like_stream(&part.attr) => self.add_stream(),
            Expr::Attribute(_) => self.is_open = true,
            Expr::Subscript(part) => {
                self.is_open = true;
                self.add(&part.value);
            }
            Expr::Await(_) => drop(self.found.insert(Content::Made)),
            Expr::Starred(starred) if !is_stream(&starred.value) => self.add(&starred.value),
            Expr::Named(named) => self.add(&named.value),
            Expr::If(choice) => [&choice.body, &choice.orelse].into_iter().for_each(|value| self.add(value)),
            Expr::Call(call) => self.add_call(call),
            _ => items_of(value).into_iter().for_each(|item| self.add(item)),
        }
    }

    fn add_stream(&mut self) {
        self.found.insert(Content::Stream);
    }

    fn add_call(&mut self, call: &ExprCall) {
        let path = path_of(&call.func);
        let last = path.last().copied().unwrap_or_default();
        if is_like_stream(last) || gives_chunks(call) || is_of_file_or_pool(&path) {
            self.add_stream();
        } else if let ["self", method] = path[..] {
            self.is_open = true;
            if self.streaming.is_some_and(|methods| methods.contains(method)) {
                self.add_stream();
            }
        } else {
            if is_class(last) || last == "tqdm" {
                call.arguments.args.iter().for_each(|argument| self.add(argument));
            }
            let is_container = match &*call.func {
                Expr::Name(_) => is_builtin(last) || has_word(CONTAINERS, last),
                _ => is_class(last) || gives_container(&path, last),
            };
            if !is_container {
                let is_name = call.func.is_name_expr();
                self.found.insert(if is_name { Content::Result(last.to_owned()) } else { Content::Made });
            }
        }
    }
}

/// The attributes that the code of a class sets.
#[derive(Default)]
pub(super) struct Attributes<'a> {
    sources: BTreeMap<&'a str, Source>,
    /// What the class gives to its objects.
    pub(super) given: BTreeSet<Content>,
    /// The methods that give a stream.
    streaming: BTreeSet<&'a str>,
    /// The names of the function that the walk is in, with their values.
    locals: Option<BTreeMap<&'a str, Vec<&'a Expr>>>,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(class: &'a StmtClassDef) -> Self {
        let mut attributes = Self::default();
        let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let streaming =
            methods.filter(|method| Results::of(method).gives_stream).map(|method| method.name.as_str());
        attributes.streaming = streaming.collect();
        attributes.visit_body(&class.body);
        attributes
    }

    pub(super) fn source(&self, attribute: &str) -> Source {
        self.sources.get(attribute).copied().unwrap_or(Source::Given)
    }

    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        let name = match target {
            Expr::Name(name) => match &mut self.locals {
                Some(locals) => return locals.entry(&name.id).or_default().push(value),
                None => name.id.as_str(),
            },
            Expr::Attribute(part) => part.attr.as_str(),
            // `self.lines["a"] = open("a")`
            Expr::Subscript(part) => return self.assign(&part.value, value),
            _ => {
                let (targets, values) = (items_of(target), items_of(value));
                return targets
                    .into_iter()
                    .zip(values)
                    .for_each(|(target, value)| self.assign(target, value));
            }
        };
        let mut contents = Contents { streaming: Some(&self.streaming), ..Contents::default() };
        contents.add(value);
        let mut locals = self.locals.clone().unwrap_or_default();
        let is_local = |content: &Content, locals: &BTreeMap<_, _>| matches!(content, Content::Object(name) if locals.contains_key(name.as_str()));
        let mut passed = BTreeSet::new();
        while let Some(local) = contents.found.iter().find(|it| is_local(it, &locals)).cloned() {
            contents.found.remove(&local);
            let Content::Object(local) = local else { break };
            let values = locals.remove(local.as_str()).unwrap_or_default();
            contents.is_open |= values.is_empty();
            for value in values {
                contents.add(value);
            }
            passed.insert(Content::Object(local));
        }
        let Contents { found, is_open, .. } = contents;
        let source = if found.contains(&Content::Stream) {
            Source::Stream
        } else if found.contains(&Content::Made) {
            Source::Unknown
        } else if is_open || !found.is_empty() {
            Source::Given
        } else {
            Source::Container
        };
        let known = self.sources.entry(name).or_default();
        *known = (*known).max(source);
        self.given.extend(found.into_iter().filter(|it| !passed.contains(it)).map(|it| match it {
            Content::Stream => Content::Made,
            it => it,
        }));
    }
}

impl<'a> Visitor<'a> for Attributes<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                let outer = self.locals.clone();
                let parameters = function.parameters.iter().map(|it| (it.name().as_str(), Vec::new()));
                self.locals.get_or_insert_default().extend(parameters);
                visitor::walk_stmt(self, statement);
                self.locals = outer;
                return;
            }
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.assign(target, &assign.value));
            }
            // `items: list[int] = field(default_factory=list)`
            Stmt::AnnAssign(assign) if is_container_type(&assign.annotation) => {
                if let [.., name] = path_of(&assign.target)[..] {
                    self.sources.entry(name).or_default();
                }
            }
            Stmt::AnnAssign(assign) => {
                assign.value.iter().for_each(|value| self.assign(&assign.target, value));
            }
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        if let Some(target) = item.optional_vars.as_deref() {
            self.assign(target, &item.context_expr);
        }
        visitor::walk_with_item(self, item);
    }
}

fn is_container_type(annotation: &Expr) -> bool {
    let class = annotation.as_subscript_expr().map_or(annotation, |part| &part.value);
    matches!(class, Expr::Name(name) if is_builtin(&name.id) && name.id.as_str() != "object")
}

/// Whether a name is one that people give to streams, and to what makes them.
fn is_like_stream(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["stream", "reader", "cursor", "iterator", "generator"].iter().any(|word| name.ends_with(word))
        || name.starts_with("iter")
        || ["_iter", "_gen"].iter().any(|end| name.ends_with(end))
        || matches!(&*name, "gen" | "it" | "stdin" | "walk")
        || has_word(GIVING, &name)
}

/// `pd.read_csv(p, chunksize=1000)`
fn gives_chunks(call: &ExprCall) -> bool {
    ["chunksize", "iterator"].iter().any(|name| call.arguments.find_keyword(name).is_some())
}

/// `path.open()` and `executor.map(f, xs)`; `Image.open(p)` and `series.map(f)` give other things.
fn is_of_file_or_pool(path: &[&str]) -> bool {
    match *path {
        [object, .., "open"] => !is_class(object),
        [object, "map"] => ["executor", "pool"].iter().any(|word| object.ends_with(word)),
        [.., "imap" | "imap_unordered"] => true,
        _ => false,
    }
}

pub(super) fn is_class(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

fn gives_container(path: &[&str], last: &str) -> bool {
    let is_of_module = path.len() > 1 && path.first().is_some_and(|first| has_word(MODULES, first));
    is_of_module || has_word(CONTAINERS, last) || only_reads(last) || mutation_by(last).is_some()
}
