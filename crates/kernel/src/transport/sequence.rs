//! Notices that messages of a kernel are missing.
//!
//! Jupyter Server drops outputs beyond a rate, 1000 messages or 1 MB of text a second over three seconds, and says so in a
//! message of its own (`ZMQChannelsWebsocketConnection._limit_rate`). `ZeroMQ` drops what a slow reader does not take, and a
//! cut connection loses what was under way, both silently. But `jupyter_client`, and with it `ipykernel`, numbers the
//! messages of a kernel, those of all channels together. So at the end of a run it is known whether any is missing.

use std::collections::{HashSet, VecDeque};

use notebook::Output;
use serde_json::json;

use crate::is_interrupt;
use crate::messages::{Channel, Message, content};

/// How many messages `ZeroMQ` queues for a reader before it drops any (`ZMQ_SNDHWM`).
const QUEUE_LENGTH: u64 = 1000;

/// How many requests are remembered that the kernel has not begun with.
const MAX_WAITING: usize = 1024;

/// Why messages are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapCause {
    /// Too many messages for the server.
    MessageRate,
    /// Too much text for the server.
    DataRate,
    /// The connection was cut.
    Cut,
    /// `ZeroMQ` dropped what waited too long for its reader.
    SlowReader,
    /// The kernel's keeper keeps only so much of one run.
    LogLimit,
}

impl GapCause {
    /// Recognises the server's notice that it drops messages.
    pub fn of_notice(message: &Message) -> Option<Self> {
        // The notice is some 400 bytes long; longer texts need not be read.
        if message.channel != Channel::Iopub
            || message.header.kind != "stream"
            || message.content.bytes().len() > 2000
        {
            return None;
        }
        let Ok(Some(Output::Stream { name, text })) = content::stream(&message.content) else { return None };
        let text = text.as_str();
        match &*name {
            "stderr" if text.starts_with("IOPub message rate exceeded") => Some(Self::MessageRate),
            "stderr" if text.starts_with("IOPub data rate exceeded") => Some(Self::DataRate),
            _ => None,
        }
    }

    /// A message on stderr for the execution `parent` that says what is missing and why.
    fn notice(self, parent: &str) -> Option<Message> {
        let why = match self {
            Self::MessageRate => {
                "the Jupyter server dropped output above its rate limit. Start it with a higher \
                 --ZMQChannelsWebsocketConnection.iopub_msg_rate_limit, or print less often."
            }
            Self::DataRate => {
                "the Jupyter server dropped output above its rate limit. Start it with a higher \
                 --ZMQChannelsWebsocketConnection.iopub_data_rate_limit, or print less."
            }
            Self::Cut => {
                "the connection to the Jupyter server was interrupted, and the server did not buffer them."
            }
            Self::LogLimit => "the limit for one run is exceeded. Print less.",
            Self::SlowReader => "the kernel published faster than its messages were read. Print less often.",
        };
        let content =
            json!({ "name": "stderr", "text": format!("[Messages of the kernel are missing: {why}]\n") });
        let parts = [json!({ "msg_type": "stream" }), json!({ "msg_id": parent }), content];
        let [header, parent, content] = parts.map(|part| part.to_string().into());
        Message::read(Channel::Iopub, header, parent, content).ok()
    }
}

/// The numbers of a kernel's messages.
#[derive(Default)]
pub struct Sequence {
    /// The kernel's session, if it numbers its messages. Each of its processes has its own.
    session: String,
    /// With which the ids of its messages begin.
    process: String,
    run: Option<RunSpan>,
    /// Our requests on the shell channel that the kernel has not begun with, in order.
    waiting: VecDeque<String>,
    /// The connection was cut, and the kernel has begun with no request of ours since.
    is_cut: bool,
    /// The execution for which the server's last notice was reported.
    reported: Option<String>,
    /// How many messages a run must have had to have lost any. Kernels number what their threads publish at the same
    /// time in another order than they send it, which looks like a loss at the end of a short run.
    least_messages: u64,
}

/// The messages from the `busy` of one execution to its `idle`.
///
/// Every number between the two belongs to a message that was published, to one on the stdin channel, or to a reply. Replies
/// are not counted as they come: they travel over other channels, out of order, and those to other clients never come. Each
/// request that the kernel handled accounts for one number instead. For example, while `a` ran, another client's `kernel_info`
/// was answered:
///
/// | number | message | |
/// |---|---|---|
/// | 7 | `busy` of `a` | start |
/// | 8 | stream of `a` | published: 1 |
/// | 9, 11 | `busy`, `idle` of the other request | published by others: 2 |
/// | 10 | the reply to it | a request: 1 |
/// | 12 | stream of `a` | did not come |
/// | 13 | the reply to `a` | a request: 1 |
/// | 14 | `idle` of `a` | end |
///
/// Between 7 and 14 are 6 numbers, 1 + 2 + 2 are accounted for: a message is missing.
struct RunSpan {
    parent: String,
    start: u64,
    /// How many messages of this execution came.
    published: u64,
    /// The numbers of other messages. Other threads of the kernel may send them out of order.
    by_others: Vec<u64>,
    /// The statuses of other requests, with their numbers. A request counts if one of them lies in the run: answers can come
    /// before the `idle` of this execution though they are numbered after it.
    requests: Vec<(u64, String)>,
    cause: GapCause,
}

