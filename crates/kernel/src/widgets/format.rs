//! How outputs and models refer to models.

use serde_json::{Map, Value};

/// Shows a widget: an object with its `model_id`.
pub(crate) const VIEW: &str = "application/vnd.jupyter.widget-view+json";

/// The members of a model's state.
pub(super) type State = Map<String, Value>;

/// The id in a reference of one model to another: `IPY_MODEL_<id>`.
pub(super) fn reference(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix("IPY_MODEL_")
}
