//! The order in which a kernel gets the requests of several clients: one execution at a time.
//!
//! A kernel drops what is queued behind an execution that fails. So an execution waits here until the one before is over, and
//! an error of one client's code ends no run of another. What a client sends behind an execution of its own that waits, waits
//! with it; everything else goes to the kernel at once.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kernel::MessageId;
use kernel::log::{Channel, ClientId, Peek};

/// How long the reply or `idle` of an execution may be missing once the other has come. Kernels leave out the reply if they
/// are interrupted before they run the code, and `idle` if they abort.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

/// A message for the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueuedRequest {
    pub(crate) client: ClientId,
    pub(crate) channel: Channel,
    /// `msg_id`.
    pub(crate) id: MessageId,
    pub(crate) is_execution: bool,
    pub(crate) parts: Vec<Bytes>,
}

impl QueuedRequest {
    pub(crate) fn new(client: ClientId, channel: Channel, parts: Vec<Bytes>) -> Self {
        let peek = Peek::of(channel, &parts);
        let is_execution = channel == Channel::Shell && peek.kind == "execute_request";
        Self { client, channel, id: peek.id.into(), is_execution, parts }
    }
}

/// The execution that the kernel has.
#[derive(Debug)]
struct Turn {
    id: MessageId,
    has_reply: bool,
    is_idle: bool,
    /// When it is over at the latest.
    ends_at: Option<Instant>,
}

#[derive(Debug, Default)]
pub(crate) struct Turns {
    current: Option<Turn>,
    waiting: VecDeque<QueuedRequest>,
}

impl Turns {
    /// A client sends a message. Returns what goes to the kernel now.
    pub(crate) fn submit(&mut self, request: QueuedRequest) -> Vec<QueuedRequest> {
        let waits_behind_own = self.waiting.iter().any(|waiting| waiting.client == request.client);
        // A client's requests keep their order, but another client's question need not wait for a queue that is not its own.
        let must_wait = request.channel == Channel::Shell
            && (waits_behind_own || (request.is_execution && self.current.is_some()));
        if must_wait {
            self.waiting.push_back(request);
            return Vec::new();
        }
        if request.is_execution {
            self.begin(&request);
        }
        vec![request]
    }

    /// The kernel sent a message. Returns what goes to it now.
    pub(crate) fn received(&mut self, channel: Channel, peek: &Peek, now: Instant) -> Vec<QueuedRequest> {
        let Some(turn) = self.current.as_mut().filter(|turn| *turn.id == *peek.parent) else {
            return Vec::new();
        };
        match (channel, &*peek.kind, peek.state.as_deref()) {
            (Channel::Shell, "execute_reply", _) => turn.has_reply = true,
            (Channel::Iopub, "status", Some("idle")) => turn.is_idle = true,
            _ => return Vec::new(),
        }
        if turn.has_reply && turn.is_idle {
            return self.next();
        }
        turn.ends_at.get_or_insert(now + SETTLE_TIMEOUT);
        Vec::new()
    }