impl RunSpan {
    fn is_missing_before(&self, end: u64) -> bool {
        let is_inside = |number: &&u64| (self.start + 1..end).contains(*number);
        let by_others = self.by_others.iter().filter(is_inside).count() as u64;
        let requests = self.requests.iter().filter(|(number, _)| is_inside(&number));
        let replies = 1 + requests.map(|(_, id)| id).collect::<HashSet<_>>().len() as u64;
        end.saturating_sub(self.start + 1) > self.published + by_others + replies
    }
}

/// What a message means for the sequence.
#[derive(Debug, Default)]
pub struct Observation {
    /// A report to be passed on before the message.
    pub notice: Option<Message>,
    /// The kernel is a new process, which knows nothing of what the last was asked.
    pub is_new_process: bool,
}

impl Sequence {
    /// For a connection on which nothing but `ZeroMQ` drops messages: it queues a thousand for each reader before.
    pub fn of_direct_connection() -> Self {
        Self { least_messages: QUEUE_LENGTH, ..Self::default() }
    }

    pub fn is_numbered(&self) -> bool {
        !self.session.is_empty()
    }

    /// Our request `id` goes out on the shell channel. Those on the control channel overtake a run, so that their `busy` does
    /// not show that it ended.
    pub fn requested(&mut self, id: &str) {
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(id.to_owned());
    }

    /// Observes a message of the kernel that did not come before.
    pub fn observe(&mut self, message: &Message) -> Observation {
        let mut observed = Observation::default();
        let is_next = self.begins_next(message);
        if is_next && self.is_cut && is_past_its_beginning(message) {
            observed.notice = self.server_dropped(GapCause::Cut, &message.parent.id);
        }
        self.is_cut &= !is_next;
        let Some((process, number)) = message.header.sequence() else { return observed };
        if self.session != message.header.session {
            // The first message of a kernel that never sent one is no change.
            observed.is_new_process = self.is_numbered();
            self.session.clone_from(&message.header.session);
            process.clone_into(&mut self.process);
            self.run = None;
        }
        // A process that the code forked sends under the same session, with its own numbers.
        if self.process != process {
            return observed;
        }
        let parent = &message.parent;
        let status = message.status();
        let is_interrupt = || matches!(content::error(&message.content), Ok(Output::Error { name, .. }) if is_interrupt(&name));
        if parent.kind == "shutdown_request" || message.header.kind == "error" && is_interrupt() {
            // Another thread of the kernel sends what concerns its end, in another order than it is numbered, or does not.
            self.run = None;
        }
        if let Some(run) = &mut self.run {
            let is_other = run.parent != parent.id;
            let is_end = match status.as_deref() {
                Some("idle") => !is_other,
                // The kernel started our next request: the `idle` of this run is lost.
                Some("busy") => is_other && is_next,
                _ => false,
            };
            if is_end {
                observed.notice = self.end_run(number);
            } else if is_other {
                run.by_others.push(number);
                if status.is_some() && parent.kind.ends_with("_request") {
                    run.requests.push((number, parent.id.clone()));
                }
            } else if matches!(message.channel, Channel::Iopub | Channel::Stdin) {
                run.published += 1;
            }
        }
        if status.as_deref() == Some("busy") && parent.kind == "execute_request" && self.run.is_none() {
            self.run = Some(RunSpan {
                parent: parent.id.clone(),
                start: number,
                published: 0,
                by_others: Vec::new(),
                requests: Vec::new(),
                cause: GapCause::SlowReader,
            });
        }
        observed
    }

    /// Whether the kernel has begun with another of our requests. Then nothing waits before it any longer.
    fn begins_next(&mut self, message: &Message) -> bool {
        // A request that the kernel aborts has a reply and nothing else.
        if message.channel != Channel::Iopub {
            return false;
        }
        let Some(index) = self.waiting.iter().position(|id| *id == message.parent.id) else { return false };
        self.waiting.drain(..=index);
        true
    }

    /// The server says that it drops messages of the execution `parent`. Returns the report, once for each execution.
    pub fn server_dropped(&mut self, cause: GapCause, parent: &str) -> Option<Message> {
        if self.reported.as_deref() == Some(parent) {
            return None;
        }
        self.reported = Some(parent.to_owned());
        cause.notice(parent)
    }

    /// The connection was cut.
    pub fn cut(&mut self) {
        self.is_cut = true;
        if let Some(run) = &mut self.run {
            run.cause = GapCause::Cut;
        }
    }

    /// Whether the message ends a run of which something is missing so far.
    pub fn is_incomplete_at(&self, message: &Message) -> bool {
        let Some(run) = self.run.as_ref().filter(|run| run.parent == message.parent.id) else { return false };
        let number = message.header.sequence().filter(|(process, _)| *process == self.process);
        message.status().as_deref() == Some("idle")
            && number.is_some_and(|(_, number)| run.is_missing_before(number))
    }

    fn end_run(&mut self, end: u64) -> Option<Message> {
        let run = self.run.take()?;
        let is_reported = self.reported.as_ref() == Some(&run.parent);
        let is_long = end.saturating_sub(run.start) > self.least_messages;
        if is_long && !is_reported && run.is_missing_before(end) {
            run.cause.notice(&run.parent)
        } else {
            None
        }
    }
}

/// Whether a kernel that publishes this has begun with the request before. An `idle` alone is left to whoever has the reply.
fn is_past_its_beginning(message: &Message) -> bool {
    !matches!(message.header.kind.as_str(), "status" | "execute_input")
}

#[cfg(test)]
mod tests;
