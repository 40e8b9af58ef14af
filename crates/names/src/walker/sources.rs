//! Where the objects of a class have their attributes from, and which of these may be streams.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Parameters, Stmt, StmtClassDef, WithItem};
use syntax::tree::path_of;
use syntax::{Resolved, is_builtin};

use super::Walker;
use super::expressions::root;
use super::streams::{gives_stream, is_stream};
use crate::methods::{has_word, mutation_by, only_reads};
use crate::names::Content;
use crate::shared::attribute;

/// Modules whose functions give arrays, frames and other objects of which one can go through the items repeatedly.
const MODULES: &str =
    "np numpy jnp pd pandas pl plt sns tf torch nn F math re json pickle joblib yaml copy sk datetime time";
/// Functions that are called through a module and give containers.
const CONTAINERS: &str =
    "defaultdict deque namedtuple field fields asdict astuple choices randint uniform getenv listdir";
/// Methods that only read and give a stream.
const GIVING: &str = "elements glob rglob neighbors successors predecessors parameters named_parameters children buffers modules \
    staged_predict staged_predict_proba nbunch_iter adjacency";
/// Types of streams, and those that some streams have, too.
const ANNOTATIONS: &str = "Iterator Iterable Generator AsyncIterator AsyncIterable AsyncGenerator IO TextIO BinaryIO StringIO BytesIO \
    TextIOWrapper Any object Optional Union Collection";

/// Where an attribute has its value from, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// It is no stream.
    Container,
    /// From outside of the class.
    Given,
    /// From a call of which nothing is known.
    Unknown,
    Stream,
}

/// The attributes that the code of a class sets.
#[derive(Default)]
pub(super) struct Attributes<'a> {
    sources: BTreeMap<&'a str, Source>,
    /// What the class gives to its objects.
    pub(super) given: BTreeSet<Content>,
    /// The methods that give a stream.
    streaming: BTreeSet<&'a str>,
    /// The names of the function that the walk is in.
    locals: BTreeMap<&'a str, Source>,
    functions: usize,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(class: &'a StmtClassDef) -> Self {
        let mut attributes = Self::default();
        let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let streaming = methods.filter(|method| gives_stream(method)).map(|method| method.name.as_str());
        attributes.streaming = streaming.collect();
        attributes.visit_body(&class.body);
        if attributes.sources.values().any(|source| *source == Source::Stream) {
            attributes.given.insert(Content::Made);
        }
        attributes
    }

    pub(super) fn source(&self, attribute: &str) -> Source {
        self.sources.get(attribute).copied().unwrap_or(Source::Given)
    }

    fn set(&mut self, target: &'a Expr, source: Source) {
        let known = match target {
            Expr::Attribute(part) => self.sources.entry(&part.attr),
            Expr::Name(name) if self.functions == 0 => self.sources.entry(&name.id),
            Expr::Name(name) => self.locals.entry(&name.id),
            // `self.lines["a"] = open("a")`
            Expr::Subscript(part) if source == Source::Stream => return self.set(&part.value, source),
            _ => return,
        };
        let known = known.or_insert(source);
        *known = (*known).max(source);
    }

    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        match (target, value) {
            (Expr::Tuple(targets), Expr::Tuple(values)) => {
                targets.iter().zip(values).for_each(|(target, value)| self.assign(target, value));
            }
            (Expr::Tuple(targets), _) => {
                let source = self.source_of(value).min(Source::Given);
                targets.iter().for_each(|target| self.set(target, source));
            }
            _ => {
                let source = self.source_of(value);
                self.set(target, source);
            }
        }
    }

    fn source_of(&mut self, value: &'a Expr) -> Source {
        if is_stream(value) {
            return Source::Stream;
        }
        match value {
            Expr::Name(name) => self.locals.get(name.id.as_str()).copied().unwrap_or_else(|| {
                self.given.insert(Content::Object(name.id.to_string()));
                Source::Given
            }),
            Expr::Attribute(part) if is_like_stream(&part.attr) => Source::Stream,
            Expr::Attribute(_) | Expr::Subscript(_) => Source::Given,
            Expr::BoolOp(operation) => self.worst(&operation.values),
            Expr::If(choice) => self.source_of(&choice.body).max(self.source_of(&choice.orelse)),
            Expr::Named(named) => self.source_of(&named.value),
            Expr::List(list) => self.worst(&list.elts),
            Expr::Tuple(tuple) => self.worst(&tuple.elts),
            Expr::Dict(dict) => self.worst(dict.items.iter().map(|item| &item.value)),
            Expr::Await(_) => Source::Unknown,
            Expr::Call(call) => self.source_of_call(call),
            _ => Source::Container,
        }
    }

    /// One can go through a container repeatedly, but perhaps not through its items.
    fn worst(&mut self, values: impl IntoIterator<Item = &'a Expr>) -> Source {
        values.into_iter().map(|value| self.source_of(value)).max().unwrap_or(Source::Container)
    }

    fn source_of_call(&mut self, call: &'a ExprCall) -> Source {
        let path = path_of(&call.func);
        let Some(last) = path.last().copied() else { return Source::Unknown };
        if is_like_stream(last) || gives_chunks(call) {
            return Source::Stream;
        }
        match &*call.func {
            Expr::Name(_) if is_builtin(last) || has_word(CONTAINERS, last) => Source::Container,
            Expr::Name(_) if self.locals.contains_key(last) => Source::Unknown,
            Expr::Name(_) => {
                self.given.insert(Content::Result(last.to_owned()));
                let source = if is_class(last) { self.worst(&call.arguments.args) } else { Source::Given };
                source.max(Source::Given)
            }
            _ if path.first() == Some(&"self") && path.len() == 2 => {
                if self.streaming.contains(last) {
                    Source::Stream
                } else {
                    Source::Given
                }
            }
            _ if is_class(last) => self.worst(&call.arguments.args),
            _ if gives_container(&path, last) => Source::Container,
            _ => Source::Unknown,
        }
    }
}

