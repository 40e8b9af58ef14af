//! Deserializes fields that servers set to null or to impossible values.

use serde::{Deserialize as _, Deserializer};

/// A string; null becomes the empty string.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A count; negative numbers become `None`. Jupyter Server's count of connections can fall below 0 (`notify_disconnect` in
/// `jupyter_server/services/kernels/kernelmanager.py`).
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<serde_json::Number>::deserialize(deserializer)?.and_then(|count| count.as_u64()))
}
