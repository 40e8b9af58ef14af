//! One MCP session with one page, as a state machine without sockets.
//!
//! The page is the MCP server, this program its client. Every socket gets a session of its own: ids,
//! progress tokens and the list of tools die with it, so nothing of an old page can reach a new one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;
use workspace::{Answer, Progress, Tool};

use crate::envelope::{self, Members, Message};

/// Pages answer in milliseconds; one that does not is used all the same once this has passed.
const INITIALIZE_PATIENCE: Duration = Duration::from_secs(10);
const LIST_PATIENCE: Duration = Duration::from_secs(3);
/// A page whose list never ends is cut here.
const MOST_LIST_PAGES: usize = 100;
const MOST_TOOLS: usize = 10_000;

const PROTOCOL_VERSION: &str = "2025-11-25";

/// What the owner of the socket has to do.
#[derive(Debug)]
pub(crate) enum Event {
    /// Send this text frame.
    Send(String),
    /// Calls may flow from now on. Comes once.
    Ready,
    /// Agents should list the tools again.
    ToolsChanged,
    /// A call is over.
    Answer { id: u64, answer: Answer },
    /// A call reports how far it is.
    Progress { id: u64, progress: Progress },
    /// A line of the page's log.
    Log(Box<RawValue>),
    /// A frame was dropped, and why.
    Dropped(&'static str),
}

enum Pending {
    Initialize,
    Tools { so_far: Vec<Tool>, names: HashSet<String>, pages: usize },
    Call,
}

/// The session's state.
pub(crate) struct Session {
    next_id: u64,
    pending: HashMap<u64, Pending>,
    is_ready: bool,
    /// Calls flow by then, whatever the page does meanwhile.
    ready_by: Instant,
    has_greeted: bool,
    has_asked_twice: bool,
    tools: Option<Arc<[Tool]>>,
    /// When to go on without the answer to `initialize` or `tools/list`.
    deadline: Option<Instant>,
}

impl Session {
    /// Opens the session of a new socket.
    pub(crate) fn open(now: Instant) -> (Self, Vec<Event>) {
        let mut session = Self {
            next_id: 1,
            pending: HashMap::new(),
            is_ready: false,
            ready_by: now + INITIALIZE_PATIENCE + LIST_PATIENCE,
            has_greeted: false,
            has_asked_twice: false,
            tools: None,
            deadline: Some(now + INITIALIZE_PATIENCE),
        };
        let hello = session.initialize(PROTOCOL_VERSION);
        (session, vec![hello])
    }

    /// The tools the page offers; `None` while it has not said.
    pub(crate) fn tools(&self) -> Option<Arc<[Tool]>> {
        self.tools.clone()
    }