impl<'a> Visitor<'a> for Attributes<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                let outer = self.locals.clone();
                self.functions += 1;
                self.locals.extend(parameters(&function.parameters));
                visitor::walk_stmt(self, statement);
                self.functions -= 1;
                self.locals = outer;
                return;
            }
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.assign(target, &assign.value));
            }
            Stmt::AnnAssign(assign) => {
                let said = of_annotation(&assign.annotation);
                let value = assign.value.as_deref().map(|value| self.source_of(value));
                let source = if said == Source::Container && value != Some(Source::Stream) {
                    said
                } else {
                    value.unwrap_or(said).max(said)
                };
                self.set(&assign.target, source);
            }
            // What it gives is not followed.
            Stmt::For(block) => self.set(&block.target, Source::Given),
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

impl Walker {
    /// An object gets what is in these values.
    pub(super) fn give<'e>(&mut self, name: &str, values: impl IntoIterator<Item = &'e Expr>) {
        if self.functions > 0 || self.scopes.resolve(name) != Resolved::Module {
            return;
        }
        let mut given = BTreeSet::new();
        values.into_iter().for_each(|value| self.find_given(value, &mut given));
        if !given.is_empty() {
            let name = self.whole(name);
            self.names.contents.extend(given.into_iter().map(|given| (name.clone(), given)));
        }
    }

    /// A part of an object is set to this value: `reader.lines = open("a")`.
    pub(super) fn give_part(&mut self, part: &Expr, value: &Expr) {
        let Some(part) = part.as_attribute_expr() else { return };
        let Some(object) = root(&part.value) else { return };
        self.give(object, [value]);
        let is_function = matches!(value, Expr::Name(_) | Expr::Lambda(_) | Expr::Attribute(_));
        if is_function && self.functions == 0 && self.scopes.resolve(object) == Resolved::Module {
            let object = self.whole(object);
            self.names.contents.insert((object, Content::Method(attribute(&part.attr))));
        }
    }

    fn find_given(&self, value: &Expr, given: &mut BTreeSet<Content>) {
        let mut add_all = |values: &[Expr]| values.iter().for_each(|value| self.find_given(value, given));
        match value {
            _ if is_stream(value) => drop(given.insert(Content::Stream)),
            Expr::Name(name) if self.names.streams.contains(name.id.as_str()) => {
                given.insert(Content::Stream);
            }
            Expr::Name(name) => drop(given.insert(Content::Object(name.id.to_string()))),
            Expr::Attribute(part) if is_like_stream(&part.attr) => drop(given.insert(Content::Stream)),
            Expr::List(list) => add_all(&list.elts),
            Expr::Tuple(tuple) => add_all(&tuple.elts),
            Expr::Starred(starred) if !is_stream(&starred.value) => self.find_given(&starred.value, given),
            Expr::BoolOp(operation) => add_all(&operation.values),
            Expr::Dict(dict) => dict.items.iter().for_each(|item| self.find_given(&item.value, given)),
            Expr::If(choice) => {
                self.find_given(&choice.body, given);
                self.find_given(&choice.orelse, given);
            }
            Expr::Named(named) => self.find_given(&named.value, given),
            Expr::Subscript(part) => self.find_given(&part.value, given),
            Expr::Call(call) => {
                let last = path_of(&call.func).last().copied().unwrap_or_default();
                if is_like_stream(last) || gives_chunks(call) || is_of_file_or_pool(call) {
                    given.insert(Content::Stream);
                } else if is_class(last) || last == "tqdm" {
                    add_all(&call.arguments.args);
                }
                if let Expr::Name(function) = &*call.func
                    && !is_builtin(&function.id)
                {
                    given.insert(Content::Object(function.id.to_string()));
                }
            }
            _ => {}
        }
    }

    /// A method gets streams, and may keep them: `reader.open(map(f, xs))`.
    pub(super) fn give_to_method(&mut self, call: &ExprCall, is_discarded: bool) {
        let Some(object) = call.func.as_attribute_expr().and_then(|method| root(&method.value)) else {
            return;
        };
        let values = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|it| &it.value));
        let is_meant = |value: &&Expr| is_stream(value) || (is_discarded && value.is_name_expr());
        let values: Vec<&Expr> = values.filter(is_meant).collect();
        if !values.is_empty() && !has_word(MODULES, object) && !self.names.imports.contains_key(object) {
            self.give(object, values);
        }
    }
}

