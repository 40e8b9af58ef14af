//! What a person is shown of a call before it may be made.

use std::sync::Arc;

use notebook::Notebook;
use place::{Error, KernelRequest, KernelState, Relay, RunId, RunState};
use runs::OpenNotebook;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use workspace::Session;

use crate::arguments::declare::InputSchema;
use crate::arguments::given::Given;
use crate::arguments::parameters::NamedCell;
use crate::consent::{Preview, Shown, ShownCell};
use crate::permissions::Group;
use crate::question::{Draft, QuestionText, Speaker};
use crate::tool::{Effect, Shows, Tool};

/// A call about which a person is asked, and the question as far as it is written.
pub struct Asked<'a> {
    pub question: Draft,
    pub shown: Shown,
    pub given: Given,
    pub session: &'a Session,
    /// The notebook that the call works on, if it is known which.
    opened: Option<Arc<OpenNotebook>>,
}

impl Asked<'_> {
    /// The call works on this notebook, which its arguments do not name as others do.
    pub async fn works_on(&mut self, name: Option<&str>) -> Result<Arc<OpenNotebook>, Error> {
        let opened = self.session.notebook(name).await?;
        self.question.line(&format!("notebook: {}", opened.path()));
        self.shown.notebook = Some(opened.path().clone());
        self.opened = Some(opened.clone());
        Ok(opened)
    }

    /// The notebook that the call works on, and its cells now.
    pub async fn notebook(&self) -> Result<Option<(Arc<OpenNotebook>, Notebook)>, Error> {
        let Some(opened) = &self.opened else { return Ok(None) };
        Ok(Some((opened.clone(), opened.document().snapshot().await?)))
    }

    /// Shows the sources of the cells at these indices.
    pub fn show_cells(&mut self, notebook: &Notebook, indices: impl IntoIterator<Item = usize>) {
        for index in indices {
            let cell = &notebook.cells()[index];
            self.question.says(Speaker::Notebook);
            let name = format!("cell {index} ({}, id {})", cell.cell_type(), cell.id());
            self.question.source(&name, &cell.source());
            self.shown.cells.push(ShownCell::from(cell));
        }
    }

    /// Shows the cell that the arguments name, and so many after it.
    pub async fn show_named_cell(&mut self, schema: &InputSchema, and_next: usize) -> Result<(), Error> {
        if !schema.takes("cell_id") || !(self.given.has("cell_index") || self.given.has("cell_id")) {
            return Ok(());
        }
        let Some((opened, notebook)) = self.notebook().await? else { return Ok(()) };
        let cell = self.given.read::<NamedCell>()?;
        let index = cell.index(|cell| self.session.target(opened.path(), &notebook, cell))?;
        let last = (index + and_next).min(notebook.cells().len() - 1);
        self.show_cells(&notebook, index..=last);
        Ok(())
    }
}

/// The call with its arguments, and the sources of the cells that it runs or names.
pub async fn preview(tool: &Tool, given: Given, session: &Session) -> Result<Preview, Error> {
    let mut question = begin(tool.name);
    let mut shown = Shown::default();
    let opened = notebook_of(tool, &given, session).await?;
    if let Some(opened) = &opened {
        question.line(&format!("notebook: {}", opened.path()));
        shown.notebook = Some(opened.path().clone());
    }
    if (tool.groups.contains(&Group::Run) || given.flag("run")? == Some(true))
        && let Some(line) = first_kernel(opened.as_deref(), session).await
    {
        question.line(&line);
    }
    let hidden = show_prompt(tool, &mut question, &given, session);
    show_arguments(&mut question, given.values(), &|name| tool.schema.takes(name), hidden);
    let mut asked = Asked { question, shown, given, session, opened };
    match tool.shows {
        Shows::More(add) => add(&mut asked).await?,
        Shows::NamedCell | Shows::ByItself(_) => asked.show_named_cell(&tool.schema, 0).await?,
    }
    Ok(Preview { question: asked.question, shown: asked.shown })
}

/// A line about the kernel that a run of the notebook would start: of an environment, it also runs the files. `None` if one runs.
pub async fn first_kernel(opened: Option<&OpenNotebook>, session: &Session) -> Option<String> {
    let state = opened.and_then(OpenNotebook::kernel).map(|kernel| kernel.description().state);
    if state.is_some_and(|state| !matches!(state, KernelState::NotStarted | KernelState::Dead { .. })) {
        return None;
    }
    let (place, mut request) = (session.place(), KernelRequest::default());
    let place = opened.map_or(place, |opened| opened.place().clone());
    if let Some(opened) = opened {
        request.notebook = Some(opened.path().clone());
        request.preferred = opened.document().snapshot().await.ok()?.wanted_kernelspec();
    }
    place.first_kernel(request).await.ok()?.map(|kernel| format!("The first run starts the kernel {kernel}."))
}

