//! What happens to objects where no method is named: `tick()`, `with tracker:`, `a >> b`. Which of these uses change an object is said
//! by its class.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Expr, ExprAttribute, ExprBinOp, ExprContext, ExprSubscript, Operator, Stmt, StmtClassDef,
    StmtFunctionDef, WithItem,
};

use super::arguments::first_written;
use super::{Walker, root};
use crate::methods::change_by;
use crate::names::{Implicit, Repeat};

/// Functions of Python that change their first argument.
const CHANGING: [&str; 3] = ["next", "setattr", "delattr"];

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
    pub(super) fn use_implicitly(&mut self, name: &str, how: Implicit) {
        // It is asked of each call; other built-in functions are rare.
        if COMMON.contains(&name) || self.names.functions.contains_key(name) {
            return;
        }
        let name = self.original(name);
        if self.is_from_outside(&name) {
            self.effects().implicit.insert((name, how));
        }
    }

    /// After the parts of an item have been visited: `with tracker as t:`, which nearly always gives the object itself.
    pub(super) fn enter(&mut self, item: &WithItem) {
        let Expr::Name(object) = &item.context_expr else { return };
        self.use_implicitly(&object.id, Implicit::With);
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
            Expr::Name(name) => self.use_implicitly(&name.id, Implicit::Operator),
            Expr::List(list) => list.elts.iter().for_each(|item| self.operand(item)),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.operand(item)),
            _ => {}
        }
    }

    /// After a class of the cell has been defined.
    pub(super) fn notes_changing_uses(&mut self, class: &StmtClassDef) {
        let methods: BTreeMap<&str, &StmtFunctionDef> = class
            .body
            .iter()
            .filter_map(Stmt::as_function_def_stmt)
            .map(|method| (method.name.as_str(), method))
            .collect();
        let mut changing = BTreeMap::<Implicit, Repeat>::new();
        for (name, method) in &methods {
            let Some(how) = used_by(name) else { continue };
            if let Some(repeat) = Changing::by(method, &methods) {
                let known = changing.entry(how).or_insert(repeat);
                *known = (*known).max(repeat);
            }
        }
        if let Some(effects) = self.names.functions.get_mut(class.name.as_str()) {
            effects.yields |= methods.contains_key("__next__");
            effects.changing = changing;
        }
    }
}

/// The use of an object that calls a method of this name.
fn used_by(method: &str) -> Option<Implicit> {
    const OPERATORS: [&str; 13] = [
        "lshift", "rshift", "or", "and", "xor", "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod",
        "pow",
    ];
    let name = method.strip_prefix("__")?.strip_suffix("__")?;
    match name {
        "call" => Some(Implicit::Call),
        "enter" | "exit" => Some(Implicit::With),
        _ => {
            let is_operator = |name: &str| OPERATORS.contains(&name);
            let reflected = name.strip_prefix('r').is_some_and(is_operator);
            (is_operator(name) || reflected).then_some(Implicit::Operator)
        }
    }
}

/// Looks for what changes the parameters of a method, also in the methods of its class that it calls.
struct Changing<'a, 'm> {
    parameters: BTreeSet<&'a str>,
    called: Vec<&'a str>,
    methods: &'m BTreeMap<&'a str, &'a StmtFunctionDef>,
    found: Option<Repeat>,
}

impl<'a> Changing<'a, '_> {
    /// What calling a method once more does to its parameters, if it changes any.
    fn by(method: &'a StmtFunctionDef, methods: &BTreeMap<&'a str, &'a StmtFunctionDef>) -> Option<Repeat> {
        let (mut found, mut known, mut left) = (None, BTreeSet::new(), vec![method]);
        while let Some(method) = left.pop() {
            if !known.insert(method.name.as_str()) {
                continue;
            }
            let parameters = method.parameters.iter_non_variadic_params();
            let parameters = parameters.map(|it| it.parameter.name.as_str()).collect();
            let mut changing = Changing { parameters, called: Vec::new(), methods, found };
            changing.visit_body(&method.body);
            found = changing.found;
            left.extend(changing.called.iter().filter_map(|name| methods.get(name)));
        }
        found
    }

    fn changes(&mut self, part: &Expr, repeat: Repeat) {
        if root(part).is_some_and(|root| self.parameters.contains(root)) {
            self.found = self.found.max(Some(repeat));
        }
    }
}

impl<'a> Visitor<'a> for Changing<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::AugAssign(assign) = statement
            && !assign.target.is_name_expr()
        {
            self.changes(&assign.target, Repeat::Differs);
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Attribute(ExprAttribute { ctx, .. }) | Expr::Subscript(ExprSubscript { ctx, .. })
                if *ctx != ExprContext::Load =>
            {
                self.changes(expression, Repeat::Same);
            }
            Expr::Call(call) if let Some((argument, repeat)) = first_written(call) => {
                self.changes(argument, repeat);
            }
            Expr::Call(call) => match &*call.func {
                Expr::Name(function) if CHANGING.contains(&function.id.as_str()) => {
                    call.arguments.args.iter().take(1).for_each(|first| self.changes(first, Repeat::Differs));
                }
                Expr::Attribute(method)
                    if method.value.is_name_expr() && self.methods.contains_key(method.attr.as_str()) =>
                {
                    self.called.push(&method.attr);
                }
                Expr::Attribute(method) => {
                    if let Some(change) = change_by(&method.attr) {
                        self.changes(&method.value, change.again);
                    }
                }
                _ => {}
            },
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }
}
