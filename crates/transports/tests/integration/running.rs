use kernel::{OutputArea, Status};
use serde_json::json;
use zeromq::{SocketRecv, SocketSend};

use crate::events::{done, execute, print, stdout};
use crate::fake::{FakeKernel, Request};

async fn runs(mut kernel: FakeKernel) {
    let client = kernel.client().await;
    assert_eq!(client.language_info().to_value()["name"], "fake");
    let mut status = client.status();
    let (request, mut events, _) = execute(&mut kernel, &client).await;
    let expected = json!({
        "code": "code", "silent": false, "store_history": true, "allow_stdin": true, "stop_on_error": true,
        "user_expressions": {},
    });
    assert_eq!(request.content, expected);
    status.wait_for(|status| *status == Status::Busy).await.unwrap();
    print(&mut kernel, &request, "a line\n").await;
    kernel.finish(&request).await;
    let (area, outcome) = events.collect().await;
    assert_eq!((stdout(&area).as_str(), outcome), ("a line\n", done(1)));
    status.wait_for(|status| *status == Status::Idle).await.unwrap();
}

#[tokio::test]
async fn code_runs_over_tcp() {
    runs(FakeKernel::tcp().await).await;
}

#[cfg(unix)]
#[tokio::test]
async fn code_runs_over_ipc() {
    runs(FakeKernel::ipc(tempfile::tempdir().unwrap()).await).await;
}

#[tokio::test]
async fn messages_signed_with_another_key_are_dropped() {
    let mut kernel = FakeKernel::tcp().await;
    let client = kernel.client().await;
    let (request, mut events, _) = execute(&mut kernel, &client).await;
    let key = std::mem::replace(&mut kernel.key, "a guess".to_owned());
    print(&mut kernel, &request, "forged\n").await;
    kernel.finish(&request).await;
    kernel.key = key;
    print(&mut kernel, &request, "genuine\n").await;
    kernel.finish(&request).await;
    let (area, outcome) = events.collect().await;
    assert_eq!((stdout(&area).as_str(), outcome), ("genuine\n", done(1)));
}

#[tokio::test]
async fn a_flood_arrives_whole_and_blocks_nothing() {
    let mut kernel = FakeKernel::tcp().await;
    let client = kernel.client().await;
    let (request, mut events, _) = execute(&mut kernel, &client).await;
    let mut area = OutputArea::default();
    let mut expected = String::new();
    for number in 0..40_000 {
        let line = format!("{number}\n");
        print(&mut kernel, &request, &line).await;
        expected.push_str(&line);
        if number % 5_000 == 0 {
            // The socket of the fake drops what its queue cannot hold.
            while area.size_bytes() < expected.len() {
                area.apply(events.next().await);
            }
        }
        if number == 23_456 {
            let agree = async {
                let request = Request::read(kernel.control.recv().await.unwrap());
                let reply = kernel.addressed(&request, "interrupt_reply", &json!({ "status": "ok" }));
                kernel.control.send(reply).await.unwrap();
            };
            let (agreed, ()) = tokio::join!(client.interrupt_message(), agree);
            agreed.unwrap();
        }
    }
    kernel.finish(&request).await;
    let (rest, outcome) = events.collect().await;
    assert!(stdout(&area) + &stdout(&rest) == expected);
    assert_eq!(outcome, done(1));
}
