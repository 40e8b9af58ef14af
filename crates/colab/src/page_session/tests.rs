use super::*;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// A session with the frames that it sends, which a test reads one by one as in a transcript.
struct Transcript {
    session: PageSession,
    sent: std::collections::VecDeque<String>,
    other: Vec<String>,
    now: Instant,
}

impl Transcript {
    fn start() -> Self {
        let now = Instant::now();
        let (session, events) = PageSession::open(now);
        let mut transcript = Self { session, sent: [].into(), other: Vec::new(), now };
        transcript.take(events);
        transcript
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

    fn receive(&mut self, frame: &str) {
        let events = self.session.receive(frame.as_bytes(), self.now);
        self.take(events);
    }

    fn advance(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        let events = self.session.handle_timeout(self.now);
        self.take(events);
    }

    fn next_sent(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.sent.pop_front().expect("a frame was sent")).unwrap()
    }

    /// Reads one sent request, checks its method, and returns its id.
    fn sent(&mut self, method: &str) -> serde_json::Value {
        let frame = self.next_sent();
        assert_eq!(frame["method"], method, "{frame}");
        frame["id"].clone()
    }

    fn events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.other)
    }

    /// Performs the opening exchange with a page that has the tool `a`.
    fn opened() -> Self {
        let mut transcript = Self::start();
        let id = transcript.sent("initialize");
        transcript.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2024-11-05"}}}}"#
        ));
        transcript.sent("notifications/initialized");
        let id = transcript.sent("tools/list");
        transcript
            .receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"a"}}]}}}}"#));
        assert_eq!(transcript.events(), ["ready", "changed"]);
        transcript
    }

    fn names(&self) -> Vec<String> {
        self.session.tools().unwrap().iter().map(|tool| tool.name.clone()).collect()
    }
}

#[test]
fn a_page_is_initialized_and_listed_before_it_accepts_calls() {
    let transcript = Transcript::opened();
    assert_eq!(transcript.names(), ["a"]);
    assert!(transcript.session.deadline().is_none());
}

#[test]
fn a_page_without_initialize_is_used_anyway() {
    let mut transcript = Transcript::start();
    let id = transcript.sent("initialize");
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#));
    transcript.sent("notifications/initialized");
    transcript.sent("tools/list");
}

#[test]
fn a_page_that_never_answers_is_used_after_the_timeouts() {
    let mut transcript = Transcript::start();
    transcript.sent("initialize");
    transcript.advance(9);
    assert!(transcript.sent.is_empty());
    transcript.advance(1);
    transcript.sent("notifications/initialized");
    transcript.sent("tools/list");
    assert!(transcript.events().is_empty());
    transcript.advance(3);
    assert_eq!(transcript.events(), ["ready", "changed"]);
    assert!(transcript.session.tools().is_none());
    let (id, frame) = transcript.session.call(&raw(r#"{"name":"a"}"#), false);
    assert!(frame.contains("tools/call"));
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#));
    assert_eq!(transcript.events(), [format!(r#"{id} answered {{"content":[]}}"#)]);
}

#[test]
fn the_names_of_a_list_are_unique() {
    let mut transcript = Transcript::opened();
    transcript.receive(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    let id = transcript.sent("tools/list");
    assert_eq!(transcript.names(), ["a"], "the old list stands until the new one is there");
    transcript.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"b"}},{{"title":"nameless"}},7,{{"name":"b","again":true}},{{"name":"c"}}]}}}}"#
    ));
    assert_eq!(transcript.names(), ["b", "c"]);
    assert_eq!(transcript.events(), ["changed"]);
}

#[test]
fn a_change_without_a_new_list_is_reported_after_the_timeout() {
    let mut transcript = Transcript::opened();
    transcript.receive(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    transcript.sent("tools/list");
    transcript.advance(3);
    assert_eq!(transcript.events(), ["changed"]);
    assert_eq!(transcript.names(), ["a"]);
}

#[test]
fn answers_may_come_in_any_order_but_only_once() {
    let mut transcript = Transcript::opened();
    let (first, _) = transcript.session.call(&raw(r#"{"name":"a"}"#), false);
    let (second, _) = transcript.session.call(&raw(r#"{"name":"a"}"#), false);
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{second},"result":{{"x":1.0}}}}"#));
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{first},"error":{{"code":1,"extra":2}}}}"#));
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{first},"result":{{}}}}"#));
    assert_eq!(
        transcript.events(),
        [
            format!(r#"{second} answered {{"x":1.0}}"#),
            format!(r#"{first} failed {{"code":1,"extra":2}}"#),
            "dropped: an answer without a pending request".into(),
        ]
    );
}

#[test]
fn a_call_is_cancelled_once_and_its_late_answer_dropped() {
    let mut transcript = Transcript::opened();
    let (id, _) = transcript.session.call(&raw(r#"{"name":"a"}"#), false);
    let frame = transcript.session.cancel(id, "because").unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&frame).unwrap(),
        serde_json::json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "because"}})
    );
    assert!(transcript.session.cancel(id, "again").is_none());
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    assert_eq!(transcript.events(), ["dropped: an answer without a pending request"]);
}

