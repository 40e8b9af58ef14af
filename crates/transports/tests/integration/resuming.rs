//! A connection that goes on where one of a program that was killed has ended.

use std::sync::{Arc, Mutex};

use kernel::log::Announcement;
use kernel::log::{LogEvent, LogRecord};
use kernel::{Client, Death, Event, LossCause, MessageId, Outcome, OutputArea, TimedEvents};
use notebook::Output;
use serde_json::json;
use transports::{Outage, RecordLog, SessionLog, connect_websocket, read_logged};

use crate::events::{Events, done};
use crate::fake::TIMEOUT;
use crate::server::{Asked, Server, Socket};

/// A log that outlives its connection.
#[derive(Default)]
struct Log(Mutex<Vec<LogRecord>>);

impl RecordLog for Log {
    fn has_runs(&self) -> bool {
        true
    }

    fn append(&self, record: &LogRecord) {
        self.0.lock().unwrap().push(record.clone());
    }
}

impl Log {
    fn session(self: &Arc<Self>, followed: &[&MessageId]) -> SessionLog {
        SessionLog {
            session: "s".to_owned(),
            past: self.0.lock().unwrap().clone(),
            followed: followed.iter().map(|id| (*id).clone()).collect(),
            log: self.clone(),
        }
    }
}

/// Connects; `kept` is what the server has kept of the run `asked`.
async fn connect(
    server: &mut Server,
    log: SessionLog,
    asked: Option<&Asked>,
    kept: impl AsyncFnOnce(&mut Server, &mut Socket, &Asked),
) -> (Client, Vec<TimedEvents>, Socket) {
    let mut connecting =
        Box::pin(connect_websocket(server.dial.clone(), Outage::default(), TIMEOUT, false, Some(log)));
    let mut socket = tokio::select! {
        socket = server.accept_again("s") => socket,
        connected = &mut connecting => panic!("unexpected: {connected:?}"),
    };
    if let Some(asked) = asked {
        kept(server, &mut socket, asked).await;
    }
    tokio::select! {
        connected = connecting => {
            let (client, events) = connected.unwrap();
            (client, events, socket)
        }
        asked = server.asked(&mut socket) => panic!("unexpected: {asked:?}"),
    }
}

/// A run that has printed a line when its program is killed.
async fn killed(server: &mut Server, log: &Arc<Log>) -> (Asked, MessageId) {
    let (client, _, mut socket) = connect(server, log.session(&[]), None, async |_, _, _| {}).await;
    let (mut events, sink) = Events::new();
    let announcement = Announcement { run: "r1".into(), message: None, data: json!("data") };
    let id = client.execute_announced("code", Some(announcement), sink);
    let asked = server.asked(&mut socket).await;
    {
        let records = log.0.lock().unwrap();
        let noted = |record: &LogRecord| match record {
            LogRecord::Announced(announcement) => {
                announcement.message.as_deref() == Some(id.as_str()) && announcement.run == "r1"
            }
            _ => false,
        };
        assert!(records.iter().any(noted), "the announcement is there before the kernel has the request");
    }
    server.publish(&mut socket, &asked, "status", json!({ "execution_state": "busy" })).await;
    let input = json!({ "code": "code", "execution_count": 1 });
    server.publish(&mut socket, &asked, "execute_input", input).await;
    server.print(&mut socket, &asked, "one\n").await;
    while !matches!(events.next().await, Event::Output { .. }) {}
    drop(client);
    // Until it has gone.
    while socket.asked().await.is_some() {}
    (asked, id)
}

/// The events that are there, put together.
fn ended(events: &mut TimedEvents) -> (OutputArea, Option<Outcome>) {
    let (mut area, mut end) = (OutputArea::default(), None);
    while let Ok((_, event)) = events.try_recv() {
        match event {
            Event::Finished(outcome) => end = Some(outcome),
            event => drop(area.apply(event)),
        }
    }
    (area, end)
}

