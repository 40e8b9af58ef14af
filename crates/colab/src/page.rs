//! One connected page: its [`PageSession`] and the calls in flight.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use place::{Answer, Call, Progress, Report, Tool};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::page_session::{Event, PageSession};

/// The maximum number of frames that wait to be sent: far more than agents have calls in flight.
const MAX_QUEUED_FRAMES: usize = 65_536;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallFailure {
    /// The page disconnected before the call was sent.
    NotSent,
    /// The page disconnected after the call was sent; the reason, if known.
    Disconnected {
        reason: Option<&'static str>,
    },
    TimedOut,
}

struct PendingCall {
    answer: oneshot::Sender<Answer>,
    reports: mpsc::Sender<Report>,
    wants_progress: bool,
    /// The newest progress that did not fit into the channel. It is sent with the answer, so that the last progress
    /// always arrives.
    unsent: Option<Report>,
    /// Changes with every progress of the page.
    activity: watch::Sender<()>,
}

impl PendingCall {
    fn progress(&mut self, progress: Progress) {
        let _ = self.activity.send(());
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
    session: PageSession,
    calls: HashMap<u64, PendingCall>,
    is_open: bool,
    /// The reason for closing the connection, if the page sent something unreadable.
    close_reason: Option<&'static str>,
    dropped_frames: u64,
}

/// A connected page, shared by all callers.
pub(crate) struct Page {
    state: Mutex<State>,
    outgoing: mpsc::Sender<String>,
    /// Cancelled when the socket can no longer be used.
    pub(crate) broken: CancellationToken,
    ready: watch::Sender<bool>,
}

impl Page {
    /// Opens the session of a new page. The receiver yields the frames to send.
    pub(crate) fn open() -> (Arc<Self>, mpsc::Receiver<String>) {
        let (session, events) = PageSession::open(Instant::now());
        let (outgoing, frames) = mpsc::channel(MAX_QUEUED_FRAMES);
        let state =
            State { session, calls: HashMap::new(), is_open: true, close_reason: None, dropped_frames: 0 };
        let page = Arc::new(Self {
            state: Mutex::new(state),
            outgoing,
            ready: watch::Sender::new(false),
            broken: CancellationToken::new(),
        });
        // A new session only sends frames, so there is no change to report.
        page.handle_events(&mut page.state.lock(), events);
        (page, frames)
    }

    /// The tools of the page; `None` until it has listed them.
    pub(crate) fn tools(&self) -> Option<Arc<[Tool]>> {
        self.state.lock().session.tools()
    }

    /// Waits until the page accepts calls. `false` if it has disconnected.
    pub(crate) async fn ready(&self) -> bool {
        let mut ready = self.ready.subscribe();
        let _ = ready.wait_for(|ready| *ready).await;
        self.state.lock().is_open
    }

    /// Calls the tool named in `params` and waits for its answer. `idle_timeout` limits the time without an answer or
    /// progress. Dropping the future cancels the call.
    pub(crate) async fn call(
        self: &Arc<Self>,
        params: &RawValue,
        call: &Call,
        idle_timeout: Option<Duration>,
    ) -> Result<Answer, CallFailure> {
        let new_deadline = || idle_timeout.map(|timeout| Instant::now() + timeout);
        let mut deadline = new_deadline();
        match deadline {
            None => self.ready().await,
            Some(deadline) => timeout_at(deadline, self.ready()).await.map_err(|_| CallFailure::TimedOut)?,
        };
        let (answer, mut answered) = oneshot::channel();
        let (activity, mut activity_changes) = watch::channel(());
        let id = {
            let mut state = self.state.lock();
            if !state.is_open {
                return Err(CallFailure::NotSent);
            }
            let wants_progress = call.wants_progress;
            let (id, frame) = state.session.call(params, wants_progress || idle_timeout.is_some());
            let reports = call.reports.clone();
            state.calls.insert(id, PendingCall { answer, reports, wants_progress, unsent: None, activity });
            self.send(frame);
            id
        };
        let mut cancel = CancelOnDrop { page: self, id, reason: "the agent no longer waits for the answer" };
        loop {
            tokio::select! {
                biased;
                answer = &mut answered => return answer.map_err(|_| {
                    CallFailure::Disconnected { reason: self.state.lock().close_reason }
                }),
                Ok(()) = activity_changes.changed() => deadline = new_deadline(),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    cancel.reason = "no answer or progress in the time allowed";
                    return Err(CallFailure::TimedOut);
                }
            }
        }
    }

    /// Handles a frame from the page; `true` if agents should list the tools again.
    pub(crate) fn receive(&self, frame: &[u8]) -> bool {
        let mut state = self.state.lock();
        let events = state.session.receive(frame, Instant::now());
        self.handle_events(&mut state, events)
    }

    /// When to call [`Page::handle_timeout`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.state.lock().session.deadline()
    }

    /// Goes on without an overdue answer; `true` if agents should list the tools again.
    pub(crate) fn handle_timeout(&self) -> bool {
        let mut state = self.state.lock();
        let events = state.session.handle_timeout(Instant::now());
        self.handle_events(&mut state, events)
    }

    /// `true` if agents should list the tools again.
    fn handle_events(&self, state: &mut State, events: Vec<Event>) -> bool {
        let mut has_changed = false;
        for event in events {
            match event {
                Event::Send(frame) => self.send(frame),
                Event::Ready => {
                    self.ready.send_replace(true);
                }
                Event::ToolsChanged => has_changed = true,
                Event::Answer { id, answer } => {
                    if let Some(waiter) = state.calls.remove(&id) {
                        waiter.answer(answer);
                    }
                }
                Event::Progress { id, progress } => {
                    if let Some(waiter) = state.calls.get_mut(&id) {
                        waiter.progress(progress);
                    }
                }
                // A log line does not name its call. It is passed on only if there is one call: no agent may read the
                // log of another's call.
                Event::Log(params) => {
                    if let (Some(waiter), 1) = (state.calls.values().next(), state.calls.len()) {
                        let _ = waiter.reports.try_send(Report::Log(params));
                    } else {
                        tracing::debug!(
                            "dropped a log line of the page: several calls or none are in flight"
                        );
                    }
                }
                Event::Dropped(reason) => {
                    state.dropped_frames += 1;
                    // Log the 1st, 2nd, 4th, 8th … frame: a broken page must not fill the disk.
                    if state.dropped_frames.is_power_of_two() {
                        tracing::warn!(reason, count = state.dropped_frames, "dropped a frame from the page");
                    }
                }
            }
        }
        has_changed
    }

    fn send(&self, frame: String) {
        if self.outgoing.try_send(frame).is_err() {
            // Closed or full: the page sends requests and does not read the answers.
            self.broken.cancel();
        }
    }

    /// Ends every call in flight. The connection is closed, for `reason` if it is known.
    pub(crate) fn close(&self, reason: Option<&'static str>) {
        let mut state = self.state.lock();
        state.is_open = false;
        state.close_reason = reason;
        // Dropping the senders ends every call in flight.
        state.calls.clear();
        self.ready.send_replace(true);
    }
}

/// Cancels a call in flight when it is dropped before the answer.
struct CancelOnDrop<'a> {
    page: &'a Page,
    id: u64,
    reason: &'static str,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.page.state.lock();
        if state.calls.remove(&self.id).is_some()
            && let Some(frame) = state.session.cancel(self.id, self.reason)
        {
            self.page.send(frame);
        }
    }
}
