//! Objects that give each of their items once: files, iterators, and generators of random numbers. To use one is to move it.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Operator, Stmt, StmtFunctionDef};
use syntax::tree::path_of;
use syntax::{Name, NameSet, Resolved};

use super::Walker;
use super::expressions::{root, values};
use super::late::Held;
use crate::makers::{PATTERN, is_class_maker, is_counting};
use crate::methods::has_word;

/// Functions and classes that make one, by their last name, whatever module they are called through.
const MAKERS: &str = "StringIO BytesIO TextIOWrapper BufferedReader DictReader urlopen finditer iglob scandir itertuples \
    iterrows iter_lines iter_content zip_longest takewhile dropwhile islice default_rng RandomState";
/// Of these names others are methods that make none: `series.map(f)`, `Image.open(p)`.
const FUNCTIONS: &str =
    "open iter zip map filter enumerate reversed cycle chain permutations combinations pairwise";
/// What only looks at an object: functions, and attributes and methods.
const LOOKING: [&str; 10] =
    ["print", "type", "isinstance", "id", "repr", "display", "callable", "hasattr", "help", "dir"];
const LOOKS: [&str; 12] = [
    "name",
    "closed",
    "close",
    "mode",
    "encoding",
    "getvalue",
    "getbuffer",
    "tell",
    "fileno",
    "readable",
    "writable",
    "bit_generator",
];
/// What `IPython` takes for a magic where nothing has the name: `ls -la`.
const AUTOMAGIC: [&str; 6] = ["ls", "ll", "cd", "rm", "cat", "who"];

impl Walker {
    /// The targets got this value.
    pub(super) fn made(&mut self, targets: &[Expr], value: &Expr) {
        if is_stream(value) && self.definitions > 0 && targets.iter().any(Expr::is_attribute_expr) {
            self.deferred.yields = true;
        }
        if self.functions > 0 {
            return;
        }
        let names = targets.iter().filter_map(Expr::as_name_expr).map(|name| name.id.to_string());
        for name in names.filter(|name| self.scopes.resolve(name) == Resolved::Module).collect::<Vec<Name>>()
        {
            if is_stream(value) {
                self.names.streams.insert(name);
            } else if let Expr::Call(call) = value {
                match &*call.func {
                    Expr::Name(function) => {
                        if values(call).any(is_stream) {
                            self.names.given_streams.insert(name.clone());
                        }
                        self.names.made_by.insert(name, function.id.to_string());
                    }
                    Expr::Attribute(class)
                        if class.attr.as_str() == "DisplayHandle"
                            || is_counting(&class.attr)
                            || is_class_maker(&class.attr) =>
                    {
                        self.names.made_by.insert(name, class.attr.to_string());
                    }
                    Expr::Attribute(_) if matches!(path_of(&call.func)[..], ["re" | "regex", "compile"]) => {
                        self.names.made_by.insert(name, PATTERN.to_owned());
                    }
                    _ => {}
                }
            }
        }
    }

    /// After a function has been defined. One that keeps something from call to call is like a stream: one whose default value is changed,
    /// and what a function gives in which another has a `nonlocal`.
    pub(super) fn follow_results(&mut self, function: &StmtFunctionDef) {
        if self.definitions > 0 {
            return;
        }
        let Some(effects) = self.names.functions.get_mut(function.name.as_str()) else { return };
        let results = Results::of(function);
        effects.gives_code = results.gives_code;
        if !self.scopes.are_empty() {
            return;
        }
        effects.yields |= results.has_nonlocal || results.gives_stream;
        let is_changed = |name: &str| effects.changed_parameters.contains(name);
        let mut parameters = function.parameters.iter_non_variadic_params();
        if parameters
            .any(|it| it.default.as_deref().is_some_and(is_mutable) && is_changed(&it.parameter.name))
        {
            self.names.streams.insert(function.name.to_string());
        }
    }

    /// Walks where objects are only looked at.
    pub(super) fn looking(&mut self, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.is_looking, true);
        walk(self);
        self.is_looking = outer;
    }

    /// An object is used so that it gives the next of its items, if it is a stream.
    pub(super) fn take(&mut self, name: &str) {
        if !self.is_looking && !self.rewound.contains(name) {
            self.effects().takes.insert(name.to_owned());
        }
    }

    /// `file.seek(0)`: what this cell reads then does not depend on what was read before.
    pub(super) fn rewind(&mut self, call: &ExprCall) {
        if let Expr::Attribute(method) = &*call.func
            && method.attr.as_str() == "seek"
            && let Expr::Name(name) = &*method.value
        {
            self.rewound.insert(name.id.to_string());
        }
    }
}