fn parameters(parameters: &Parameters) -> impl Iterator<Item = (&str, Source)> {
    parameters.iter().map(|parameter| {
        let source = parameter.annotation().map_or(Source::Given, of_annotation);
        (parameter.name().as_str(), source)
    })
}

fn of_annotation(annotation: &Expr) -> Source {
    let is_open = match annotation {
        Expr::Subscript(part) => return of_annotation(&part.value),
        Expr::BinOp(choice) => return of_annotation(&choice.left).max(of_annotation(&choice.right)),
        Expr::StringLiteral(text) => {
            text.value.to_str().split(|it: char| !it.is_alphanumeric()).any(is_type_of_streams)
        }
        _ => path_of(annotation).last().is_some_and(|name| is_type_of_streams(name)),
    };
    if is_open { Source::Given } else { Source::Container }
}

fn is_type_of_streams(name: &str) -> bool {
    has_word(ANNOTATIONS, name) || is_like_stream(name)
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
fn is_of_file_or_pool(call: &ExprCall) -> bool {
    match *path_of(&call.func) {
        [object, .., "open"] => !is_class(object),
        [object, "map"] => ["executor", "pool"].iter().any(|word| object.ends_with(word)),
        [.., "imap" | "imap_unordered"] => true,
        _ => false,
    }
}

fn is_class(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

fn gives_container(path: &[&str], last: &str) -> bool {
    let is_of_module = path.len() > 1 && path.first().is_some_and(|first| has_word(MODULES, first));
    is_of_module || has_word(CONTAINERS, last) || only_reads(last) || mutation_by(last).is_some()
}
