//! What a call does.

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Expr, ExprCall};

use super::finder::Finder;
use super::random::Called;
use super::table::{Action, Cause, LIBRARIES, UNKNOWN, lookup};

/// Arguments that make what a function draws the same each time.
const SEEDS: [&str; 5] = ["random_state", "seed", "generator", "rng", "key"];

impl Finder {
    pub(super) fn call(&mut self, call: &ExprCall) {
        let name = call.func.as_attribute_expr().map(|method| format!("{UNKNOWN}.{}", method.attr));
        let path = self.path(&call.func).or(name).unwrap_or_default();
        let code = format!("{}()", self.code(&call.func));
        self.visit_arguments(&call.arguments);
        self.called = Called::of(call, self.text(call));
        match call.func.as_attribute_expr().map_or(&*call.func, |method| &method.value) {
            Expr::Name(name) => self.read(&name.id, &code),
            value => self.visit_expr(value),
        }
        if let Some(action) = lookup(&path) {
            self.act(action, &path, call, code);
        }
    }

    fn act(&mut self, action: Action, path: &str, call: &ExprCall, code: String) {
        match action {
            Action::Draws(_)
                if is_seeded(call) || !is_shuffled(path, call) || is_of_population(path, call) => {}
            Action::Draws(library) => self.draws(library, code),
            Action::Seeds("") => LIBRARIES.iter().for_each(|library| self.seeds(library, true)),
            Action::Seeds(library) => self.seeds(library, has_value(call)),
            Action::Reads(library) => self.used(library, false, false),
            Action::Generator if !has_value(call) => self.draws("system", code),
            Action::Has(Cause::File) if writes(path, call) => {}
            Action::Has(Cause::File) if first_text(call).is_some_and(is_url) => {
                self.found(Cause::Network, code);
            }
            Action::Has(cause) => self.found(cause, code),
            Action::ClockUpTo(most) if call.arguments.len() <= most => self.found(Cause::Clock, code),
            Action::Nothing | Action::Generator | Action::ClockUpTo(_) => {}
        }
    }
}

/// Whether the first argument is there and not `None`.
pub(super) fn has_value(call: &ExprCall) -> bool {
    let keyword = call.arguments.keywords.first().map(|keyword| &keyword.value);
    call.arguments.args.first().or(keyword).is_some_and(|value| !value.is_none_literal_expr())
}

fn is_seeded(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|keyword| {
        let is_seed = keyword.arg.as_ref().is_none_or(|name| SEEDS.contains(&name.as_str()));
        is_seed && !keyword.value.is_none_literal_expr()
    })
}

/// Unless it says otherwise, all that draw are taken to shuffle but `DataLoader`.
fn is_shuffled(path: &str, call: &ExprCall) -> bool {
    match call.arguments.find_keyword("shuffle").map(|keyword| &keyword.value) {
        Some(Expr::BooleanLiteral(literal)) => literal.value,
        _ => !path.ends_with(".DataLoader"),
    }
}

/// `rng.sample(xs, 3)` of a generator; pandas and polars have no population.
fn is_of_population(path: &str, call: &ExprCall) -> bool {
    path.ends_with(".sample") && path != "random.sample" && call.arguments.args.len() > 1
}

/// Whether `open` and its like only write.
fn writes(path: &str, call: &ExprCall) -> bool {
    let position = usize::from(!path.ends_with("Path().open"));
    ["open", "ZipFile", "File"].iter().any(|name| path.ends_with(name))
        && matches!(call.arguments.find_argument_value("mode", position), Some(Expr::StringLiteral(mode))
            if mode.value.to_str().starts_with(['w', 'a', 'x']) && !mode.value.to_str().contains('+'))
}

fn first_text(call: &ExprCall) -> Option<&str> {
    Some(call.arguments.args.first()?.as_string_literal_expr()?.value.to_str())
}

fn is_url(text: &str) -> bool {
    ["http://", "https://", "ftp://", "s3://", "gs://", "hf://"].iter().any(|scheme| text.starts_with(scheme))
}