    /// When [`Session::handle_timeout`] wants to be called, if at all.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Goes on without an answer that is overdue.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Vec<Event> {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return Vec::new();
        }
        self.deadline = None;
        if self.pending.values().any(|pending| matches!(pending, Pending::Tools { .. })) {
            return self.settle();
        }
        self.greet(now)
    }

    /// Takes one frame from the page.
    pub(crate) fn receive(&mut self, frame: &[u8], now: Instant) -> Vec<Event> {
        match envelope::parse(frame) {
            Err(reason) => vec![Event::Dropped(reason)],
            Ok(Message::Request { id, method }) => vec![Event::Send(answer_page(id, &method))],
            Ok(Message::Notification { method, params }) => self.notified(&method, params, now),
            Ok(Message::Result { id, result }) => self.answered(id, Answer::Result(result.to_owned()), now),
            Ok(Message::Error { id, error }) => self.answered(id, Answer::Error(error.to_owned()), now),
        }
    }

    /// Asks for a tool. `params` is the agent's, passed on except for what belongs to its own connection.
    /// Gives the call's id, which is its progress token too, and the frame to send.
    pub(crate) fn call(&mut self, params: &RawValue, wants_progress: bool) -> (u64, String) {
        let id = self.expect(Pending::Call);
        let params = params_for_page(params, wants_progress.then_some(id));
        (id, envelope::request(id, "tools/call", &params))
    }

    /// Gives up a call. The frame to send; `None` if it was answered already.
    pub(crate) fn cancel(&mut self, id: u64, reason: &str) -> Option<String> {
        self.pending.remove(&id)?;
        let params = serde_json::json!({ "requestId": id, "reason": reason }).to_string();
        Some(envelope::notification("notifications/cancelled", Some(&params)))
    }

    fn expect(&mut self, pending: Pending) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.pending.insert(id, pending);
        id
    }

    fn initialize(&mut self, version: &str) -> Event {
        let id = self.expect(Pending::Initialize);
        let params = serde_json::json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "cellbridge", "version": env!("CARGO_PKG_VERSION") },
        });
        Event::Send(envelope::request(id, "initialize", &params.to_string()))
    }

    /// Ends the opening exchange and asks for the tools.
    fn greet(&mut self, now: Instant) -> Vec<Event> {
        self.has_greeted = true;
        let initialized = envelope::notification("notifications/initialized", None);
        vec![Event::Send(initialized), self.list(now)]
    }

    fn list(&mut self, now: Instant) -> Event {
        // An older list that is still under way would answer with what the page has just withdrawn.
        self.pending.retain(|_, pending| !matches!(pending, Pending::Tools { .. }));
        self.deadline = Some(self.list_deadline(now));
        let id = self.expect(Pending::Tools { so_far: Vec::new(), names: HashSet::new(), pages: 1 });
        Event::Send(envelope::request(id, "tools/list", "{}"))
    }

    fn list_deadline(&self, now: Instant) -> Instant {
        let deadline = now + LIST_PATIENCE;
        if self.is_ready { deadline } else { deadline.min(self.ready_by) }
    }

    /// The list stands as it is: tell whoever waits.
    fn settle(&mut self) -> Vec<Event> {
        self.deadline = None;
        let mut events = vec![Event::ToolsChanged];
        if !std::mem::replace(&mut self.is_ready, true) {
            events.insert(0, Event::Ready);
        }
        events
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>, now: Instant) -> Vec<Event> {
        match method {
            // The list is asked for anyway, once the page may be asked.
            "notifications/tools/list_changed" if !self.has_greeted => Vec::new(),
            "notifications/tools/list_changed" => vec![self.list(now)],
            "notifications/progress" => match params.and_then(read_progress) {
                Some((id, progress)) if matches!(self.pending.get(&id), Some(Pending::Call)) => {
                    vec![Event::Progress { id, progress }]
                }
                _ => vec![Event::Dropped("progress of no call in flight")],
            },
            "notifications/message" => {
                params.map(|params| Event::Log(params.to_owned())).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn answered(&mut self, id: &RawValue, answer: Answer, now: Instant) -> Vec<Event> {
        let Some((id, pending)) = id.get().parse().ok().and_then(|id| self.pending.remove_entry(&id)) else {
            return vec![Event::Dropped("an answer to nothing that was asked")];
        };
        match pending {
            Pending::Call => vec![Event::Answer { id, answer }],
            Pending::Initialize => match answer {
                Answer::Error(error) => match newest_supported(&error) {
                    Some(version) if !self.has_asked_twice => {
                        self.has_asked_twice = true;
                        vec![self.initialize(&version)]
                    }
                    // Some pages do not know the method and work without it.
                    _ => self.greet(now),
                },
                // Late, and the page has told its tools meanwhile.
                Answer::Result(_) if self.tools.is_some() => Vec::new(),
                Answer::Result(_) => self.greet(now),
            },
            Pending::Tools { so_far, names, pages } => self.listed(&answer, so_far, names, pages, now),
        }
    }

    fn listed(
        &mut self,
        answer: &Answer,
        mut so_far: Vec<Tool>,
        mut names: HashSet<String>,
        pages: usize,
        now: Instant,
    ) -> Vec<Event> {
        let page = match answer {
            Answer::Result(result) => serde_json::from_str::<ToolsPage<'_>>(result.get()).ok(),
            Answer::Error(_) => None,
        };
        let Some(page) = page else {
            let mut events = self.settle();
            events.push(Event::Dropped("a tools/list answer without a list"));
            return events;
        };
        for definition in page.tools {
            let named = serde_json::from_str::<Named>(definition.get());
            if let Ok(Named { name }) = named
                && so_far.len() < MOST_TOOLS
                && names.insert(name.clone())
            {
                so_far.push(Tool { name, definition: Arc::from(definition.to_owned()) });
            }
        }
        if let Some(cursor) = page.next_cursor
            && pages < MOST_LIST_PAGES
        {
            self.deadline = Some(self.list_deadline(now));
            let id = self.expect(Pending::Tools { so_far, names, pages: pages + 1 });
            let params = serde_json::json!({ "cursor": cursor }).to_string();
            return vec![Event::Send(envelope::request(id, "tools/list", &params))];
        }
        self.tools = Some(so_far.into());
        self.settle()
    }
}

#[derive(Deserialize)]
struct ToolsPage<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Answers what a page may ask of a client that declared no capabilities.
fn answer_page(id: &RawValue, method: &str) -> String {
    match method {
        "ping" => envelope::response(id, "result", "{}"),
        "roots/list" => envelope::response(id, "result", r#"{"roots":[]}"#),
        _ => envelope::response(id, "error", r#"{"code":-32601,"message":"Method not found"}"#),
    }
}

/// The newest version named in the `data.supported` of an "unsupported protocol version" error.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#error-handling>
fn newest_supported(error: &RawValue) -> Option<String> {
    let error: serde_json::Value = serde_json::from_str(error.get()).ok()?;
    let supported = error.pointer("/data/supported")?.as_array()?;
    supported.iter().filter_map(|version| version.as_str()).max().map(str::to_owned)
}

fn read_progress(params: &RawValue) -> Option<(u64, Progress)> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "progressToken")]
        token: u64,
        progress: f64,
        #[serde(default)]
        total: Option<f64>,
        #[serde(default)]
        message: Option<String>,
    }
    let Params { token, progress, total, message } = serde_json::from_str(params.get()).ok()?;
    Some((token, Progress { progress, total, message }))
}

/// What of the agent's `params` goes to the page: everything but the agent's progress token, in whose place
/// stands ours, and the 2026-07-28 request metadata, which speaks of the agent's own connection.
fn params_for_page(params: &RawValue, token: Option<u64>) -> String {
    const OF_THE_CONNECTION: [&str; 4] = [
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/logLevel",
    ];
    let Some(mut members) = Members::of(params) else { return params.get().to_owned() };
    let meta = members.get("_meta").and_then(Members::of);
    if meta.is_none() && token.is_none() {
        return params.get().to_owned();
    }
    let mut meta = meta.unwrap_or(Members(Vec::new()));
    meta.0.retain(|(key, _)| key != "progressToken" && !OF_THE_CONNECTION.contains(&key.as_ref()));
    let token = token.and_then(|token| serde_json::value::to_raw_value(&token).ok());
    if let Some(token) = &token {
        meta.0.push(("progressToken".into(), token));
    }
    let meta = (!meta.0.is_empty()).then(|| RawValue::from_string(meta.write()).ok()).flatten();
    members.0.retain(|(key, _)| key != "_meta");
    if let Some(meta) = &meta {
        members.0.push(("_meta".into(), meta));
    }
    members.write()
}

#[cfg(test)]
mod tests;