/// The call of a page's tool with its arguments.
pub fn preview_of_relayed(relay: &dyn Relay, tool: &str, params: &RawValue) -> Preview {
    let listed = relay.tools().into_iter().find(|listed| listed.name == tool);
    relayed_call(tool, params, listed.map(|listed| listed.definition).as_deref())
}

fn relayed_call(tool: &str, params: &RawValue, definition: Option<&RawValue>) -> Preview {
    #[derive(Deserialize)]
    struct Params {
        #[serde(default)]
        arguments: Map<String, Value>,
    }
    let mut question = begin(tool);
    let definition: Option<Value> = definition.and_then(|text| serde_json::from_str(text.get()).ok());
    let properties =
        definition.as_ref().and_then(|definition| definition["inputSchema"]["properties"].as_object());
    let declares = |name: &str| properties.is_none_or(|properties| properties.contains_key(name));
    if let Ok(Params { mut arguments }) = serde_json::from_str(params.get()) {
        for (name, value) in &mut arguments {
            unpack(name, value);
        }
        show_arguments(&mut question, &arguments, &declares, None);
        let others = arguments.keys().filter(|name| !declares(name)).count();
        if others > 0 {
            // The page gets them as well.
            question
                .line(&format!("{others} other arguments, which the tool does not declare, are not shown."));
        }
    } else {
        question.says(Speaker::Agent);
        question.source("params", params.get());
    }
    Preview { question, shown: Shown::default() }
}

/// Reads a list or an object that was sent as text: the page may read it, too.
fn unpack(name: &str, value: &mut Value) {
    if let Value::String(text) = value
        && !is_source(name)
        && let Ok(read @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
    {
        *value = read;
    }
}

fn begin(tool: &str) -> Draft {
    QuestionText::begin(&format!("Allow the agent to call {tool}?"))
}

/// The notebook that the call works on, if it is known which.
async fn notebook_of(
    tool: &Tool,
    given: &Given,
    session: &Session,
) -> Result<Option<Arc<OpenNotebook>>, Error> {
    // A tool with a path opens the notebook, and a kernel or a run says which it is.
    let is_elsewhere = given.has("kernel_id") || given.has("run_id");
    if !tool.schema.takes("notebook_name") || tool.schema.takes("notebook_path") || is_elsewhere {
        return Ok(None);
    }
    // Code without a notebook runs in the session's own kernel.
    if !given.has("notebook_name") && session.current().is_none() && tool.schema.takes("code") {
        return Ok(None);
    }
    session.notebook(given.optional_text("notebook_name")?.as_deref()).await.map(Some)
}

/// Shows what the code asks that waits for the answer. Returns the argument that must not be shown: a secret.
fn show_prompt(tool: &Tool, question: &mut Draft, given: &Given, session: &Session) -> Option<&'static str> {
    if !matches!(tool.effect, Effect::Answers) {
        return None;
    }
    let id = given.optional_text("run_id").ok()??;
    let run = session.workspace().journal().run(&RunId::from(id.trim())).ok()?;
    let RunState::WaitingForInput { prompt, is_password } = run.state() else { return None };
    question.says(Speaker::Code);
    question.value("prompt", &prompt);
    is_password.then_some("value")
}

/// The arguments that the tool declares, sources first. Others have no effect, and would take room.
fn show_arguments(
    question: &mut Draft,
    values: &Map<String, Value>,
    declares: &dyn Fn(&str) -> bool,
    hidden: Option<&str>,
) {
    let declared = || values.iter().filter(|(name, value)| declares(name) && !value.is_null());
    if declared().next().is_none() {
        return;
    }
    question.says(Speaker::Agent);
    for (name, value) in sources_first(declared()) {
        if hidden == Some(&**name) {
            question.value(name, "(not shown)");
        } else {
            show_argument(question, name, value);
        }
    }
}

fn sources_first<'v>(
    values: impl Iterator<Item = (&'v String, &'v Value)>,
) -> impl Iterator<Item = (&'v String, &'v Value)> {
    let (sources, others): (Vec<_>, Vec<_>) = values.partition(|(name, value)| has_source(name, value));
    sources.into_iter().chain(others)
}

