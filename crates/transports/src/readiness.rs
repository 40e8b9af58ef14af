//! Finds out when a kernel is ready: it replies, and what it publishes arrives here.
//!
//! A subscription takes effect some time after it was made, and what is published before is lost. So we ask until
//! both the reply and a status have come.

use std::time::{Duration, Instant};

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};
use kernel::messages::{Channel, Message};
use notebook::Json;

/// How long to wait for a reply before asking again. A kernel that is starting answers all questions in the end.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for a status after the reply.
const STATUS_TIMEOUT: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct Readiness {
    language_info: Option<Json>,
    has_status: bool,
    /// The session of the kernel's process, if it has one.
    pub(crate) process: Option<String>,
    /// When [`Readiness::tick`] is due.
    pub(crate) ask_at: Option<Instant>,
}

impl Readiness {
    /// Whether to ask now; always at the first call.
    pub(crate) fn tick(&mut self, now: Instant) -> bool {
        if self.ask_at.is_some_and(|at| now < at) {
            return false;
        }
        self.ask_at = Some(now + if self.language_info.is_some() { STATUS_TIMEOUT } else { REPLY_TIMEOUT });
        true
    }

    pub(crate) fn question() -> JupyterMessage {
        // Safe to repeat: unlike `execute_request`, it runs no code and counts no execution.
        JupyterMessage::new(KernelInfoRequest {}, None)
    }

    /// Handles a message of the kernel. Returns its `language_info` once it is ready.
    pub(crate) fn handle(&mut self, message: &Message, now: Instant) -> Option<Json> {
        match (message.channel, message.header.kind.as_str()) {
            (Channel::Shell | Channel::Control, "kernel_info_reply") => {
                self.language_info = Some(language_info(&message.content));
                // The statuses of this question may precede our subscription; then only another question brings some.
                self.ask_at = Some(now + STATUS_TIMEOUT);
                // Not from a status: a Jupyter server publishes some of its own, under the client's session.
                self.process = message.process().map(str::to_owned);
            }
            (Channel::Iopub, "status") => {
                // `starting` is the first that a kernel publishes; later it would look like a restart.
                // Whose request it belongs to does not matter: any shows that the subscription has taken effect.
                self.has_status |= matches!(message.status().as_deref(), Some("busy" | "idle"));
            }
            _ => {}
        }
        if self.has_status { self.language_info.take() } else { None }
    }

    /// What is still missing, for people.
    pub(crate) fn missing(&self) -> &'static str {
        match self.language_info {
            Some(_) => "it replies, but its published messages do not arrive",
            None => "it accepts connections, but does not reply",
        }
    }
}

/// The `language_info` of a `kernel_info_reply`; an empty object if it has none.
pub(crate) fn language_info(content: &Json) -> Json {
    content.member("language_info").filter(Json::is_object).unwrap_or(Json::empty_object())
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
    fn a_kernel_is_ready_after_its_reply_and_a_status() {
        let now = Instant::now();
        let busy = r#"{"execution_state": "busy"}"#;
        let mut readiness = Readiness::default();
        assert!(readiness.handle(&status(busy), now).is_none());
        let info = readiness.handle(&message(Channel::Shell, "kernel_info_reply", REPLY), now).unwrap();
        assert_eq!(info.as_str(), r#"{"name": "python", "version": "3"}"#);

        let mut readiness = Readiness::default();
        assert!(readiness.handle(&message(Channel::Shell, "kernel_info_reply", REPLY), now).is_none());
        assert!(readiness.handle(&status(r#"{"execution_state": "starting"}"#), now).is_none());
        assert!(readiness.handle(&status("[]"), now).is_none());
        assert!(readiness.handle(&status(r#"{"execution_state": "idle"}"#), now).is_some());
    }

    #[test]
    fn it_asks_again_sooner_once_there_was_a_reply() {
        let start = Instant::now();
        let mut readiness = Readiness::default();
        assert!(readiness.tick(start));
        assert!(!readiness.tick(start + STATUS_TIMEOUT));
        assert!(readiness.tick(start + REPLY_TIMEOUT));
        let later = start + REPLY_TIMEOUT;
        assert!(readiness.missing().contains("does not reply"));
        assert!(readiness.handle(&message(Channel::Shell, "kernel_info_reply", REPLY), later).is_none());
        assert!(readiness.missing().contains("do not arrive"));
        assert!(!readiness.tick(later));
        assert!(readiness.tick(later + STATUS_TIMEOUT));
    }

    #[test]
    fn a_reply_may_lack_language_info() {
        let now = Instant::now();
        let mut readiness = Readiness::default();
        readiness.handle(&status(r#"{"execution_state": "idle"}"#), now);
        assert!(readiness.handle(&message(Channel::Shell, "kernel_info_reply", "[]"), now).is_some());
        let mut readiness = Readiness::default();
        readiness.handle(&status(r#"{"execution_state": "idle"}"#), now);
        let info =
            readiness.handle(&message(Channel::Shell, "kernel_info_reply", "{\"language_info\": 1}"), now);
        assert_eq!(info.unwrap(), Json::empty_object());
    }
}
