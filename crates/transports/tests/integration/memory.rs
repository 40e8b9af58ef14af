//! Questions about the memory of a kernel that says it speaks Python.

use std::time::Duration;

use kernel::{Client, Event, MemoryError, MessageId, Status};
use notebook::Json;
use serde_json::{Value, json};
use tokio::time::timeout;
use zeromq::{SocketRecv, SocketSend};

use crate::events::{Events, execute};
use crate::fake::{FakeKernel, Request, TIMEOUT};

const LIMIT: Duration = Duration::from_secs(1);

async fn python() -> (FakeKernel, Client) {
    let mut kernel = FakeKernel::tcp().await;
    kernel.language = "python";
    let client = kernel.client().await;
    (kernel, client)
}

/// The client prepares for a run; the kernel answers the request to install the handler.
async fn prepare(kernel: &mut FakeKernel, client: &Client, content: Value) {
    client.prepare_changes().await;
    let install = kernel.request().await;
    assert_eq!((&install.content["code"], &install.content["silent"]), (&json!(""), &json!(true)));
    assert!(install.content["user_expressions"]["handler"].as_str().unwrap().contains("control_handlers"));
    kernel.reply(&install, "execute_reply", content).await;
}

fn installed() -> Value {
    json!({ "status": "ok", "user_expressions": { "handler": { "status": "ok" } } })
}

async fn run(kernel: &mut FakeKernel, client: &Client) -> MessageId {
    let (request, mut events, id) = execute(kernel, client).await;
    kernel.finish(&request).await;
    events.collect().await;
    id
}

/// The next question to the handler.
async fn question(kernel: &mut FakeKernel) -> Request {
    let request = Request::read(kernel.control.recv().await.unwrap());
    assert_eq!(request.header["msg_type"], "cellbridge_memory_request");
    request
}

async fn answer(kernel: &mut FakeKernel, question: &Request, answer: Value) {
    let content = json!({ "status": "ok", "answer": answer });
    let reply = kernel.addressed(question, "cellbridge_memory_reply", &content);
    kernel.control.send(reply).await.unwrap();
}

/// What the client gets for this answer. It may be asked more than once: the client does not wait for a slow machine.
async fn changes(kernel: &mut FakeKernel, client: &Client, id: &MessageId, given: &Value) -> Json {
    let asked = async {
        loop {
            let answered = async {
                let asked = question(kernel).await;
                let expected = json!({ "changes": { "count": 1, "request": id.as_str() } });
                assert_eq!(asked.content["question"], expected);
                answer(kernel, &asked, given.clone()).await;
            };
            if let (Some(changes), ()) = tokio::join!(client.changes(id, 1), answered) {
                return changes;
            }
        }
    };
    timeout(TIMEOUT, asked).await.unwrap()
}

#[tokio::test]
async fn a_kernel_says_what_an_execution_has_changed() {
    let (mut kernel, client) = python().await;
    prepare(&mut kernel, &client, installed()).await;
    let id = run(&mut kernel, &client).await;
    let given = json!({ "gone": ["x"] });
    assert_eq!(changes(&mut kernel, &client, &id, &given).await.to_value(), given);
    // It is installed once.
    client.prepare_changes().await;
    run(&mut kernel, &client).await;
}

#[tokio::test]
async fn a_request_asks_what_its_code_has_changed() {
    let (mut kernel, client) = python().await;
    let (request, mut events, _) = execute(&mut kernel, &client).await;
    assert!(request.content["user_expressions"].as_object().is_none_or(serde_json::Map::is_empty));
    kernel.finish(&request).await;
    events.collect().await;
    prepare(&mut kernel, &client, installed()).await;
    let given = json!({ "gone": ["x"] });
    let told = json!({ "status": "ok", "answer": given }).to_string();
    // A handler of an earlier version, and one that refuses, say nothing.
    let refused = json!({ "status": "refused", "cause": "It took too long." }).to_string();
    for (shown, expected) in [(told, vec![given]), ("False".to_owned(), vec![]), (refused, vec![])] {
        let (request, mut events, id) = execute(&mut kernel, &client).await;
        let expression = request.content["user_expressions"]["handler"].as_str().unwrap();
        assert!(expression.contains(id.as_str()) && expression.contains("cellbridge_memory_request"));
        let value = json!({ "status": "ok", "data": { "text/plain": shown }, "metadata": {} });
        let expressions = json!({ "handler": value });
        let content = json!({ "status": "ok", "execution_count": 1, "user_expressions": expressions });
        kernel.reply(&request, "execute_reply", content).await;
        kernel.publish(&request, "status", json!({ "execution_state": "idle" })).await;
        let mut changes = Vec::new();
        loop {
            match events.next().await {
                Event::Changed(changed) => changes.push(changed.to_value()),
                Event::Finished(_) => break,
                _ => {}
            }
        }
        assert_eq!(changes, expected);
    }
}

#[tokio::test]
async fn a_kernel_that_does_not_say_it_is_not_waited_for() {
    let (mut kernel, client) = python().await;
    prepare(&mut kernel, &client, installed()).await;
    let id = run(&mut kernel, &client).await;
    let asked = timeout(TIMEOUT, client.changes(&id, 1)).await;
    assert_eq!(asked.unwrap().map(|changes| changes.to_value()), None);
}

