//! Kernels behind a Jupyter server.

use std::time::{Duration, Instant};

use kernel::{Event, KernelError, LossCause, Outcome, Status};
use notebook::Output;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use transports::{DialError, Outage};

use crate::events::{Events, done, stdout};
use crate::fake::TIMEOUT;
use crate::server::Server;

fn died(how: &str) -> Outcome {
    Outcome::KernelDied { how: how.into() }
}

async fn runs(mut server: Server) {
    let (client, mut socket) = server.client().await;
    assert_eq!(client.language_info().to_value()["name"], "fake");
    let (asked, mut events, id) = server.execute(&mut socket, &client).await;
    assert_eq!((asked.channel.as_str(), &asked.content["code"]), ("shell", &json!("code")));
    assert_eq!(asked.header["session"], socket.session.as_str());
    server.print(&mut socket, &asked, "a line\n").await;
    socket.send_frame(Message::binary(vec![0xff; 30])).await;
    server.say(&mut socket, "stdin", &asked, "input_request", json!({ "prompt": "?" })).await;
    while !matches!(events.next().await, Event::InputWanted { .. }) {}
    assert!(client.answer_input(&id, "Ada".to_owned()));
    let answer = server.asked(&mut socket).await;
    assert_eq!((answer.channel.as_str(), &answer.content["value"]), ("stdin", &json!("Ada")));
    server.ask_colab(&mut socket, &asked).await;
    let answer = server.asked(&mut socket).await;
    assert_eq!(
        (answer.channel.as_str(), answer.kind(), &answer.parent),
        ("stdin", "input_reply", &json!({}))
    );
    assert_eq!(answer.content["value"]["colab_msg_id"], 7);
    assert!(answer.content["value"]["error"].is_string());
    server.finish(&mut socket, &asked).await;
    assert_eq!(events.collect().await.1, done(1));
}

#[tokio::test]
async fn code_runs_over_the_newer_protocol() {
    runs(Server::start(true).await).await;
}

#[tokio::test]
async fn code_runs_over_the_older_protocol() {
    runs(Server::start(false).await).await;
}

#[tokio::test]
async fn no_protocol_is_offered_where_it_may_not_be() {
    runs(Server::behind_proxy().await).await;
    let mut server = Server::behind_proxy().await;
    let (_client, socket) = server.client().await;
    let session = socket.session.clone();
    drop(socket);
    server.accept_again(&session).await;
}

#[tokio::test]
async fn each_message_is_answered_with_a_pong() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (asked, mut events, _) = server.execute(&mut socket, &client).await;
    server.print(&mut socket, &asked, "a line\n").await;
    server.finish(&mut socket, &asked).await;
    events.collect().await;
    // All that was said before the request of this was answered.
    let (_, sink) = Events::new();
    client.execute("next", sink);
    server.asked(&mut socket).await;
    assert_eq!(socket.pongs as u64, server.number);
}

#[tokio::test]
async fn output_during_a_cut_comes_once() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (asked, mut events, _) = server.execute(&mut socket, &client).await;
    server.print(&mut socket, &asked, "one\n").await;
    while !matches!(events.next().await, Event::Output { .. }) {}
    let session = socket.session.clone();
    drop(socket);
    let mut socket = server.accept_again(&session).await;
    // The server sends again what it does not know to have arrived, and what came since.
    server.number -= 1;
    server.print(&mut socket, &asked, "one\n").await;
    server.print(&mut socket, &asked, "two\n").await;
    server.finish(&mut socket, &asked).await;
    let (area, outcome) = events.collect().await;
    assert_eq!((stdout(&area).as_str(), outcome), ("two\n", done(1)));
}

#[tokio::test]
async fn sockets_that_close_at_once_are_not_dialled_without_pause() {
    let mut server = Server::start(true).await;
    let (_client, socket) = server.client().await;
    let (session, start) = (socket.session.clone(), Instant::now());
    drop(socket);
    for _ in 0..5 {
        drop(server.accept_again(&session).await);
    }
    assert!(start.elapsed() >= Duration::from_millis(100 + 200 + 400), "{:?}", start.elapsed());
}

#[tokio::test]
async fn requests_during_a_cut_run_once() {
    let mut server = Server::start(false).await;
    let (client, socket) = server.client().await;
    let session = socket.session.clone();
    let unreachable = || DialError::Unreachable { cause: "not now".to_owned() };
    server.dial.refusals.lock().unwrap().extend([unreachable(), unreachable(), unreachable()]);
    drop(socket);
    // Before it knows of the loss, what it sends may be lost too.
    server.dial.refused.notified().await;
    let (mut events, sink) = Events::new();
    client.execute("code", sink);
    let mut socket = server.accept_again(&session).await;
    let asked = server.asked(&mut socket).await;
    assert_eq!(asked.kind(), "execute_request");
    server.finish(&mut socket, &asked).await;
    assert_eq!(events.collect().await.1, done(1));
}

#[tokio::test]
async fn a_request_lost_with_the_connection_is_not_sent_again() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (mut events, sink) = Events::new();
    client.execute("code", sink);
    assert_eq!(server.asked(&mut socket).await.kind(), "execute_request");
    let session = socket.session.clone();
    drop(socket);
    let mut socket = server.accept_again(&session).await;
    let asked = socket.asked().await.unwrap();
    assert_eq!((asked.kind(), asked.channel.as_str()), ("kernel_info_request", "shell"));
    server.introduce(&mut socket, &asked).await;
    let (_, outcome) = events.collect().await;
    let Outcome::Lost { is_started: false, cause } = outcome else { panic!("{outcome:?}") };
    let (cause, end) = (cause.to_string(), "), and no reply came after it was restored");
    assert!(cause.starts_with("the connection to the kernel was cut (") && cause.ends_with(end), "{cause}");
    let (_, mut events, _) = {
        let (asked, events, id) = server.execute(&mut socket, &client).await;
        server.finish(&mut socket, &asked).await;
        (asked, events, id)
    };
    assert_eq!(events.collect().await.1, done(1));
}

