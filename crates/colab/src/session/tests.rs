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
        story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"a"}}]}}}}"#));
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
    story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#));
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
    story.page_says(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}}"#);
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
    story.page_says(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#));
    story.page_says(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
    assert_eq!(story.happened(), [format!("log {params}")]);
}

#[test]
fn nonsense_is_dropped_and_the_session_lives() {
    let mut story = Story::opened();
    for frame in
        ["", "[]", "null", "{}", r#"{"jsonrpc":"2.0"}"#, "\u{0}", r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#]
    {
        story.page_says(frame);
    }
    assert_eq!(story.happened().len(), 7);
    story.page_says(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    assert_eq!(story.next_sent()["id"], 9);
}

#[test]
fn params_pass_unchanged_where_nothing_has_to_change() {
    let text = r#"{"name":"x", "arguments":{"b":1.0,"a":1e2,"n":12345678901234567890123}, "task":{"ttl":1}}"#;
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

#[test]
fn a_page_that_names_versions_for_ever_is_asked_twice() {
    let mut story = Story::begin();
    for _ in 0..2 {
        let id = story.sent("initialize");
        story.page_says(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"","data":{{"supported":["2024-11-05"]}}}}}}"#
        ));
    }
    story.sent("notifications/initialized");
    story.sent("tools/list");
    assert!(story.sent.is_empty());
}

#[test]
fn a_notice_before_the_greeting_waits_for_it() {
    let mut story = Story::begin();
    let id = story.sent("initialize");
    story.page_says(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert!(story.sent.is_empty());
    story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    story.sent("notifications/initialized");
    story.sent("tools/list");
}

#[test]
fn notices_without_end_do_not_put_off_the_calls() {
    let mut story = Story::begin();
    story.seconds_pass(10);
    for _ in 0..4 {
        story.seconds_pass(1);
        story.page_says(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    }
    assert!(story.happened().contains(&"ready".to_owned()));
}

#[test]
fn a_late_answer_after_the_list_changes_nothing() {
    let mut story = Story::begin();
    let id = story.sent("initialize");
    story.seconds_pass(10);
    story.sent("notifications/initialized");
    let list = story.sent("tools/list");
    story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{list},"result":{{"tools":[]}}}}"#));
    story.page_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    assert!(story.sent.is_empty());
    assert_eq!(story.happened(), ["ready", "changed"]);
}
