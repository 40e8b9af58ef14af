//! Files that cells write and read: each counts as an object that they share, under the name or the expression that the code has for it.

use ruff_python_ast::{ArgOrKeyword, Expr, ExprCall};
use syntax::Name;
use syntax::tree::path_of;

use super::Walker;
use super::expressions::{last, root};
use super::reading::is_writing;
use crate::names::Change;
use crate::shared::FILE;

/// A longer text is no name of a file, in bytes.
const MAX_NAME: usize = 200;

impl Walker {
    /// After the parts of a call have been visited.
    pub(super) fn uses_files(&mut self, call: &ExprCall) {
        let function = last(call);
        let values = || call.arguments.iter_source_order().map(ArgOrKeyword::value);
        let is_open = matches!(function, "open" | "ZipFile" | "File");
        let writes = if is_open {
            values().any(is_writing)
        } else {
            WRITING.iter().any(|it| function.starts_with(it))
        };
        let reads = is_open || READING.iter().any(|it| function.starts_with(it));
        let object = call.func.as_attribute_expr().map(|method| &*method.value);
        // `Path("x.csv").write_text(text)`
        let own = object.filter(|_| function.ends_with("_text") || function.ends_with("_bytes") || is_open);
        let files = own.into_iter().chain(values()).filter_map(|value| self.file(value, writes || reads));
        for file in files.collect::<Vec<_>>() {
            if writes {
                // Written again, it is another file.
                self.effects().change(&file, Change::unsure().part(""));
            } else {
                self.read_shared(&file);
            }
        }
        // `f = open("x.csv", "w")` above: what `f` writes is in the file.
        if let Some(file) = root(&call.func).and_then(|name| self.written_files.get(name).cloned()) {
            self.effects().change(&file, Change::unsure().part(""));
        }
    }

    /// `f = open("x.csv", "w")`
    pub(super) fn opens_file(&mut self, target: &Expr, value: &Expr) {
        let (Expr::Name(name), Expr::Call(call)) = (target, value) else { return };
        let mut values = call.arguments.iter_source_order().map(ArgOrKeyword::value);
        if last(call) == "open" && values.clone().any(is_writing) {
            let file = values.find_map(|value| self.file(value, true));
            self.written_files.extend(file.map(|file| (name.id.to_string(), file)));
        }
    }

    /// The file that an expression names. Where nothing says that it is one, it must look so.
    fn file(&self, value: &Expr, is_meant: bool) -> Option<Name> {
        let text = match value {
            Expr::StringLiteral(text) => {
                let text = text.value.to_str();
                is_file_name(text).then(|| text.trim_start_matches("./").to_owned())
            }
            Expr::Call(call) if path_of(&call.func).last() == Some(&"Path") => {
                return self.file(call.arguments.args.first()?, is_meant);
            }
            Expr::Name(_) | Expr::Attribute(_) | Expr::BinOp(_) | Expr::FString(_) if is_meant => {
                Some(self.text(value).to_owned()).filter(|text| text.len() <= MAX_NAME)
            }
            _ => None,
        };
        text.map(|text| format!("{FILE}{text}"))
    }
}

/// Prefixes of the names of functions that write files, and of those that read them.
const WRITING: [&str; 6] = ["to_", "save", "write", "dump", "imsave", "imwrite"];
const READING: [&str; 6] = ["read", "load", "imread", "scan_", "genfromtxt", "fromfile"];

/// `data/x.csv`
fn is_file_name(text: &str) -> bool {
    let is_ending = |ending: &str| {
        (1..=7).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    text.len() <= MAX_NAME
        && text.rsplit_once('.').is_some_and(|(name, ending)| !name.is_empty() && is_ending(ending))
        && !text.contains(['\n', ' ', '\t', '(', '{'])
        && !text.contains("://")
}
