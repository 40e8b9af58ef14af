//! Uses of an object that run code of its class: `tick()`, `with tracker:`, `a >> b`. Its class says whether they change it.

use ruff_python_ast::{Expr, ExprBinOp, WithItem};

use super::Walker;
use super::methods::OPERATOR;
use crate::methods::has_word;
use crate::names::ObjectUse;
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
}
