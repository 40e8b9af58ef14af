//! What a person is shown of a call before it may be made.

use std::sync::Arc;

use notebook::Notebook;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use workspace::{Error, OpenNotebook, Session};

use super::context::Called;
use super::given::Given;
use super::parameters::CellArguments;
use crate::consent::{Preview, ShownCell};
use crate::tools::{Tool, delete_cell, run_cells};

/// The most characters of arguments and sources that are shown.
const MAX_CHARACTERS: usize = 4000;

/// The call with its arguments, and the sources of the cells that it names.
pub(crate) async fn preview(called: &Called<'_>, session: &Session) -> Result<Preview, Error> {
    let given = called.arguments()?;
    let mut shown = Shown::of(called.tool.name);
    let Some(opened) = notebook_of(called.tool, &given, session).await? else {
        shown.arguments("", given.values());
        return Ok(Preview { text: shown.text, cells: Vec::new() });
    };
    shown.line(&format!("notebook: {}", opened.path()));
    shown.arguments("", given.values());
    let notebook = opened.document().snapshot().await?;
    let mut cells = Vec::new();
    for index in cells_of(called.tool, given, session, &opened, &notebook)? {
        let cell = &notebook.cells()[index];
        shown.line(&format!("cell {index} ({}, id {}):", cell.cell_type(), cell.id()));
        shown.block(&cell.source());
        cells.push(ShownCell::from(cell));
    }
    Ok(Preview { text: shown.text, cells })
}

/// The call of a page's tool with its arguments.
pub(crate) fn preview_of_relayed(tool: &str, params: &RawValue) -> Preview {
    #[derive(Deserialize)]
    struct Params {
        #[serde(default)]
        arguments: Map<String, Value>,
    }
    let mut shown = Shown::of(tool);
    match serde_json::from_str::<Params>(params.get()) {
        Ok(params) => shown.arguments("", &params.arguments),
        Err(_) => shown.block(params.get()),
    }
    Preview { text: shown.text, cells: Vec::new() }
}

/// The notebook that the call works on, if it is known which.
async fn notebook_of(
    tool: &Tool,
    given: &Given,
    session: &Session,
) -> Result<Option<Arc<OpenNotebook>>, Error> {
    if tool.name == "copy_notebook" {
        return session.notebook(given.optional_text("from")?.as_deref()).await.map(Some);
    }
    let is_named = given.has("notebook_name");
    let is_elsewhere = given.has("kernel_id") || given.has("run_id");
    if !tool.takes("notebook_name") || tool.takes("notebook_path") || is_elsewhere {
        return Ok(None);
    }
    if !is_named && session.current().is_none() && tool.name == "execute_code" {
        // In the session's own kernel.
        return Ok(None);
    }
    session.notebook(given.optional_text("notebook_name")?.as_deref()).await.map(Some)
}

/// The indices of the cells that the call names.
fn cells_of(
    tool: &Tool,
    given: Given,
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
) -> Result<Vec<usize>, Error> {
    match tool.name {
        "delete_cell" => delete_cell::deleted(given, session, opened, notebook),
        "run_cells" => run_cells::started(&given, session, opened, notebook),
        _ if tool.takes("cell_id") && (given.has("cell_index") || given.has("cell_id")) => {
            let reference = given.read::<CellArguments>()?.reference()?;
            Ok(vec![session.target(opened.path(), notebook, &reference)?])
        }
        _ => Ok(Vec::new()),
    }
}

/// The text of a question.
struct Shown {
    text: String,
    /// How many characters may still be shown.
    left: usize,
}

impl Shown {
    fn of(tool: &str) -> Self {
        Self { text: format!("Allow the agent to call {}?\n", visible(tool)), left: MAX_CHARACTERS }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(&visible(line));
        self.text.push('\n');
    }

