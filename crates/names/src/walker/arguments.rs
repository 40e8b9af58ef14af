//! Functions of libraries that write into an argument, and say so by their name or a keyword.

use ruff_python_ast::{Expr, ExprCall};
use syntax::tree::path_of;

use super::Walker;
use super::reading::{is_in_place_name, is_of_torch};
use super::repeats::of_other_arguments;
use crate::names::Repeat;

/// Functions that write into their first argument, and do the same each time.
const SETTING: [&str; 6] = ["copyto", "putmask", "put_along_axis", "fill_diagonal", "heapify", "setitem"];
/// Functions that give their first argument another value each time.
const ADDING: [&str; 7] =
    ["heappush", "heappop", "heapreplace", "heappushpop", "insort", "insort_left", "insort_right"];

impl Walker {
    /// After the parts of a call have been visited.
    pub(super) fn writes_into_arguments(&mut self, call: &ExprCall) {
        if let Some((argument, repeat)) = first_written(call) {
            self.change_by(argument, repeat, call);
            let others = call.arguments.args.iter().skip(1);
            let keys: Vec<_> =
                others.chain(call.arguments.keywords.iter().map(|keyword| &keyword.value)).collect();
            self.choose_parts(argument, &keys);
        }
        // `np.multiply(a, 2, out=a)`. What a function of the notebook does with an argument of this name is known from its body.
        let out = call.arguments.find_keyword("out").filter(|_| call.func.is_attribute_expr());
        let targets = match out.map(|keyword| &keyword.value) {
            Some(Expr::Tuple(targets)) => &targets.elts,
            Some(target) => std::slice::from_ref(target),
            None => &[],
        };
        for target in targets {
            self.change_by(target, of_other_arguments(call, target, &self.derived), call);
        }
    }

    /// A call changes the object behind an expression.
    fn change_by(&mut self, target: &Expr, repeat: Repeat, call: &ExprCall) {
        let code = self.text(call).to_owned();
        self.change_part(target, repeat, Some(code));
    }
}

pub(super) fn first_written(call: &ExprCall) -> Option<(&Expr, Repeat)> {
    let path = path_of(&call.func);
    let (first, last) = (call.arguments.args.first()?, *path.last()?);
    let is_of_numpy = || matches!(path.first(), Some(&("np" | "numpy" | "jnp")));
    let repeat = match last {
        _ if SETTING.contains(&last) => Repeat::Same,
        _ if ADDING.contains(&last) => Repeat::Differs,
        "put" | "place" if is_of_numpy() => Repeat::Same,
        // `np.add.at(a, indices, 1)`
        "at" if is_of_numpy() => Repeat::Differs,
        // `nn.init.normal_(weight)`, `F.relu_(x)`
        _ if is_in_place_name(last) && is_of_torch(path.first()?) => {
            if path.contains(&"init") {
                Repeat::Same
            } else {
                Repeat::Differs
            }
        }
        _ => return None,
    };
    Some((first, repeat))
}
