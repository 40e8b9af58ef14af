//! Uses of an object that call a method of its class: `store.total()`, `tick()`, `with tracker:`, `a >> b`. The class decides which of
//! them change the object, if it is of the notebook, and what the object was given.

use ruff_python_ast::{Expr, ExprBinOp, ExprCall, WithItem};
use syntax::Resolved;

use super::Walker;
use super::expressions::{root, values};
use super::own_methods::{Contents, MODULES, OPERATOR};
use super::streams::is_stream;
use crate::methods::has_word;
use crate::names::{Content, ObjectUse};
use crate::shared::attribute;

/// Functions of Python that cells call most.
const COMMON: &str = "print len range display str int float list dict set sorted zip enumerate sum max min";

impl Walker {
    pub(super) fn use_object(&mut self, name: &str, how: ObjectUse) {
        // It is asked of each call; other built-in functions are rare.
        if has_word(COMMON, name) || self.names.functions.contains_key(name) {
            return;
        }
        let name = self.original(name);
        if self.is_from_outside(&name) {
            self.effects().object_uses.insert((name, how));
        }
    }

    /// After the parts of an item have been visited: `with tracker as t:`, which nearly always gives the object itself.
    pub(super) fn enter(&mut self, item: &WithItem) {
        let Expr::Name(object) = &item.context_expr else { return };
        for method in ["__enter__", "__exit__"] {
            self.use_object(&object.id, ObjectUse::Reading(attribute(method)));
        }
        if let Some(Expr::Name(name)) = item.optional_vars.as_deref() {
            self.alias(&name.id, &object.id);
        }
    }

    /// `a >> b`: the class of an operand may change it.
    pub(super) fn operate(&mut self, operation: &ExprBinOp) {
        self.operand(&operation.left);
        self.operand(&operation.right);
    }

    fn operand(&mut self, operand: &Expr) {
        match operand {
            Expr::Name(name) => self.use_object(&name.id, ObjectUse::Reading(attribute(OPERATOR))),
            Expr::List(list) => list.elts.iter().for_each(|item| self.operand(item)),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.operand(item)),
            _ => {}
        }
    }

    /// An object gets what is in these values.
    pub(super) fn give<'e>(&mut self, name: &str, values: impl IntoIterator<Item = &'e Expr>) {
        if self.functions > 0 || self.scopes.resolve(name) != Resolved::Module {
            return;
        }
        let mut contents = Contents::default();
        values.into_iter().for_each(|value| contents.add(value));
        let name = self.whole(name);
        for content in contents.found {
            let content = match content {
                Content::Object(object) if self.names.streams.contains(&object) => Content::Stream,
                // What a function of another module gives is hardly ever a stream.
                Content::Result(function) => Content::Object(function),
                Content::Made => continue,
                content => content,
            };
            self.names.contents.insert((name.clone(), content));
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

    /// A method gets streams, and may keep them: `reader.open(map(f, xs))`.
    pub(super) fn give_to_method(&mut self, call: &ExprCall, is_discarded: bool) {
        let Some(object) = call.func.as_attribute_expr().and_then(|method| root(&method.value)) else {
            return;
        };
        let is_meant = |value: &&Expr| is_stream(value) || (is_discarded && value.is_name_expr());
        let values: Vec<&Expr> = values(call).filter(is_meant).collect();
        if !values.is_empty() && !has_word(MODULES, object) && !self.names.imports.contains_key(object) {
            self.give(object, values);
        }
    }
}
