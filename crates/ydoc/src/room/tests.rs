use std::time::{Duration, Instant};

use notebook::{CellId, CellType, Edit, NewCell};
use serde_json::{Value, json};
use yrs::{Map, Transact};

use super::*;
use crate::frame;
use crate::presence::RENEWAL_INTERVAL;

/// What a server does, as far as the tests need it.
struct Server {
    live: LiveNotebook,
}

impl Server {
    fn new() -> Self {
        let mut live = LiveNotebook::new();
        live.apply(&[Edit::Insert { index: 0, cell: NewCell::new(CellType::Code, "1") }]).unwrap();
        Self { live }
    }

    /// Its step 1, as `jupyter-collaboration` sends it at once.
    fn greet(&self) -> Vec<u8> {
        frame::step1(&self.live.state_vector())
    }

    fn answer(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        match Reader(frame).message() {
            Some(Message::Step1(known)) => Some(frame::step2(&self.live.update_since(known).unwrap())),
            Some(Message::Step2(update) | Message::Update(update)) => {
                self.live.integrate(update).unwrap();
                None
            }
            other => panic!("{other:?}"),
        }
    }

    fn set_state(&self, name: &str, value: yrs::Any) -> Vec<u8> {
        let mut txn = self.live.doc.transact_mut();
        self.live.state.insert(&mut txn, name, value);
        frame::update(&txn.encode_update_v1())
    }
}

fn synced() -> (Server, Room, LiveNotebook) {
    let (mut server, mut live) = (Server::new(), LiveNotebook::new());
    let (mut room, frames) = Room::open(&live);
    let now = Instant::now();
    let answer = server.answer(&frames[0]).unwrap();
    let events = room.receive(&answer, now, &mut live);
    assert_eq!(events, [RoomEvent::Changed, RoomEvent::Synced]);
    (server, room, live)
}

#[test]
fn both_sides_synchronize_in_any_order() {
    for speaks_first in [true, false] {
        let (mut server, mut live) = (Server::new(), LiveNotebook::new());
        let (mut room, frames) = Room::open(&live);
        let now = Instant::now();
        let answer = server.answer(&frames[0]).unwrap();
        let mut incoming = vec![answer];
        incoming.insert(usize::from(!speaks_first), server.greet());
        for frame in incoming {
            for event in room.receive(&frame, now, &mut live) {
                if let RoomEvent::Send(frame) = event {
                    assert_eq!(server.answer(&frame), None);
                }
            }
        }
        assert_eq!(live.state_vector(), server.live.state_vector());
        let update =
            live.apply(&[Edit::Insert { index: 1, cell: NewCell::new(CellType::Raw, "2") }]).unwrap();
        server.answer(&room.update(&update));
        assert_eq!(server.live.snapshot().unwrap().cells().len(), 2);
    }
}

#[test]
fn a_new_connection_sends_offline_changes() {
    let (mut server, mut room, mut live) = synced();
    let now = Instant::now();
    room.presence(&Presence { agent: 1, name: "Agent".to_owned(), cursor: None }, now);
    live.apply(&[Edit::Insert { index: 0, cell: NewCell::new(CellType::Code, "offline") }]).unwrap();
    let frames = room.reopen(&live, now);
    assert_eq!(frames.len(), 2, "the agents are shown again");
    let answer = server.answer(&frames[0]).unwrap();
    assert_eq!(room.receive(&answer, now, &mut live), [RoomEvent::Synced]);
    let greeting = server.greet();
    let [RoomEvent::Send(step2)] = &*room.receive(&greeting, now, &mut live) else { panic!() };
    server.answer(step2);
    assert_eq!(server.live.snapshot().unwrap().cells()[0].source(), "offline");
}

#[test]
fn missing_changes_are_requested() {
    let (mut server, mut room, mut live) = synced();
    let insert = |index| Edit::Insert { index, cell: NewCell::new(CellType::Code, "x") };
    server.live.apply(&[insert(0)]).unwrap();
    let second = server.live.apply(&[insert(0)]).unwrap();
    let events = room.receive(&frame::update(&second), Instant::now(), &mut live);
    let [RoomEvent::Send(step1)] = &*events else { panic!("{events:?}") };
    let answer = server.answer(step1).unwrap();
    assert_eq!(room.receive(&answer, Instant::now(), &mut live), [RoomEvent::Changed]);
    assert_eq!(live.snapshot().unwrap().cells().len(), 3);
}

