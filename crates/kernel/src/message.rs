//! Messages of a kernel as they arrive, their content left as text.

use std::borrow::Cow;

use bytes::Bytes;
use jupyter_protocol::JupyterMessage;
use notebook::Json;
use serde::{Deserialize, Serialize};

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
    /// The header of the request that it belongs to.
    request: Json,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Head<'a> {
    #[serde(borrow)]
    msg_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    msg_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session: Option<Cow<'a, str>>,
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
        let request = Json::parse(parent)?;
        let parent =
            request.decode::<Option<Head<'_>>>()?.unwrap_or_default().msg_id.unwrap_or_default().into_owned();
        Ok(Self { channel, kind, parent, content: parse_content(content)?, header, request })
    }

    /// The `msg_type` of the request that it belongs to; empty if there is none.
    pub(crate) fn parent_kind(&self) -> Cow<'_, str> {
        self.asker().msg_type.unwrap_or_default()
    }

    /// The session of whoever sent that request; empty if there is none.
    pub(crate) fn parent_session(&self) -> Cow<'_, str> {
        self.asker().session.unwrap_or_default()
    }

    /// The session of whoever sent it; empty if that is not told.
    pub(crate) fn session(&self) -> Cow<'_, str> {
        self.header.decode::<Head<'_>>().ok().and_then(|head| head.session).unwrap_or_default()
    }

    fn asker(&self) -> Head<'_> {
        self.request.decode::<Option<Head<'_>>>().ok().flatten().unwrap_or_default()
    }

    /// How long its parts are.
    pub(crate) fn size(&self) -> usize {
        [&self.content, &self.header, &self.request].into_iter().map(|part| part.bytes().len()).sum()
    }
}

/// The parts of a message to the kernel: header, header of the parent, metadata, content.
pub(crate) fn write(mut message: JupyterMessage, session: &str) -> serde_json::Result<[Bytes; 4]> {
    session.clone_into(&mut message.header.session);
    let parent = message.parent_header.as_ref().map_or_else(|| Ok(Bytes::from_static(b"{}")), json)?;
    Ok([json(&message.header)?, parent, json(&message.metadata)?, json(&message.content)?])
}

fn json(part: &impl Serialize) -> serde_json::Result<Bytes> {
    serde_json::to_vec(part).map(Bytes::from)
}

/// Python writes file names that are not UTF-8 as the bytes that they are; they must not cost the whole output.
fn parse_content(content: Bytes) -> serde_json::Result<Json> {
    match str::from_utf8(&content) {
        Ok(_) => Json::parse(content),
        Err(_) => Json::parse(Bytes::from(String::from_utf8_lossy(&content).into_owned())),
    }
}
