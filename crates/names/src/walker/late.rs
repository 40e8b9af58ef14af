//! Objects that run code of the notebook when they are used: instances of its classes, functions that its functions give, and what
//! holds such objects. The names that this code has are looked up then, and not where the object was made.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef};
use syntax::{Locals, NameSet, Resolved, is_builtin};

use super::Walker;

impl Walker {
    /// After the targets got this value.
    pub(super) fn hold(&mut self, targets: &[Expr], value: &Expr) {
        let [Expr::Name(target)] = targets else { return };
        if self.functions > 0 || self.scopes.resolve(&target.id) != Resolved::Module {
            return;
        }
        let mut held = Held::default();
        held.add(value);
        let mut names = held.names;
        names.remove(target.id.as_str());
        if !held.code.is_empty() {
            let maker = self.names.made_by.get(target.id.as_str()).cloned();
            let is_stream = self.names.streams.contains(target.id.as_str());
            self.defining(&target.id, |walker| {
                for code in &held.code {
                    walker.called_later(Locals::default(), |walker| walker.visit_expr(code));
                }
            });
            self.names.made_by.extend(maker.map(|maker| (target.id.to_string(), maker)));
            self.names.streams.extend(is_stream.then(|| target.id.to_string()));
        }
        if !names.is_empty() {
            self.names.holds.insert(target.id.to_string(), names);
        }
    }

    /// After a class has been defined.
    pub(super) fn hold_bases(&mut self, class: &StmtClassDef) {
        if self.functions > 0 || self.definitions > 0 {
            return;
        }
        if let Some(effects) = self.names.functions.get_mut(class.name.as_str()) {
            (effects.gives_code, effects.is_class) = (true, true);
        }
        let bases = class.arguments.iter().flat_map(|arguments| &arguments.args);
        let bases: NameSet = bases.filter_map(Expr::as_name_expr).map(|base| base.id.to_string()).collect();
        if !bases.is_empty() {
            self.names.holds.insert(class.name.to_string(), bases);
        }
    }

    /// After a function has been defined.
    pub(super) fn gives_code(&mut self, function: &StmtFunctionDef) {
        let mut gives = Gives::default();
        gives.visit_body(&function.body);
        let is_given = gives.lambda || gives.returned.iter().any(|name| gives.defined.contains(name));
        if is_given && let Some(effects) = self.names.functions.get_mut(function.name.as_str()) {
            effects.gives_code = true;
        }
    }
}

/// What goes into a value so that it may be used later.
#[derive(Default)]
struct Held<'a> {
    names: NameSet,
    /// Lambdas and generators, which run later.
    code: Vec<&'a Expr>,
}

impl<'a> Held<'a> {
    fn add(&mut self, value: &'a Expr) {
        match value {
            Expr::Name(name) => drop(self.names.insert(name.id.to_string())),
            Expr::Lambda(_) | Expr::Generator(_) => self.code.push(value),
            Expr::List(list) => list.elts.iter().for_each(|item| self.add(item)),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.add(item)),
            Expr::Set(set) => set.elts.iter().for_each(|item| self.add(item)),
            Expr::Dict(dict) => {
                for item in &dict.items {
                    item.key.iter().filter(|key| key.is_name_expr()).for_each(|key| self.add(key));
                    self.add(&item.value);
                }
            }
            Expr::ListComp(list) => self.add(&list.elt),
            Expr::DictComp(dict) => self.add(&dict.value),
            Expr::If(choice) => {
                self.add(&choice.body);
                self.add(&choice.orelse);
            }
            Expr::Call(call) => {
                let Expr::Name(function) = &*call.func else { return };
                if is_builtin(&function.id) {
                    return;
                }
                self.names.insert(function.id.to_string());
                call.arguments.args.iter().for_each(|argument| self.add(argument));
                call.arguments.keywords.iter().for_each(|keyword| self.add(&keyword.value));
            }
            _ => {}
        }
    }
}

/// The functions that a function defines, and what it returns.
#[derive(Default)]
struct Gives {
    defined: NameSet,
    returned: NameSet,
    lambda: bool,
}

impl<'a> Visitor<'a> for Gives {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => drop(self.defined.insert(function.name.to_string())),
            Stmt::ClassDef(class) => drop(self.defined.insert(class.name.to_string())),
            Stmt::Return(returned) => {
                let mut held = Held::default();
                returned.value.iter().for_each(|value| held.add(value));
                self.lambda |= !held.code.is_empty();
                self.returned.extend(held.names.iter().cloned());
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }
}
