//! The server's window, as seen from here.

use serde_json::json;

use super::*;

fn message(kind: &str, content: &serde_json::Value) -> Message {
    let [header, parent, content] =
        [&json!({ "msg_type": kind }), &json!({}), content].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

fn print(length: usize) -> Message {
    message("stream", &json!({ "name": "stdout", "text": "x".repeat(length) }))
}

/// Counts messages that come evenly, and tells after how many it is too much.
fn strained_after(message: &Message, each: Duration, most: usize) -> Option<usize> {
    let (mut budget, mut now) = (Budget::default(), Instant::now());
    (1..=most).find(|_| {
        now += each;
        budget.count(message, now);
        budget.is_strained(now)
    })
}

#[test]
fn what_stays_far_below_the_limit_needs_no_other_socket() {
    assert_eq!(strained_after(&print(1), Duration::from_millis(3), 10_000), None);
    assert_eq!(strained_after(&print(100_000), Duration::from_millis(300), 1000), None);
    let status = message("status", &json!({ "execution_state": "busy" }));
    assert_eq!(strained_after(&status, Duration::ZERO, 10_000), None);
    // Only streams count by their length.
    let image = message("display_data", &json!({ "data": "x".repeat(4_000_000) }));
    assert_eq!(strained_after(&image, Duration::from_millis(3), 100), None);
}

#[test]
fn a_burst_is_noticed_early_and_a_steady_flow_in_time() {
    assert_eq!(strained_after(&print(1), Duration::ZERO, 10_000), Some(61));
    assert_eq!(strained_after(&print(1), Duration::from_millis(2), 10_000), Some(1201));
    assert_eq!(strained_after(&print(60_000), Duration::from_millis(110), 100), Some(20));
}

#[test]
fn an_idle_kernel_is_forgiven() {
    let (mut budget, now) = (Budget::default(), Instant::now());
    (0..3000).for_each(|_| budget.count(&print(1), now));
    assert!(budget.is_strained(now));
    budget.count(&message("status", &json!({ "execution_state": "idle" })), now);
    assert!(!budget.is_strained(now));
}
