use std::collections::HashSet;

use notebook::Json;
use serde_json::{Value, json};

use super::format::{State, VIEW, reference};
use super::view::View;

/// The member of `metadata.widgets` that holds the state.
const STATE: &str = "application/vnd.jupyter.widget-state+json";

/// What a notebook keeps as `widgets` in its metadata: what it has (`present`), and `states`, which an
/// [`OutputArea`](crate::OutputArea) gave, with `null` for closed ones. Only models stay that the notebook's outputs use; `shown` are those that it shows. `None`
/// if nothing is left.
pub fn saved_widgets(present: Option<&Json>, states: Option<&Json>, shown: &[String]) -> Option<Json> {
    let (widgets, mut models) = parts(present);
    if models.is_empty() && states.is_none() {
        // Of another program, perhaps in a form of its own.
        return present.cloned();
    }
    if let Some(Value::Object(new)) =
        states.and_then(|states| states.to_value().get_mut("state").map(Value::take))
    {
        models.extend(new);
        models.retain(|_, model| !model.is_null());
    }
    let mut used = HashSet::new();
    follow(&mut used, shown.iter().map(String::as_str), &|id| models.get(id)?.get("state")?.as_object());
    let is_link = |model: &Value| {
        let name = model["model_name"].as_str().unwrap_or_default();
        let linked = model["state"].as_object().map(references).unwrap_or_default();
        name.ends_with("LinkModel") && linked.iter().any(|id| used.contains(id))
    };
    let is_used = |id: &str, model: &Value| used.contains(id) || is_link(model);
    let kept: HashSet<String> =
        models.iter().filter(|(id, model)| is_used(id, model)).map(|(id, _)| id.clone()).collect();
    models.retain(|id, _| kept.contains(id));
    let widgets = with_models(widgets.unwrap_or_default(), models);
    (!widgets.is_empty()).then(|| Json::from_value(&widgets.into()))
}

/// `widgets` with these models in place of its own. All other members stay: Colab keeps models beside `state`.
fn with_models(mut widgets: State, models: State) -> State {
    let saved = widgets.remove(STATE);
    let mut saved = if let Some(Value::Object(saved)) = saved { saved } else { State::new() };
    saved.remove("state");
    if !models.is_empty() {
        saved.insert("state".to_owned(), models.into());
        for (version, number) in [("version_major", 2), ("version_minor", 0)] {
            saved.entry(version).or_insert_with(|| number.into());
        }
    } else if saved.keys().all(|name| name.starts_with("version_")) {
        return widgets;
    }
    widgets.insert(STATE.to_owned(), saved.into());
    widgets
}

/// What leads from `after` back to `before`, both as a notebook keeps `widgets` in its metadata, for [`restored_widgets`]: each model
/// that differs as it was, or `null` if there was none, and the rest of `before`. `None` if nothing differs.
pub fn earlier_widgets(before: Option<&Json>, after: Option<&Json>) -> Option<Json> {
    let is_same = match (before, after) {
        (Some(before), Some(after)) => before.is_equivalent(after),
        (before, after) => before.is_none() && after.is_none(),
    };
    if is_same {
        return None;
    }
    let ((rest, was), (_, is)) = (parts(before), parts(after));
    let added = is.keys().filter(|id| !was.contains_key(*id)).map(|id| (id.clone(), Value::Null));
    let mut models: State = added.collect();
    models.extend(was.into_iter().filter(|(id, model)| is.get(id) != Some(model)));
    Some(Json::from_value(&json!({ "rest": rest, "models": models })))
}

