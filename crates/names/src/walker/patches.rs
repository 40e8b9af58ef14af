//! Functions that the notebook gives to classes of libraries: `pd.DataFrame.total = total`, and accessors of pandas. Cells use them by their
//! name as an attribute, whatever object that is of.

use ruff_python_ast::{Decorator, Expr};
use syntax::Resolved;
use syntax::tree::{path_of, text_of};

use super::Walker;
use super::settings::setting_of_part;
use crate::shared::{attribute, name_of_attribute};

impl Walker {
    pub(super) fn reads_attribute(&mut self, expression: &Expr) {
        if let Some(part) = expression.as_attribute_expr().filter(|part| part.ctx.is_load()) {
            self.names.attributes.insert(attribute(&part.attr));
        }
    }

    /// Whether a target is a part of a class of a library: `pd.DataFrame.total`
    pub(super) fn is_patch(&self, target: &Expr) -> bool {
        let path = path_of(target);
        let (module, class) = match &*path {
            [class, _] if self.names.imports.contains_key(*class) => (class, class),
            [module, .., class, _] => (module, class),
            _ => return false,
        };
        target.is_attribute_expr()
            && setting_of_part(target).is_none()
            && *module != "self"
            && class.starts_with(char::is_uppercase)
            && self.scopes.resolve(module) == Resolved::Module
    }

    /// After the target of an assignment has been visited.
    pub(super) fn patch(&mut self, target: &Expr) {
        if self.is_patch(target)
            && let Some(part) = target.as_attribute_expr()
        {
            self.change_shared(&name_of_attribute(&part.attr), vec![String::new()]);
        }
    }

    /// `@pd.api.extensions.register_dataframe_accessor("stats")`, after the class has been defined.
    pub(super) fn patch_by_decorators(&mut self, decorators: &[Decorator], class: &str) {
        for decorator in decorators {
            let Expr::Call(call) = &decorator.expression else { continue };
            let is_accessor = path_of(&call.func).last().is_some_and(|last| {
                last.starts_with("register_") && (last.ends_with("_accessor") || last.ends_with("_namespace"))
            });
            if let Some(attribute) = call.arguments.args.first().and_then(text_of).filter(|_| is_accessor) {
                // The names that its methods use are used where they are called.
                self.read(class);
                self.change_shared(&name_of_attribute(&attribute), vec![String::new()]);
            }
        }
    }
}
