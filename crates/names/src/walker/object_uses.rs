//! Uses of an object that call a method of its class: `store.total()`, `tick()`, `with tracker:`, `a >> b`. Which of them change the
//! object is said by the class, if it is of the notebook.

use std::collections::BTreeMap;

use ruff_python_ast::{Expr, ExprBinOp, Operator, StmtClassDef, WithItem};
use syntax::SmallSet;

use super::Walker;
use super::own_methods::{MethodMutation, OwnMethods};
use crate::names::{ObjectUse, Repeat};
use crate::shared::attribute;

/// Functions of Python that cells call most.
const COMMON: [&str; 16] = [
    "print",
    "len",
    "range",
    "display",
    "str",
    "int",
    "float",
    "list",
    "dict",
    "set",
    "sorted",
    "zip",
    "enumerate",
    "sum",
    "max",
    "min",
];

impl Walker {
    pub(super) fn use_object(&mut self, name: &str, how: ObjectUse) {
        // It is asked of each call; other built-in functions are rare.
        if COMMON.contains(&name) || self.names.functions.contains_key(name) {
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
        self.use_object(&object.id, ObjectUse::With);
        if let Some(Expr::Name(name)) = item.optional_vars.as_deref() {
            self.alias(&name.id, &object.id);
        }
    }

    /// `a >> b`, as people write it to connect objects. Other operators hardly ever change any, unless nothing is done with the result.
    pub(super) fn shift(&mut self, operation: &ExprBinOp) {
        if matches!(operation.op, Operator::LShift | Operator::RShift) {
            self.operand(&operation.left);
            self.operand(&operation.right);
        }
    }

    /// What an operator is applied to, its result being discarded.
    pub(super) fn operate(&mut self, operation: &ExprBinOp) {
        for operand in [&*operation.left, &*operation.right] {
            match operand {
                Expr::BinOp(operation) => self.operate(operation),
                operand => self.operand(operand),
            }
        }
    }

    fn operand(&mut self, operand: &Expr) {
        match operand {
            Expr::Name(name) => self.use_object(&name.id, ObjectUse::Operator),
            Expr::List(list) => list.elts.iter().for_each(|item| self.operand(item)),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.operand(item)),
            _ => {}
        }
    }

    /// After a class of the cell has been defined.
    pub(super) fn notes_changing_uses(&mut self, class: &StmtClassDef) {
        let own = OwnMethods::of(class);
        let by_call = own.changes(1);
        let has_operators = own.methods.keys().any(|name| used_by(name).is_some());
        let by_operator = if has_operators { own.changes(usize::MAX) } else { BTreeMap::new() };
        let mut uses = BTreeMap::<ObjectUse, Option<Repeat>>::new();
        let (mut drains, mut asks) = (SmallSet::default(), SmallSet::default());
        for name in own.methods.keys() {
            let (how, repeat, is_draining) = match used_by(name) {
                Some(how) => (how, by_operator[name].sure, by_operator[name].drains),
                None if name.starts_with("__") => continue,
                None => {
                    let repeat = by_call[name].is_any().then_some(Repeat::Unknown);
                    (ObjectUse::Method(attribute(name)), repeat, by_call[name].drains)
                }
            };
            let known = uses.entry(how).or_insert(repeat);
            *known = (*known).max(repeat);
            drains.extend(is_draining.then_some(how));
            let found = if used_by(name).is_some() { &by_operator[name] } else { &by_call[name] };
            asks.extend(found.asks.iter().map(|method| (how, *method)));
        }
        let given = own.attributes.given.iter().cloned().map(|given| (class.name.to_string(), given));
        self.names.contents.extend(given);
        if let Some(effects) = self.names.functions.get_mut(class.name.as_str()) {
            let gives_stream = by_call.get("__iter__").is_some_and(MethodMutation::is_any);
            effects.yields |= gives_stream || own.methods.contains_key("__next__");
            (effects.methods, effects.drains, effects.asks) = (uses, drains, asks);
        }
    }
}

/// The use of an object that calls a method of this name.
fn used_by(method: &str) -> Option<ObjectUse> {
    const OPERATORS: [&str; 13] = [
        "lshift", "rshift", "or", "and", "xor", "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod",
        "pow",
    ];
    let name = method.strip_prefix("__")?.strip_suffix("__")?;
    match name {
        "call" => Some(ObjectUse::Call),
        "enter" | "exit" => Some(ObjectUse::With),
        _ => {
            let is_operator = |name: &str| OPERATORS.contains(&name);
            let reflected = name.strip_prefix('r').is_some_and(is_operator);
            (is_operator(name) || reflected).then_some(ObjectUse::Operator)
        }
    }
}