/// The results of a function, by its body.
#[derive(Default)]
struct Results {
    /// It is a generator, or returns a stream.
    gives_stream: bool,
    /// It returns code: lambdas, or functions and classes that it defines.
    gives_code: bool,
    /// A function in it has a `nonlocal`.
    has_nonlocal: bool,
    defined: NameSet,
    returned: NameSet,
    /// The depth of definitions around the walk.
    inner: usize,
}

impl Results {
    fn of(function: &StmtFunctionDef) -> Self {
        let mut results = Self::default();
        results.visit_body(&function.body);
        results.gives_code |= results.returned.iter().any(|name| results.defined.contains(name));
        results
    }

    fn define(&mut self, name: &str, statement: &Stmt) {
        if self.inner == 0 {
            self.defined.insert(name.to_owned());
        }
        self.inner += 1;
        visitor::walk_stmt(self, statement);
        self.inner -= 1;
    }
}

impl<'a> Visitor<'a> for Results {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => return self.define(&function.name, statement),
            Stmt::ClassDef(class) => return self.define(&class.name, statement),
            Stmt::Nonlocal(_) => self.has_nonlocal = true,
            Stmt::Return(returned) if self.inner == 0 => {
                let mut held = Held::default();
                returned.value.iter().for_each(|value| held.add(value));
                self.gives_stream |= returned.value.as_deref().is_some_and(is_stream);
                self.gives_code |= !held.code.is_empty();
                self.returned.extend(held.names.iter().cloned());
            }
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.gives_stream |= self.inner == 0 && matches!(expression, Expr::Yield(_) | Expr::YieldFrom(_));
        if !expression.is_lambda_expr() {
            visitor::walk_expr(self, expression);
        }
    }
}

/// Whether a default value is one object for all calls, which they can change.
fn is_mutable(value: &Expr) -> bool {
    match value {
        Expr::List(_) | Expr::Dict(_) | Expr::Set(_) => true,
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "list" | "dict" | "set" | "defaultdict" | "Counter" | "deque"))
        }
        _ => false,
    }
}

/// Whether an attribute of an object is one that leaves a stream where it is.
pub(super) fn looks(part: &Expr) -> bool {
    matches!(part, Expr::Attribute(part) if part.value.is_name_expr() && (LOOKS.contains(&part.attr.as_str()) || part.attr.as_str() == "seek"))
}

/// Whether a call only looks at its arguments, which are names.
pub(super) fn only_looks(call: &ExprCall) -> bool {
    matches!(&*call.func, Expr::Name(function) if LOOKING.contains(&function.id.as_str()))
        && call.arguments.args.iter().all(Expr::is_name_expr)
}

/// `ls -la`
pub(super) fn is_automagic(statement: &Stmt) -> bool {
    let Stmt::Expr(statement) = statement else { return false };
    let Expr::BinOp(operation) = &*statement.value else { return false };
    operation.op == Operator::Sub
        && matches!(&*operation.left, Expr::Name(name) if AUTOMAGIC.contains(&name.id.as_str()))
        && operation.right.is_name_expr()
}

pub(super) fn is_stream(value: &Expr) -> bool {
    let call = match value {
        Expr::Generator(_) => return true,
        Expr::Call(call) => call,
        _ => return false,
    };
    match &*call.func {
        Expr::Name(function) => {
            let name = function.id.as_str();
            has_word(MAKERS, name) || has_word(FUNCTIONS, name)
        }
        Expr::Attribute(function) => {
            let name = function.attr.as_str();
            let module = root(&function.value).unwrap_or_default();
            has_word(MAKERS, name)
                || match module {
                    "itertools" => name != "tee",
                    "csv" => name == "reader",
                    "random" => name == "Random",
                    "io" | "gzip" | "bz2" | "lzma" | "codecs" => name == "open",
                    _ => name == "open" && is_path(&function.value),
                }
        }
        _ => false,
    }
}

/// `Path(name)`
fn is_path(value: &Expr) -> bool {
    matches!(value, Expr::Call(call) if matches!(&*call.func, Expr::Name(class) if class.id.as_str() == "Path"))
}
