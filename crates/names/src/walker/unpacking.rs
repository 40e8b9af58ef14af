//! Several names that get their values in one assignment: `a, b = Flow("a"), iter(xs)`.

use ruff_python_ast::Expr;
use syntax::Resolved;
use syntax::tree::path_of;

use super::Walker;

impl Walker {
    /// After the parts of a target got those of a value.
    pub(super) fn unpack(&mut self, target: &Expr, value: &Expr) {
        let Some(targets) = items(target) else { return };
        match value {
            // What is done to an item, is done to the whole.
            Expr::Name(_) => self.derive_items(target, value),
            Expr::If(choice) => {
                self.unpack(target, &choice.body);
                self.unpack(target, &choice.orelse);
            }
            Expr::Call(call) if path_of(&call.func).last() == Some(&"tee") && self.functions == 0 => {
                let names = targets.iter().filter_map(Expr::as_name_expr).map(|name| name.id.to_string());
                let names = names.filter(|name| self.scopes.resolve(name) == Resolved::Module);
                self.names.streams.extend(names.collect::<Vec<_>>());
            }
            _ => {
                let Some(values) = items(value).filter(|values| values.len() == targets.len()) else {
                    return;
                };
                if targets.iter().chain(values).any(Expr::is_starred_expr) {
                    return;
                }
                for (target, value) in targets.iter().zip(values) {
                    self.unpack(target, value);
                    if target.is_name_expr() {
                        let target = std::slice::from_ref(target);
                        self.made(target, value);
                        self.share_figure(target, value);
                        self.hold(target, value);
                    }
                }
            }
        }
    }
}

fn items(expression: &Expr) -> Option<&[Expr]> {
    match expression {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        _ => None,
    }
}
