//! Finds out when a kernel is ready: it answers, and what it publishes arrives here.
//!
//! A subscription takes effect some time after it was made, and what is published before is lost. So we ask until
//! both the reply and a status have been seen.

use std::time::{Duration, Instant};

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};
use notebook::Json;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::KernelInfo;
use crate::content;
use crate::message::{Channel, Message};
use crate::text::Short;

/// How long to wait for a reply before asking again. A kernel that starts answers all questions in the end.
const REPLY_PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait for a status once there was a reply.
const STATUS_PATIENCE: Duration = Duration::from_millis(100);

/// The wait for a kernel to be ready.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    info: Option<KernelInfo>,
    has_status: bool,
    ask_at: Option<Instant>,
}

impl Handshake {
    /// When [`Handshake::tick`] wants to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.ask_at
    }

    /// Looks at the time. Tells whether to ask; always at the first call.
    pub(crate) fn tick(&mut self, now: Instant) -> bool {
        if self.ask_at.is_some_and(|at| now < at) {
            return false;
        }
        self.ask_at = Some(now + if self.info.is_some() { STATUS_PATIENCE } else { REPLY_PATIENCE });
        true
    }

    /// What to ask.
    pub(crate) fn question() -> JupyterMessage {
        JupyterMessage::new(KernelInfoRequest {}, None)
    }

    /// Takes a message of the kernel. Gives what the kernel said of itself once it is ready.
    pub(crate) fn handle(&mut self, message: &Message, now: Instant) -> Option<KernelInfo> {
        match (message.channel, message.kind.as_str()) {
            (Channel::Shell | Channel::Control, "kernel_info_reply") => match read_info(&message.content) {
                Ok(info) => {
                    self.info = Some(info);
                    self.ask_at = Some(now + STATUS_PATIENCE);
                }
                Err(error) => tracing::warn!(%error, "the kernel says nothing sensible of itself"),
            },
            (Channel::Iopub, "status") => {
                let status: Option<content::Status> = message.content.decode().ok();
                // `starting` is the first that a kernel publishes; later it would look like a restart.
                self.has_status |= status.is_some_and(|it| matches!(&*it.execution_state.0, "busy" | "idle"));
            }
            _ => {}
        }
        if self.has_status { self.info.take() } else { None }
    }

    /// What is still missing, for people.
    pub(crate) fn missing(&self) -> &'static str {
        match self.info {
            Some(_) => "it replies, but what it publishes does not arrive",
            None => "it takes connections, but does not reply",
        }
    }
}

fn read_info(content: &Json) -> serde_json::Result<KernelInfo> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Content<'a> {
        implementation: Short,
        implementation_version: Short,
        banner: Short,
        protocol_version: Short,
        #[serde(borrow)]
        language_info: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Language {
        name: Short,
    }
    let read: Content<'_> = content.decode()?;
    let language_info = content::object(content, read.language_info);
    let language: Language = language_info.decode().unwrap_or_default();
    Ok(KernelInfo {
        implementation: read.implementation.0,
        implementation_version: read.implementation_version.0,
        language: language.name.0,
        language_info,
        banner: read.banner.0,
        protocol_version: read.protocol_version.0,
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const REPLY: &str = r#"{"implementation": "k", "language_info": {"name": "python", "version": "3"}}"#;

    fn message(channel: Channel, kind: &str, content: &'static str) -> Message {
        let header = format!("{{\"msg_type\": \"{kind}\"}}");
        Message::read(channel, header.into(), Bytes::from_static(b"{}"), content.into()).unwrap()
    }

    fn status(state: &'static str) -> Message {
        message(Channel::Iopub, "status", state)
    }

    #[test]
    fn a_kernel_is_ready_when_its_reply_and_a_status_have_come() {
        let now = Instant::now();
        let busy = r#"{"execution_state": "busy"}"#;
        let mut handshake = Handshake::default();
        assert!(handshake.handle(&status(busy), now).is_none());
        let info = handshake.handle(&message(Channel::Shell, "kernel_info_reply", REPLY), now).unwrap();
        assert_eq!((&*info.implementation, &*info.language, &*info.banner), ("k", "python", ""));
        assert_eq!(info.language_info.as_str(), r#"{"name": "python", "version": "3"}"#);

        let mut handshake = Handshake::default();
        assert!(handshake.handle(&message(Channel::Shell, "kernel_info_reply", REPLY), now).is_none());
        assert!(handshake.handle(&status(r#"{"execution_state": "starting"}"#), now).is_none());
        assert!(handshake.handle(&status("[]"), now).is_none());
        assert!(handshake.handle(&status(r#"{"execution_state": "idle"}"#), now).is_some());
    }

    #[test]
    fn it_asks_again_sooner_once_there_was_a_reply() {
        let start = Instant::now();
        let mut handshake = Handshake::default();
        assert!(handshake.tick(start));
        assert!(!handshake.tick(start + STATUS_PATIENCE));
        assert!(handshake.tick(start + REPLY_PATIENCE));
        let later = start + REPLY_PATIENCE;
        assert!(handshake.missing().contains("does not reply"));
        assert!(handshake.handle(&message(Channel::Shell, "kernel_info_reply", REPLY), later).is_none());
        assert!(handshake.missing().contains("does not arrive"));
        assert!(!handshake.tick(later));
        assert!(handshake.tick(later + STATUS_PATIENCE));
    }

    #[test]
    fn a_kernel_may_say_nothing_of_itself() {
        let now = Instant::now();
        let mut handshake = Handshake::default();
        handshake.handle(&status(r#"{"execution_state": "idle"}"#), now);
        assert!(handshake.handle(&message(Channel::Shell, "kernel_info_reply", "[]"), now).is_some());
        let mut handshake = Handshake::default();
        handshake.handle(&status(r#"{"execution_state": "idle"}"#), now);
        let info = handshake.handle(&message(Channel::Shell, "kernel_info_reply", "{\"banner\": 1}"), now);
        assert_eq!(info.unwrap().language_info, Json::empty_object());
    }
}