fn printed(area: &OutputArea, to: &str) -> String {
    let texts = area.outputs().iter().filter_map(|output| match output {
        Output::Stream { name, text } if name == to => Some(text.as_str().into_owned()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn what_the_server_has_kept_ends_the_run_as_if_it_had_been_watched() {
    let (mut server, log) = (Server::start(true).await, Arc::<Log>::default());
    let (asked, id) = killed(&mut server, &log).await;
    let kept = async |server: &mut Server, socket: &mut Socket, asked: &Asked| {
        // It does not know that this one has arrived.
        server.number -= 1;
        server.print(socket, asked, "one\n").await;
        server.print(socket, asked, "two\n").await;
        server.finish(socket, asked).await;
    };
    let (client, mut events, _socket) = connect(&mut server, log.session(&[&id]), Some(&asked), kept).await;
    let (area, end) = ended(&mut events[0]);
    assert_eq!((printed(&area, "stdout").as_str(), end), ("one\ntwo\n", Some(done(1))));
    drop(client);
    // A third program reads all of it in the log.
    let mut again = read_logged(log.session(&[&id]), Outcome::KernelDied { how: Death::Restarted }).await;
    let (area, end) = ended(&mut again[0]);
    assert_eq!((printed(&area, "stdout").as_str(), end), ("one\ntwo\n", Some(done(1))));
}

#[tokio::test]
async fn a_run_of_which_nothing_was_kept_is_lost_with_what_it_had_printed() {
    let (mut server, log) = (Server::start(true).await, Arc::<Log>::default());
    let (_, id) = killed(&mut server, &log).await;
    let (_client, mut events, _socket) =
        connect(&mut server, log.session(&[&id]), None, async |_, _, _| {}).await;
    let (area, end) = ended(&mut events[0]);
    let Some(Outcome::Lost { is_started: true, cause }) = end else { panic!("{end:?}") };
    assert!(cause.to_string().contains("cut (the program that made it ended)"), "{cause}");
    assert!(
        printed(&area, "stderr").contains("The result is unknown") && printed(&area, "stdout") == "one\n"
    );
}

#[tokio::test]
async fn a_gap_before_what_the_server_has_kept_is_reported() {
    let (mut server, log) = (Server::start(true).await, Arc::<Log>::default());
    let (asked, id) = killed(&mut server, &log).await;
    let kept = async |server: &mut Server, socket: &mut Socket, asked: &Asked| {
        // On its way when the program was killed.
        server.number += 1;
        server.finish(socket, asked).await;
    };
    let (_client, mut events, _socket) = connect(&mut server, log.session(&[&id]), Some(&asked), kept).await;
    let (area, end) = ended(&mut events[0]);
    assert_eq!(end, Some(done(1)));
    assert!(printed(&area, "stderr").contains("Messages of the kernel are missing"), "{:?}", area.outputs());
}

#[tokio::test]
async fn an_answer_to_input_is_remembered_without_its_text() {
    let (mut server, log) = (Server::start(true).await, Arc::<Log>::default());
    let (client, _, mut socket) = connect(&mut server, log.session(&[]), None, async |_, _, _| {}).await;
    let (mut events, sink) = Events::new();
    let announcement = Announcement { run: "r1".into(), message: None, data: json!(null) };
    let id = client.execute_announced("code", Some(announcement), sink);
    let asked = server.asked(&mut socket).await;
    server.say(&mut socket, "stdin", &asked, "input_request", json!({ "prompt": "?" })).await;
    while !matches!(events.next().await, Event::InputWanted { .. }) {}
    assert!(client.answer_input(&id, "a secret".to_owned()));
    assert_eq!(server.asked(&mut socket).await.content["value"], "a secret");
    assert!(!format!("{:?}", log.0.lock().unwrap()).contains("a secret"));
    let mut events = read_logged(log.session(&[&id]), Outcome::KernelDied { how: Death::Restarted }).await;
    let mut states = Vec::new();
    while let Ok((_, event)) = events[0].try_recv() {
        states.push(event);
    }
    let is_answered = |pair: &[Event]| matches!(pair, [Event::InputWanted { .. }, Event::InputAnswered]);
    assert!(states.windows(2).any(is_answered), "{states:?}");
}

#[tokio::test]
async fn outputs_that_the_log_left_out_are_reported() {
    let (mut server, log) = (Server::start(true).await, Arc::<Log>::default());
    let (_, id) = killed(&mut server, &log).await;
    log.append(&LogRecord::Event(LogEvent::Cut { message: id.clone() }));
    let died = Outcome::KernelDied { how: "it was shut down".into() };
    let mut events = read_logged(log.session(&[&id]), died.clone()).await;
    let (area, end) = ended(&mut events[0]);
    assert_eq!(end, Some(died));
    assert!(printed(&area, "stderr").contains("the limit for one run is exceeded"), "{:?}", area.outputs());
    let cut = || LossCause::Disconnected { cause: "a cut".to_owned() };
    let lost = |is_started| Outcome::Lost { is_started, cause: cut() };
    let mut events = read_logged(log.session(&[&id]), lost(false)).await;
    assert_eq!(ended(&mut events[0]).1, Some(lost(true)), "it has printed");
}

#[tokio::test]
async fn a_run_that_began_while_nobody_listened_says_that_its_outputs_are_missing() {
    let (mut server, log) = (Server::start(true).await, Arc::<Log>::default());
    let (client, _, mut socket) = connect(&mut server, log.session(&[]), None, async |_, _, _| {}).await;
    let (_events, sink) = Events::new();
    let announcement = Announcement { run: "r1".into(), message: None, data: json!("data") };
    let id = client.execute_announced("code", Some(announcement), sink);
    let asked = server.asked(&mut socket).await;
    drop(client);
    while socket.asked().await.is_some() {}
    let kept = async |server: &mut Server, socket: &mut Socket, asked: &Asked| {
        server.number += 3;
        server.print(socket, asked, "two\n").await;
        server.finish(socket, asked).await;
    };
    let (_client, mut events, _socket) = connect(&mut server, log.session(&[&id]), Some(&asked), kept).await;
    let (area, end) = ended(&mut events[0]);
    assert_eq!((printed(&area, "stdout").as_str(), end), ("two\n", Some(done(1))));
    assert!(printed(&area, "stderr").contains("Messages of the kernel are missing"), "{:?}", area.outputs());
}

#[tokio::test]
async fn what_code_asks_of_colab_is_answered_once() {
    let (mut server, log) = (Server::start(true).await, Arc::<Log>::default());
    let (client, _, mut socket) = connect(&mut server, log.session(&[]), None, async |_, _, _| {}).await;
    let (_events, sink) = Events::new();
    let announcement = Announcement { run: "r1".into(), message: None, data: json!(null) };
    let id = client.execute_announced("code", Some(announcement), sink);
    let asked = server.asked(&mut socket).await;
    server.publish(&mut socket, &asked, "status", json!({ "execution_state": "busy" })).await;
    server.ask_colab(&mut socket, &asked).await;
    assert_eq!(server.asked(&mut socket).await.channel, "stdin");
    drop(client);
    while socket.asked().await.is_some() {}
    // The next program reads it in the log.
    let (client, _, mut socket) = connect(&mut server, log.session(&[&id]), None, async |_, _, _| {}).await;
    drop(client);
    while let Some(asked) = socket.asked().await {
        assert_ne!(asked.channel, "stdin");
    }
    // What the code asked while there was no program is answered.
    let connecting =
        connect_websocket(server.dial.clone(), Outage::default(), TIMEOUT, false, Some(log.session(&[&id])));
    let answered = async {
        let mut socket = server.accept_again("s").await;
        server.ask_colab(&mut socket, &asked).await;
        (server.asked(&mut socket).await, socket)
    };
    let (connected, (answer, _socket)) = tokio::join!(connecting, answered);
    connected.unwrap();
    assert_eq!((answer.channel.as_str(), answer.kind()), ("stdin", "input_reply"));
}
