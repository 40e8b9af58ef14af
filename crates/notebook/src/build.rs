//! Puts JSON text together from parts that stay as they are.

use std::borrow::Cow;

use crate::Json;

impl Json {
    /// A string.
    pub(crate) fn string(text: &str) -> Self {
        Self::from_value(&text.into())
    }

    /// A list of these elements.
    pub(crate) fn list(elements: &[Self]) -> Self {
        let elements: Vec<_> = elements.iter().map(Self::as_str).collect();
        Self::from_text(format!("[{}]", elements.join(",")))
    }

    /// An object with these members.
    pub(crate) fn object(members: &[(Cow<'_, str>, Self)]) -> Self {
        let members: Vec<_> = members
            .iter()
            .map(|(name, value)| format!("{}:{}", Self::string(name).as_str(), value.as_str()))
            .collect();
        Self::from_text(format!("{{{}}}", members.join(",")))
    }

    /// This object with one member set.
    #[must_use]
    pub(crate) fn with(&self, name: &str, value: &Self) -> Self {
        let mut members: Vec<_> = self.members().filter(|(member, _)| member != name).collect();
        members.push((name.into(), value.clone()));
        Self::object(&members)
    }

    /// This object without one of its members.
    #[must_use]
    pub(crate) fn without(&self, name: &str) -> Self {
        let members: Vec<_> = self.members().filter(|(member, _)| member != name).collect();
        Self::object(&members)
    }
}
