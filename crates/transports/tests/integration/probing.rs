//! Kernels that somebody else has started are asked whether they live.

use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use transports::probe;
use zeromq::{RepSocket, Socket as _, SocketRecv as _, SocketSend as _};

use crate::fake::{FakeKernel, Request, TIMEOUT, port};

/// A short time, for what never answers.
const SHORT: Duration = Duration::from_millis(300);

/// A kernel whose heartbeat answers as long as the second is polled.
async fn living() -> (FakeKernel, impl Future<Output = ()>) {
    let mut kernel = FakeKernel::tcp().await;
    let mut heartbeat = RepSocket::new();
    kernel.info.hb_port = port(heartbeat.bind("tcp://127.0.0.1:0").await.unwrap());
    let beating = async move {
        loop {
            let beat = heartbeat.recv().await.unwrap();
            heartbeat.send(beat).await.unwrap();
        }
    };
    (kernel, beating)
}

#[tokio::test]
async fn an_idle_kernel_is_found_with_its_language() {
    let (mut kernel, beating) = living().await;
    let info = kernel.info.clone();
    let found = tokio::select! {
        found = probe(&info, TIMEOUT) => found.unwrap(),
        () = beating => unreachable!(),
        request = kernel.request() => panic!("unexpected: {request:?}"),
    };
    assert!(!found.is_busy);
    assert!(found.language_info.unwrap().as_str().contains("fake"));
}

#[tokio::test]
async fn a_kernel_that_replies_on_its_control_channel_alone_is_busy() {
    let (mut kernel, beating) = living().await;
    let info = kernel.info.clone();
    let controlling = async {
        let request = Request::read(kernel.control.recv().await.unwrap());
        let content = json!({ "language_info": { "name": "fake" } });
        let reply = kernel.addressed(&request, "kernel_info_reply", &content);
        kernel.control.send(reply).await.unwrap();
        std::future::pending::<()>().await;
    };
    let found = tokio::select! {
        found = probe(&info, TIMEOUT) => found.unwrap(),
        () = beating => unreachable!(),
        () = controlling => unreachable!(),
    };
    assert!(found.is_busy && found.language_info.is_some());
}

#[tokio::test]
async fn a_kernel_of_which_only_the_heartbeat_answers_is_busy() {
    let (kernel, beating) = living().await;
    let found = tokio::select! {
        found = probe(&kernel.info, TIMEOUT) => found.unwrap(),
        () = beating => unreachable!(),
    };
    assert!(found.is_busy && found.language_info.is_none());
}

#[tokio::test]
async fn a_reply_with_a_wrong_signature_is_none() {
    let (mut kernel, beating) = living().await;
    kernel.key = "another key".to_owned();
    let info = kernel.info.clone();
    let found = tokio::select! {
        found = probe(&info, TIMEOUT) => found.unwrap(),
        () = beating => unreachable!(),
        request = kernel.request() => panic!("unexpected: {request:?}"),
    };
    assert!(found.is_busy && found.language_info.is_none());
}

#[tokio::test]
async fn where_nothing_answers_no_kernel_is_found() {
    // Something listens on every port and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut info = crate::fake::address("tcp", None);
    let port = silent.local_addr().unwrap().port();
    (info.hb_port, info.iopub_port) = (port, port);
    assert_eq!(probe(&info, SHORT).await, None);
    drop(silent);
    assert_eq!(probe(&info, TIMEOUT).await, None);
}
