//! Calls that may change an object, or do what cannot be known.

use ruff_python_ast::{Expr, ExprAttribute, ExprCall};
use syntax::tree::{path_of, text_of};
use syntax::{Name, Resolved, Unknown, magics, may_vary};

use super::Walker;
use super::aliases::is_drawn_on;
use super::changes::{keys_of_method, of_method};
use super::expressions::{last, root};
use super::reading::{is_in_place, is_reading};
use crate::methods::has_word;
use crate::names::{Argument, Change, ObjectUse, Passed, Repeat};
use crate::shared::attribute;

impl Walker {
    /// After its parts have been visited.
    pub(super) fn call(&mut self, call: &ExprCall, is_discarded: bool) {
        self.varies(call);
        self.uses_files(call);
        if self.uses_settings(call) {
            return;
        }
        self.writes_into_arguments(call);
        self.draws_on_arguments(call);
        match last(call) {
            "var" | "init_session" => self.names_in_text(call),
            "shuffle" => self.may_change_first(call),
            _ => {}
        }
        match &*call.func {
            Expr::Name(function) => {
                self.call_of_function(&function.id, call);
            }
            Expr::Attribute(method) if is_ipython(&method.value) && runs_code(&method.attr) => {
                self.collect(Err(dynamic(&format!("get_ipython().{}", method.attr))));
            }
            Expr::Attribute(method) => {
                self.names_in_query(method.attr.as_str(), call);
                let repeat = of_method(call, method, is_discarded);
                let is_own = self.is_own_method(method);
                // `groups.setdefault(key, []).append(x)`
                let through_call = || root_of_part(&method.value).filter(|_| repeat.is_some());
                let Some(root) = root(&method.value).or_else(through_call) else { return };
                let (whole, name) = (self.whole(root), self.original(root));
                let is_sure = repeat.is_some() || is_in_place(call) || changes_items(&method.attr);
                let is_drawing = [root, &whole].into_iter().any(is_drawn_on);
                let name = if is_sure || is_drawing { whole.clone() } else { name };
                let draws = is_drawing && DRAWING.contains(&method.attr.as_str());
                let only_reads = is_reading(call, method, is_discarded) && !draws;
                if DRAWING.contains(&method.attr.as_str()) && !draws {
                    self.use_object(&whole, ObjectUse::Draw);
                }
                if (is_in_place(call) || !only_reads) && !is_own {
                    self.change_parameter(&whole);
                }
                if !self.is_from_outside(&name) {
                    return;
                }
                if let Some(repeat) = repeat.or(is_in_place(call).then_some(Repeat::Unknown)) {
                    let (keys, part) = (keys_of_method(call, &method.attr), self.text(call));
                    self.change_name(&name, Change { keys, ..Change::sure(repeat).part(part) });
                } else if has_word(SETTINGS, &method.attr) {
                    self.change_name(&name, Change::sure(Repeat::Same).part(setting_of(method, call)));
                } else if !only_reads {
                    if sets_options(method) {
                        let change = Change::unsure().part(self.text(call));
                        self.effects().change(&name, change);
                    }
                    self.call_of_method(name, method, ObjectUse::Method);
                } else if !MODULES.contains(&root) {
                    self.call_of_method(name, method, ObjectUse::Reading);
                }
            }
            _ => {}
        }
    }

    /// `df.query("a > @limit")` reads `limit`, `pd.eval("x * 2")` reads `x`, and the formula `"y ~ scaled(x)"` calls `scaled`. Other names
    /// in them are columns.
    fn names_in_query(&mut self, method: &str, call: &ExprCall) {
        let Some(text) = call.arguments.args.first().and_then(text_of) else { return };
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let is_of_module = matches!(path_of(&call.func)[..], ["pd" | "pandas" | "ne" | "numexpr", _]);
        let names: Vec<&str> = match method {
            "eval" | "evaluate" if is_of_module => magics::words(&text).collect(),
            "query" | "eval" => {
                text.split('@').skip(1).filter_map(|after| after.split(|it| !is_word(it)).next()).collect()
            }
            _ if text.contains('~') => {
                let called = text.rsplit_once('(').map_or("", |(called, _)| called);
                called.split('(').filter_map(|before| before.rsplit(|it| !is_word(it)).next()).collect()
            }
            _ => return,
        };
        let names = names.into_iter().filter(|name| !name.is_empty());
        self.tolerant(|walker| names.for_each(|name| walker.read(name)));
    }

    /// Notes a call that may give another result each time.
    fn varies(&mut self, call: &ExprCall) {
        if may_vary(&path_of(&call.func)) {
            self.effects().varies = true;
        }
    }

    /// `var("x y")` of `SymPy` binds `x` and `y`.
    fn names_in_text(&mut self, call: &ExprCall) {
        for argument in &call.arguments.args {
            if let Expr::StringLiteral(text) = argument {
                self.names.may_bind(text.value.to_str());
            }
        }
    }

