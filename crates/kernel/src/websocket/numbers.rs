//! Counts what a server left out of a kernel's messages.
//!
//! Jupyter Server drops outputs beyond a rate, 1000 messages or 1 MB of text a second over three seconds, and says so in
//! a message of its own (`ZMQChannelsWebsocketConnection._limit_rate`). `jupyter_client`, and with it `ipykernel`,
//! numbers the messages of a kernel, those of all channels together: their ids end in `_<number>`. So it can be told
//! exactly how many are missing.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use notebook::Json;
use serde::Deserialize;
use serde_json::json;

use crate::content;
use crate::message::{Channel, Message};
use crate::text::Short;

/// Who sent a message, as its header tells.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Stamp<'a> {
    #[serde(borrow)]
    pub(super) msg_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) session: Cow<'a, str>,
}

impl<'a> Stamp<'a> {
    pub(super) fn read(header: &'a Json) -> Self {
        header.decode().unwrap_or_default()
    }

    /// The kernel's process and the number of the message, if the sender counts: `<session>_<process>_<number>`; older
    /// versions of `jupyter_client` leave the process out.
    fn number(&self) -> Option<(&str, u64)> {
        let (process, number) = self.msg_id.rsplit_once('_')?;
        let is_counting = !self.session.is_empty() && process.starts_with(&*self.session);
        if is_counting { Some((process, number.parse().ok()?)) } else { None }
    }
}

/// Why messages may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Too many messages for the server.
    Messages,
    /// Too much text for the server.
    Bytes,
    /// The connection was lost.
    Cut,
    /// Nobody said anything: `ZeroMQ` drops what waits too long for its reader.
    Slow,
}

impl Cause {
    /// Recognises the server's notice that it drops messages.
    pub(super) fn of_notice(message: &Message) -> Option<Self> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Stream {
            name: Short,
            text: Short,
        }
        // The notice is some 400 bytes long; longer texts need not be looked into.
        if message.channel != Channel::Iopub
            || message.kind != "stream"
            || message.content.bytes().len() > 2000
        {
            return None;
        }
        let stream: Stream = message.content.decode().ok()?;
        match &*stream.name.0 {
            "stderr" if stream.text.0.starts_with("IOPub message rate exceeded") => Some(Self::Messages),
            "stderr" if stream.text.0.starts_with("IOPub data rate exceeded") => Some(Self::Bytes),
            _ => None,
        }
    }
}

/// The numbers of a kernel's messages.
#[derive(Default)]
pub(super) struct Numbers {
    /// The kernel's session, if it counts; a process that is started anew has another.
    session: String,
    /// With which its ids begin.
    process: String,
    /// The highest number so far of what the kernel published.
    last: u64,
    /// Numbers that came and can come before lower ones, over another channel or from another thread: those of the gap,
    /// and those that no gap has reached. With each reply, what it replies to.
    ahead: BTreeMap<u64, Option<String>>,
    /// The request that the kernel turned to last, unless that is over.
    running: Option<String>,
    gap: Option<Gap>,
}

/// A stretch of messages of which some may be missing.
struct Gap {
    cause: Cause,
    /// The request to which the missing messages belong.
    parent: String,
    /// The number before the first that may be missing.
    start: u64,
    /// How many of the numbers behind `start` came.
    seen: u64,
    /// Requests that were replied to, or may have been. Replies to others never come here.
    answered: HashSet<String>,
    /// Requests whose reply came.
    replied: HashSet<String>,
}

/// What a message means for the count.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// To be given out before the message.
    pub(super) before: Option<Message>,
    /// The kernel is a new process, which knows nothing of what the last was asked.
    pub(super) is_new_process: bool,
}

impl Numbers {
    /// Whether the kernel numbers its messages.
    pub(super) fn are_known(&self) -> bool {
        !self.session.is_empty()
    }

    /// Takes a message of the kernel that was not seen before. `ends_at`: the last request of ours on the shell channel.
    pub(super) fn take(&mut self, message: &Message, ends_at: &str) -> Counted {
        let stamp = Stamp::read(&message.header);
        let state = state(message);
        let mut counted = Counted::default();
        if let Some((process, number)) = stamp.number() {
            if self.session != stamp.session {
                // The first message of a kernel that never spoke is no news.
                counted.is_new_process = self.are_known();
                counted.before = self.close();
                (*stamp.session).clone_into(&mut self.session);
                process.clone_into(&mut self.process);
                self.last = number;
                self.running = None;
            }
            // What code forks off speaks under the same session, and counts for itself.
            if self.process == process {
                self.count(message, number, state.as_deref());
            }
        }
        let is_other = |gap: &Gap| gap.parent != message.parent;
        match state.as_deref() {
            Some("busy") => {
                // The kernel turned to something else, and with that the executions before are over.
                if message.parent == ends_at && self.gap.as_ref().is_some_and(is_other) {
                    counted.before = counted.before.or(self.close());
                }
                if message.parent_kind() == "execute_request" {
                    self.running = Some(message.parent.clone());
                    if self.are_known() && self.gap.is_none() {
                        let start = stamp.number().map_or(self.last, |(_, number)| number);
                        self.open(Cause::Slow, message.parent.clone(), start);
                    }
                }
            }
            Some("idle") => {
                self.running.take_if(|running| *running == message.parent);
                if self.gap.as_ref().is_some_and(|gap| !is_other(gap)) {
                    let last = stamp.number().map_or(self.last, |(_, number)| number);
                    counted.before = counted.before.or(self.close_at(last));
                }
            }
            _ => {}
        }
        counted
    }

