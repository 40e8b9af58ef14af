use std::sync::Mutex;

use futures_util::SinkExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::testing::{Received, handle, receive};

/// What the tabs say when a request is made.
type Answering = fn(&Value) -> Vec<Value>;

struct Inside {
    has_toolkit: bool,
    tabs: Answering,
    asked: Mutex<Vec<Value>>,
    events: broadcast::Sender<Value>,
}

/// A server with some tabs.
struct Fake {
    inside: Arc<Inside>,
    handle: Arc<ServerHandle>,
    jupyterlab: Arc<JupyterLab>,
    _task: AbortOnDropHandle<()>,
}

impl Fake {
    async fn new(has_toolkit: bool, tabs: Answering) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (asked, events) = (Mutex::default(), broadcast::Sender::new(16));
        let inside = Arc::new(Inside { has_toolkit, tabs, asked, events });
        let shared = inside.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        let handle = handle(url);
        let jupyterlab = JupyterLab::new(handle.clone(), Prefix::new("srv/".to_owned(), ""));
        Self { inside, handle, jupyterlab, _task: AbortOnDropHandle::new(task) }
    }

    /// Detects the toolkit, and waits until that is done.
    async fn detect(&self) {
        self.jupyterlab.detect();
        while Arc::strong_count(&self.handle) > 2 {
            tokio::task::yield_now().await;
        }
    }

    fn asked(&self) -> Vec<Value> {
        self.inside.asked.lock().unwrap().clone()
    }
}

async fn serve(stream: TcpStream, inside: Arc<Inside>) {
    let Some((head, received)) = receive(stream).await else { return };
    let (mut stream, body) = match received {
        Received::Socket(mut socket) => {
            assert!(head.starts_with("GET /api/events/subscribe "), "{head}");
            let mut events = inside.events.subscribe();
            while let Ok(event) = events.recv().await {
                let message =
                    if event.is_null() { Message::Close(None) } else { Message::text(event.to_string()) };
                if socket.send(message).await.is_err() {
                    return;
                }
            }
            return;
        }
        Received::Request(stream, body) => (stream, body),
    };
    assert!(head.starts_with("POST /api/events "), "{head}");
    let event: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&event["schema_id"], &event["version"]), (&json!(COMMAND), &json!("1")));
    let data = event["data"].clone();
    inside.asked.lock().unwrap().push(data.clone());
    let status = if inside.has_toolkit { "204 No Content" } else { "400 Bad Request" };
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    for answer in (inside.tabs)(&data) {
        let _ = inside.events.send(answer);
    }
}

fn taken(data: &Value, tab: &str) -> Value {
    json!({ "schema_id": ACK, "requestId": data["requestId"], "client_id": tab })
}

fn done(data: &Value) -> Value {
    json!({ "schema_id": RESULT, "requestId": data["requestId"], "success": true, "result": { "type": "x" } })
}

fn failed(data: &Value, error: &str) -> Value {
    json!({ "schema_id": RESULT, "requestId": data["requestId"], "success": false, "error": error })
}

/// Two tabs that speak at once when nobody is named, and an event of somebody else between.
fn two_tabs(data: &Value) -> Vec<Value> {
    let other = json!({ "schema_id": RESULT, "requestId": "other", "success": false });
    let kernel = json!({ "schema_id": "https://events.jupyter.org/jupyter_server/kernel_actions/v1" });
    match data["client_id"].as_str() {
        None => vec![other, kernel, taken(data, "b"), taken(data, "a"), done(data), done(data)],
        Some(tab) => vec![taken(data, tab), other, done(data)],
    }
}

#[tokio::test]
async fn the_tab_that_answers_first_shows_the_notebook() {
    let fake = Fake::new(true, two_tabs).await;
    assert!(fake.jupyterlab.frontend().is_none());
    fake.detect().await;
    assert!(fake.jupyterlab.changes().has_changed().is_ok());
    let frontend = fake.jupyterlab.frontend().unwrap();
    frontend.open(&"srv/a/x.ipynb".into()).await.unwrap();
    let asked = fake.asked();
    // The question whether the toolkit is there is meant for no tab.
    assert!(asked[0]["client_id"].is_string() && asked[0].get("requestId").is_none());
    assert_eq!(asked[1]["name"], IDENTIFY);
    assert_eq!(asked[2]["name"], "docmanager:open");
    assert_eq!((&asked[2]["client_id"], &asked[2]["args"]), (&json!("b"), &json!({ "path": "a/x.ipynb" })));
    assert_eq!(asked.len(), 3);
    assert!(frontend.open(&"srv/x.txt".into()).await.is_err());
}

#[tokio::test]
async fn a_server_without_the_toolkit_is_asked_once() {
    let fake = Fake::new(false, |_| Vec::new()).await;
    fake.detect().await;
    fake.detect().await;
    assert!(fake.jupyterlab.frontend().is_none());
    assert_eq!(fake.asked().len(), 1);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_asked_again() {
    let handle = handle("http://127.0.0.1:1/".to_owned());
    let jupyterlab = JupyterLab::new(handle.clone(), Prefix::default());
    jupyterlab.detect();
    while Arc::strong_count(&handle) > 2 {
        tokio::task::yield_now().await;
    }
    assert!(!jupyterlab.is_detected.load(Ordering::Relaxed));
    assert!(jupyterlab.frontend().is_none());
}

/// Tabs of older versions of the toolkit do not say who they are, and do not know the question.
#[tokio::test]
async fn a_tab_without_an_id_is_addressed_too() {
    fn old(data: &Value) -> Vec<Value> {
        vec![if data["name"] == IDENTIFY { failed(data, "no such command") } else { done(data) }]
    }
    let fake = Fake::new(true, old).await;
    fake.jupyterlab.show(&"x.ipynb".into()).await.unwrap();
    assert!(fake.asked()[1].get("client_id").is_none());
}

#[tokio::test]
async fn a_failure_of_the_browser_is_an_error() {
    fn fails(data: &Value) -> Vec<Value> {
        vec![taken(data, "a"), if data["name"] == IDENTIFY { done(data) } else { failed(data, "it is gone") }]
    }
    let error = Fake::new(true, fails).await.jupyterlab.show(&"x.ipynb".into()).await.unwrap_err();
    assert!(error.cause.contains("it is gone"), "{error}");
    let error = Fake::new(true, |_| Vec::new()).await.jupyterlab.show(&"x.ipynb".into()).await.unwrap_err();
    assert!(error.cause.starts_with("No browser tab shows the JupyterLab"), "{error}");
    let error =
        Fake::new(true, |_| vec![Value::Null]).await.jupyterlab.show(&"x.ipynb".into()).await.unwrap_err();
    assert!(error.cause.contains("broke"), "{error}");
}
