//! Figures of matplotlib and their axes: what draws on one of them changes the figure, wherever it is shown again.

use ruff_python_ast::{Expr, ExprCall};
use syntax::tree::path_of;

use super::Walker;
use super::expressions::root;
use crate::makers::FIGURE;
use crate::methods::has_word;

/// Functions that give a figure and its axes.
const MAKING: [&str; 2] = ["subplots", "subplot_mosaic"];
/// Methods of a figure, or of its axes, that give axes, or the figure, of the same figure.
const GIVING: &str = "add_subplot add_axes add_gridspec gca subplots subplot_mosaic twinx twiny inset_axes get_figure \
    flatten ravel";
/// Attributes that do.
const GIVEN: [&str; 4] = ["axes", "figure", "fig", "flat"];
/// Keywords by which functions of libraries get axes to draw on.
const DRAWN_ON: [&str; 3] = ["ax", "axes", "cax"];

impl Walker {
    /// After the targets got this value: `fig, (left, right) = plt.subplots(1, 2)`, `ax = fig.add_subplot()`.
    pub(super) fn share_figure(&mut self, targets: &[Expr], value: &Expr) {
        let [target] = targets else { return };
        let method = match value {
            Expr::Call(call) => path_of(&call.func).last().copied(),
            _ => None,
        };
        match (target, method) {
            (Expr::Tuple(both), Some(method)) if MAKING.contains(&method) => {
                if let [Expr::Name(figure), axes] = &*both.elts {
                    self.of_figure(axes, &figure.id);
                    if self.functions == 0 {
                        self.names.made_by.insert(figure.id.to_string(), FIGURE.to_owned());
                    }
                }
            }
            (Expr::Name(name), _) => {
                if let Some(other) = of_same_figure(value).filter(|other| *other != name.id.as_str()) {
                    self.alias(&name.id, other);
                }
            }
            (Expr::Tuple(_) | Expr::List(_), _) => {
                let all = value.as_name_expr().map(|all| all.id.as_str()).filter(|all| is_drawn_on(all));
                if let Some(other) = of_same_figure(value).or(all) {
                    self.of_figure(target, other);
                }
            }
            _ => {}
        }
    }

    fn of_figure(&mut self, axes: &Expr, figure: &str) {
        match axes {
            Expr::Name(name) => self.alias(&name.id, figure),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|axes| self.of_figure(axes, figure)),
            Expr::List(list) => list.elts.iter().for_each(|axes| self.of_figure(axes, figure)),
            _ => {}
        }
    }

    /// `df.plot(ax=ax)` draws on `ax`.
    pub(super) fn draws_on_arguments(&mut self, call: &ExprCall) {
        let axes = call
            .arguments
            .keywords
            .iter()
            .filter(|keyword| keyword.arg.as_ref().is_some_and(|name| DRAWN_ON.contains(&name.as_str())));
        for name in axes.filter_map(|keyword| root(&keyword.value)) {
            let name = self.whole(name);
            self.change_parameter(&name);
            if self.is_from_outside(&name) {
                self.effects().calls.insert(name);
            }
        }
    }
}

/// Whether an object is, by its name, one of matplotlib.
pub(super) fn is_drawn_on(name: &str) -> bool {
    name.starts_with("ax") || name.starts_with("fig")
}

/// The name of a figure, or of axes, whose figure an expression gives, or axes of it.
fn of_same_figure(value: &Expr) -> Option<&str> {
    match value {
        Expr::Call(call) => match &*call.func {
            // `plt.gca()` gives those of a figure that has no name.
            Expr::Attribute(method) if has_word(GIVING, &method.attr) => {
                root(&method.value).filter(|root| !matches!(*root, "plt" | "pyplot" | "np"))
            }
            _ => None,
        },
        Expr::Subscript(part) => root(&part.value).filter(|root| is_drawn_on(root)),
        Expr::Attribute(attribute) if GIVEN.contains(&attribute.attr.as_str()) => root(&attribute.value),
        _ => None,
    }
}