#[test]
fn a_save_is_requested_and_answered() {
    let (_, mut room, mut live) = synced();
    let SaveRequest { id: request, frame } = room.save();
    assert_eq!(frame, [&b"\x02\x04save"[..], &[u8::try_from(request).unwrap()]].concat());
    let mut reply = |reply: Value| {
        let mut frame = vec![2];
        frame::write_bytes(reply.to_string().as_bytes(), &mut frame);
        room.receive(&frame, Instant::now(), &mut live)
    };
    for (status, outcome) in
        [("success", SaveOutcome::Saved), ("skipped", SaveOutcome::Skipped), ("failed", SaveOutcome::Failed)]
    {
        let events = reply(json!({ "type": "save", "responseTo": request, "status": status }));
        assert_eq!(events, [RoomEvent::Saved { request, outcome }]);
    }
    assert_eq!(reply(json!({ "type": "other", "responseTo": 1, "status": "x" })), []);
    assert_eq!(reply(json!("text")), []);
}

#[test]
fn a_rename_is_reported() {
    let (server, mut room, mut live) = synced();
    let mut path = |path: &str| {
        let frame = server.set_state("path", path.into());
        room.receive(&frame, Instant::now(), &mut live)
    };
    assert_eq!(path("a.ipynb"), [RoomEvent::PathChanged("a.ipynb".to_owned())]);
    assert_eq!(path("a.ipynb"), []);
    assert_eq!(path("b.ipynb"), [RoomEvent::PathChanged("b.ipynb".to_owned())]);
}

#[test]
fn agents_are_announced_periodically() {
    let (_, mut room, mut live) = synced();
    let now = Instant::now();
    assert_eq!(room.renewal(), None);
    let shown = room.presence(&Presence { agent: 1, name: "Agent".to_owned(), cursor: None }, now);
    let due = room.renewal().unwrap();
    assert_eq!(due, now + RENEWAL_INTERVAL);
    assert_eq!(room.renew(now + RENEWAL_INTERVAL.saturating_sub(Duration::from_millis(1))), None);
    assert!(room.renew(due).is_some_and(|frame| frame != shown));
    assert_eq!(room.renewal(), Some(due + RENEWAL_INTERVAL));
    let events = room.receive(b"\x03", due, &mut live);
    assert!(matches!(&*events, [RoomEvent::Send(_)]));
    assert!(room.leave(1).is_some());
    assert_eq!(room.leave(1), None);
    assert_eq!(room.renewal(), None);
}

#[test]
fn malformed_frames_do_not_end_the_room() {
    let (server, mut room, mut live) = synced();
    for frame in [&b""[..], b"\x00\x02\x01\xff", b"\x00", b"\x01\x01\x05", b"\x00\x00\x01\xff"] {
        let events = room.receive(frame, Instant::now(), &mut live);
        assert!(matches!(&*events, [RoomEvent::Malformed(_)]), "{frame:?} {events:?}");
    }
    assert_eq!(room.receive(b"\x09whatever", Instant::now(), &mut live), []);
    let frame = server.set_state("path", "a.ipynb".into());
    assert_eq!(room.receive(&frame, Instant::now(), &mut live).len(), 1);
}

/// The states of two clients, as their server passes them on.
fn states_of(states: &[(u64, u64, Value)]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write_number(states.len() as u64, &mut out);
    for (client, clock, state) in states {
        frame::write_number(*client, &mut out);
        frame::write_number(*clock, &mut out);
        frame::write_bytes(state.to_string().as_bytes(), &mut out);
    }
    frame::awareness(&out)
}

#[test]
fn the_selected_cell_has_the_last_moved_cursor() {
    let (server, mut room, mut live) = synced();
    let mut second = NewCell::new(CellType::Code, "2");
    second.id = "second".into();
    live.apply(&[Edit::Insert { index: 1, cell: second }]).unwrap();
    let first = live.snapshot().unwrap().cells()[0].id().clone();
    let now = Instant::now();
    assert_eq!(room.selected(&live), None);
    // Our own agents do not count.
    let who = Presence { agent: 1, name: "a".to_owned(), cursor: live.cursor(&first) };
    room.presence(&who, now);
    assert_eq!(room.selected(&live), None);
    let at = |live: &LiveNotebook, cell: &CellId| json!({ "cursors": [live.cursor(cell).unwrap()] });
    let there = states_of(&[(1, 1, at(&server.live, &first)), (2, 1, json!({ "cursors": [] }))]);
    room.receive(&there, now, &mut live);
    assert_eq!(room.selected(&live).as_ref(), Some(&first));
    let moved = states_of(&[(2, 2, at(&live, &"second".into()))]);
    room.receive(&moved, now, &mut live);
    assert_eq!(room.selected(&live).as_deref(), Some("second"));
    // A cursor in a deleted cell does not count.
    live.apply(&[Edit::Delete { ids: vec!["second".into()] }]).unwrap();
    assert_eq!(room.selected(&live).as_ref(), Some(&first));
    // Another program like this one.
    let (mut other, _) = Room::open(&live);
    let agent = other.presence(&Presence { cursor: None, ..who }, now);
    room.receive(&agent, now, &mut live);
    room.receive(&states_of(&[(1, 2, Value::Null)]), now, &mut live);
    assert_eq!(room.selected(&live), None);
}
