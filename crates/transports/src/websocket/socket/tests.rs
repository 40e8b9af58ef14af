//! A socket in memory, with paused time.

use futures_util::{SinkExt, StreamExt};
use tokio::io::DuplexStream;
use tokio_tungstenite::WebSocketStream;
use tungstenite::protocol::Role;

use super::*;

type End = WebSocketStream<DuplexStream>;

async fn socket(timeout: NetworkTimeout) -> (KernelSocket, End) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let ours = WebSocketStream::from_raw_socket(ours, Role::Client, None).await;
    let theirs = WebSocketStream::from_raw_socket(theirs, Role::Server, None).await;
    (KernelSocket::new(Box::new(ours), Dialect::Legacy, timeout), theirs)
}

fn timeout(seconds: f64) -> NetworkTimeout {
    NetworkTimeout::from_seconds(seconds).unwrap()
}

fn text() -> Frame {
    Frame::text(r#"{"channel": "iopub", "header": {"msg_type": "stream"}, "content": {}}"#)
}

/// Answers `answers` pings, and then nothing more.
async fn alive(mut server: End, answers: usize) {
    let mut pings = 0;
    while pings < answers {
        if server.next().await.unwrap().unwrap().is_ping() {
            // The answer goes out with the next thing that is read or flushed.
            server.flush().await.unwrap();
            pings += 1;
        }
    }
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_disconnected() {
    let (mut socket, server) = socket(timeout(3.0)).await;
    let start = Instant::now();
    let mut outbox = VecDeque::new();
    // Nothing is read, so that no ping is answered.
    assert!(socket.receive(&mut outbox).await.is_err());
    assert_eq!(start.elapsed().as_secs(), 3);
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_pings_stays_connected() {
    let (mut socket, server) = socket(timeout(3.0)).await;
    let start = Instant::now();
    let mut outbox = VecDeque::new();
    tokio::select! {
        message = socket.receive(&mut outbox) => assert!(message.is_err()),
        () = alive(server, 5) => {}
    }
    assert_eq!(start.elapsed().as_secs(), 5 + 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_waited_while_this_program_was_suspended_counts() {
    let (mut socket, mut server) = socket(timeout(3.0)).await;
    let mut outbox = VecDeque::new();
    let until_pinged = async { assert!(server.next().await.unwrap().unwrap().is_ping()) };
    tokio::select! {
        message = socket.receive(&mut outbox) => panic!("{message:?}"),
        () = until_pinged => {}
    }
    server.flush().await.unwrap();
    server.send(text()).await.unwrap();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    assert!(socket.receive(&mut outbox).await.is_ok());
}

#[tokio::test]
async fn each_frame_is_answered_with_a_pong() {
    let (mut socket, mut server) = socket(NetworkTimeout::default()).await;
    let mut outbox = VecDeque::new();
    for _ in 0..3 {
        server.send(text()).await.unwrap();
        assert!(socket.receive(&mut outbox).await.is_ok());
        assert!(server.next().await.unwrap().unwrap().is_pong());
    }
}

#[tokio::test]
async fn frames_that_are_not_messages_are_dropped() {
    let (mut socket, mut server) = socket(NetworkTimeout::default()).await;
    let mut outbox = VecDeque::new();
    for frame in [Frame::text("{"), Frame::binary(vec![0; 9]), Frame::Ping(Bytes::new()), text()] {
        server.send(frame).await.unwrap();
    }
    assert_eq!(socket.receive(&mut outbox).await.unwrap().header.kind, "stream");
    server.close(None).await.unwrap();
    assert!(socket.receive(&mut outbox).await.is_err());
}
