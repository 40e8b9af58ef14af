//! Reading what servers leave out or set to null.

use serde::{Deserialize as _, Deserializer};

/// A text that may be null.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}
