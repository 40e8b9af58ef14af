//! Reading what servers leave out or set to null.

use serde::{Deserialize as _, Deserializer};

/// A text that may be null.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A count; `None` for what is none: Jupyter Server's count of connections falls below 0
/// (`notify_disconnect` of its kernel manager).
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<serde_json::Number>::deserialize(deserializer)?.and_then(|count| count.as_u64()))
}
