//! The driver on a scripted connection.

use std::collections::VecDeque;
use std::future::pending;

use notebook::{Json, Output};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::*;
use crate::messages::Outgoing;
use crate::{Client, Event};

/// Once a request was sent, prints its lines; then it ends, or is silent.
struct Script {
    lines: VecDeque<&'static str>,
    request: Option<String>,
    is_held: bool,
}

impl Transport for Script {
    async fn receive(&mut self) -> Option<Received> {
        let Some(request) = &self.request else { return pending().await };
        match self.lines.pop_front() {
            Some(line) => Some(Received::Message(Box::new(printed(request, line)))),
            None if self.is_held => pending().await,
            // Commands that were sent before are handled first.
            None => {
                tokio::task::yield_now().await;
                None
            }
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
    published("stream", &json!({ "msg_id": request }), &json!({ "name": "stdout", "text": line }))
}

fn published(kind: &str, parent: &Value, content: &Value) -> Message {
    let parts = [&json!({ "msg_type": kind }), parent, content];
    let [header, parent, content] = parts.map(|part| part.to_string().into());
    Message::read(Channel::Iopub, header, parent, content).unwrap()
}

/// Executes something on a kernel that prints three lines, and returns the events. `then` follows the request.
async fn run(
    is_held: bool,
    process_end: impl Future<Output = String> + Send + 'static,
    then: impl FnOnce(&Client),
) -> Vec<String> {
    let script = Script { lines: ["one", "two", "three"].into(), request: None, is_held };
    let ready = Ready { language_info: Json::empty_object(), process: None };
    let (client, driver) = drive(script, ready);
    let driver = tokio::spawn(driver.run(Box::pin(process_end)));
    let (sender, mut events) = mpsc::unbounded_channel();
    client.execute("", Box::new(move |event| drop(sender.send(event))));
    then(&client);
    let mut lines = Vec::new();
    driver.await.unwrap();
    // The sink went with the task.
    while let Some(event) = events.recv().await {
        lines.push(match event {
            Event::Output { output: Output::Stream { text, .. }, .. } => text.as_str().into_owned(),
            Event::Started { .. } => continue,
            other => format!("{other:?}"),
        });
    }
    lines
}

#[tokio::test]
async fn outputs_come_before_the_end_of_the_kernel() {
    for is_held in [false, true] {
        let lines = run(is_held, pending(), |client| client.report_death("reported".to_owned())).await;
        assert_eq!(lines, ["one", "two", "three", "Finished(KernelDied { how: Other(\"reported\") })"]);
    }
}

#[tokio::test]
async fn the_exit_is_reported_though_the_connection_ends_first() {
    let (death, seen) = oneshot::channel::<()>();
    let process_end = async { seen.await.map_or("seen", |()| "").to_owned() };
    let late = async move {
        // The process is found dead only when there is nothing else to do.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        drop(death);
    };
    let (lines, ()) = tokio::join!(run(false, process_end, |_| {}), late);
    assert_eq!(lines, ["one", "two", "three", "Finished(KernelDied { how: Other(\"seen\") })"]);
}

#[tokio::test]
async fn a_connection_that_ends_is_a_dead_kernel() {
    let lines = run(false, pending(), |_| {}).await;
    assert_eq!(
        lines,
        ["one", "two", "three", "Finished(KernelDied { how: Other(\"it closed its connections\") })"]
    );
}

/// A kernel whose code asks for a secret once it was requested, and that ends then.
struct Asking {
    messages: Option<VecDeque<Message>>,
    is_caught_up: bool,
    sent: mpsc::UnboundedSender<Channel>,
}

impl Transport for Asking {
    async fn receive(&mut self) -> Option<Received> {
        let Some(messages) = &mut self.messages else { return pending().await };
        messages.pop_front().map(|message| Received::Message(Box::new(message)))
    }

    fn is_closed(&self) -> bool {
        true
    }

    async fn send(&mut self, (channel, message): Outgoing) {
        if channel == Channel::Shell {
            let busy = json!({ "execution_state": "busy" });
            let busy = published("status", &json!({ "msg_id": message.header.msg_id }), &busy);
            let asks = published("colab_request", &json!({}), &json!({}))
                .with_metadata(r#"{"colab_request_type": "GetSecret", "colab_msg_id": 1}"#.into());
            self.messages = Some([busy, asks].into());
        }
        self.sent.send(channel).unwrap();
    }

    fn is_caught_up(&self) -> bool {
        self.is_caught_up
    }
}

#[tokio::test(start_paused = true)]
async fn what_code_asks_of_colab_is_refused_unless_it_is_past() {
    for (is_caught_up, expected) in
        [(true, &[Channel::Shell, Channel::Stdin][..]), (false, &[Channel::Shell])]
    {
        let (sender, mut sent) = mpsc::unbounded_channel();
        let transport = Asking { messages: None, is_caught_up, sent: sender };
        let ready = Ready { language_info: Json::empty_object(), process: None };
        let (client, driver) = drive(transport, ready);
        client.execute("", Box::new(|_| {}));
        drop(driver.run(Box::pin(pending())).await);
        let mut channels = Vec::new();
        while let Some(channel) = sent.recv().await {
            channels.push(channel);
        }
        assert_eq!(channels, expected);
    }
}
