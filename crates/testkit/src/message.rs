//! One JSON-RPC message, kept as the text that was on the wire.

use std::borrow::Cow;

use anyhow::{Context as _, Result, bail, ensure};
use connection::Envelope;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct ToolName<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

/// A request, a notification or a response. Payloads are the raw text, so that tests can compare every byte.
#[derive(Debug, Clone)]
pub struct Message {
    /// The whole message.
    pub text: String,
    /// The id's JSON text.
    pub id: Option<String>,
    /// The method of a request or notification.
    pub method: Option<String>,
    params: Option<String>,
    result: Option<String>,
    error: Option<String>,
}

impl Message {
    /// Reads a message; anything that is not a JSON-RPC 2.0 object is an error that shows what came instead.
    pub fn parse(text: String) -> Result<Self> {
        let fields =
            Envelope::parse(text.as_bytes()).with_context(|| format!("not JSON-RPC: {}", excerpt(&text)))?;
        ensure!(fields.is_current(), "not JSON-RPC 2.0: {}", excerpt(&text));
        let own = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_owned());
        let (id, params) = (own(fields.id), own(fields.params));
        let (result, error) = (own(fields.result), own(fields.error));
        let method = fields.method.map(Cow::into_owned);
        ensure!(
            method.is_some() || result.is_some() != error.is_some(),
            "neither a request nor an answer: {}",
            excerpt(&text)
        );
        Ok(Self { text, id, method, params, result, error })
    }

    /// The text of `params`; `null` when there are none.
    pub fn params(&self) -> &str {
        self.params.as_deref().unwrap_or("null")
    }

    /// `params` as a value.
    pub fn params_value(&self) -> Result<Value> {
        Ok(serde_json::from_str(self.params())?)
    }

    /// The text of `result`. An error answer is an error.
    pub fn result(&self) -> Result<&str> {
        match (&self.result, &self.error) {
            (Some(result), None) => Ok(result),
            (_, Some(error)) => bail!("answered with an error: {}", excerpt(error)),
            _ => bail!("not an answer: {}", excerpt(&self.text)),
        }
    }

    /// `result` as a value.
    pub fn result_value(&self) -> Result<Value> {
        Ok(serde_json::from_str(self.result()?)?)
    }

    /// The text of `error`. A result is an error.
    pub fn error(&self) -> Result<&str> {
        self.error.as_deref().with_context(|| format!("not an error answer: {}", excerpt(&self.text)))
    }

    /// The tool that a `tools/call` names.
    pub fn tool(&self) -> Result<String> {
        let named: ToolName<'_> = serde_json::from_str(self.params())?;
        Ok(named.name.into_owned())
    }

    /// The id's text; a notification is an error.
    pub fn need_id(&self) -> Result<&str> {
        self.id.as_deref().with_context(|| format!("no id: {}", excerpt(&self.text)))
    }
}

/// The start of a text, for failure messages.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(400) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}… ({} bytes)", &text[..end], text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_stay_text() {
        let message = Message::parse(r#"{"jsonrpc":"2.0","id":1,"result":{"a": 1.0}}"#.to_owned()).unwrap();
        assert_eq!((message.result().unwrap(), message.id.as_deref()), (r#"{"a": 1.0}"#, Some("1")));
        assert!(message.error().is_err());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "[]", "starting up", r#"{"id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":1}"#] {
            assert!(Message::parse(text.to_owned()).is_err(), "{text}");
        }
    }
}
