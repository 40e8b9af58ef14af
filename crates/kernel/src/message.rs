//! Messages of a kernel as they arrive, their content left as text.

use std::borrow::Cow;

use bytes::Bytes;
use jupyter_protocol::JupyterMessage;
use notebook::Json;
use serde::Deserialize;

/// The connections over which messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Requests that run one after the other, and their replies.
    Shell,
    /// Requests that overtake those.
    Control,
    /// Requests of the kernel for input.
    Stdin,
    /// What the kernel tells everybody.
    Iopub,
}

/// A message to the kernel, and its way.
pub(crate) type Outgoing = (Channel, JupyterMessage);

/// A message of the kernel. What it holds is a view of what was received.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) channel: Channel,
    /// Its `msg_type`.
    pub(crate) kind: String,
    /// The id of the request that it belongs to; empty if there is none.
    pub(crate) parent: String,
    pub(crate) content: Json,
    /// The header, to be named in an answer.
    pub(crate) header: Json,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Head<'a> {
    #[serde(borrow)]
    msg_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    msg_type: Option<Cow<'a, str>>,
}

impl Message {
    /// Reads the parts of a message. It fails if one is no JSON, or the message has no type.
    pub(crate) fn read(
        channel: Channel,
        header: Bytes,
        parent: Bytes,
        content: Bytes,
    ) -> serde_json::Result<Self> {
        let header = Json::parse(header)?;
        let kind = header.decode::<Head<'_>>()?.msg_type.map(Cow::into_owned);
        let kind = kind.ok_or_else(|| serde::de::Error::missing_field("msg_type"))?;
        let parent = Json::parse(parent)?;
        let parent =
            parent.decode::<Option<Head<'_>>>()?.unwrap_or_default().msg_id.unwrap_or_default().into_owned();
        Ok(Self { channel, kind, parent, content: parse_content(content)?, header })
    }
}

/// Python writes file names that are not UTF-8 as the bytes that they are; they must not cost the whole output.
fn parse_content(content: Bytes) -> serde_json::Result<Json> {
    match str::from_utf8(&content) {
        Ok(_) => Json::parse(content),
        Err(_) => Json::parse(Bytes::from(String::from_utf8_lossy(&content).into_owned())),
    }
}
