//! The task on a connection that is a list of messages.

use std::collections::VecDeque;
use std::future::pending;

use notebook::{Json, Output};
use serde_json::json;

use super::*;
use crate::{Event, Execute};

/// Once a request was sent, prints its lines in answer to it; then it ends, or is silent.
struct Script {
    lines: VecDeque<&'static str>,
    request: Option<String>,
    is_held: bool,
}

impl Transport for Script {
    async fn receive(&mut self) -> Option<Received> {
        let Some(request) = &self.request else { return pending().await };
        match self.lines.pop_front() {
            Some(line) => Some(Received::Message(printed(request, line))),
            None if self.is_held => pending().await,
            None => None,
        }
    }

    fn is_closed(&self) -> bool {
        self.request.is_some() && self.lines.is_empty() && !self.is_held
    }

    async fn send(&mut self, (_, request): Outgoing) {
        self.request = Some(request.header.msg_id);
    }
}

fn printed(request: &str, line: &str) -> Message {
    let content = json!({ "name": "stdout", "text": line });
    let [header, parent, content] = [json!({ "msg_type": "stream" }), json!({ "msg_id": request }), content]
        .map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

/// Executes something on a kernel that says three lines, and tells what was heard. `then` follows the request.
async fn heard(
    is_held: bool,
    gone: impl Future<Output = String> + Send + 'static,
    then: impl FnOnce(&Client),
) -> Vec<String> {
    let script = Script { lines: ["one", "two", "three"].into(), request: None, is_held };
    let kernel = KernelInfo {
        implementation: String::new(),
        implementation_version: String::new(),
        language: String::new(),
        language_info: Json::empty_object(),
        banner: String::new(),
        protocol_version: String::new(),
    };
    let (client, driver) = connection(script, kernel);
    let driver = tokio::spawn(driver.run(Box::pin(gone)));
    let (sender, mut events) = mpsc::unbounded_channel();
    client.execute(Execute::new(""), Box::new(move |event| drop(sender.send(event))));
    then(&client);
    let mut heard = Vec::new();
    driver.await.unwrap();
    // The sink went with the task.
    while let Some(event) = events.recv().await {
        heard.push(match event {
            Event::Output { output: Output::Stream { text, .. }, .. } => text.as_str().into_owned(),
            Event::Started { .. } => continue,
            other => format!("{other:?}"),
        });
    }
    heard
}

#[tokio::test]
async fn what_was_sent_is_heard_before_the_obituary() {
    for is_held in [false, true] {
        let heard = heard(is_held, pending(), |client| client.fail("told".to_owned())).await;
        assert_eq!(heard, ["one", "two", "three", "Finished(KernelDied(\"told\"))"]);
    }
}

#[tokio::test]
async fn how_a_kernel_ended_is_learnt_though_its_connection_ends_first() {
    let (death, seen) = oneshot::channel::<()>();
    let gone = async { seen.await.map_or("seen", |()| "").to_owned() };
    let late = async move {
        // The process is found dead only when there is nothing else to do.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        drop(death);
    };
    let (heard, ()) = tokio::join!(heard(false, gone, |_| {}), late);
    assert_eq!(heard, ["one", "two", "three", "Finished(KernelDied(\"seen\"))"]);
}

#[tokio::test]
async fn a_connection_that_ends_is_a_death_though_nobody_saw_it() {
    let heard = heard(false, pending(), |_| {}).await;
    assert_eq!(heard, ["one", "two", "three", "Finished(KernelDied(\"it closed its connections\"))"]);
}
