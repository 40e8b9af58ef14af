use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use notebook::{MimeBundle, Output};
use serde::Deserialize;
use serde_json::{Value, json};

use super::format::{State, VIEW};
use super::view::View;
use crate::messages::Message;
use crate::messages::json_string::Lenient;

/// How many models of a kernel are kept.
const MAX_MODELS: usize = 2000;
/// How many bytes of JSON and buffers they may have.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The same for one of them. Buffers beyond that are left out, and then the model.
const MAX_MODEL_BYTES: usize = 4 * 1024 * 1024;

/// The models of one kernel.
#[derive(Debug, Default)]
pub(crate) struct Widgets {
    models: HashMap<String, Model>,
    bytes: usize,
    /// Counts the models in the order in which they were opened.
    opened: u64,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) state: State,
    /// Binary parts of the state, each with its `path` in the state and its `data`, in `encoding`.
    pub(super) buffers: Vec<Value>,
    number: u64,
    bytes: usize,
    is_closed: bool,
    /// The next captured output replaces all others.
    clears: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Comm {
    #[serde(rename = "comm_id")]
    id: Lenient<String>,
    target_name: Lenient<String>,
    data: Lenient<Data>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Data {
    method: Lenient<String>,
    state: Lenient<Option<State>>,
    buffer_paths: Lenient<Vec<Value>>,
}

impl Widgets {
    /// Takes a message about a comm. Returns whether a model has changed.
    pub(crate) fn handle(&mut self, message: &Message) -> serde_json::Result<bool> {
        let Comm { id: Lenient(id), target_name: Lenient(target), data: Lenient(data) } =
            message.content.decode()?;
        let Lenient(state) = data.state;
        Ok(match message.header.kind.as_str() {
            "comm_open" if target == "jupyter.widget" => {
                self.remove(&id);
                self.update(id, state.unwrap_or_default(), &data.buffer_paths.0, &message.buffers)
            }
            "comm_msg" if matches!(&*data.method.0, "update" | "echo_update") => {
                // Of a model that was opened before this connection was made, a part is known.
                let Some(state) = state else { return Ok(false) };
                self.update(id, state, &data.buffer_paths.0, &message.buffers)
            }
            "comm_close" => match self.models.get_mut(&id) {
                Some(model) => !std::mem::replace(&mut model.is_closed, true),
                None => false,
            },
            _ => false,
        })
    }

    /// The kernel is another process: its models are gone.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// What a person sees of a model; `None` if that is not known.
    pub(crate) fn text(&self, id: &str) -> Option<String> {
        let model = self.models.get(id)?;
        if model.is_closed {
            // Front ends remove what showed it.
            return Some(String::new());
        }
        let closed = State::new();
        View::text(id, &|id| {
            let model = self.models.get(id)?;
            Some(if model.is_closed { &closed } else { &model.state })
        })
    }

    /// The state of the models among `shown`, and of those that they use, as a notebook keeps it, with `null` for those that are
    /// closed; `None` if there is none.
    pub(crate) fn saved(&self, shown: &[String]) -> Option<Value> {
        let used = self.used_by(shown);
        let mut used: Vec<_> = used.into_iter().filter_map(|id| Some((id, self.models.get(id)?))).collect();
        used.sort_unstable_by_key(|(_, model)| model.number);
        let saved = |model: &Model| if model.is_closed { Some(Value::Null) } else { model.saved() };
        let states: State =
            used.into_iter().filter_map(|(id, model)| Some((id.to_owned(), saved(model)?))).collect();
        saved_state(&self.without_closed(states))
    }

    /// The state of all models that this connection has seen, also the closed ones, as nbclient keeps it.
    pub(crate) fn saved_all(&self) -> Option<Value> {
        let mut all: Vec<_> = self.models.iter().collect();
        all.sort_unstable_by_key(|(_, model)| model.number);
        let states: State =
            all.into_iter().filter_map(|(id, model)| Some((id.clone(), model.saved()?))).collect();
        saved_state(&self.without_closed(states))
    }

    /// The states without what showed a closed model in an `Output` widget.
    fn without_closed(&self, mut states: State) -> State {
        let is_closed = |output: &Value| {
            let shown = output["data"][VIEW]["model_id"].as_str().and_then(|id| self.models.get(id));
            shown.is_some_and(|model| model.is_closed)
        };
        for state in states.values_mut() {
            if let Some(Value::Array(outputs)) = state.get_mut("state").and_then(|it| it.get_mut("outputs")) {
                outputs.retain(|output| !is_closed(output));
            }
        }
        states
    }

    /// Whether this is an open `Output` widget.
    pub(crate) fn is_output(&self, id: &str) -> bool {
        self.models
            .get(id)
            .is_some_and(|it| !it.is_closed && it.state.get("_model_name") == Some(&json!("OutputModel")))
    }

    /// Adds an output to those of an `Output` widget, as front ends do. Returns whether there was room for it.
    pub(crate) fn capture(&mut self, id: &str, output: &Output) -> bool {
        let Some(model) = self.models.get_mut(id) else { return false };
        let before = model.bytes;
        let is_added = model.capture(output);
        self.bytes = self.bytes - before + model.bytes;
        is_added
    }

    /// Removes the outputs of an `Output` widget, now or with the next one.
    pub(crate) fn clear_captured(&mut self, id: &str, waits: bool) -> bool {
        let Some(model) = self.models.get_mut(id) else { return false };
        model.clears = waits;
        if !waits {
            model.state.insert("outputs".to_owned(), json!([]));
        }
        !waits
    }

    /// The ids of the models that these refer to, and those that link two of them.
    fn used_by<'a>(&'a self, shown: &'a [String]) -> HashSet<&'a str> {
        let mut used = HashSet::new();
        super::saved::follow(&mut used, shown.iter().map(String::as_str), &|id| {
            self.models.get(id).map(|model| &model.state)
        });
        let links = self.models.iter().filter(|(_, model)| {
            let name = model.state.get("_model_name").and_then(Value::as_str).unwrap_or_default();
            let linked = super::saved::references(&model.state);
            name.ends_with("LinkModel") && linked.iter().any(|id| used.contains(id))
        });
        let links: Vec<&str> = links.map(|(id, _)| id.as_str()).collect();
        used.extend(links);
        used
    }

    fn update(&mut self, id: String, state: State, paths: &[Value], buffers: &[Bytes]) -> bool {
        if id.is_empty() {
            return false;
        }
        let mut model = self.models.remove(&id).unwrap_or_default();
        self.bytes -= model.bytes;
        if model.number == 0 {
            self.opened += 1;
            model.number = self.opened;
        }
        model.state.extend(state);
        for (path, buffer) in paths.iter().zip(buffers).filter(|(_, buffer)| buffer.len() < MAX_MODEL_BYTES) {
            model.buffers.retain(|known| known["path"] != *path);
            model
                .buffers
                .push(json!({ "data": STANDARD.encode(buffer), "encoding": "base64", "path": path }));
        }
        model.measure();
        if model.bytes <= MAX_MODEL_BYTES {
            self.bytes += model.bytes;
            self.models.insert(id, model);
            self.make_room();
        }
        true
    }

    fn remove(&mut self, id: &str) {
        self.bytes -= self.models.remove(id).map_or(0, |model| model.bytes);
    }

    /// Removes models until the rest is within the limits: the closed ones first, then the oldest.
    fn make_room(&mut self) {
        while self.models.len() > MAX_MODELS || self.bytes > MAX_BYTES {
            let oldest = self.models.iter().min_by_key(|(_, model)| (!model.is_closed, model.number));
            let Some((id, _)) = oldest else { return };
            let id = id.clone();
            self.remove(&id);
        }
    }
}

fn saved_state(states: &State) -> Option<Value> {
    (!states.is_empty()).then(|| json!({ "version_major": 2, "version_minor": 0, "state": states }))
}

impl Model {
    /// Adds an output; text of the same stream joins the last one.
    fn capture(&mut self, output: &Output) -> bool {
        if std::mem::take(&mut self.clears) {
            self.state.insert("outputs".to_owned(), json!([]));
        }
        let output = captured(output);
        let bytes = size(&output);
        if self.bytes + bytes > MAX_MODEL_BYTES {
            return false;
        }
        self.bytes += bytes;
        let outputs = self.state.entry("outputs").or_insert_with(|| json!([]));
        if !outputs.is_array() {
            *outputs = json!([]);
        }
        let Value::Array(outputs) = outputs else { return false };
        if let Some(last) = outputs.last_mut()
            && output["output_type"] == "stream"
            && last["output_type"] == "stream"
            && last["name"] == output["name"]
            && let (Some(Value::String(text)), Value::String(more)) = (last.get_mut("text"), &output["text"])
        {
            text.push_str(more);
        } else {
            outputs.push(output);
        }
        true
    }

    /// Notes its size; leaves buffers out that are too large together.
    fn measure(&mut self) {
        let state: usize = self.state.iter().map(|(name, value)| name.len() + size(value)).sum();
        self.bytes = state + self.buffers.iter().map(size).sum::<usize>();
        if self.bytes > MAX_MODEL_BYTES {
            self.buffers.clear();
            self.bytes = state;
        }
    }

    /// As a notebook keeps it; `None` if too little is known.
    fn saved(&self) -> Option<Value> {
        let name = self.state.get("_model_name")?;
        let mut state = self.state.clone();
        if name == "PasswordModel" {
            state.remove("value");
        }
        let part = |name: &str| self.state.get(name).cloned().unwrap_or_default();
        let mut saved = json!({
            "model_name": name,
            "model_module": part("_model_module"),
            "model_module_version": part("_model_module_version"),
            "state": state,
        });
        if !self.buffers.is_empty() {
            saved["buffers"] = self.buffers.clone().into();
        }
        Some(saved)
    }
}

/// An output as the state of an `Output` widget has it.
fn captured(output: &Output) -> Value {
    let bundle = |kind: &str, bundle: &MimeBundle| json!({ "output_type": kind, "data": bundle.data.to_value(), "metadata": bundle.metadata.to_value() });
    match output {
        Output::Stream { name, text } => {
            json!({ "output_type": "stream", "name": name, "text": text.as_str() })
        }
        Output::Display(display) => bundle("display_data", display),
        Output::Result { bundle: result, execution_count } => {
            let mut output = bundle("execute_result", result);
            output["execution_count"] = json!(execution_count);
            output
        }
        Output::Error { name, value, traceback } => {
            json!({ "output_type": "error", "ename": name, "evalue": value, "traceback": traceback })
        }
        Output::Other(other) => other.to_value(),
    }
}

/// About the length of the JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => 2 + values.iter().map(|value| size(value) + 1).sum::<usize>(),
        Value::Object(members) => {
            2 + members.iter().map(|(name, value)| name.len() + size(value) + 4).sum::<usize>()
        }
        _ => 8,
    }
}
