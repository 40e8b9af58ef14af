//! One MCP session with one page, as a state machine without sockets.
//!
//! The page is the MCP server, this program its client. Every socket gets a session of its own: ids,
//! progress tokens and the list of tools die with it, so nothing of an old page can reach a new one.

use std::collections::HashMap;
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
    Tools { so_far: Vec<Tool>, pages: usize },
    Call,
}

/// The session's state.
pub(crate) struct Session {
    next_id: u64,
    pending: HashMap<u64, Pending>,
    is_ready: bool,
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
        let initialized = envelope::notification("notifications/initialized", None);
        vec![Event::Send(initialized), self.list(now)]
    }

    fn list(&mut self, now: Instant) -> Event {
        // An older list that is still under way would answer with what the page has just withdrawn.
        self.pending.retain(|_, pending| !matches!(pending, Pending::Tools { .. }));
        self.deadline = Some(now + LIST_PATIENCE);
        let id = self.expect(Pending::Tools { so_far: Vec::new(), pages: 1 });
        Event::Send(envelope::request(id, "tools/list", "{}"))
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
                    Some(version) if version != PROTOCOL_VERSION => vec![self.initialize(&version)],
                    // Some pages do not know the method and work without it.
                    _ => self.greet(now),
                },
                Answer::Result(_) => self.greet(now),
            },
            Pending::Tools { so_far, pages } => self.listed(&answer, so_far, pages, now),
        }
    }

    fn listed(&mut self, answer: &Answer, mut so_far: Vec<Tool>, pages: usize, now: Instant) -> Vec<Event> {
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
                && so_far.iter().all(|tool| tool.name != name)
            {
                so_far.push(Tool { name, definition: Arc::from(definition.to_owned()) });
            }
        }
        if let Some(cursor) = page.next_cursor
            && pages < MOST_LIST_PAGES
        {
            self.deadline = Some(now + LIST_PATIENCE);
            let id = self.expect(Pending::Tools { so_far, pages: pages + 1 });
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
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    /// A session and the frames it wants sent, read one by one as in a transcript.
    struct Story {
        session: Session,
        sent: std::collections::VecDeque<String>,
        other: Vec<String>,
        now: Instant,
    }

    impl Story {
        fn begin() -> Self {
            let now = Instant::now();
            let (session, events) = Session::open(now);
            let mut story = Self { session, sent: [].into(), other: Vec::new(), now };
            story.take(events);
            story
        }

        fn take(&mut self, events: Vec<Event>) {
            for event in events {
                match event {
                    Event::Send(frame) => self.sent.push_back(frame),
                    Event::Ready => self.other.push("ready".into()),
                    Event::ToolsChanged => self.other.push("changed".into()),
                    Event::Answer { id, answer: Answer::Result(raw) } => {
                        self.other.push(format!("{id} answered {raw}"));
                    }
                    Event::Answer { id, answer: Answer::Error(raw) } => {
                        self.other.push(format!("{id} failed {raw}"));
                    }
                    Event::Progress { id, progress } => {
                        self.other.push(format!("{id} at {}", progress.progress));
                    }
                    Event::Log(params) => self.other.push(format!("log {params}")),
                    Event::Dropped(reason) => self.other.push(format!("dropped: {reason}")),
                }
            }
        }

        fn page_says(&mut self, frame: &str) {
            let events = self.session.receive(frame.as_bytes(), self.now);
            self.take(events);
        }

        fn seconds_pass(&mut self, seconds: u64) {
            self.now += Duration::from_secs(seconds);
            let events = self.session.handle_timeout(self.now);
            self.take(events);
        }

        fn next_sent(&mut self) -> serde_json::Value {
            serde_json::from_str(&self.sent.pop_front().expect("a frame was sent")).unwrap()
        }

        /// Reads one sent request, checks its method, and gives its id.
        fn sent(&mut self, method: &str) -> serde_json::Value {
            let frame = self.next_sent();
            assert_eq!(frame["method"], method, "{frame}");
            frame["id"].clone()
        }

        fn happened(&mut self) -> Vec<String> {
            std::mem::take(&mut self.other)
        }

        /// Plays the opening with a page that offers `a`.
        fn opened() -> Self {
            let mut story = Self::begin();
            let id = story.sent("initialize");
            story.page_says(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2024-11-05"}}}}"#
            ));
            story.sent("notifications/initialized");
            let id = story.sent("tools/list");
            story.page_says(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"a"}}]}}}}"#
            ));
            assert_eq!(story.happened(), ["ready", "changed"]);
            story
        }

        fn names(&self) -> Vec<String> {
            self.session.tools().unwrap().iter().map(|tool| tool.name.clone()).collect()
        }
    }

    #[test]
    fn a_page_is_initialized_and_listed_before_calls_flow() {
        let story = Story::opened();
        assert_eq!(story.names(), ["a"]);
        assert!(story.session.deadline().is_none());
    }

    #[test]
    fn a_page_that_knows_only_an_older_version_is_asked_again() {
        let mut story = Story::begin();
        let id = story.sent("initialize");
        story.page_says(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"Unsupported protocol version","data":{{"supported":["2024-11-05","2025-06-18"]}}}}}}"#
        ));
        let frame = story.next_sent();
        assert_eq!(frame["params"]["protocolVersion"], "2025-06-18");
        let id = &frame["id"];
        story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        story.sent("notifications/initialized");
    }

    #[test]
    fn a_page_without_initialize_is_used_all_the_same() {
        let mut story = Story::begin();
        let id = story.sent("initialize");
        story
            .page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#));
        story.sent("notifications/initialized");
        story.sent("tools/list");
    }

    #[test]
    fn a_page_that_never_answers_is_used_after_a_while() {
        let mut story = Story::begin();
        story.sent("initialize");
        story.seconds_pass(9);
        assert!(story.sent.is_empty());
        story.seconds_pass(1);
        story.sent("notifications/initialized");
        story.sent("tools/list");
        assert!(story.happened().is_empty());
        story.seconds_pass(3);
        assert_eq!(story.happened(), ["ready", "changed"]);
        assert!(story.session.tools().is_none());
        let (id, frame) = story.session.call(&raw(r#"{"name":"a"}"#), false);
        assert!(frame.contains("tools/call"));
        story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#));
        assert_eq!(story.happened(), [format!(r#"{id} answered {{"content":[]}}"#)]);
    }

    #[test]
    fn a_late_answer_to_initialize_repeats_the_greeting() {
        let mut story = Story::begin();
        let id = story.sent("initialize");
        story.seconds_pass(10);
        story.sent("notifications/initialized");
        story.sent("tools/list");
        story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        story.sent("notifications/initialized");
        story.sent("tools/list");
    }

    #[test]
    fn the_list_is_read_to_its_last_page_and_names_are_unique() {
        let mut story = Story::opened();
        story.page_says(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        let id = story.sent("tools/list");
        story.page_says(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"b"}},{{"title":"nameless"}},7],"nextCursor":"x"}}}}"#
        ));
        let frame = story.next_sent();
        assert_eq!(frame["params"]["cursor"], "x");
        assert_eq!(story.names(), ["a"], "the old list stands until the new one is whole");
        let id = &frame["id"];
        story.page_says(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"b","again":true}},{{"name":"c"}}]}}}}"#
        ));
        assert_eq!(story.names(), ["b", "c"]);
        assert_eq!(story.happened(), ["changed"]);
    }

    #[test]
    fn a_list_that_never_ends_is_cut() {
        let mut story = Story::opened();
        story.page_says(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        let mut asked = 0;
        while let Some(frame) = story.sent.pop_front() {
            let frame: serde_json::Value = serde_json::from_str(&frame).unwrap();
            asked += 1;
            let id = &frame["id"];
            story.page_says(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"t{id}"}}],"nextCursor":"x"}}}}"#
            ));
        }
        assert_eq!(asked, MOST_LIST_PAGES);
        assert_eq!(story.names().len(), MOST_LIST_PAGES);
    }

    #[test]
    fn a_notice_without_a_new_list_is_passed_on_after_a_while() {
        let mut story = Story::opened();
        story.page_says(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        story.sent("tools/list");
        story.seconds_pass(3);
        assert_eq!(story.happened(), ["changed"]);
        assert_eq!(story.names(), ["a"]);
    }

    #[test]
    fn answers_come_in_any_order_and_only_once() {
        let mut story = Story::opened();
        let (first, _) = story.session.call(&raw(r#"{"name":"a"}"#), false);
        let (second, _) = story.session.call(&raw(r#"{"name":"a"}"#), false);
        story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{second},"result":{{"x":1.0}}}}"#));
        story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{first},"error":{{"code":1,"extra":2}}}}"#));
        story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{first},"result":{{}}}}"#));
        assert_eq!(
            story.happened(),
            [
                format!(r#"{second} answered {{"x":1.0}}"#),
                format!(r#"{first} failed {{"code":1,"extra":2}}"#),
                "dropped: an answer to nothing that was asked".into(),
            ]
        );
    }

    #[test]
    fn a_cancelled_call_is_told_once_and_its_late_answer_dropped() {
        let mut story = Story::opened();
        let (id, _) = story.session.call(&raw(r#"{"name":"a"}"#), false);
        let frame = story.session.cancel(id, "because").unwrap();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&frame).unwrap(),
            serde_json::json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id, "reason": "because"}})
        );
        assert!(story.session.cancel(id, "again").is_none());
        story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        assert_eq!(story.happened(), ["dropped: an answer to nothing that was asked"]);
    }

    #[test]
    fn progress_reaches_only_a_call_in_flight() {
        let mut story = Story::opened();
        let (id, frame) =
            story.session.call(&raw(r#"{"name":"a","_meta":{"progressToken":"mine","k":1}}"#), true);
        assert!(frame.contains(&format!(r#""_meta":{{"k":1,"progressToken":{id}}}"#)), "{frame}");
        let report = |token: u64| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":0.5}}}}"#
            )
        };
        story.page_says(&report(id));
        story.page_says(&report(id + 1));
        story.page_says(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}}"#,
        );
        assert_eq!(
            story.happened(),
            [
                format!("{id} at 0.5"),
                "dropped: progress of no call in flight".into(),
                "dropped: progress of no call in flight".into(),
            ]
        );
    }

    #[test]
    fn the_page_may_ask_too() {
        let mut story = Story::opened();
        story.page_says(r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#);
        assert_eq!(story.next_sent(), serde_json::json!({"jsonrpc": "2.0", "id": "p1", "result": {}}));
        story.page_says(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
        assert_eq!(story.next_sent()["result"]["roots"], serde_json::json!([]));
        story.page_says(r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}"#);
        assert_eq!(story.next_sent()["error"]["code"], -32601);
    }

    #[test]
    fn the_pages_log_is_handed_on_as_it_came() {
        let mut story = Story::opened();
        let params = r#"{"level":"info","data":1.0}"#;
        story
            .page_says(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#));
        story.page_says(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
        assert_eq!(story.happened(), [format!("log {params}")]);
    }

    #[test]
    fn nonsense_is_dropped_and_the_session_lives() {
        let mut story = Story::opened();
        for frame in [
            "",
            "[]",
            "null",
            "{}",
            r#"{"jsonrpc":"2.0"}"#,
            "\u{0}",
            r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#,
        ] {
            story.page_says(frame);
        }
        assert_eq!(story.happened().len(), 7);
        story.page_says(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
        assert_eq!(story.next_sent()["id"], 9);
    }

    #[test]
    fn params_pass_unchanged_where_nothing_has_to_change() {
        let text =
            r#"{"name":"x", "arguments":{"b":1.0,"a":1e2,"n":12345678901234567890123}, "task":{"ttl":1}}"#;
        assert_eq!(params_for_page(&raw(text), None), text);
    }

    #[test]
    fn what_belongs_to_the_agents_connection_stays_with_it() {
        let params = raw(
            r#"{"_meta":{"progressToken":5,"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name":"x","arguments":{"n":1.0}}"#,
        );
        assert_eq!(params_for_page(&params, None), r#"{"name":"x","arguments":{"n":1.0}}"#);
        assert_eq!(
            params_for_page(&params, Some(9)),
            r#"{"name":"x","arguments":{"n":1.0},"_meta":{"progressToken":9}}"#
        );
    }
}
