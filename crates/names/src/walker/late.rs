//! Objects that run code of the notebook when they are used: instances of its classes, functions that its functions give, and what
//! holds such objects. The names that this code has are looked up then, and not where the object was made.

use ruff_python_ast::visitor::Visitor as _;
use ruff_python_ast::{Expr, StmtClassDef};
use syntax::{Locals, NameSet, Resolved, is_builtin};

use super::Walker;
use super::expressions::{items_of, values};

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
}

/// What goes into a value so that it may be used later.
#[derive(Default)]
pub(super) struct Held<'a> {
    pub(super) names: NameSet,
    /// Lambdas and generators, which run later.
    pub(super) code: Vec<&'a Expr>,
}

impl<'a> Held<'a> {
    pub(super) fn add(&mut self, value: &'a Expr) {
        match value {
            Expr::Name(name) => drop(self.names.insert(name.id.to_string())),
            Expr::Lambda(_) | Expr::Generator(_) => self.code.push(value),
            Expr::ListComp(list) => self.add(&list.elt),
            Expr::DictComp(dict) => self.add(&dict.value),
            Expr::Call(call) => {
                let Expr::Name(function) = &*call.func else { return };
                if !is_builtin(&function.id) {
                    self.names.insert(function.id.to_string());
                    values(call).for_each(|argument| self.add(argument));
                }
            }
            _ => {
                let keys = value.as_dict_expr().into_iter().flat_map(|dict| &dict.items);
                keys.filter_map(|item| item.key.as_ref())
                    .filter(|key| key.is_name_expr())
                    .for_each(|key| self.add(key));
                for item in items_of(value) {
                    self.add(item);
                }
            }
        }
    }
}
