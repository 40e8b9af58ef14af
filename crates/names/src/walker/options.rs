//! Options that change what cells below show, though nothing names them there: how `NumPy` prints arrays, how pandas shows frames, and
//! what loggers write.

use ruff_python_ast::{Expr, ExprCall, ExprSubscript};
use syntax::Resolved;
use syntax::tree::{path_of, text_of};

use super::Walker;
use crate::shared::{ARRAYS, ENVIRONMENT, FRAMES, INTERACTIVITY, LOGS};

const INTERACTIVITY_PART: &str = "ast_node_interactivity";
/// How the options of pandas start that only change how it shows things.
const DISPLAY: &str = "display.";

impl Walker {
    /// After the parts of a call have been visited. Whether it sets or reads options, which is then all that it does to its object.
    pub(super) fn options(&mut self, call: &ExprCall) -> bool {
        let path = path_of(&call.func);
        let (Some(object), Some(last)) = (path.first(), path.last()) else { return false };
        if path.len() < 2 || self.scopes.resolve(object) != Resolved::Module {
            return false;
        }
        let (options, parts) = match (*object, *last) {
            ("np" | "numpy", "set_printoptions") => (ARRAYS, keywords(call)),
            ("np" | "numpy", "get_printoptions") => (ARRAYS, Vec::new()),
            ("pd" | "pandas", "set_option" | "reset_option") => (FRAMES, named(call)),
            ("pd" | "pandas", "get_option" | "describe_option") => (FRAMES, Vec::new()),
            ("pl" | "polars", _) if path[1] == "Config" => (FRAMES, vec![(*last).to_owned()]),
            ("logging", "basicConfig" | "dictConfig" | "fileConfig" | "disable" | "captureWarnings") => {
                (LOGS, vec![(*last).to_owned()])
            }
            ("os", "getenv") => (ENVIRONMENT, Vec::new()),
            ("os", "get" | "items" | "copy" | "keys") if path[1] == "environ" => (ENVIRONMENT, Vec::new()),
            (name, "setLevel") if is_logger(name) => (LOGS, vec![format!("{name}.{last}")]),
            (name, "addHandler" | "removeHandler" | "addFilter" | "removeFilter") if is_logger(name) => {
                (LOGS, vec![self.text(call).to_owned()])
            }
            (
                name,
                "debug" | "info" | "warning" | "error" | "exception" | "critical" | "log" | "isEnabledFor"
                | "getEffectiveLevel",
            ) if is_logger(name) => (LOGS, Vec::new()),
            _ => return false,
        };
        if options == FRAMES && path[0] != "pl" && parts.iter().any(|part| !part.starts_with(DISPLAY)) {
            return false;
        }
        if parts.is_empty() {
            self.read_shared(options.to_owned());
        } else {
            self.change_shared(options.to_owned(), parts);
        }
        true
    }

    /// `pd.options.display.precision = 3`, whose target is given. Whether it is one.
    pub(super) fn sets_option(&mut self, target: &Expr) -> bool {
        if path_of(target).last() == Some(&INTERACTIVITY_PART) {
            self.change_shared(INTERACTIVITY.to_owned(), vec![INTERACTIVITY_PART.to_owned()]);
            return true;
        }
        let part = option_of(target);
        if let Some(part) = &part {
            self.change_shared(FRAMES.to_owned(), vec![part.clone()]);
        }
        part.is_some()
    }

    /// `pd.options.display.precision`
    pub(super) fn reads_option(&mut self, expression: &Expr) {
        let is_read = expression.as_attribute_expr().is_some_and(|part| part.ctx.is_load());
        if is_read && option_of(expression).is_some() {
            self.read_shared(FRAMES.to_owned());
        }
    }
}

impl Walker {
    /// `%env NAME=value`, `%set_env NAME value`; without a value, it is shown.
    pub(super) fn sets_environment_by_magic(&mut self, text: &str) {
        let text = text.trim();
        match text.split_once(|it: char| it == '=' || it.is_whitespace()) {
            Some((name, _)) => self.change_shared(ENVIRONMENT.to_owned(), vec![name.to_owned()]),
            None => self.read_shared(ENVIRONMENT.to_owned()),
        }
    }

    /// `os.environ["NAME"] = "value"`, whose target is given.
    pub(super) fn sets_environment(&mut self, target: &Expr) {
        if let Some(part) = variable_of(target) {
            self.change_shared(ENVIRONMENT.to_owned(), vec![text_of(&part.slice).unwrap_or_default()]);
        }
    }

    /// `os.environ["NAME"]`
    pub(super) fn reads_environment(&mut self, expression: &Expr) {
        if variable_of(expression).is_some_and(|part| part.ctx.is_load()) {
            self.read_shared(ENVIRONMENT.to_owned());
        }
    }
}

fn variable_of(part: &Expr) -> Option<&ExprSubscript> {
    part.as_subscript_expr()
        .filter(|part| matches!(path_of(&part.value)[..], ["os", "environ"] | ["environ"]))
}

fn option_of(part: &Expr) -> Option<String> {
    match path_of(part)[..] {
        ["pd" | "pandas", "options", "display", name] => Some(format!("{DISPLAY}{name}")),
        _ => None,
    }
}

/// Whether a name is one that people give to loggers.
fn is_logger(name: &str) -> bool {
    matches!(name, "logging" | "LOG" | "LOGGER")
        || name.starts_with("log")
        || name.ends_with("logger")
        || name.ends_with("log")
}

/// Of `np.set_printoptions(precision=3)`.
fn keywords(call: &ExprCall) -> Vec<String> {
    let names = call.arguments.keywords.iter().filter_map(|keyword| keyword.arg.as_ref());
    let parts: Vec<String> = names.map(ToString::to_string).collect();
    if parts.is_empty() { vec!["precision".to_owned()] } else { parts }
}

/// Of `pd.set_option("display.max_rows", 5, "display.width", 80)`.
fn named(call: &ExprCall) -> Vec<String> {
    let names = call.arguments.args.iter().step_by(2).map(|name| text_of(name).unwrap_or_default());
    // pandas completes `max_rows`.
    names.map(|name| if name.contains('.') { name } else { format!("{DISPLAY}{name}") }).collect()
}