#[test]
fn progress_reaches_only_calls_in_flight() {
    let mut transcript = Transcript::opened();
    let (id, frame) =
        transcript.session.call(&raw(r#"{"name":"a","_meta":{"progressToken":"mine","k":1}}"#), true);
    assert!(frame.contains(&format!(r#""_meta":{{"k":1,"progressToken":{id}}}"#)), "{frame}");
    let report = |token: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":0.5}}}}"#
        )
    };
    transcript.receive(&report(id));
    transcript.receive(&report(id + 1));
    transcript
        .receive(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}}"#);
    assert_eq!(
        transcript.events(),
        [
            format!("{id} at 0.5"),
            "dropped: progress without a pending call".into(),
            "dropped: progress without a pending call".into(),
        ]
    );
}

#[test]
fn requests_of_the_page_are_answered() {
    let mut transcript = Transcript::opened();
    transcript.receive(r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#);
    assert_eq!(transcript.next_sent(), serde_json::json!({"jsonrpc": "2.0", "id": "p1", "result": {}}));
    transcript.receive(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    assert_eq!(transcript.next_sent()["result"]["roots"], serde_json::json!([]));
    transcript.receive(r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}"#);
    assert_eq!(transcript.next_sent()["error"]["code"], -32601);
}

#[test]
fn the_pages_log_is_passed_on_unchanged() {
    let mut transcript = Transcript::opened();
    let params = r#"{"level":"info","data":1.0}"#;
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#));
    transcript.receive(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
    assert_eq!(transcript.events(), [format!("log {params}")]);
}

#[test]
fn malformed_frames_are_dropped_and_the_session_goes_on() {
    let mut transcript = Transcript::opened();
    for frame in
        ["", "[]", "null", "{}", r#"{"jsonrpc":"2.0"}"#, "\u{0}", r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#]
    {
        transcript.receive(frame);
    }
    assert_eq!(transcript.events().len(), 7);
    transcript.receive(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    assert_eq!(transcript.next_sent()["id"], 9);
}

#[test]
fn params_without_metadata_are_unchanged() {
    let text = r#"{"name":"x", "arguments":{"b":1.0,"a":1e2,"n":12345678901234567890123}, "task":{"ttl":1}}"#;
    assert_eq!(params_for_page(&raw(text), None), text);
}

#[test]
fn metadata_of_the_agents_connection_is_removed() {
    let params = raw(
        r#"{"_meta":{"progressToken":5,"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name":"x","arguments":{"n":1.0}}"#,
    );
    assert_eq!(params_for_page(&params, None), r#"{"name":"x","arguments":{"n":1.0}}"#);
    assert_eq!(
        params_for_page(&params, Some(9)),
        r#"{"name":"x","arguments":{"n":1.0},"_meta":{"progressToken":9}}"#
    );
}

#[test]
fn a_change_during_initialize_waits_for_its_end() {
    let mut transcript = Transcript::start();
    let id = transcript.sent("initialize");
    transcript.receive(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert!(transcript.sent.is_empty());
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    transcript.sent("notifications/initialized");
    transcript.sent("tools/list");
}

#[test]
fn repeated_changes_do_not_delay_readiness() {
    let mut transcript = Transcript::start();
    transcript.advance(10);
    for _ in 0..4 {
        transcript.advance(1);
        transcript.receive(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    }
    assert!(transcript.events().contains(&"ready".to_owned()));
}

#[test]
fn a_late_answer_to_initialize_changes_nothing() {
    let mut transcript = Transcript::start();
    let id = transcript.sent("initialize");
    transcript.advance(10);
    transcript.sent("notifications/initialized");
    let list = transcript.sent("tools/list");
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{list},"result":{{"tools":[]}}}}"#));
    transcript.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    assert!(transcript.sent.is_empty());
    assert_eq!(transcript.events(), ["ready", "changed", "dropped: an answer without a pending request"]);
}
