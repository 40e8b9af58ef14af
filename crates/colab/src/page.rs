//! One connected page, as those who call it see it: its [`Session`] and the calls in flight.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use workspace::{Answer, Call, Progress, Report, Tool};

use crate::session::{Event, Session};

/// The frames that may wait for a page to read them: far more than agents have calls in flight.
const MOST_WAITING_FRAMES: usize = 65_536;

/// Why a call has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The page left before it was asked.
    NotAsked,
    /// The page's socket closed, for this reason where we know it.
    PageLeft(Option<&'static str>),
    /// Nothing was heard for the time given at [`Page::call`].
    TimedOut,
}

struct Waiter {
    answer: oneshot::Sender<Answer>,
    reports: mpsc::Sender<Report>,
    wants_progress: bool,
    /// The newest progress that found the channel full: the last one must not be lost.
    unsent: Option<Report>,
    /// Moves with every progress of the page.
    heard: watch::Sender<()>,
}

impl Waiter {
    fn progress(&mut self, progress: Progress) {
        let _ = self.heard.send(());
        if self.wants_progress {
            self.unsent = match self.reports.try_send(Report::Progress(progress)) {
                Err(mpsc::error::TrySendError::Full(report)) => Some(report),
                _ => None,
            };
        }
    }

    fn answer(mut self, answer: Answer) {
        if let Some(report) = self.unsent.take() {
            let _ = self.reports.try_send(report);
        }
        let _ = self.answer.send(answer);
    }
}

struct State {
    session: Session,
    waiters: HashMap<u64, Waiter>,
    is_open: bool,
    /// Why the socket closed, if that was for something the page sent.
    why: Option<&'static str>,
    dropped: u64,
}

/// A connected page, shared by everyone who calls it.
pub(crate) struct Page {
    state: Mutex<State>,
    outbox: mpsc::Sender<String>,
    /// Cancelled when the socket is of no use any more.
    pub(crate) broken: CancellationToken,
    ready: watch::Sender<bool>,
}

impl Page {
    /// Opens the session of a new page. The receiver gives the frames that its socket has to send.
    pub(crate) fn open() -> (Arc<Self>, mpsc::Receiver<String>) {
        let (session, events) = Session::open(Instant::now());
        let (outbox, outgoing) = mpsc::channel(MOST_WAITING_FRAMES);
        let state = State { session, waiters: HashMap::new(), is_open: true, why: None, dropped: 0 };
        let page = Arc::new(Self {
            state: Mutex::new(state),
            outbox,
            ready: watch::Sender::new(false),
            broken: CancellationToken::new(),
        });
        // A session that has just opened only sends.
        page.carry_out(&mut page.state(), events);
        (page, outgoing)
    }

    /// The tools the page offers; `None` while it has not said.
    pub(crate) fn tools(&self) -> Option<Arc<[Tool]>> {
        self.state().session.tools()
    }

    /// Waits until calls may flow. `false` if the page left before.
    pub(crate) async fn ready(&self) -> bool {
        let mut ready = self.ready.subscribe();
        let _ = ready.wait_for(|ready| *ready).await;
        self.state().is_open
    }

    /// Calls the tool that `params` name, for `call`, and waits for the answer, however long that takes, unless
    /// `silence` is a time and passes without an answer or progress. Dropping the future cancels the call.
    pub(crate) async fn call(
        self: &Arc<Self>,
        params: &RawValue,
        call: &Call,
        silence: Option<Duration>,
    ) -> Result<Answer, NoAnswer> {
        let mut deadline = silence.map(|silence| Instant::now() + silence);
        match deadline {
            None => self.ready().await,
            Some(deadline) => timeout_at(deadline, self.ready()).await.map_err(|_| NoAnswer::TimedOut)?,
        };
        let (answer, mut answered) = oneshot::channel();
        let (heard, mut hearing) = watch::channel(());
        let id = {
            let mut state = self.state();
            if !state.is_open {
                return Err(NoAnswer::NotAsked);
            }
            let wants_progress = call.wants_progress;
            let (id, frame) = state.session.call(params, wants_progress || silence.is_some());
            let reports = call.reports.clone();
            state.waiters.insert(id, Waiter { answer, reports, wants_progress, unsent: None, heard });
            self.send(frame);
            id
        };
        let mut flight = Flight { page: self, id, reason: "the agent does not wait for the answer any more" };
        loop {
            tokio::select! {
                biased;
                answer = &mut answered => return answer.map_err(|_| NoAnswer::PageLeft(self.state().why)),
                Ok(()) = hearing.changed() => deadline = silence.map(|silence| Instant::now() + silence),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    flight.reason = "no answer or progress in the time allowed";
                    return Err(NoAnswer::TimedOut);
                }
            }
        }
    }

    /// Takes a frame from the page; `true` if agents should list the tools again.
    pub(crate) fn receive(&self, frame: &[u8]) -> bool {
        let mut state = self.state();
        let events = state.session.receive(frame, Instant::now());
        self.carry_out(&mut state, events)
    }

    /// When [`Page::handle_timeout`] wants to be called, if at all.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.state().session.deadline()
    }

    /// Goes on without an answer that is overdue; `true` if agents should list the tools again.
    pub(crate) fn handle_timeout(&self) -> bool {
        let mut state = self.state();
        let events = state.session.handle_timeout(Instant::now());
        self.carry_out(&mut state, events)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics under the lock, so it is never poisoned.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what the session asks for; `true` if agents should list the tools again.
    fn carry_out(&self, state: &mut State, events: Vec<Event>) -> bool {
        let mut has_changed = false;
        for event in events {
            match event {
                Event::Send(frame) => self.send(frame),
                Event::Ready => {
                    self.ready.send_replace(true);
                }
                Event::ToolsChanged => has_changed = true,
                Event::Answer { id, answer } => {
                    if let Some(waiter) = state.waiters.remove(&id) {
                        waiter.answer(answer);
                    }
                }
                Event::Progress { id, progress } => {
                    if let Some(waiter) = state.waiters.get_mut(&id) {
                        waiter.progress(progress);
                    }
                }
                // A log line does not say which call it belongs to, and no agent may read another's.
                Event::Log(params) => {
                    if let (Some(waiter), 1) = (state.waiters.values().next(), state.waiters.len()) {
                        let _ = waiter.reports.try_send(Report::Log(params));
                    } else {
                        tracing::debug!("dropped a line of the page's log that belongs to no single call");
                    }
                }
                Event::Dropped(reason) => {
                    state.dropped += 1;
                    // A page that sends nothing else must not fill the disk.
                    if state.dropped.is_power_of_two() {
                        tracing::warn!(reason, count = state.dropped, "dropped a frame from the page");
                    }
                }
            }
        }
        has_changed
    }

    /// Hands a frame to the writer.
    fn send(&self, frame: String) {
        if self.outbox.try_send(frame).is_err() {
            // Closed, or full: the page asks and asks and reads nothing.
            self.broken.cancel();
        }
    }

    /// The socket is closed, for this reason where we know it: ends every call in flight.
    pub(crate) fn close(&self, why: Option<&'static str>) {
        let mut state = self.state();
        state.is_open = false;
        state.why = why;
        // Dropping the senders answers every call in flight.
        state.waiters.clear();
        self.ready.send_replace(true);
    }
}

/// A call that the page works on; dropped before its answer, it is cancelled.
struct Flight<'a> {
    page: &'a Page,
    id: u64,
    reason: &'static str,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut state = self.page.state();
        if state.waiters.remove(&self.id).is_some()
            && let Some(frame) = state.session.cancel(self.id, self.reason)
        {
            self.page.send(frame);
        }
    }
}
