//! What a call does.

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Expr, ExprCall};

use super::finder::Finder;
use super::random::Called;
use super::table::{Action, Cause, Library, lookup};

/// Arguments that make what a function draws the same each time.
const SEEDS: [&str; 5] = ["random_state", "seed", "generator", "rng", "key"];
/// Functions of many libraries that seed all that they know of.
const SEED_ALL: [&str; 7] =
    ["seed_everything", "set_seed", "set_seeds", "seed_all", "set_random_seed", "fix_seed", "set_all_seeds"];

/// Functions to which the order of their arguments' items does not matter.
const UNORDERED: [&str; 9] = ["sorted", "len", "min", "max", "any", "all", "set", "frozenset", "bool"];

impl Finder {
    pub(super) fn call(&mut self, call: &ExprCall) {
        let path = self.path(&call.func);
        let code = format!("{}()", self.code(&call.func));
        let function = call.func.as_name_expr().map(|name| name.id.as_str());
        if function.is_some_and(|name| matches!(name, "set" | "frozenset")) && !call.arguments.is_empty() {
            self.set(&code);
        }
        let is_unordered = function.is_some_and(|name| UNORDERED.contains(&name));
        self.ordered(is_unordered, |finder| finder.visit_arguments(&call.arguments));
        self.called = Called::of(call, self.text(call));
        match &*call.func {
            Expr::Name(name) => self.read(&name.id, &code),
            Expr::Attribute(method) => match &*method.value {
                Expr::Name(name) => self.read(&name.id, &code),
                value => self.visit_expr(value),
            },
            function => self.visit_expr(function),
        }
        let known = path.as_deref().and_then(lookup);
        match (known, &*call.func) {
            (Some(action), _) => self.act(action, path.as_deref().unwrap_or_default(), call, code),
            (None, Expr::Attribute(method)) => self.method(&method.attr, path.as_deref(), call, code),
            (None, Expr::Name(function)) if SEED_ALL.contains(&function.id.as_str()) => {
                self.seeds(&Library::SEEDED, true);
            }
            _ => {}
        }
    }

    fn act(&mut self, action: Action, path: &str, call: &ExprCall, code: String) {
        match action {
            Action::Draws(library) => {
                let is_ordered =
                    path == "sklearn.model_selection.train_test_split" && is_bool(call, "shuffle", false);
                if !is_seeded(call) && !is_ordered {
                    self.draws(library, code);
                }
            }
            Action::Seeds(library) => {
                let libraries = library.as_ref().map_or(&Library::SEEDED[..], std::slice::from_ref);
                self.seeds(libraries, has_value(call));
            }
            Action::Reads(library) => self.reads(library),
            Action::Sets(library) => self.sets(library),
            Action::Generator if !has_value(call) => self.draws(Library::System, code),
            Action::Has(Cause::File) if writes(path, call) => {}
            Action::Has(Cause::File) if first_text(call).is_some_and(|text| is_url(&text)) => {
                self.found(Cause::Network, code);
            }
            Action::Has(cause) => self.found(cause, code),
            Action::ClockIfEmpty if call.arguments.is_empty() => self.found(Cause::Clock, code),
            Action::ClockByFormat if call.arguments.len() == 1 => self.found(Cause::Clock, code),
            Action::ClockByWord if first_text(call).is_some_and(|text| text == "now" || text == "today") => {
                self.found(Cause::Clock, code);
            }
            Action::Nothing
            | Action::Generator
            | Action::ClockIfEmpty
            | Action::ClockByFormat
            | Action::ClockByWord => {}
        }
    }

    /// A method of an object that is not known, or a function of a module of which nothing is.
    fn method(&mut self, name: &str, path: Option<&str>, call: &ExprCall, code: String) {
        let is_of_module = path.is_some_and(|path| !path.contains("()") && path.contains('.'));
        match name {
            // Of pandas and polars; `rng.sample(xs, 3)` has a population.
            "sample" if call.arguments.args.len() <= 1 && !is_seeded(call) => {
                if self.has_seeds() {
                    self.drawn(Library::NumPy);
                } else {
                    self.draws(Library::NumPy, code);
                }
            }
            "rvs" if !is_seeded(call) => self.draws(Library::NumPy, code),
            "read_text" | "read_bytes" | "iterdir" | "rglob" => self.found(Cause::File, code),
            "from_pretrained" | "load_data" if is_of_module => self.found(Cause::Network, code),
            "DataLoader" if is_of_module && is_bool(call, "shuffle", true) && !is_seeded(call) => {
                self.draws(Library::Torch, code);
            }
            _ if SEED_ALL.contains(&name) => self.seeds(&Library::SEEDED, true),
            _ => {}
        }
    }

    /// Why an object that this expression makes gives something else each time.
    pub(super) fn made_by(&self, value: &Expr) -> Option<Cause> {
        let Expr::Call(call) = value else { return None };
        let path = self.path(&call.func)?;
        match lookup(&path)? {
            Action::Generator if !has_value(call) => Some(Cause::Random),
            _ if path == "random.SystemRandom" => Some(Cause::Random),
            _ if path == "itertools.count" => Some(Cause::Counter),
            // A generator of an unseeded bit generator was found there.
            _ => None,
        }
    }
}

/// Whether the first argument is there and not `None`.
fn has_value(call: &ExprCall) -> bool {
    let keyword = call.arguments.keywords.first().map(|keyword| &keyword.value);
    call.arguments.args.first().or(keyword).is_some_and(|value| !value.is_none_literal_expr())
}

fn is_seeded(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|keyword| {
        let is_seed = keyword.arg.as_ref().is_none_or(|name| SEEDS.contains(&name.as_str()));
        is_seed && !keyword.value.is_none_literal_expr()
    })
}

fn is_bool(call: &ExprCall, name: &str, value: bool) -> bool {
    let keyword = call.arguments.find_keyword(name);
    keyword.is_some_and(
        |keyword| matches!(&keyword.value, Expr::BooleanLiteral(literal) if literal.value == value),
    )
}

/// Whether `open` and its like only write.
fn writes(path: &str, call: &ExprCall) -> bool {
    let position = usize::from(!path.ends_with("Path().open"));
    let mode = call.arguments.find_argument_value("mode", position);
    path.rsplit(['.', '(']).next().is_some_and(|name| matches!(name, "open" | "ZipFile" | "File"))
        && matches!(mode, Some(Expr::StringLiteral(mode))
            if mode.value.to_str().starts_with(['w', 'a', 'x']) && !mode.value.to_str().contains('+'))
}

fn first_text(call: &ExprCall) -> Option<String> {
    let Expr::StringLiteral(text) = call.arguments.args.first()? else { return None };
    Some(text.value.to_str().to_owned())
}

fn is_url(text: &str) -> bool {
    ["http://", "https://", "ftp://", "s3://", "gs://", "hf://"].iter().any(|scheme| text.starts_with(scheme))
}