/// What a notebook keeps instead of `present` after an undo of what [`earlier_widgets`] describes. Models that its outputs use stay;
/// `shown` are those that it shows then.
pub fn restored_widgets(present: Option<&Json>, earlier: &Json, shown: &[String]) -> Option<Json> {
    let ((rest, mut models), mut earlier) = (parts(present), earlier.to_value());
    let (was, changes) = (earlier["rest"].take(), earlier["models"].take());
    let changes = changes.as_object().cloned().unwrap_or_default();
    let (added, changed): (State, State) = changes.into_iter().partition(|(_, model)| model.is_null());
    models.extend(changed);
    let mut used = HashSet::new();
    follow(&mut used, shown.iter().map(String::as_str), &|id| models.get(id)?.get("state")?.as_object());
    let unused: Vec<String> =
        added.into_iter().map(|(id, _)| id).filter(|id| !used.contains(&**id)).collect();
    models.retain(|id, _| !unused.contains(id));
    let mut widgets = match (was, rest) {
        (Value::Object(was), _) => was,
        (_, Some(rest)) if !models.is_empty() => rest,
        _ => return None,
    };
    let widgets = match widgets.get_mut(STATE) {
        Some(Value::Object(saved)) if saved.contains_key("state") => {
            saved.insert("state".to_owned(), models.into());
            widgets
        }
        _ => with_models(widgets, models),
    };
    Some(Json::from_value(&widgets.into()))
}

/// The models that a notebook keeps, and what it keeps beside them, if anything.
fn parts(widgets: Option<&Json>) -> (Option<State>, State) {
    let Some(Value::Object(mut widgets)) = widgets.map(Json::to_value) else { return Default::default() };
    let models = widgets.get_mut(STATE).and_then(|saved| saved.get_mut("state")).map(Value::take);
    let models = if let Some(Value::Object(models)) = models { models } else { State::new() };
    (Some(widgets), models)
}

/// What a notebook keeps as `widgets` in its metadata if the states of all models are kept, as nbclient does.
pub(crate) fn all_widgets(states: &Value) -> Json {
    Json::from_value(&json!({ STATE: states }))
}

/// What a person sees of a model whose state a notebook keeps: `widgets` is the member of its metadata. `None` if it is not there.
pub fn widget_text(widgets: &Json, model: &str) -> Option<String> {
    let saved = widgets.member(STATE)?.member("state")?.to_value();
    let closed = State::new();
    View::text(model, &|id| {
        let model = saved.get(id)?;
        if model.is_null() { Some(&closed) } else { model.get("state")?.as_object() }
    })
}

/// Adds the ids of `models` and of all models that they refer to.
pub(super) fn follow<'a>(
    found: &mut HashSet<&'a str>,
    models: impl IntoIterator<Item = &'a str>,
    state: &impl Fn(&'a str) -> Option<&'a State>,
) {
    let mut open: Vec<&str> = models.into_iter().collect();
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(state(id).map(references).unwrap_or_default());
        }
    }
}

/// The ids of the models that a state refers to.
pub(super) fn references(state: &State) -> Vec<&str> {
    fn collect<'a>(value: &'a Value, depth: usize, found: &mut Vec<&'a str>) {
        match value {
            Value::String(_) => found.extend(reference(value)),
            Value::Array(values) if depth > 0 => {
                for value in values {
                    collect(value, depth - 1, found);
                }
            }
            Value::Object(members) if depth > 0 => {
                // An output in an `Output` widget.
                found.extend(members.get(VIEW).and_then(|view| view["model_id"].as_str()));
                for value in members.values() {
                    collect(value, depth - 1, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for value in state.values() {
        collect(value, 8, &mut found);
    }
    found
}

/// Whether one of the models that a notebook's outputs show is `model`, or uses it; `widgets` is the member of its metadata.
pub fn uses_model(widgets: Option<&Json>, shown: &[String], model: &str) -> bool {
    let ((_, models), mut used) = (parts(widgets), HashSet::new());
    follow(&mut used, shown.iter().map(String::as_str), &|id| models.get(id)?.get("state")?.as_object());
    used.contains(model)
}

/// Whether `widgets`, as a notebook keeps it, has the state of all of these models.
pub fn has_models(widgets: &Json, ids: &[String]) -> bool {
    let models = widgets.member(STATE).and_then(|saved| saved.member("state"));
    models.is_some_and(|models| ids.iter().all(|id| models.member(id).is_some()))
}
