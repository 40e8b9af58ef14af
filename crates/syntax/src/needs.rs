//! Needs of a cell from its surroundings: modules, attributes of modules, files.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{ExceptHandler, Expr, ExprCall, ExprContext, Parameter, Pattern, Stmt};

use crate::magics;
use crate::parse::{bounded, with_statements};
use crate::tree::{captured, imported, is_suppressing, path_of, text_of};
use crate::{Name, NameSet};

/// What a cell of Python needs, also in its functions: not where a branch may leave it out, or an error is handled.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Needs {
    /// The modules that it imports. Those of its own package (`from . import x`) are left out.
    pub modules: BTreeSet<String>,
    /// The names that it imports, with the module or the member of a module that each stands for: `np` for `numpy`.
    pub imports: BTreeSet<(Name, String)>,
    /// The members that it imports from modules: `numpy.linalg.norm`.
    pub members: BTreeSet<String>,
    /// The names that it binds in other ways, anywhere.
    pub bound: NameSet,
    /// The attributes that it reads of names: `np.linalg.norm`.
    pub attributes: BTreeSet<String>,
    /// The attributes that it may set, or asks for.
    pub set: BTreeSet<String>,
    /// The files that it reads, named by a text.
    pub files: BTreeSet<String>,
    /// All texts that name a file to calls that surely read it, also where a branch may leave them out.
    pub reads: Vec<String>,
    /// Whether it may write a file whose name is not in its text.
    pub writes_files: bool,
    is_guarded: bool,
}

impl Needs {
    /// Those of a cell with this source. Of one that cannot be read, nothing is known.
    pub fn of_cell(source: &str) -> Self {
        let body = match magics::split(source) {
            magics::Cell::Python { body, .. } => body,
            magics::Cell::Blank => "",
            magics::Cell::Other { .. } => return Self { writes_files: true, ..Self::default() },
        };
        let walk = || {
            let mut needs = Self::default();
            let _ = with_statements(body, |statements| needs.visit_body(statements));
            needs
        };
        bounded(body, walk).unwrap_or_default()
    }

    fn guarded(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.is_guarded, true);
        visit(self);
        self.is_guarded = before;
    }

    fn import(&mut self, name: &str, target: String) {
        self.imports.insert((name.to_owned(), target));
    }

    fn call(&mut self, call: &ExprCall) {
        let path = path_of(&call.func);
        let Some(function) = path.last() else { return };
        let arguments = &call.arguments;
        let text = |at: usize| arguments.args.get(at).and_then(text_of);
        if let ("setattr" | "hasattr" | "getattr" | "delattr", Some(Expr::Name(object)), Some(name)) =
            (*function, arguments.args.first(), text(1))
        {
            self.set.insert(format!("{}.{name}", object.id));
        }
        let named = ["filepath_or_buffer", "file", "filename", "fname", "path", "source"];
        let file =
            text(0).or_else(|| named.iter().find_map(|name| text_of(&arguments.find_keyword(name)?.value)));
        let is_reading = match *function {
            "open" => {
                let is_for_files = matches!(*path, [_] | ["io" | "codecs" | "gzip" | "bz2" | "Image", _]);
                let has_more = arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
                let mode = arguments.find_argument_value("mode", 1);
                let is_read = |mode: String| mode.starts_with('r') && !mode.contains('+');
                is_for_files && !has_more && mode.is_none_or(|mode| text_of(mode).is_some_and(is_read))
            }
            "read_sql" | "read_sql_query" | "read_clipboard" => false,
            name => {
                name.starts_with("read_") || name.starts_with("scan_") || READERS.lines().any(|it| it == name)
            }
        };
        match file.filter(|file| is_file(file)) {
            Some(file) if is_reading => {
                self.reads.push(file.clone());
                self.files.extend((!self.is_guarded).then_some(file));
            }
            Some(_) => {}
            None => {
                self.writes_files |= *function == "open" && !is_reading && !arguments.is_empty()
                    || WRITERS.lines().any(|start| function.starts_with(start));
            }
        }
    }
}