#[tokio::test]
async fn a_kernel_without_the_handler_is_not_asked_for_changes() {
    let mut other = FakeKernel::tcp().await;
    let client = other.client().await;
    client.prepare_changes().await;
    // Nothing was sent before the code.
    let id = run(&mut other, &client).await;
    assert!(client.changes(&id, 1).await.is_none());

    let (mut kernel, client) = python().await;
    let failed = json!({ "status": "ok", "user_expressions": { "handler": { "status": "error" } } });
    prepare(&mut kernel, &client, failed).await;
    let id = run(&mut kernel, &client).await;
    assert!(client.changes(&id, 1).await.is_none());
    client.prepare_changes().await;
    run(&mut kernel, &client).await;
}

#[tokio::test]
async fn a_dropped_request_for_the_handler_is_repeated() {
    let (mut kernel, client) = python().await;
    prepare(&mut kernel, &client, json!({ "status": "aborted" })).await;
    run(&mut kernel, &client).await;
    prepare(&mut kernel, &client, installed()).await;
    let id = run(&mut kernel, &client).await;
    changes(&mut kernel, &client, &id, &json!({})).await;
}

#[tokio::test]
async fn the_kernel_looks_again_before_a_run_if_others_ran_code() {
    let (mut kernel, client) = python().await;
    prepare(&mut kernel, &client, installed()).await;
    run(&mut kernel, &client).await;
    let foreign = Request::of_somebody_else("theirs");
    let mut status = client.status();
    status.wait_for(|status| *status == Status::Idle).await.unwrap();
    kernel.publish(&foreign, "execute_input", json!({ "code": "x = 1", "execution_count": 2 })).await;
    for (state, expected) in [("busy", Status::Busy), ("idle", Status::Idle)] {
        kernel.publish(&foreign, "status", json!({ "execution_state": state })).await;
        status.wait_for(|status| *status == expected).await.unwrap();
    }
    let answered = async {
        let asked = question(&mut kernel).await;
        assert_eq!(asked.content["question"], json!({ "mark": {} }));
        answer(&mut kernel, &asked, json!({})).await;
    };
    timeout(TIMEOUT, async { tokio::join!(client.prepare_changes(), answered) }).await.unwrap();
}

#[tokio::test]
async fn code_that_keeps_the_interpreter_is_said_after_a_second() {
    let (mut kernel, client) = python().await;
    prepare(&mut kernel, &client, installed()).await;
    run(&mut kernel, &client).await;
    let (_request, _events, _id) = execute(&mut kernel, &client).await;
    let asked = client.ask_memory(&json!({ "list": {} }), Duration::from_secs(30)).await;
    let expected = MemoryError::NoAnswer { waited: Duration::from_secs(1), is_busy: true };
    assert_eq!(asked.unwrap_err(), expected);
    assert!(expected.to_string().contains("within 1 s: the running cell is in native code"));
}

#[tokio::test]
async fn a_kernel_that_runs_no_cell_is_not_said_to_be_in_native_code_of_one() {
    let (mut kernel, client) = python().await;
    prepare(&mut kernel, &client, installed()).await;
    run(&mut kernel, &client).await;
    client.status().wait_for(|status| *status == Status::Idle).await.unwrap();
    let error = client.ask_memory(&json!({ "list": {} }), Duration::ZERO).await.unwrap_err();
    assert_eq!(error, MemoryError::NoAnswer { waited: Duration::from_secs(1), is_busy: false });
    assert!(!error.to_string().contains("running cell"), "{error}");
}

#[tokio::test]
async fn an_answer_that_the_kernel_works_on_is_waited_for() {
    let (mut kernel, client) = python().await;
    prepare(&mut kernel, &client, installed()).await;
    run(&mut kernel, &client).await;
    let (_request, _events, _id): (Request, Events, MessageId) = execute(&mut kernel, &client).await;
    let answered = async {
        question(&mut kernel).await;
        let asked = question(&mut kernel).await;
        kernel.publish(&asked, "status", json!({ "execution_state": "busy" })).await;
        asked
    };
    // The first question is never begun with, the second never answered.
    let list = json!({ "list": {} });
    let (held, begun) = (client.ask_memory(&list, LIMIT), client.ask_memory(&list, LIMIT));
    let (held, begun, _) = tokio::join!(held, begun, answered);
    assert_eq!(held.unwrap_err(), MemoryError::NoAnswer { waited: Duration::from_secs(1), is_busy: true });
    assert_eq!(begun.unwrap_err(), MemoryError::NoAnswer { waited: Duration::from_secs(2), is_busy: true });
}

#[tokio::test]
async fn a_kernel_for_r_that_drops_the_question_is_asked_again() {
    let mut kernel = FakeKernel::tcp().await;
    kernel.language = "R";
    let client = kernel.client().await;
    let answered = async {
        let dropped = kernel.request().await;
        kernel.reply(&dropped, "execute_reply", json!({ "status": "aborted" })).await;
        kernel.publish(&dropped, "status", json!({ "execution_state": "idle" })).await;
        let asked = kernel.request().await;
        let rows = json!({ "rows": [{ "name": "x", "type": "numeric", "kind": "data" }] });
        let shown = json!({ "data": { "application/json": rows }, "metadata": {}, "transient": {} });
        kernel.publish(&asked, "display_data", shown).await;
        kernel.finish(&asked).await;
    };
    let list = json!({ "list": { "pattern": "", "limit": 50 } });
    let (listed, ()) = tokio::join!(client.ask_memory(&list, TIMEOUT), answered);
    let listed: Value = listed.unwrap().decode().unwrap();
    assert_eq!(listed["rows"][0]["name"], "x", "{listed}");
}