    fn call_of_function(&mut self, name: &str, call: &ExprCall) {
        if self.scopes.resolve(name) != Resolved::Module {
            return;
        }
        self.use_object(name, ObjectUse::Reading(attribute("__call__")));
        self.pass(name, call);
        if self.has_defined(name) {
            return;
        }
        let is_dynamic = match name {
            "exec" | "eval" | "globals" | "execfile" => true,
            // Of a function, these are its own.
            "locals" | "vars" => self.functions == 0 && call.arguments.args.is_empty(),
            _ => false,
        };
        if is_dynamic {
            self.collect(Err(dynamic(name)));
        }
        match (name, call.arguments.args.first()) {
            ("setattr" | "delattr", Some(part)) => self.change(part),
            ("next", Some(part)) if !part.is_name_expr() => {
                let code = self.text(part).to_owned();
                self.change_part(part, Change::sure(Repeat::Differs).part(code));
            }
            _ => {}
        }
    }

    /// The class of an object may say what its method does.
    fn call_of_method(&mut self, name: Name, method: &ExprAttribute, how: fn(u32) -> ObjectUse) {
        let how = how(attribute(&method.attr));
        if method.value.as_name_expr().is_some_and(|object| self.original(&object.id) == name) {
            self.effects().object_uses.insert((name, how));
        } else if matches!(how, ObjectUse::Method(_)) {
            self.effects().change(&name, Change::unsure());
        }
    }

    /// `random.shuffle(xs)`; of other classes, a method of this name may do something else.
    fn may_change_first(&mut self, call: &ExprCall) {
        let Some(name) = call.arguments.args.first().and_then(root) else { return };
        let name = self.original(name);
        self.change_name(&name, Change::unsure());
        self.change_parameter(&name);
    }

    /// Remembers which names a function gets.
    fn pass(&mut self, function: &str, call: &ExprCall) {
        let by_position = call.arguments.args.iter().enumerate();
        let by_position = by_position.take_while(|(_, argument)| !argument.is_starred_expr());
        let by_position = by_position.map(|(position, value)| (Argument::Position(position), value));
        let by_keyword = call.arguments.keywords.iter().filter_map(|keyword| {
            Some((Argument::Keyword(keyword.arg.as_ref()?.to_string()), &keyword.value))
        });
        for (argument, value) in by_position.chain(by_keyword) {
            let Some(name) = root(value) else { continue };
            let passed = Passed { name: self.whole(name), function: function.to_owned(), argument };
            if self.is_from_outside(&passed.name) {
                self.effects().passes.insert(passed);
            } else if self.is_parameter(&passed.name) {
                self.deferred.passed_parameters.insert(passed);
            }
        }
    }
}

/// Whether a method changes the items of an object of which it is called. Most others only read.
fn changes_items(method: &str) -> bool {
    TRAINING.contains(&method) || method.starts_with("set_")
}

/// Modules of which cells call functions most. None is an object of a class of the notebook.
const MODULES: [&str; 9] = ["np", "pd", "plt", "sns", "tf", "torch", "pl", "os", "math"];

/// Methods of models that change them.
const TRAINING: [&str; 6] =
    ["fit", "fit_transform", "fit_predict", "partial_fit", "train", "load_state_dict"];

/// Functions that change the settings of their module.
const SETTINGS: &str = "set_printoptions set_option reset_option set_loglevel set_default_dtype filterwarnings simplefilter seterr \
    basicConfig register_formatter";

/// Whether a function of a module looks as if it sets options, of which nothing else is known: `pl.Config.set_tbl_rows(5)`.
fn sets_options(method: &ExprAttribute) -> bool {
    let is_word =
        |word: &str| matches!(word.to_ascii_lowercase().as_str(), "config" | "options" | "settings");
    let name = method.attr.as_str();
    // Seeds and random states are followed by themselves.
    let is_setter =
        ["set", "reset_", "enable_", "disable_", "configure"].iter().any(|start| name.starts_with(start))
            && !matches!(name, "setdefault" | "setup" | "setp" | "setdiff1d" | "setxor1d");
    is_setter && !name.contains("state") && !name.contains("seed")
        || path_of(&method.value).into_iter().chain([name]).any(is_word)
}

/// The part that a call sets: another call with the same keywords sets it again.
fn setting_of(method: &ExprAttribute, call: &ExprCall) -> String {
    let mut keywords: Vec<&str> =
        call.arguments.keywords.iter().filter_map(|keyword| Some(keyword.arg.as_ref()?.as_str())).collect();
    keywords.sort_unstable();
    format!("{}({})", method.attr, keywords.join(", "))
}

/// The root of an object a part of which a call gives.
fn root_of_part(value: &Expr) -> Option<&str> {
    let Expr::Call(call) = value else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    matches!(method.attr.as_str(), "get" | "setdefault").then(|| root(&method.value)).flatten()
}

/// Methods that draw on objects of matplotlib, and only read from data.
const DRAWING: [&str; 4] = ["plot", "hist", "title", "clip"];

fn dynamic(by: &str) -> Unknown {
    Unknown::DynamicCode { by: format!("{by}()") }
}

/// `get_ipython()`
fn is_ipython(value: &Expr) -> bool {
    let Expr::Call(call) = value else { return false };
    matches!(&*call.func, Expr::Name(function) if function.id.as_str() == "get_ipython")
}

fn runs_code(method: &str) -> bool {
    method.starts_with("run_")
        || matches!(method, "ex" | "ev" | "magic" | "push" | "reset" | "drop_by_id" | "safe_execfile")
}
