//! What a method uses up, if it is a stream.

use ruff_python_ast::{Expr, ExprCall};
use syntax::tree::path_of;

use super::super::sources::Source;
use super::super::streams::only_looks;
use super::changing::Changing;
use crate::methods::has_word;

/// Functions of Python that use all items of their arguments, or give a stream that does.
const GOING_THROUGH: &str = "list tuple set frozenset dict sorted sum min max any all next iter zip map filter enumerate reversed \
    Counter deque OrderedDict chain islice bytes bytearray";
/// Functions of Python that do not use the items of their arguments.
const LOOKING: [&str; 12] = [
    "len",
    "isinstance",
    "issubclass",
    "type",
    "id",
    "repr",
    "print",
    "str",
    "int",
    "float",
    "range",
    "hasattr",
];
/// Modules whose functions take arrays.
const NUMERIC: [&str; 8] = ["np", "numpy", "jnp", "math", "plt", "sns", "torch", "F"];

impl<'a> Changing<'a, '_> {
    /// Where an object of which the items are used has its value from, if it is a part.
    pub(super) fn source(&self, value: &Expr) -> Option<Source> {
        match value {
            Expr::Attribute(part) if self.is_part(&part.value) => {
                Some(self.own.attributes.source(&part.attr))
            }
            Expr::Subscript(part) => self.source(&part.value).map(|source| source.min(Source::Given)),
            Expr::Name(name) => self.sources.get(name.id.as_str()).copied(),
            Expr::If(choice) => self.source(&choice.body).max(self.source(&choice.orelse)),
            Expr::BoolOp(operation) => operation.values.iter().filter_map(|value| self.source(value)).max(),
            Expr::Starred(starred) => self.source(&starred.value),
            Expr::Tuple(tuple) => tuple.elts.iter().filter_map(|value| self.source(value)).max(),
            Expr::Dict(dict) => dict.items.iter().filter_map(|item| self.source(&item.value)).max(),
            _ => None,
        }
    }

    /// The items of an object are used, and used up if it is a stream.
    pub(super) fn goes_through(&mut self, value: &'a Expr) {
        match self.source(value) {
            Some(Source::Unknown | Source::Stream) => self.change.is_possible = true,
            Some(Source::Given) => self.change.drains = true,
            Some(Source::Container) => {}
            None => self.calls_of_whole(value, &["__iter__", "__contains__"]),
        }
    }

    /// An object is handed to other code, which may use its items.
    pub(super) fn hands_on(&mut self, value: &'a Expr) {
        self.change.drains |= self.source(value).is_some_and(|source| source != Source::Container);
    }

    pub(super) fn hands_on_arguments(&mut self, call: &'a ExprCall) {
        let goes_through = match &*call.func {
            Expr::Name(function) => has_word(GOING_THROUGH, &function.id),
            Expr::Attribute(method) => {
                matches!(method.attr.as_str(), "join" | "extend" | "fromkeys" | "from_iterable")
            }
            _ => false,
        };
        let is_looking = only_looks(call)
            || match &*path_of(&call.func) {
                [function] => LOOKING.contains(function),
                [module, .., last] => NUMERIC.contains(module) && *last != "fromiter",
                [] => false,
            };
        if is_looking {
            return;
        }
        for argument in call.arguments.iter_source_order() {
            if goes_through { self.goes_through(argument.value()) } else { self.hands_on(argument.value()) }
        }
    }
}