    /// When [`Turns::tick`] is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.current.as_ref().and_then(|turn| turn.ends_at)
    }

    /// Ends a turn of which a message is missing. Returns its request and what goes to the kernel now.
    pub(crate) fn tick(&mut self, now: Instant) -> Option<(MessageId, Vec<QueuedRequest>)> {
        let turn = self.current.take_if(|turn| turn.ends_at.is_some_and(|at| at <= now))?;
        Some((turn.id, self.next()))
    }

    /// Removes a request that waits. `false` if it does not.
    pub(crate) fn withdraw(&mut self, id: &str) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|request| request.id != id);
        self.waiting.len() < before
    }

    /// Whether the kernel works on this request.
    pub(crate) fn is_current(&self, id: &str) -> bool {
        self.current.as_ref().is_some_and(|turn| turn.id == id)
    }

    /// The kernel's process ended: nothing more is sent.
    pub(crate) fn kernel_ended(&mut self) {
        self.current = None;
        self.waiting.clear();
    }

    /// Whether an execution is on its way or waits.
    pub(crate) fn is_busy(&self) -> bool {
        self.current.is_some() || !self.waiting.is_empty()
    }

    fn begin(&mut self, request: &QueuedRequest) {
        let id = request.id.clone();
        self.current = Some(Turn { id, has_reply: false, is_idle: false, ends_at: None });
    }

    /// The turn is over: what waits up to the next execution, and that.
    fn next(&mut self) -> Vec<QueuedRequest> {
        self.current = None;
        let mut released = Vec::new();
        while let Some(request) = self.waiting.pop_front() {
            let is_execution = request.is_execution;
            if is_execution {
                self.begin(&request);
            }
            released.push(request);
            if is_execution {
                break;
            }
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(client: ClientId, id: &str, kind: &str) -> QueuedRequest {
        let header = format!(r#"{{"msg_id": "{id}", "msg_type": "{kind}"}}"#);
        QueuedRequest::new(client, Channel::Shell, vec![header.into(), "{}".into(), "{}".into(), "{}".into()])
    }

    fn run(client: ClientId, id: &str) -> QueuedRequest {
        request(client, id, "execute_request")
    }

    fn ids(requests: Vec<QueuedRequest>) -> Vec<String> {
        requests.into_iter().map(|request| request.id.to_string()).collect()
    }

    fn reply(turns: &mut Turns, id: &str) -> Vec<String> {
        let peek = Peek { kind: "execute_reply".into(), parent: id.into(), ..Peek::default() };
        ids(turns.received(Channel::Shell, &peek, Instant::now()))
    }

    fn idle(turns: &mut Turns, id: &str) -> Vec<String> {
        let (kind, parent, state) = ("status".into(), id.into(), Some("idle".into()));
        ids(turns.received(Channel::Iopub, &Peek { kind, parent, state, id: String::new() }, Instant::now()))
    }

    #[test]
    fn executions_take_turns_in_the_order_in_which_they_came() {
        let mut turns = Turns::default();
        assert_eq!(ids(turns.submit(run(1, "a"))), ["a"]);
        assert!(turns.submit(run(2, "b")).is_empty());
        assert!(turns.submit(run(1, "c")).is_empty());
        assert!(idle(&mut turns, "x").is_empty());
        assert!(reply(&mut turns, "a").is_empty());
        assert_eq!(idle(&mut turns, "a"), ["b"]);
        assert!(idle(&mut turns, "b").is_empty());
        assert_eq!(reply(&mut turns, "b"), ["c"]);
        reply(&mut turns, "c");
        idle(&mut turns, "c");
        assert!(!turns.is_busy());
    }

    #[test]
    fn what_follows_an_execution_that_waits_waits_with_it_and_all_else_does_not() {
        let mut turns = Turns::default();
        turns.submit(run(1, "a"));
        turns.submit(run(2, "b"));
        assert!(turns.submit(request(2, "question", "kernel_info_request")).is_empty());
        assert_eq!(ids(turns.submit(request(1, "other", "kernel_info_request"))), ["other"]);
        let control =
            QueuedRequest { channel: Channel::Control, ..request(2, "interrupt", "interrupt_request") };
        assert_eq!(ids(turns.submit(control)), ["interrupt"]);
        reply(&mut turns, "a");
        assert_eq!(idle(&mut turns, "a"), ["b"]);
        reply(&mut turns, "b");
        assert_eq!(idle(&mut turns, "b"), ["question"]);
    }

    #[test]
    fn a_turn_without_a_reply_or_idle_ends_after_a_while() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        turns.submit(run(1, "a"));
        turns.submit(run(1, "b"));
        assert_eq!(turns.deadline(), None, "code may run for days");
        reply(&mut turns, "a");
        assert!(turns.deadline().is_some());
        assert!(turns.tick(now).is_none());
        let (ended, released) = turns.tick(now + 2 * SETTLE_TIMEOUT).unwrap();
        assert_eq!((&*ended, ids(released)), ("a", vec!["b".to_owned()]));
    }

    #[test]
    fn what_waits_can_be_withdrawn_and_ends_with_the_kernel() {
        let mut turns = Turns::default();
        for id in ["a", "b", "c"] {
            turns.submit(run(1, id));
        }
        assert!(turns.withdraw("b") && !turns.withdraw("b") && !turns.withdraw("a"));
        assert!(turns.is_current("a") && !turns.is_current("b") && !turns.is_current("c"));
        turns.kernel_ended();
        assert!(!turns.is_busy());
        assert_eq!(ids(turns.submit(run(1, "d"))), ["d"]);
    }
}