    /// From here on messages may be missing, because the server says so to whoever sent `parent`. Gives what is to be
    /// told of the ones before.
    pub(super) fn doubt(&mut self, cause: Cause, parent: String) -> Option<Message> {
        let is_same =
            |gap: &&mut Gap| gap.parent == parent && (gap.cause == cause || gap.cause == Cause::Slow);
        if let Some(gap) = self.gap.as_mut().filter(is_same) {
            gap.cause = cause;
            return None;
        }
        let told = self.close();
        self.open(cause, parent, self.last);
        told
    }

    /// From here on messages may be missing, because the connection was lost.
    pub(super) fn cut(&mut self) -> Option<Message> {
        match self.running.clone() {
            Some(parent) if self.are_known() => self.doubt(Cause::Cut, parent),
            _ => None,
        }
    }

    /// Whether the message ends a run, and something of it would be told as missing.
    pub(super) fn lacks_at(&self, message: &Message) -> bool {
        let Some(gap) = self.gap.as_ref().filter(|gap| gap.parent == message.parent) else { return false };
        let stamp = Stamp::read(&message.header);
        let number = stamp.number().filter(|(process, _)| *process == self.process).map(|(_, number)| number);
        number.is_some_and(|number| self.missing(gap, number) > 1)
            && state(message).as_deref() == Some("idle")
    }

    /// Begins a gap behind the number `start`.
    fn open(&mut self, cause: Cause, parent: String, start: u64) {
        self.ahead = self.ahead.split_off(&(start + 1));
        let seen = self.ahead.len() as u64;
        self.gap = Some(Gap {
            cause,
            parent,
            start,
            seen,
            answered: HashSet::new(),
            replied: self.ahead.values().flatten().cloned().collect(),
        });
    }

    fn count(&mut self, message: &Message, number: u64, state: Option<&str>) {
        if message.channel == Channel::Iopub {
            self.last = self.last.max(number);
            if state.is_some() {
                self.ahead.insert(number, None);
            }
        } else {
            self.ahead.insert(number, Some(message.parent.clone()));
        }
        match &mut self.gap {
            Some(gap) => gap.count(message, number, state),
            None => self.ahead = self.ahead.split_off(&(self.last + 1)),
        }
    }

    /// How many messages of the gap up to number `last` did not come, apart from replies.
    fn missing(&self, gap: &Gap, last: u64) -> u64 {
        let unheard = gap.answered.difference(&gap.replied).count() as u64;
        let ahead = self.ahead.range(last + 1..).count() as u64;
        last.saturating_sub(gap.start + unheard).saturating_sub(gap.seen - ahead)
    }

    /// Ends the gap. Gives what is to be told of it.
    fn close(&mut self) -> Option<Message> {
        self.close_at(self.last)
    }

    /// The same; what is numbered higher than `last` does not belong to it.
    fn close_at(&mut self, last: u64) -> Option<Message> {
        let gap = self.gap.take()?;
        let missing = self.missing(&gap, last);
        if missing == 0 { None } else { told(gap.cause, missing, &gap.parent) }
    }
}

impl Gap {
    fn count(&mut self, message: &Message, number: u64, state: Option<&str>) {
        if number <= self.start {
            return;
        }
        self.seen += 1;
        match message.channel {
            Channel::Shell | Channel::Control => drop(self.replied.insert(message.parent.clone())),
            Channel::Iopub if message.kind == "status" => {
                // The reply comes between the two.
                let may_be =
                    state == Some("idle") || (state == Some("busy") && message.parent != self.parent);
                if may_be && message.parent_kind().ends_with("_request") {
                    self.answered.insert(message.parent.clone());
                }
            }
            _ => {}
        }
    }
}

/// What a `status` says.
pub(super) fn state(message: &Message) -> Option<String> {
    if message.channel == Channel::Iopub && message.kind == "status" {
        message.content.decode::<content::Status>().ok().map(|status| status.execution_state.0)
    } else {
        None
    }
}

/// Tells on stderr how many messages are missing.
fn told(cause: Cause, missing: u64, parent: &str) -> Option<Message> {
    let (are, messages) = if missing == 1 { ("is", "message") } else { ("are", "messages") };
    let why = match cause {
        Cause::Messages => {
            "the Jupyter server dropped what came faster than its limit. Start it with a higher \
             --ZMQChannelsWebsocketConnection.iopub_msg_rate_limit, or print less often."
        }
        Cause::Bytes => {
            "the Jupyter server dropped what came faster than its limit. Start it with a higher \
             --ZMQChannelsWebsocketConnection.iopub_data_rate_limit, or print less."
        }
        Cause::Slow => "the kernel published faster than the Jupyter server read. Print less often.",
        Cause::Cut => "the connection to the Jupyter server was lost for a while, and it did not keep them.",
    };
    let text = format!("[{missing} {messages} of the kernel {are} missing here: {why}]\n");
    stream(&text, parent)
}

fn stream(text: &str, parent: &str) -> Option<Message> {
    let header = json!({ "msg_type": "stream" });
    let parts = [header, json!({ "msg_id": parent }), json!({ "name": "stderr", "text": text })];
    let [header, parent, content] = parts.map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).ok()
}

#[cfg(test)]
mod tests;