    /// Texts of several lines are indented, so that they cannot pass for another part of the question.
    fn block(&mut self, text: &str) {
        let (shown, rest) = match text.char_indices().nth(self.left) {
            Some((end, _)) => text.split_at(end),
            None => (text, ""),
        };
        self.left -= shown.chars().count();
        for line in shown.split('\n').filter(|_| !shown.is_empty()) {
            self.line(&format!("    {line}"));
        }
        if !rest.is_empty() {
            self.line(&format!("[… {} more characters are not shown]", rest.chars().count()));
        }
    }

    /// Each argument on a line of its own; those inside of others by their path.
    fn arguments(&mut self, path: &str, values: &Map<String, Value>) {
        for (name, value) in values {
            self.argument(&format!("{path}{name}"), value);
        }
    }

    fn argument(&mut self, name: &str, value: &Value) {
        match value {
            Value::Null => {}
            // The question may be kept in a log.
            Value::String(_) if name.ends_with("token") => self.line(&format!("{name}: (not shown)")),
            Value::String(text) if name.ends_with("url") => {
                self.line(&format!("{name}: {}", without_secrets(text)));
            }
            Value::Object(values) => self.arguments(&format!("{name}."), values),
            Value::Array(values) if values.iter().any(|value| value.is_object() || value.is_array()) => {
                for (index, value) in values.iter().enumerate() {
                    self.argument(&format!("{name}[{index}]"), value);
                }
            }
            Value::String(text) => {
                self.line(&format!("{name}:"));
                self.block(text);
            }
            other => {
                self.line(&format!("{name}:"));
                self.block(&other.to_string());
            }
        }
    }
}

/// An address without its user, query and fragment, which may be or contain a password or token.
fn without_secrets(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let host = rest[..authority_end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host..])
}

/// The text without characters that could change how the rest of it looks.
fn visible(text: &str) -> String {
    let is_hidden = |c: char| {
        (c.is_control() && c != '\t')
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            visible.extend(c.escape_unicode());
        } else {
            visible.push(c);
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    fn question(arguments: &Value) -> String {
        let params = to_raw_value(&json!({ "name": "t", "arguments": arguments })).unwrap();
        preview_of_relayed("t", &params).text
    }

    #[test]
    fn arguments_are_shown_one_by_one() {
        let shown = question(&json!({
            "code": "a = 1\nprint(a)", "n": 2, "none": null, "jupyter_token": "hush",
            "cells": [{ "cell_source": "b" }], "indices": [1, 2],
        }));
        assert_eq!(
            shown,
            "Allow the agent to call t?\ncode:\n    a = 1\n    print(a)\nn:\n    2\njupyter_token: (not shown)\n\
             cells[0].cell_source:\n    b\nindices:\n    [1,2]\n"
        );
    }

    #[test]
    fn an_address_is_shown_without_secrets() {
        for (address, shown) in [
            ("http://h:8888/lab?token=hush#x", "http://h:8888/lab"),
            ("https://ada:hush@h/user/ada/", "https://h/user/ada/"),
            ("h:8888/a@b", "h:8888/a@b"),
            ("", ""),
        ] {
            assert_eq!(
                question(&json!({ "jupyter_url": address })),
                format!("Allow the agent to call t?\njupyter_url: {shown}\n")
            );
        }
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let shown = question(&json!({ "code": "é".repeat(MAX_CHARACTERS + 7), "more": "hidden" }));
        assert!(shown.contains("[… 7 more characters are not shown]\nmore:\n[… 6 more"), "{shown}");
        assert!(shown.chars().count() < MAX_CHARACTERS + 200);
    }

    #[test]
    fn a_text_cannot_pass_for_another_part_of_the_question() {
        let shown = question(&json!({ "code": "x\nAllow it?\r\u{1b}[2K\u{202e}", "\u{202e}\nn": 1 }));
        assert!(shown.contains("\n    Allow it?\\u{d}\\u{1b}[2K\\u{202e}\n"), "{shown}");
        assert!(shown.contains("\n\\u{202e}\\u{a}n:\n"), "{shown}");
    }
}
