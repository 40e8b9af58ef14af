//! Objects that give each of their items once: files, iterators, and generators of random numbers. To use one is to move it.

use ruff_python_ast::{Expr, Operator, ParameterWithDefault, Stmt, StmtFunctionDef};
use syntax::Resolved;
use syntax::tree::path_of;

use super::Walker;
use super::expressions::root;
use crate::makers::{PATTERN, is_followed};
use crate::methods::has_word;
use crate::names::{Effects, ObjectUse};
use crate::undefined::is_magic;

/// Functions and classes that make one, by their last name, whatever module they are called through.
const MAKERS: &str = "StringIO BytesIO TextIOWrapper BufferedReader DictReader urlopen finditer iglob scandir itertuples \
    iterrows iter_lines iter_content zip_longest takewhile dropwhile islice default_rng RandomState Generator \
    check_random_state";
/// Of these names others are methods that make none: `series.map(f)`, `Image.open(p)`.
const FUNCTIONS: &str =
    "open iter zip map filter enumerate reversed cycle chain permutations combinations pairwise";
impl Walker {
    /// The target got this value.
    pub(super) fn made(&mut self, target: &Expr, value: &Expr) {
        if is_stream(value) && self.definitions > 0 && target.is_attribute_expr() {
            self.deferred.yields = true;
        }
        let Expr::Name(name) = target else { return };
        if self.functions > 0 || self.scopes.resolve(&name.id) != Resolved::Module {
            return;
        }
        let name = name.id.to_string();
        let Expr::Call(call) = value else {
            self.names.streams.extend(is_stream(value).then_some(name));
            return;
        };
        self.names.streams.extend(is_stream(value).then(|| name.clone()));
        let maker = match &*call.func {
            Expr::Name(function) => function.id.as_str(),
            Expr::Attribute(_) if matches!(path_of(&call.func)[..], ["re" | "regex", "compile"]) => PATTERN,
            Expr::Attribute(class) => &class.attr,
            _ => return,
        };
        if call.func.is_name_expr() || is_followed(maker) {
            self.names.made_by.insert(name, maker.to_owned());
        }
    }

    /// After a function has been defined. One that changes its default value keeps something from call to call, like a stream.
    pub(super) fn follow_defaults(&mut self, function: &StmtFunctionDef) {
        let Some(effects) = self.names.functions.get(function.name.as_str()) else { return };
        let is_kept = |it: &ParameterWithDefault| {
            effects.changed_parameters.contains(it.parameter.name.as_str())
                && matches!(
                    it.default.as_deref(),
                    Some(Expr::List(_) | Expr::Dict(_) | Expr::Set(_) | Expr::Call(_))
                )
        };
        if self.definitions == 0 && function.parameters.iter_non_variadic_params().any(is_kept) {
            self.names.streams.insert(function.name.to_string());
        }
    }

    /// The function that the walk is in, if it is not one of a class: what a part of its body says of its results.
    pub(super) fn results(&mut self) -> Option<&mut Effects> {
        (self.functions > 0 && self.functions == self.definitions).then_some(&mut self.deferred)
    }

    /// A function gives a stream if it is a generator, returns one, or if a function in it has a `nonlocal`.
    pub(super) fn gives_stream(&mut self, is_inner: bool) {
        let is_outermost = self.functions == 1;
        if let Some(function) = self.results().filter(|_| is_inner || is_outermost) {
            function.yields = true;
        }
    }

    /// A function with lambdas, generators, functions or classes in it may give them.
    pub(super) fn gives_code(&mut self) {
        if let Some(function) = self.results() {
            function.gives_code = true;
        }
    }

    /// An object is used so that it gives the next of its items, if it is a stream.
    pub(super) fn take(&mut self, name: &str) {
        self.effects().object_uses.insert((name.to_owned(), ObjectUse::Take));
    }
}

/// `ls -la`
pub(super) fn is_automagic(statement: &Stmt) -> bool {
    let Stmt::Expr(statement) = statement else { return false };
    let Expr::BinOp(operation) = &*statement.value else { return false };
    operation.op == Operator::Sub
        && matches!(&*operation.left, Expr::Name(name) if is_magic(&name.id))
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
