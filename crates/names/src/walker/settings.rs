//! Settings and other state that cells set and read without a name for it: of libraries, of the environment, and of displays.

use ruff_python_ast::{Expr, ExprCall};
use syntax::Resolved;
use syntax::tree::{path_of, text_of};

use super::Walker;
use crate::methods::has_word;
use crate::names::{Change, Repeat};
use crate::shared::{ARRAYS, CONFIGURATION, DISPLAY, ENVIRONMENT, FLOATS, FRAMES, INTERACTIVITY, LOGS};

/// The names that people give to modules which draw with matplotlib.
const DRAWING: &str = "plt sns mpl matplotlib pyplot pylab seaborn rcParams";
const NUMPY: &str = "np numpy";
const PANDAS: &str = "pd pandas";
const INTERACTIVITY_PART: &str = "ast_node_interactivity";
/// Prefix of the options of pandas that only change how it shows things.
const SHOWING: &str = "display.";

/// The parts of a setting that a call sets.
#[derive(Clone, Copy)]
enum Parts {
    /// It only reads.
    None,
    Fixed(&'static str),
    /// The names of its keywords: `set_printoptions(precision=3)`.
    Keywords,
    /// `rc("font", size=9)`
    Group,
    /// `rcParams.update({"font.size": 9})`
    Keys,
    /// `set_option("display.max_rows", 5, "display.width", 80)`
    Options,
    /// The part that has the name of the function.
    Own,
    /// Each call sets another part.
    Text,
}

/// Calls that set and read settings: the setting, the names of the modules, the functions by the ends of their paths, the parts.
const CALLS: &[(&str, &str, &str, Parts)] = &[
    (CONFIGURATION, DRAWING, "update", Parts::Keys),
    (CONFIGURATION, DRAWING, "rc", Parts::Group),
    (CONFIGURATION, DRAWING, "style.use set_style", Parts::Fixed("style")),
    (CONFIGURATION, DRAWING, "use switch_backend", Parts::Fixed("backend")),
    (CONFIGURATION, DRAWING, "ion ioff", Parts::Fixed("interactive")),
    (CONFIGURATION, DRAWING, "set_palette", Parts::Fixed("palette")),
    (CONFIGURATION, DRAWING, "set_context", Parts::Fixed("context")),
    (
        CONFIGURATION,
        DRAWING,
        "set_theme rcdefaults rc_file rc_file_defaults reset_defaults reset_orig",
        Parts::Fixed("style palette context"),
    ),
    (CONFIGURATION, "sns seaborn", "set", Parts::Fixed("style palette context")),
    (ARRAYS, NUMPY, "set_printoptions", Parts::Keywords),
    (ARRAYS, NUMPY, "get_printoptions", Parts::None),
    (FRAMES, PANDAS, "set_option reset_option", Parts::Options),
    (FRAMES, PANDAS, "get_option describe_option", Parts::None),
    (LOGS, "logging", "basicConfig dictConfig fileConfig disable captureWarnings", Parts::Own),
    (ENVIRONMENT, "os", "getenv environ.get environ.items environ.copy environ.keys", Parts::None),
];
/// The same for methods of loggers.
const OF_LOGGERS: &[(&str, Parts)] = &[
    ("setLevel", Parts::Own),
    ("addHandler removeHandler addFilter removeFilter", Parts::Text),
    ("debug info warning error exception critical log isEnabledFor getEffectiveLevel", Parts::None),
];

impl Walker {
    /// After the parts of a call have been visited. Whether it sets or reads settings, which is then all that it does to its object.
    pub(super) fn uses_settings(&mut self, call: &ExprCall) -> bool {
        let path = path_of(&call.func);
        self.updates_display(&path, call);
        let [module, .., last] = &*path else { return false };
        if self.scopes.resolve(module) != Resolved::Module {
            return false;
        }
        let Some((setting, parts)) = setting_of_call(&path) else {
            if has_word(DRAWING, module) && !last.starts_with("get_") && !last.starts_with("load_") {
                self.read_shared(CONFIGURATION);
            }
            return false;
        };
        let parts = self.parts(call, &path, parts);
        if setting == FRAMES
            && has_word(PANDAS, module)
            && parts.iter().any(|part| !part.starts_with(SHOWING))
        {
            return false;
        }
        if parts.is_empty() {
            self.read_shared(setting);
        } else {
            self.change_shared(setting, parts);
        }
        true
    }

    fn parts(&self, call: &ExprCall, path: &[&str], parts: Parts) -> Vec<String> {
        let first = call.arguments.args.first();
        let or_all = |parts: Vec<String>| if parts.is_empty() { vec![String::new()] } else { parts };
        let keywords =
            || call.arguments.keywords.iter().filter_map(|keyword| Some(keyword.arg.as_ref()?.as_str()));
        match parts {
            Parts::None => Vec::new(),
            Parts::Fixed(parts) => parts.split(' ').map(ToOwned::to_owned).collect(),
            Parts::Keywords => or_all(keywords().map(ToOwned::to_owned).collect()),
            Parts::Group => {
                let group = first.and_then(text_of).unwrap_or_default();
                or_all(keywords().map(|key| format!("{group}.{key}")).collect())
            }
            Parts::Keys => {
                let items = first.and_then(Expr::as_dict_expr).into_iter().flat_map(|dict| &dict.items);
                or_all(items.map(|item| item.key.as_ref().and_then(text_of).unwrap_or_default()).collect())
            }
            Parts::Options => {
                let names = call.arguments.args.iter().step_by(2);
                let names = names.map(|name| text_of(name).unwrap_or_default());
                // pandas completes `max_rows`.
                names.map(|name| if name.contains('.') { name } else { format!("{SHOWING}{name}") }).collect()
            }
            Parts::Own => vec![path.join(".")],
            Parts::Text => vec![self.text(call).to_owned()],
        }
    }

