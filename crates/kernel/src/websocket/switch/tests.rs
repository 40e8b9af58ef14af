//! Outputs over several sockets.

use proptest::prelude::*;
use serde_json::json;

use super::*;

pub(in super::super) fn message(number: u32, kind: &str) -> Message {
    let state = if kind == "status" { "idle" } else { "" };
    let header = json!({ "msg_id": format!("k_1_{number}"), "session": "k", "msg_type": kind });
    let parent = json!({ "msg_id": "a", "msg_type": "execute_request" });
    let content = json!({ "name": "stdout", "text": number.to_string(), "execution_state": state });
    let [header, parent, content] = [header, parent, content].map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

#[derive(Default)]
struct Sockets {
    switch: Switch,
    seen: Seen,
    given: Vec<String>,
}

impl Sockets {
    fn hear(&mut self, source: Source, number: u32, kind: &str) {
        let messages = self.switch.take(message(number, kind), source, &self.seen);
        self.give(messages);
    }

    fn print(&mut self, source: Source, numbers: std::ops::Range<u32>) {
        numbers.for_each(|number| self.hear(source, number, "stream"));
    }

    fn give(&mut self, messages: Messages) {
        for (message, from) in messages {
            if self.seen.insert(&message, from) {
                self.given.push(message.content.to_value()["text"].as_str().unwrap().to_owned());
            }
        }
    }

    fn assert_given(&self, numbers: impl Iterator<Item = u32>) {
        assert_eq!(self.given, numbers.map(|number| number.to_string()).collect::<Vec<_>>());
    }
}

#[test]
fn one_that_is_ahead_is_waited_for() {
    let mut sockets = Sockets::default();
    sockets.print(0, 0..10);
    sockets.switch.prefer(1);
    sockets.print(1, 15..20);
    assert_eq!(sockets.switch.current(), 0);
    sockets.print(0, 10..16);
    assert_eq!(sockets.switch.current(), 1);
    sockets.print(0, 16..30);
    sockets.print(1, 20..22);
    sockets.assert_given(0..22);
}

#[test]
fn one_that_lags_behind_catches_up_first() {
    let mut sockets = Sockets::default();
    sockets.print(0, 0..100);
    sockets.switch.prefer(1);
    sockets.print(1, 10..60);
    assert_eq!(sockets.switch.current(), 0);
    sockets.print(0, 100..105);
    sockets.print(1, 60..107);
    assert_eq!(sockets.switch.current(), 1);
    sockets.assert_given(0..107);
}

#[test]
fn they_follow_one_another() {
    let mut sockets = Sockets::default();
    sockets.print(0, 0..5);
    sockets.switch.prefer(1);
    sockets.print(1, 8..20);
    sockets.switch.prefer(2);
    sockets.print(2, 18..30);
    assert_eq!(sockets.switch.newest(), 2);
    assert!(sockets.switch.needs(1) && sockets.switch.needs(2));
    sockets.print(0, 5..9);
    assert_eq!(sockets.switch.current(), 2);
    assert!(!sockets.switch.needs(1));
    sockets.assert_given(0..30);
}

#[test]
fn the_main_one_has_its_place_back_when_a_run_ends() {
    let mut sockets = Sockets::default();
    sockets.print(0, 0..5);
    sockets.switch.prefer(1);
    sockets.print(1, 4..8);
    assert_eq!(sockets.switch.current(), 1);
    // The server dropped what the main one would have heard, but for the end.
    sockets.hear(0, 9, "status");
    assert_eq!(sockets.switch.current(), 1);
    sockets.print(1, 8..9);
    sockets.hear(1, 9, "status");
    assert_eq!(sockets.switch.current(), 0);
    assert!(!sockets.switch.needs(1));
    sockets.print(0, 10..12);
    sockets.assert_given(0..12);
}

#[test]
fn one_that_the_server_cuts_short_is_left() {
    let mut sockets = Sockets::default();
    sockets.print(0, 0..5);
    sockets.switch.prefer(1);
    sockets.print(1, 8..10);
    let held = sockets.switch.drops(0);
    sockets.give(held);
    sockets.print(1, 10..12);
    sockets.assert_given((0..5).chain(8..12));
    // Nobody is left to turn to.
    assert!(sockets.switch.drops(1).is_empty());
    assert_eq!(sockets.switch.current(), 1);
}

#[test]
fn one_that_ends_is_replaced() {
    let mut sockets = Sockets::default();
    sockets.switch.prefer(1);
    sockets.print(1, 1..2);
    sockets.print(0, 0..2);
    assert_eq!(sockets.switch.current(), 1);
    let held = sockets.switch.lose(1);
    sockets.give(held);
    sockets.print(0, 2..4);
    sockets.switch.prefer(2);
    sockets.print(2, 6..8);
    let held = sockets.switch.restart(3);
    sockets.give(held);
    sockets.print(3, 8..9);
    sockets.assert_given((0..4).chain(6..9));
}

proptest! {
    /// However the sockets' messages interleave, each output is given out once and in its order, if the current one hears
    /// on until another takes over.
    #[test]
    fn outputs_stay_whole_and_in_order(
        starts in proptest::collection::vec(0..80_u32, 0..4),
        turns in proptest::collection::vec(0..5_usize, 0..400),
    ) {
        let mut sockets = Sockets::default();
        let mut at: Vec<u32> = std::iter::once(0).chain(starts.iter().copied()).collect();
        let mut is_open = vec![true];
        is_open.resize(at.len(), false);
        for turn in turns.into_iter().chain(std::iter::repeat_n(0, 100)).chain((0..500).map(|turn| turn % 5)) {
            if turn >= at.len() || at[turn] >= 100 {
                continue;
            }
            let source = turn as Source;
            // A socket begins with what the kernel says after it was opened, which nobody heard before.
            if !is_open[turn] {
                if at[..turn].iter().zip(&is_open).any(|(&other, &open)| open && other > at[turn]) {
                    at[turn] = 100;
                    continue;
                }
                is_open[turn] = true;
                sockets.switch.prefer(source);
            }
            sockets.print(source, at[turn]..at[turn] + 1);
            at[turn] += 1;
        }
        sockets.assert_given(0..100);
    }
}
