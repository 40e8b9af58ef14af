//! Builds JSON text from parts, whose text stays as it is.

use std::borrow::Cow;

use super::Json;

impl Json {
    pub(crate) fn string(text: &str) -> Self {
        Self::from_value(&text.into())
    }

    pub(crate) fn list(elements: &[Self]) -> Self {
        let elements: Vec<_> = elements.iter().map(Self::as_str).collect();
        Self::from_valid(format!("[{}]", elements.join(",")))
    }

    pub(crate) fn object(members: &[(Cow<'_, str>, Self)]) -> Self {
        let members: Vec<_> = members
            .iter()
            .map(|(name, value)| format!("{}:{}", Self::string(name).as_str(), value.as_str()))
            .collect();
        Self::from_valid(format!("{{{}}}", members.join(",")))
    }

    /// This object with one member set, which becomes the last.
    #[must_use]
    pub(crate) fn with(&self, name: &str, value: &Self) -> Self {
        let mut members: Vec<_> = self.members().filter(|(member, _)| member != name).collect();
        members.push((name.into(), value.clone()));
        Self::object(&members)
    }

    #[must_use]
    pub(crate) fn without(&self, name: &str) -> Self {
        let members: Vec<_> = self.members().filter(|(member, _)| member != name).collect();
        Self::object(&members)
    }
}