    /// `plt.rcParams["font.size"] = 9`, whose target is given. Whether that is all that it does.
    pub(super) fn sets_setting(&mut self, target: &Expr) -> bool {
        let Some((setting, part)) = setting_of_part(target) else { return false };
        self.change_shared(setting, vec![part]);
        // `os.environ["NAME"] = "value"` also changes `os`.
        setting != ENVIRONMENT
    }

    /// `plt.rcParams["font.size"]`
    pub(super) fn reads_setting(&mut self, expression: &Expr) {
        if let Some((setting, _)) = setting_of_part(expression) {
            self.read_shared(setting);
        }
    }

    /// `%matplotlib inline`, `%config InlineBackend.figure_format = "svg"`, `%env NAME=value`.
    pub(super) fn sets_by_magic(&mut self, text: &str) {
        let mut words =
            text.split(|it: char| it.is_whitespace() || it == '=').filter(|word| !word.is_empty());
        let (magic, argument) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let settings: &[(&str, &str)] = match (magic, argument) {
            ("matplotlib", "inline" | "agg") => &[(CONFIGURATION, "backend")],
            // With the others, figures stay open, and cells that run later go on to draw in them.
            ("matplotlib", _) => &[(CONFIGURATION, "backend"), (CONFIGURATION, "open figures")],
            ("precision", _) => &[(ARRAYS, "precision"), (FLOATS, "precision")],
            // Without a value, it is shown.
            ("env" | "set_env", name) if words.next().is_none() => {
                if !name.is_empty() {
                    self.read_shared(ENVIRONMENT);
                }
                &[]
            }
            ("env" | "set_env", name) => &[(ENVIRONMENT, name)],
            ("config", "InteractiveShell.ast_node_interactivity") => &[(INTERACTIVITY, INTERACTIVITY_PART)],
            ("config", part) if part.starts_with("InlineBackend.") => &[(CONFIGURATION, part)],
            _ => &[],
        };
        for (setting, part) in settings {
            self.change_shared(setting, vec![(*part).to_owned()]);
        }
    }

    /// A display with an id shows what was displayed or updated last under the id.
    fn updates_display(&mut self, path: &[&str], call: &ExprCall) {
        let keyword = |name: &str| call.arguments.find_keyword(name).map(|keyword| &keyword.value);
        let Some(function @ ("display" | "update_display")) = path.last().copied() else { return };
        let id = match keyword("display_id") {
            Some(Expr::Name(name)) => name.id.to_string(),
            Some(Expr::StringLiteral(text)) => format!("'{}'", text.value.to_str()),
            _ => return,
        };
        let name = format!("{DISPLAY}{id}");
        if function == "update_display" || keyword("update").is_some() {
            self.read_shared(&name);
        }
        self.change_shared(&name, vec![String::new()]);
    }

    pub(super) fn read_shared(&mut self, name: &str) {
        self.effects().uses.insert(name.to_owned());
        self.effects().reads.insert(name.to_owned());
    }

    pub(super) fn change_shared(&mut self, name: &str, parts: Vec<String>) {
        let parts = parts.into_iter().collect();
        self.effects().change(name, Change { parts, ..Change::sure(Repeat::Same) });
    }
}

/// The setting that a call of a function with this path sets or reads.
fn setting_of_call(path: &[&str]) -> Option<(&'static str, Parts)> {
    let (module, rest) = path.split_first()?;
    let (last, last_two) = (*rest.last()?, rest[rest.len().saturating_sub(2)..].join("."));
    let is_one = |functions: &str| has_word(functions, &last_two) || has_word(functions, last);
    if matches!(*module, "pl" | "polars") && rest.len() > 1 && rest[0] == "Config" {
        return Some((FRAMES, Parts::Own));
    }
    let is_meant = |(_, modules, functions, _): &&(&str, &str, &str, Parts)| {
        has_word(modules, module) && is_one(functions)
    };
    let of_module = CALLS.iter().find(is_meant).map(|(setting, .., parts)| (*setting, *parts));
    let of_logger = || OF_LOGGERS.iter().find(|(functions, _)| is_logger(module) && is_one(functions));
    of_module.or_else(|| of_logger().map(|(_, parts)| (LOGS, *parts)))
}

/// The setting that an expression is a part of, and the part.
pub(super) fn setting_of_part(expression: &Expr) -> Option<(&'static str, String)> {
    let (path, key) = match expression {
        Expr::Subscript(part) => (path_of(&part.value), Some(text_of(&part.slice).unwrap_or_default())),
        Expr::Attribute(_) => (path_of(expression), None),
        _ => return None,
    };
    match (&*path, key) {
        ([.., "rcParams"], Some(key)) => Some((CONFIGURATION, key)),
        (["os", "environ"] | ["environ"], Some(key)) => Some((ENVIRONMENT, key)),
        (["pd" | "pandas", "options", "display", name], None) => Some((FRAMES, format!("{SHOWING}{name}"))),
        ([.., INTERACTIVITY_PART], None) => Some((INTERACTIVITY, INTERACTIVITY_PART.to_owned())),
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