#[tokio::test]
async fn a_kernel_that_is_gone_after_a_cut_is_dead() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (_, mut events, _) = server.execute(&mut socket, &client).await;
    server
        .dial
        .refusals
        .lock()
        .unwrap()
        .push_back(DialError::Gone { how: "the server does not know it".to_owned() });
    drop(socket);
    assert_eq!(events.collect().await.1, died("the server does not know it"));
    assert_eq!(*client.status().borrow(), Status::Dead { how: "the server does not know it".into() });
}

#[tokio::test]
async fn a_kernel_that_announces_its_shutdown_is_looked_for() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (asked, mut events, _) = server.execute(&mut socket, &client).await;
    server.dial.refusals.lock().unwrap().push_back(DialError::Gone { how: "the server ended it".to_owned() });
    server.publish(&mut socket, &asked, "shutdown_reply", json!({ "status": "ok", "restart": false })).await;
    assert_eq!(events.collect().await.1, died("the server ended it"));
}

#[tokio::test]
async fn a_refusal_after_a_cut_ends_the_connection() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (_, mut events, _) = server.execute(&mut socket, &client).await;
    server.dial.refusals.lock().unwrap().push_back(DialError::Refused { cause: "403 Forbidden".to_owned() });
    drop(socket);
    // The kernel may run on.
    let (area, outcome) = events.collect().await;
    assert_eq!(
        outcome,
        Outcome::Lost {
            is_started: false,
            cause: LossCause::NotRestored { cause: "403 Forbidden".to_owned() }
        }
    );
    assert!(area.outputs().is_empty(), "{area:?}");
}

#[tokio::test]
async fn a_first_refusal_is_returned_at_once() {
    let server = Server::start(true).await;
    for (refusal, expected) in [
        (DialError::Gone { how: "no kernel".to_owned() }, KernelError::Died { how: "no kernel".to_owned() }),
        (
            DialError::Refused { cause: "no entry".to_owned() },
            KernelError::Unusable { cause: "no entry".to_owned() },
        ),
    ] {
        server.dial.refusals.lock().unwrap().push_back(refusal);
        let error =
            transports::connect_websocket(server.dial.clone(), Outage::default(), TIMEOUT, false, None).await;
        assert_eq!(error.unwrap_err(), expected);
    }
}

#[tokio::test]
async fn a_kernel_that_its_server_reports_dead_ends_its_executions() {
    for (state, how) in [
        // The next process is spoken to over another connection.
        ("restarting", "it ended by itself, and its server restarts it"),
        ("dead", "it ended by itself, and its server could not restart it"),
    ] {
        let mut server = Server::start(true).await;
        let (client, mut socket) = server.client().await;
        let (_, mut events, _) = server.execute(&mut socket, &client).await;
        socket.send_own(&json!({}), "status", json!({ "execution_state": state })).await;
        assert_eq!(events.collect().await.1, died(how));
        client.status().wait_for(|status| *status == Status::Dead { how: how.into() }).await.unwrap();
    }
}

#[tokio::test]
async fn a_kernel_that_reports_itself_dead_goes_on() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (asked, mut events, _) = server.execute(&mut socket, &client).await;
    for state in ["dead", "restarting"] {
        server.publish(&mut socket, &asked, "status", json!({ "execution_state": state })).await;
    }
    server.print(&mut socket, &asked, "alive").await;
    server.finish(&mut socket, &asked).await;
    let (area, outcome) = events.collect().await;
    assert_eq!((stdout(&area), outcome), ("alive".into(), done(1)));
}

#[tokio::test]
async fn output_dropped_by_the_server_is_reported() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (asked, mut events, _) = server.execute(&mut socket, &client).await;
    let mut expected = String::new();
    for number in 0..3000 {
        let line = format!("{number}\n");
        server.print(&mut socket, &asked, &line).await;
        expected.push_str(&line);
    }
    let notice = json!({ "name": "stderr", "text": "IOPub message rate exceeded.\n…" });
    socket.send_own(&asked.header, "stream", notice).await;
    server.number += 2000;
    server.finish(&mut socket, &asked).await;
    let (area, outcome) = events.collect().await;
    assert_eq!(outcome, done(1));
    let [Output::Stream { text: printed, .. }, Output::Stream { name, text }] = area.outputs() else {
        panic!("unexpected: {area:?}");
    };
    assert!(printed.as_str() == expected);
    assert_eq!(name, "stderr");
    assert!(text.as_str().contains("iopub_msg_rate_limit"));
}

#[tokio::test]
async fn a_kernel_that_prints_much_is_asked_questions() {
    let mut server = Server::start(true).await;
    let (client, mut socket) = server.client().await;
    let (asked, mut events, _) = server.execute(&mut socket, &client).await;
    for number in 0..100 {
        server.print(&mut socket, &asked, &format!("{number}\n")).await;
    }
    let question = socket.asked().await.expect("a question");
    assert_eq!((question.channel.as_str(), question.kind()), ("control", "kernel_info_request"));
    server.publish(&mut socket, &question, "status", json!({ "execution_state": "busy" })).await;
    server.say(&mut socket, "control", &question, "kernel_info_reply", json!({ "status": "ok" })).await;
    server.publish(&mut socket, &question, "status", json!({ "execution_state": "idle" })).await;
    server.finish(&mut socket, &asked).await;
    let (area, outcome) = events.collect().await;
    assert_eq!(outcome, done(1));
    assert!(stdout(&area).lines().eq((0..100).map(|number: u64| number.to_string())));
}
