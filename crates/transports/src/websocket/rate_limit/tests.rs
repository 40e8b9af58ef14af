//! The server's window, as seen from here, and the questions that it leads to.

use serde_json::{Value, json};

use super::*;

fn message(kind: &str, asker: &str, content: &Value) -> Message {
    let parent = json!({ "msg_id": "a", "msg_type": "execute_request", "session": asker });
    let [header, parent, content] =
        [&json!({ "msg_type": kind }), &parent, content].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

fn print(length: usize) -> Message {
    message("stream", "ours", &json!({ "name": "stdout", "text": "x".repeat(length) }))
}

/// The `idle` behind the answer to a question.
fn idle(question: &Outgoing) -> Message {
    let parent = json!({ "msg_id": question.1.header.msg_id, "msg_type": "kernel_info_request" });
    let content = json!({ "execution_state": "idle" });
    let [header, parent, content] =
        [&json!({ "msg_type": "status" }), &parent, &content].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

/// Counts messages that come evenly; returns after how many the kernel is asked.
fn asked_after(message: &Message, each: Duration, most: usize) -> Option<usize> {
    let (mut rate_limit, mut now) = (RateLimitReset::new("ours"), Instant::now());
    (1..=most).find(|_| {
        now += each;
        rate_limit.count(message, now);
        rate_limit.question(now).is_some()
    })
}

#[test]
fn little_output_asks_nothing() {
    assert_eq!(asked_after(&print(1), Duration::from_millis(55), 10_000), None);
    assert_eq!(asked_after(&print(4_000), Duration::from_millis(250), 1000), None);
    let status = message("status", "ours", &json!({ "execution_state": "busy" }));
    assert_eq!(asked_after(&status, Duration::ZERO, 10_000), None);
    // Only streams count by their length.
    let image = message("display_data", "ours", &json!({ "data": "x".repeat(4_000_000) }));
    assert_eq!(asked_after(&image, Duration::from_millis(55), 100), None);
}

#[test]
fn output_of_other_clients_asks_nothing() {
    let others = message("stream", "theirs", &json!({ "name": "stdout", "text": "x" }));
    assert_eq!(asked_after(&others, Duration::ZERO, 10_000), None);
}

#[test]
fn much_output_asks_early() {
    assert_eq!(asked_after(&print(1), Duration::ZERO, 10_000), Some(61));
    assert_eq!(asked_after(&print(1), Duration::from_millis(2), 10_000), Some(61));
    assert_eq!(asked_after(&print(60_000), Duration::from_millis(110), 100), Some(3));
    assert_eq!(asked_after(&print(10_000_000), Duration::from_secs(2), 100), None);
}

#[test]
fn questions_keep_their_interval_and_stop_without_answers() {
    let (mut rate_limit, start) = (RateLimitReset::new("ours"), Instant::now());
    let times: Vec<u128> = (0..4000)
        .filter_map(|millisecond| {
            let now = start + Duration::from_millis(millisecond);
            rate_limit.count(&print(1), now);
            rate_limit.question(now).map(|_| (now - start).as_millis())
        })
        .collect();
    assert_eq!(times.len(), MAX_WAITING);
    assert!(times.windows(2).all(|two| two[1] - two[0] == MIN_INTERVAL.as_millis()), "{times:?}");
    rate_limit.reconnected();
    let later = start + Duration::from_secs(4);
    assert!(rate_limit.question(later).is_none(), "nothing was sent over the new connection");
    (0..200).for_each(|_| rate_limit.count(&print(1), later));
    assert!(rate_limit.question(later).is_some());
}

#[test]
fn an_answer_allows_another_question() {
    let (mut rate_limit, mut now) = (RateLimitReset::new("ours"), Instant::now());
    for _ in 0..2 * MAX_WAITING {
        (0..300).for_each(|_| rate_limit.count(&print(1), now));
        let question = rate_limit.question(now).expect("there is too much");
        let answer = idle(&question);
        assert!(rate_limit.is_answer(&answer) && !rate_limit.is_answer(&print(1)));
        rate_limit.count(&answer, now);
        now += MIN_INTERVAL;
        assert!(rate_limit.question(now).is_none() && !rate_limit.is_waiting());
    }
}
