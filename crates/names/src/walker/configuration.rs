//! How cells set and read what they share without a name in their code: the configuration of matplotlib and others, and what a display
//! shows.

use ruff_python_ast::{Expr, ExprCall, ExprDict};
use syntax::tree::{path_of, text_of};
use syntax::{Name, Resolved};

use super::Walker;
use crate::names::Repeat;
use crate::shared::{ARRAYS, CONFIGURATION, DISPLAY, FLOATS, INTERACTIVITY};

/// The names that people give to the modules which draw with it.
const DRAWING: [&str; 7] = ["plt", "sns", "mpl", "matplotlib", "pyplot", "pylab", "seaborn"];

impl Walker {
    /// After the parts of a call have been visited. Whether it sets the configuration, which is then all that it does to its module.
    pub(super) fn shares(&mut self, call: &ExprCall) -> bool {
        let path = path_of(&call.func);
        self.updates_display(&path, call);
        let [module, .., last] = &*path else { return false };
        if !self.draws_through(module) {
            return false;
        }
        let parts = parts_of_call(&path, call);
        let is_setting = !parts.is_empty();
        if is_setting {
            self.configure(parts);
        } else if !last.starts_with("get_") && !last.starts_with("load_") {
            self.read_shared(CONFIGURATION.to_owned());
        }
        is_setting
    }

    /// Whether the name is one of a module that draws with matplotlib.
    fn draws_through(&self, module: &str) -> bool {
        let is_known = DRAWING.contains(&module) || module == RC_PARAMS;
        is_known && self.scopes.resolve(module) == Resolved::Module
    }

    /// `plt.rcParams["font.size"] = 9`, whose target is given. Whether it is one.
    pub(super) fn configures_part(&mut self, target: &Expr) -> bool {
        let is_configuration = is_rc_params(target);
        if is_configuration {
            let part = target.as_subscript_expr().and_then(|part| text_of(&part.slice));
            self.configure(vec![part.unwrap_or_default()]);
        }
        is_configuration
    }

    /// `plt.rcParams["font.size"]`
    pub(super) fn reads_part(&mut self, expression: &Expr) {
        if expression.as_subscript_expr().is_some_and(|part| part.ctx.is_load() && is_rc_params(expression)) {
            self.read_shared(CONFIGURATION.to_owned());
        }
    }

    /// `%matplotlib inline`, `%config InlineBackend.figure_format = "svg"`.
    pub(super) fn configures_by_magic(&mut self, text: &str) {
        let mut words = text.split(|it: char| it.is_whitespace() || it == '=');
        match (words.next(), words.find(|word| !word.is_empty())) {
            (Some("matplotlib"), Some("inline" | "agg")) => self.configure(vec!["backend".to_owned()]),
            // With the others, figures stay open, and cells that run later go on to draw in them.
            (Some("matplotlib"), _) => {
                self.configure(vec!["backend".to_owned(), "open figures".to_owned()]);
            }
            (Some("precision"), _) => {
                self.change_shared(ARRAYS.to_owned(), vec!["precision".to_owned()]);
                self.change_shared(FLOATS.to_owned(), vec!["precision".to_owned()]);
            }
            (Some(magic @ ("env" | "set_env")), Some(_)) => {
                self.sets_environment_by_magic(&text[magic.len()..]);
            }
            (Some("config"), Some("InteractiveShell.ast_node_interactivity")) => {
                self.change_shared(INTERACTIVITY.to_owned(), vec!["ast_node_interactivity".to_owned()]);
            }
            (Some("config"), Some(part)) if part.starts_with("InlineBackend.") => {
                self.configure(vec![part.to_owned()]);
            }
            _ => {}
        }
    }

    fn configure(&mut self, parts: Vec<String>) {
        self.change_shared(CONFIGURATION.to_owned(), parts);
    }

    /// A display with an id shows what was displayed or updated last under the id.
    fn updates_display(&mut self, path: &[&str], call: &ExprCall) {
        let keyword = |name: &str| call.arguments.find_keyword(name).map(|keyword| &keyword.value);
        let id = match (path.last(), keyword("display_id")) {
            (Some(&("display" | "update_display")), Some(Expr::Name(name))) => name.id.to_string(),
            (Some(&("display" | "update_display")), Some(id)) => match text_of(id) {
                Some(text) => format!("'{text}'"),
                None => return,
            },
            _ => return,
        };
        let name = format!("{DISPLAY}{id}");
        if path.last() == Some(&"update_display") || keyword("update").is_some() {
            self.read_shared(name.clone());
        }
        self.change_shared(name, vec![String::new()]);
    }

    pub(super) fn read_shared(&mut self, name: Name) {
        self.effects().uses.insert(name.clone());
        self.effects().reads.insert(name);
    }

    pub(super) fn change_shared(&mut self, name: Name, parts: Vec<String>) {
        self.repeats(&name, Repeat::Same);
        let effects = self.effects();
        effects.parts.entry(name.clone()).or_default().extend(parts);
        effects.changes.insert(name);
    }
}

const RC_PARAMS: &str = "rcParams";

/// The parts of the configuration that a call through a module sets. All styles count as one part.
fn parts_of_call(path: &[&str], call: &ExprCall) -> Vec<String> {
    let parts: &[&str] = match path {
        [.., RC_PARAMS, "update"] => return parts_of_update(call),
        [_, "rc"] => return parts_of_group(call),
        [_, "use" | "switch_backend"] => &["backend"],
        [_, "ion" | "ioff"] => &["interactive"],
        [.., "style", "use"] | [_, "set_style"] => &["style"],
        [_, "set_palette"] => &["palette"],
        [_, "set_context"] => &["context"],
        [
            _,
            "set_theme" | "rcdefaults" | "rc_file" | "rc_file_defaults" | "reset_defaults" | "reset_orig",
        ]
        | ["sns" | "seaborn", "set"] => &["style", "palette", "context"],
        _ => &[],
    };
    parts.iter().map(ToString::to_string).collect()
}

/// Of `rcParams.update({"font.size": 9})`.
fn parts_of_update(call: &ExprCall) -> Vec<String> {
    match call.arguments.args.first() {
        Some(Expr::Dict(ExprDict { items, .. })) => {
            items.iter().map(|item| item.key.as_ref().and_then(text_of).unwrap_or_default()).collect()
        }
        _ => vec![String::new()],
    }
}

/// Of `plt.rc("font", size=9)`.
fn parts_of_group(call: &ExprCall) -> Vec<String> {
    let group = call.arguments.args.first().and_then(text_of).unwrap_or_default();
    let keywords = call.arguments.keywords.iter();
    let mut parts: Vec<String> =
        keywords.filter_map(|keyword| keyword.arg.as_ref()).map(|key| format!("{group}.{key}")).collect();
    if parts.is_empty() {
        parts.push(group);
    }
    parts
}

/// Whether an expression is, or is a part of, `rcParams`.
fn is_rc_params(expression: &Expr) -> bool {
    match expression {
        Expr::Name(name) => name.id.as_str() == RC_PARAMS,
        Expr::Attribute(attribute) => attribute.attr.as_str() == RC_PARAMS,
        Expr::Subscript(subscript) => is_rc_params(&subscript.value),
        _ => false,
    }
}
