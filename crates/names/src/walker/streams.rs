//! Objects that give each of their items once: files, iterators, and generators of random numbers. To use one is to move it.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Operator, Stmt, StmtFunctionDef};
use syntax::tree::path_of;
use syntax::{Name, Resolved, is_builtin};

use super::Walker;
use super::expressions::root;
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
                        if !is_builtin(&function.id) {
                            let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
                            self.give(&name, call.arguments.args.iter().chain(keywords));
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

    /// A function that keeps something from call to call is like a stream: one whose default value is changed, and what a function gives
    /// in which another has a `nonlocal`.
    pub(super) fn mark_stateful(&mut self, function: &StmtFunctionDef) {
        if self.definitions > 0 || !self.scopes.are_empty() {
            return;
        }
        let Some(effects) = self.names.functions.get_mut(function.name.as_str()) else { return };
        let mut nonlocal = HasNonlocal(false);
        nonlocal.visit_body(&function.body);
        effects.yields |= nonlocal.0 || gives_stream(function);
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

/// Whether a method is a generator, or returns a stream.
pub(super) fn gives_stream(function: &StmtFunctionDef) -> bool {
    #[derive(Default)]
    struct Gives(bool);
    impl<'a> Visitor<'a> for Gives {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            match statement {
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                Stmt::Return(returned) => self.0 |= returned.value.as_deref().is_some_and(is_stream),
                _ => visitor::walk_stmt(self, statement),
            }
        }
        fn visit_expr(&mut self, expression: &'a Expr) {
            self.0 |= matches!(expression, Expr::Yield(_) | Expr::YieldFrom(_));
            if !expression.is_lambda_expr() {
                visitor::walk_expr(self, expression);
            }
        }
    }
    let mut gives = Gives::default();
    gives.visit_body(&function.body);
    gives.0
}

struct HasNonlocal(bool);

impl<'a> Visitor<'a> for HasNonlocal {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.0 |= statement.is_nonlocal_stmt();
        visitor::walk_stmt(self, statement);
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
