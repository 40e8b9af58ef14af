use serde_json::Value;

use super::*;
use crate::frame::Message;

/// Client, clock and state of each entry of a frame.
fn read(frame: &[u8]) -> Vec<(u64, u64, Value)> {
    let Some(Message::Awareness(states)) = Reader(frame).message() else { panic!() };
    let mut reader = Reader(states);
    let count = reader.number().unwrap();
    let states = (0..count).map(|_| {
        let (client, clock) = (reader.number().unwrap(), reader.number().unwrap());
        (client, clock, serde_json::from_str(reader.text().unwrap()).unwrap())
    });
    states.collect()
}

fn encode(states: &[(u64, u64, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    write_number(states.len() as u64, &mut out);
    for (client, clock, state) in states {
        write_number(*client, &mut out);
        write_number(*clock, &mut out);
        write_bytes(state.as_bytes(), &mut out);
    }
    out
}

fn agent(agent: u64, name: &str) -> Presence {
    Presence { agent, name: name.to_owned(), cursor: Some(json!({ "anchor": 1 })) }
}

#[test]
fn each_agent_is_a_client_with_an_increasing_clock() {
    let mut awareness = Awareness::default();
    let now = Instant::now();
    let first = read(&awareness.set(&agent(1, "Ada Lovelace King"), now));
    let second = read(&awareness.set(&agent(2, "b"), now));
    let (client, clock, state) = &first[0];
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_ne!(*client, second[0].0);
    assert_eq!(state["user"]["initials"], "AL");
    assert_eq!(state["user"]["name"], "Ada Lovelace King");
    assert!(state["user"]["color"].as_str().unwrap().starts_with("var(--jp-collaborator-color"));
    assert_eq!(state["cursors"], json!([{ "anchor": 1 }]));
    let again = read(&awareness.set(&agent(1, "Ada"), now));
    assert_eq!((again[0].0, again[0].1), (*client, clock + 1));
    assert_eq!(read(&awareness.announce(now).unwrap()).len(), 2);
    let left = read(&awareness.leave(1).unwrap());
    assert_eq!(left, [(*client, clock + 3, Value::Null)]);
    assert_eq!(read(&awareness.leave_all().unwrap()).len(), 1);
    assert_eq!(awareness.leave_all(), None);
}

#[test]
fn an_agent_declared_gone_is_announced_again() {
    let mut awareness = Awareness::default();
    let now = Instant::now();
    let shown = read(&awareness.set(&agent(1, "a"), now));
    let (client, clock) = (shown[0].0, shown[0].1);
    assert_eq!(awareness.receive(&encode(&[(client, clock, "{}")]), now), Some(false));
    assert_eq!(awareness.receive(&encode(&[(client, clock + 5, "null")]), now), Some(true));
    assert!(read(&awareness.announce(now).unwrap())[0].1 > clock + 5);
}

#[test]
fn malformed_states_are_refused() {
    let mut awareness = Awareness::default();
    for states in [&b""[..], b"\x02\x01\x01\x02{}", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"] {
        assert_eq!(awareness.receive(states, Instant::now()), None, "{states:?}");
    }
    let state = r#"{"user": {"name": "x"}}"#;
    for client in 0..3_000 {
        awareness.receive(&encode(&[(client, 1, state)]), Instant::now());
    }
    assert_eq!(awareness.others.len(), MAX_OTHERS);
}

#[test]
fn the_last_moved_cursor_comes_first() {
    let mut awareness = Awareness::default();
    let now = Instant::now();
    let mut receive = |client: u64, clock: u64, state: Value, seconds| {
        let now = now + Duration::from_secs(seconds);
        awareness.receive(&encode(&[(client, clock, &state.to_string())]), now).unwrap();
        awareness.renew(now);
        let characters = awareness.positions().into_iter().map(|position| match position {
            Position::At(id) => id.clock,
            Position::EndOf(_) => panic!(),
        });
        characters.collect::<Vec<_>>()
    };
    let at = |clock: u64| {
        let position = json!({ "item": { "client": 1, "clock": clock }, "assoc": 0 });
        json!({ "user": { "name": "x" }, "cursors": [{ "anchor": position, "head": position }] })
    };
    assert_eq!(receive(1, 1, at(10), 0), [10]);
    // Nobody knows when they came to where they are.
    assert_eq!(receive(2, 1, at(20), 1), [20, 10]);
    assert_eq!(receive(1, 2, at(11), 2), [11, 20]);
    // Announcing the same position again is not a move.
    assert_eq!(receive(2, 2, at(20), 3), [11, 20]);
    assert_eq!(receive(3, 1, json!({ "user": { "name": "y" } }), 4), [11, 20]);
    assert_eq!(receive(3, 2, at(30), 5), [30, 11, 20]);
    // Agents do not count.
    let mut agent = at(40);
    agent[AGENT] = true.into();
    assert_eq!(receive(4, 1, agent, 6), [30, 11, 20]);
    assert_eq!(receive(3, 3, Value::Null, 7), [11, 20]);
    // Who is silent has left.
    assert_eq!(receive(2, 3, at(20), 31), [11, 20]);
    assert_eq!(receive(2, 4, at(20), 33), [20]);
}