/// Functions that read a file, besides those whose names begin with `read_`.
const READERS: &str = include_str!("needs/readers.txt");
/// Prefixes of names of functions that write files.
const WRITERS: &str = include_str!("needs/writers.txt");

/// Whether a text names a file in a folder: with an ending, no address, no pattern, and not from the root.
fn is_file(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or_default();
    let (stem, ending) = name.rsplit_once('.').unwrap_or_default();
    let is_ending = (1..=8).contains(&ending.len()) && ending.bytes().all(|it| it.is_ascii_alphanumeric());
    let is_plain = !text.contains([':', '*', '?', '[', '{', '<', '>', '$', '%', '~', '\\', '\n', '|', ',']);
    is_ending && is_plain && !stem.trim().is_empty() && !text.starts_with(['/', ' ']) && text.len() < 200
}

/// The modules that a cell of Python imports, as [`Needs`] has them.
pub fn imported_modules(source: &str) -> BTreeSet<String> {
    Needs::of_cell(source).modules
}

impl<'a> Visitor<'a> for Needs {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = alias.name.as_str();
                    // `import a.b` binds `a`.
                    let target = if alias.asname.is_some() { module } else { imported(alias) };
                    self.import(imported(alias), target.to_owned());
                    if !self.is_guarded {
                        self.modules.insert(module.to_owned());
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().filter(|_| import.level == 0);
                for alias in &import.names {
                    match module {
                        Some(module) if &alias.name != "*" => {
                            let member = format!("{module}.{}", alias.name);
                            self.import(imported(alias), member.clone());
                            if !self.is_guarded {
                                self.members.insert(member);
                            }
                        }
                        _ => drop(self.bound.insert(imported(alias).to_owned())),
                    }
                }
                self.modules.extend(module.filter(|_| !self.is_guarded).map(ToString::to_string));
            }
            Stmt::With(block) if is_suppressing(block) => {
                self.guarded(|it| visitor::walk_stmt(it, statement));
            }
            Stmt::Try(block) if !block.handlers.is_empty() => {
                self.guarded(|it| visitor::walk_stmt(it, statement));
            }
            Stmt::If(_) | Stmt::While(_) | Stmt::Match(_) => {
                self.guarded(|it| visitor::walk_stmt(it, statement));
            }
            _ => {
                if let Stmt::FunctionDef(ruff_python_ast::StmtFunctionDef { name, .. })
                | Stmt::ClassDef(ruff_python_ast::StmtClassDef { name, .. }) = statement
                {
                    self.bound.insert(name.to_string());
                }
                visitor::walk_stmt(self, statement);
            }
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx != ExprContext::Load => drop(self.bound.insert(name.id.to_string())),
            Expr::Attribute(attribute) if root_of(expression).is_name_expr() => {
                let path = path_of(expression).join(".");
                if attribute.ctx != ExprContext::Load {
                    self.set.insert(path);
                } else if !self.is_guarded {
                    self.attributes.insert(path);
                }
            }
            Expr::If(_) | Expr::BoolOp(_) => self.guarded(|it| visitor::walk_expr(it, expression)),
            Expr::Call(call) => {
                self.call(call);
                visitor::walk_expr(self, expression);
            }
            _ => visitor::walk_expr(self, expression),
        }
    }

    /// Annotations are often not evaluated.
    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.bound.insert(parameter.name.to_string());
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        self.bound.extend(inner.name.iter().map(ToString::to_string));
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.bound.extend(captured(pattern).map(ToString::to_string));
        visitor::walk_pattern(self, pattern);
    }
}

fn root_of(expression: &Expr) -> &Expr {
    match expression {
        Expr::Attribute(attribute) => root_of(&attribute.value),
        other => other,
    }
}
