//! One MCP session with one page, as a state machine without sockets.
//!
//! The page is the MCP server, this program its client. Every connection has its own session with its own ids,
//! progress tokens and list of tools, so an old page cannot interfere with a new one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use notebook::Json;
use place::{Answer, Progress, Tool};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::json_rpc::{self, Message};

/// Pages answer in milliseconds. One that does not answer is used anyway after these times.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(10);
const LIST_TIMEOUT: Duration = Duration::from_secs(3);
/// Further tools of a page are not listed.
const MAX_TOOLS: usize = 10_000;

const PROTOCOL_VERSION: &str = "2025-11-25";

/// A task for the owner of the session.
#[derive(Debug)]
pub(crate) enum Event {
    /// Send this text frame.
    Send(String),
    /// The page accepts calls from now on. Emitted once.
    Ready,
    /// Agents should list the tools again.
    ToolsChanged,
    Answer {
        id: u64,
        answer: Answer,
    },
    Progress {
        id: u64,
        progress: Progress,
    },
    /// A line of the page's log.
    Log(Box<RawValue>),
    /// A frame was dropped, for this reason.
    Dropped(&'static str),
}

/// A request to the page that has no answer yet.
enum PendingRequest {
    Initialize,
    ListTools,
    CallTool,
}

/// The state of the opening exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// `initialize` has been sent.
    Initializing,
    /// `notifications/initialized` and the first `tools/list` have been sent.
    Listing,
    /// The page accepts calls.
    Ready,
}

/// The session with one page.
///
/// Example of a page that does not answer `initialize`: at 0 s `initialize` is sent. At 10 s
/// [`PageSession::handle_timeout`] goes on with `notifications/initialized` and `tools/list`. At 13 s the list is
/// overdue as well, and calls are accepted without one.
pub(crate) struct PageSession {
    next_id: u64,
    pending: HashMap<u64, PendingRequest>,
    phase: Phase,
    tools: Option<Arc<[Tool]>>,
    /// When the answer to `initialize` or `tools/list` is overdue.
    deadline: Option<Instant>,
}