/// Whether a value is or holds a source.
fn has_source(name: &str, value: &Value) -> bool {
    match value {
        Value::Object(values) => values.iter().any(|(name, value)| has_source(name, value)),
        Value::Array(values) if values.iter().any(|value| value.is_object() || value.is_array()) => {
            values.iter().any(|value| has_source(name, value))
        }
        _ => is_source(name),
    }
}

/// An argument; those inside of others by their path.
fn show_argument(question: &mut Draft, path: &str, value: &Value) {
    let name = path.rsplit(['.', ']']).next().unwrap_or(path);
    match value {
        Value::Null => {}
        // The question may be kept in a log.
        Value::String(_) if name.ends_with("token") => question.value(path, "(not shown)"),
        Value::String(text) if name.ends_with("url") => question.value(path, &without_secrets(text)),
        Value::Object(values) => {
            for (name, value) in sources_first(values.iter()) {
                show_argument(question, &format!("{path}.{name}"), value);
            }
        }
        Value::Array(values) if values.iter().any(|value| value.is_object() || value.is_array()) => {
            for (index, value) in values.iter().enumerate() {
                show_argument(question, &format!("{path}[{index}]"), value);
            }
        }
        // As nbformat stores sources: a list of lines.
        Value::Array(lines) if is_source(name) && lines.iter().all(Value::is_string) => {
            question.source(path, &lines.iter().filter_map(Value::as_str).collect::<String>());
        }
        Value::String(text) if is_source(name) => question.source(path, text),
        Value::String(text) => question.value(path, text),
        other => question.value(path, &other.to_string()),
    }
}

/// Whether an argument holds code, or another text that matters as a whole.
fn is_source(name: &str) -> bool {
    include_str!("preview/sources.txt").lines().any(|it| it == name)
}

/// An address without its user, query and fragment, which may be or contain a password or token.
fn without_secrets(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let host = rest[..authority_end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::question::Question;

    fn question_of(arguments: &Value, declared: Option<&Value>) -> String {
        let params = to_raw_value(&json!({ "name": "t", "arguments": arguments })).unwrap();
        let definition = declared.map(|declared| {
            let properties: Map<String, Value> = declared
                .as_array()
                .unwrap()
                .iter()
                .map(|name| (name.as_str().unwrap().to_owned(), json!({})))
                .collect();
            to_raw_value(&json!({ "inputSchema": { "properties": properties } })).unwrap()
        });
        let question = relayed_call("t", &params, definition.as_deref()).question;
        Question::Consent(question.finish()).text().to_owned()
    }

    fn question(arguments: &Value) -> String {
        question_of(arguments, None)
    }

    #[test]
    fn arguments_are_shown_one_by_one_and_sources_first() {
        let shown = question(&json!({
            "n": 2, "none": null, "jupyter_token": "hush", "indices": [1, 2],
            "cells": [{ "a": "x", "cell_source": "b" }, { "source": ["c\n", "d"] }],
            "code": "a = 1\nprint(a)",
        }));
        let sources = "Allow the agent to call t?\nThe agent says:\n";
        assert!(shown.starts_with(sources), "{shown}");
        for part in [
            "    code:\n        a = 1\n        print(a)\n",
            "    cells[0].cell_source:\n        b\n    cells[0].a: x\n    cells[1].source:\n        c\n        d\n",
        ] {
            assert!(shown.find(part).unwrap() < shown.find("    n: 2\n").unwrap(), "{shown}");
        }
        assert!(
            shown.contains("    jupyter_token: (not shown)\n") && shown.contains("    indices: [1,2]\n"),
            "{shown}"
        );
    }

    #[test]
    fn code_in_a_list_that_is_sent_as_text_is_a_source() {
        let code = format!("{}evil()", "x".repeat(5000));
        let shown = question(&json!({ "cells": json!([{ "source": code }]).to_string() }));
        assert!(shown.contains("    cells[0].source:\n") && shown.contains("evil()"), "{shown}");
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
                format!("Allow the agent to call t?\nThe agent says:\n    jupyter_url: {shown}\n")
            );
        }
    }

    #[test]
    fn arguments_that_a_tool_does_not_have_take_no_room() {
        let padding = "x".repeat(4000);
        let given = json!({ "aaa": padding, "a\u{202e}\nb": padding, "code": "evil()", "n": 1 });
        assert_eq!(
            question_of(&given, Some(&json!(["n", "code"]))),
            "Allow the agent to call t?\nThe agent says:\n    code:\n        evil()\n    n: 1\n\
             2 other arguments, which the tool does not declare, are not shown.\n"
        );
    }
}
