//! The events of an execution on the fake kernel.

use kernel::{Client, Event, MessageId, Outcome, OutputArea, Sink};
use notebook::Output;
use serde_json::json;
use tokio::sync::mpsc;

use crate::fake::{FakeKernel, Request};

/// The events of one execution.
pub(crate) struct Events(pub(crate) mpsc::UnboundedReceiver<Event>);

impl Events {
    pub(crate) fn new() -> (Self, Sink) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(receiver), Box::new(move |event| drop(sender.send(event))))
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Event {
        self.0.recv().await.expect("an execution ends before its sink is dropped")
    }

    /// The events up to the end, put together.
    pub(crate) async fn collect(&mut self) -> (OutputArea, Outcome) {
        let mut area = OutputArea::default();
        loop {
            match self.next().await {
                Event::Finished(outcome) => return (area, outcome),
                event => drop(area.apply(event)),
            }
        }
    }
}

/// Requests an execution, and returns the request as the kernel got it.
pub(crate) async fn execute(kernel: &mut FakeKernel, client: &Client) -> (Request, Events, MessageId) {
    let (events, sink) = Events::new();
    let id = client.execute("code", sink);
    let request = kernel.request().await;
    assert_eq!(request.header["msg_type"], "execute_request");
    assert_eq!(request.header["msg_id"], id.as_str());
    (request, events, id)
}

pub(crate) async fn print(kernel: &mut FakeKernel, request: &Request, text: &str) {
    kernel.publish(request, "stream", json!({ "name": "stdout", "text": text })).await;
}

pub(crate) fn done(execution_count: u64) -> Outcome {
    Outcome::Done { execution_count: Some(execution_count), next_input: None }
}

/// The text of an area that holds nothing else.
pub(crate) fn stdout(area: &OutputArea) -> String {
    match area.outputs() {
        [] => String::new(),
        [Output::Stream { name, text }] if name == "stdout" => text.as_str().into_owned(),
        other => panic!("not just stdout: {other:?}"),
    }
}