impl PageSession {
    /// Opens the session of a new connection.
    pub(crate) fn open(now: Instant) -> (Self, Vec<Event>) {
        let mut session = Self {
            next_id: 1,
            pending: HashMap::new(),
            phase: Phase::Initializing,
            tools: None,
            deadline: Some(now + INITIALIZE_TIMEOUT),
        };
        let id = session.add_request(PendingRequest::Initialize);
        let params = serde_json::json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "cellbridge", "version": env!("CARGO_PKG_VERSION") },
        });
        let initialize = json_rpc::request(id, "initialize", &params.to_string());
        (session, vec![Event::Send(initialize)])
    }

    /// The tools of the page; `None` until it has listed them.
    pub(crate) fn tools(&self) -> Option<Arc<[Tool]>> {
        self.tools.clone()
    }

    /// When to call [`PageSession::handle_timeout`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Goes on without an overdue answer.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Vec<Event> {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return Vec::new();
        }
        self.deadline = None;
        match self.phase {
            Phase::Initializing => self.finish_initialize(now),
            Phase::Listing | Phase::Ready => self.finish_list(),
        }
    }

    /// Handles one frame from the page.
    pub(crate) fn receive(&mut self, frame: &[u8], now: Instant) -> Vec<Event> {
        match json_rpc::parse(frame) {
            Err(reason) => vec![Event::Dropped(reason)],
            Ok(Message::Request { id, method }) => vec![Event::Send(answer_request(id, &method))],
            Ok(Message::Notification { method, params }) => self.handle_notification(&method, params, now),
            Ok(Message::Result { id, result }) => {
                self.handle_answer(id, Answer::Result(result.to_owned()), now)
            }
            Ok(Message::Error { id, error }) => self.handle_answer(id, Answer::Error(error.to_owned()), now),
        }
    }

    /// Calls a tool with the `params` of an agent; see [`params_for_page`]. Returns the id, which is the progress token
    /// as well, and the frame to send.
    pub(crate) fn call(&mut self, params: &RawValue, wants_progress: bool) -> (u64, String) {
        let id = self.add_request(PendingRequest::CallTool);
        let params = params_for_page(params, wants_progress.then_some(id));
        (id, json_rpc::request(id, "tools/call", &params))
    }

    /// Cancels a call. Returns the frame to send; `None` if the call has been answered.
    pub(crate) fn cancel(&mut self, id: u64, reason: &str) -> Option<String> {
        self.pending.remove(&id)?;
        let params = serde_json::json!({ "requestId": id, "reason": reason }).to_string();
        Some(json_rpc::notification("notifications/cancelled", Some(&params)))
    }

    fn add_request(&mut self, request: PendingRequest) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.pending.insert(id, request);
        id
    }

    /// Completes the opening exchange and requests the list of tools.
    fn finish_initialize(&mut self, now: Instant) -> Vec<Event> {
        self.phase = Phase::Listing;
        self.deadline = None;
        // A late answer changes nothing.
        self.pending.clear();
        let initialized = json_rpc::notification("notifications/initialized", None);
        vec![Event::Send(initialized), self.request_list(now)]
    }

    fn request_list(&mut self, now: Instant) -> Event {
        // The answer to an earlier request could list tools that the page has removed since.
        self.pending.retain(|_, pending| !matches!(pending, PendingRequest::ListTools));
        // A page that changes its list again and again delays nothing.
        self.deadline.get_or_insert(now + LIST_TIMEOUT);
        let id = self.add_request(PendingRequest::ListTools);
        Event::Send(json_rpc::request(id, "tools/list", "{}"))
    }

    /// The list is complete, or overdue: calls are accepted, and agents should list the tools again.
    fn finish_list(&mut self) -> Vec<Event> {
        self.deadline = None;
        match std::mem::replace(&mut self.phase, Phase::Ready) {
            Phase::Ready => vec![Event::ToolsChanged],
            _ => vec![Event::Ready, Event::ToolsChanged],
        }
    }

    fn handle_notification(&mut self, method: &str, params: Option<&RawValue>, now: Instant) -> Vec<Event> {
        match method {
            "notifications/tools/list_changed" => match self.phase {
                // The list is requested anyway as soon as the page may be asked.
                Phase::Initializing => Vec::new(),
                Phase::Listing | Phase::Ready => vec![self.request_list(now)],
            },
            "notifications/progress" => match params.and_then(read_progress) {
                Some((id, progress)) if matches!(self.pending.get(&id), Some(PendingRequest::CallTool)) => {
                    vec![Event::Progress { id, progress }]
                }
                _ => vec![Event::Dropped("progress without a pending call")],
            },
            "notifications/message" => {
                params.map(|params| Event::Log(params.to_owned())).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn handle_answer(&mut self, id: &RawValue, answer: Answer, now: Instant) -> Vec<Event> {
        let Some((id, request)) = id.get().parse().ok().and_then(|id| self.pending.remove_entry(&id)) else {
            return vec![Event::Dropped("an answer without a pending request")];
        };
        match request {
            PendingRequest::CallTool => vec![Event::Answer { id, answer }],
            // Some pages do not know the method, and work without it.
            PendingRequest::Initialize => self.finish_initialize(now),
            PendingRequest::ListTools => self.handle_list(&answer),
        }
    }

    fn handle_list(&mut self, answer: &Answer) -> Vec<Event> {
        let list = match answer {
            Answer::Result(result) => serde_json::from_str::<ToolList<'_>>(result.get()).ok(),
            Answer::Error(_) => None,
        };
        let mut events = self.finish_list();
        let Some(list) = list else {
            events.push(Event::Dropped("a tools/list answer without a list"));
            return events;
        };
        let mut names = HashSet::new();
        let tool = |definition: &RawValue| {
            let Named { name } = serde_json::from_str(definition.get()).ok()?;
            let definition = Arc::from(definition.to_owned());
            names.insert(name.clone()).then_some(Tool { name, definition })
        };
        self.tools = Some(list.tools.into_iter().take(MAX_TOOLS).filter_map(tool).collect());
        events
    }
}

#[derive(Deserialize)]
struct ToolList<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Answers a request of the page, as a client that declared no capabilities.
fn answer_request(id: &RawValue, method: &str) -> String {
    match method {
        "ping" => json_rpc::response(id, "result", "{}"),
        "roots/list" => json_rpc::response(id, "result", r#"{"roots":[]}"#),
        _ => json_rpc::response(id, "error", r#"{"code":-32601,"message":"Method not found"}"#),
    }
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

/// The agent's `params` for the page: the agent's progress token is replaced by ours, and the request metadata of
/// 2026-07-28 is removed, because it describes the agent's connection. All else stays the same text.
///
/// Example with `token` 9: `{"name":"x","_meta":{"progressToken":5,"k":1}}` becomes
/// `{"name":"x","_meta":{"k":1,"progressToken":9}}`.
fn params_for_page(params: &RawValue, token: Option<u64>) -> String {
    let params = Json::from(params.to_owned());
    let meta = params.member("_meta").filter(Json::is_object);
    if !params.is_object() || (meta.is_none() && token.is_none()) {
        return params.as_str().to_owned();
    }
    let is_kept = |key: &str| key != "progressToken" && !key.starts_with("io.modelcontextprotocol/");
    let mut kept: Vec<_> = meta.iter().flat_map(Json::members).filter(|(key, _)| is_kept(key)).collect();
    kept.extend(token.map(|token| ("progressToken".into(), Json::from_value(&token.into()))));
    let mut members: Vec<_> = params.members().filter(|(key, _)| key != "_meta").collect();
    if !kept.is_empty() {
        members.push(("_meta".into(), Json::object(&kept)));
    }
    Json::object(&members).as_str().to_owned()
}

#[cfg(test)]
mod tests;
