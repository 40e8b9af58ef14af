//! The `params` of tool calls, as the text that the agent wrote.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{ErrorCode, RequestMetaObject};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The `params` of a request as the agent wrote them. Travels with the request through `rmcp`.
#[derive(Clone)]
pub(crate) struct RawParams(pub(crate) Arc<RawValue>);

/// The part of a call's `params` that `rmcp` needs.
#[derive(Deserialize)]
pub(crate) struct CallHead<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl<'a> CallHead<'a> {
    /// Reads the head of `params`. The error says what is missing.
    pub(crate) fn read(params: &'a RawValue) -> Result<Self, &'static str> {
        // Structs are read from arrays as well.
        let is_object = params.get().starts_with('{');
        let head = if is_object { serde_json::from_str(params.get()).ok() } else { None };
        head.ok_or("tools/call needs params with a name")
    }

    /// The head of a call that names no tool. `Session::call` refuses it.
    pub(crate) fn nameless() -> Self {
        Self { name: Cow::Borrowed(""), meta: None }
    }

    /// The `_meta`; `None` if it is no object.
    pub(crate) fn meta(&self) -> Option<RequestMetaObject> {
        let meta: Option<RequestMetaObject> =
            serde_json::from_str(self.meta.map_or("{}", RawValue::get)).ok()?;
        Some(meta.unwrap_or_default())
    }

    /// The request for `rmcp`: without arguments, of which it would lose digits and refuse deep ones. `id` is JSON text.
    pub(crate) fn shell(&self, id: &str) -> String {
        let name = serde_json::Value::from(self.name.as_ref());
        let meta = self.meta.map_or("{}", RawValue::get);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{name},"_meta":{meta}}}}}"#
        )
    }
}

/// A JSON-RPC error as one line; `id` is JSON text.
pub(crate) fn refusal(id: &str, code: ErrorCode, reason: &str) -> String {
    let reason = serde_json::Value::from(reason);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{},"message":{reason}}}}}"#, code.0)
}
