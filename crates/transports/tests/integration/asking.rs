//! Questions of the kernel to us, and of us to the kernel.

use kernel::{Event, KernelError};
use serde_json::json;
use zeromq::{SocketRecv, SocketSend};

use crate::events::{done, execute};
use crate::fake::{FakeKernel, Request};

#[tokio::test]
async fn input_is_asked_for_and_answered() {
    let mut kernel = FakeKernel::tcp().await;
    let client = kernel.client().await;
    let (request, mut events, id) = execute(&mut kernel, &client).await;
    assert!(!client.answer_input(&id, "nobody asked".to_owned()));
    let question =
        kernel.addressed(&request, "input_request", &json!({ "prompt": "name? ", "password": true }));
    // The client has the same identity on both channels, or this goes nowhere.
    kernel.stdin.send(question).await.unwrap();
    assert_eq!(events.next().await, Event::Started { execution_count: None });
    let wanted = Event::InputWanted { prompt: "name? ".to_owned(), password: true };
    assert_eq!(events.next().await, wanted);
    assert!(client.answer_input(&id, "Ada".to_owned()));
    assert!(!client.answer_input(&id, "Bob".to_owned()));
    let answer = Request::read(kernel.stdin.recv().await.unwrap());
    assert_eq!(answer.header["msg_type"], "input_reply");
    assert_eq!(answer.header["session"], request.header["session"]);
    assert_eq!(answer.parent["msg_type"], "input_request");
    assert_eq!(answer.content["value"], "Ada");
    kernel.finish(&request).await;
    assert_eq!(events.collect().await.1, done(1));
}

#[tokio::test]
async fn a_refused_interrupt_is_an_error() {
    let mut kernel = FakeKernel::tcp().await;
    let client = kernel.client().await;
    let refuse = async {
        let request = Request::read(kernel.control.recv().await.unwrap());
        assert_eq!(request.header["msg_type"], "interrupt_request");
        let content = json!({ "status": "error", "ename": "E", "evalue": "not now", "traceback": [] });
        let reply = kernel.addressed(&request, "interrupt_reply", &content);
        kernel.control.send(reply).await.unwrap();
    };
    let (refused, ()) = tokio::join!(client.interrupt_message(), refuse);
    let expected = KernelError::Refused { request: "interrupt_request", cause: "not now".to_owned() };
    assert_eq!(refused.unwrap_err(), expected);
}
