//! Opens notebooks in a person's `JupyterLab`, through jupyterlab-commands-toolkit where the server has it.
//!
//! Requests and answers are events of the server (the schemas are in the package's folder `events`): a tab acknowledges a
//! request at once (`lab_command_ack`, since 0.3), and later sends the result (`lab_command_result`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use place::{Error, ErrorKind, Frontend, Future, NextStep, NotebookPath, Showing};
use rest::{EVENTS, Server, SocketStream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use uuid::Uuid;

use crate::failure;
use crate::paths::Prefix;
use crate::server_handle::ServerHandle;

/// A request to all tabs.
const COMMAND: &str = "https://events.jupyter.org/jupyterlab_command_toolkit/lab_command/v1";
/// A tab has accepted a request.
const ACK: &str = "https://events.jupyter.org/jupyterlab_command_toolkit/lab_command_ack/v1";
/// A tab has executed a request.
const RESULT: &str = "https://events.jupyter.org/jupyterlab_command_toolkit/lab_command_result/v1";

/// A command that changes nothing.
const IDENTIFY: &str = "jupyterlab-commands-toolkit:get-web-client-id";
const OPEN: &str = "docmanager:open";

/// Time limit for finding out whether the server has the toolkit, in the background.
const DETECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit for subscribing to the server's events.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a tab may take to acknowledge a request. An open tab needs some 50 ms.
const ACK_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a tab may take to open a notebook.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);

/// The tabs of one server.
pub(crate) struct JupyterLab {
    this: Weak<Self>,
    handle: Arc<ServerHandle>,
    prefix: Prefix,
    /// Whether the server has been asked for the toolkit, or need not be.
    is_detected: AtomicBool,
    /// Changes from 0 when the server is known to have the toolkit.
    found: watch::Sender<u64>,
}

impl JupyterLab {
    pub(crate) fn new(handle: Arc<ServerHandle>, prefix: Prefix) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            is_detected: AtomicBool::new(!handle.capabilities.commands),
            handle,
            prefix,
            found: watch::Sender::new(0),
        })
    }

    /// Changes when [`JupyterLab::frontend`] becomes available.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.found.subscribe()
    }

    /// `None` until the server is known to have the toolkit.
    pub(crate) fn frontend(&self) -> Option<Arc<dyn Frontend>> {
        if *self.found.borrow() == 0 { None } else { Some(self.this.upgrade()?) }
    }

    /// Finds out once, in the background, whether the server has the toolkit. Called when the server has answered.
    pub(crate) fn detect(&self) {
        if self.is_detected.swap(true, Ordering::Relaxed) {
            return;
        }
        let (this, handle) = (self.this.clone(), self.handle.clone());
        place::spawn(async move {
            let answer = timeout(DETECT_TIMEOUT, async {
                // It addresses no tab.
                let arguments = json!({ "client_id": Uuid::new_v4().to_string() });
                handle.server().await?.emit_event(&command(IDENTIFY, arguments)).await
            });
            let answer = answer.await;
            let Some(this) = this.upgrade() else { return };
            match answer {
                Ok(Ok(())) => this.found.send_modify(|count| *count += 1),
                // Refused: the server does not know these events.
                Ok(Err(error)) if !error.is_transient() => {
                    tracing::debug!(%error, "the server has no jupyterlab-commands-toolkit");
                }
                _ => this.is_detected.store(false, Ordering::Relaxed),
            }
        });
    }

    async fn show(&self, path: &NotebookPath) -> Result<(), Error> {
        let path = self.prefix.strip_notebook(path)?;
        let server = self.handle.server().await.map_err(failure::of)?;
        let mut tabs = Tabs::subscribe(&server).await?;
        // Without a `client_id`, every tab executes a request, so the first tab that answers is addressed.
        let request = tabs.send(IDENTIFY, json!({})).await?;
        let Ok(answer) = timeout(ACK_TIMEOUT, tabs.answer(&request)).await else {
            let cause = format!("No browser tab shows the JupyterLab of {}.", self.handle.title());
            let next = "Ask the person to open JupyterLab, then try again; everything else works without it.";
            return Err(Error::new(ErrorKind::Unavailable, cause, next));
        };
        let tab = match answer? {
            TabAnswer::Accepted(tab) => tab,
            // Before 0.3 a tab has no id.
            TabAnswer::Done(_) => None,
        };
        let mut arguments = json!({ "args": { "path": path } });
        if let Some(tab) = tab {
            arguments["client_id"] = tab.into();
        }
        let request = tabs.send(OPEN, arguments).await?;
        let shown = timeout(OPEN_TIMEOUT, async {
            loop {
                if let TabAnswer::Done(outcome) = tabs.answer(&request).await? {
                    return Ok::<_, Error>(outcome);
                }
            }
        });
        match shown.await {
            Ok(outcome) => outcome?.map_err(|problem| {
                Error::new(
                    ErrorKind::RemoteFailure,
                    format!("The browser could not open {path:?}: {problem}"),
                    "Ask the person to look at the browser.",
                )
            }),
            Err(_) => Err(Error::new(
                ErrorKind::Timeout,
                format!(
                    "The browser did not confirm within {} s that it opened {path:?}.",
                    OPEN_TIMEOUT.as_secs()
                ),
                "It may still open the notebook, or a dialog may block it. Ask the person to check.",
            )),
        }
    }
}

impl Frontend for JupyterLab {
    fn open(&self, path: &NotebookPath) -> Future<'_, Showing> {
        let path = path.clone();
        async move { self.show(&path).await.map(|()| Showing::Seen) }.boxed()
    }
}

/// What a tab answers to a request.
#[derive(Debug, PartialEq, Eq)]
enum TabAnswer {
    /// It executes the request. Contains the tab's id.
    Accepted(Option<String>),
    /// It has executed the request, or failed to.
    Done(Result<(), String>),
}

impl TabAnswer {
    /// Reads an event. `None` if it does not answer this request.
    fn read(event: &str, request: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Event {
            schema_id: String,
            #[serde(rename = "requestId")]
            request: String,
            client_id: Option<String>,
            success: Option<bool>,
            error: Option<String>,
        }
        let event: Event = serde_json::from_str(event).ok()?;
        if event.request != request {
            return None;
        }
        match event.schema_id.as_str() {
            ACK => Some(Self::Accepted(event.client_id)),
            RESULT if event.success == Some(true) => Some(Self::Done(Ok(()))),
            RESULT => Some(Self::Done(Err(event.error.unwrap_or_else(|| "it gave no reason".to_owned())))),
            _ => None,
        }
    }
}

/// A connection to the tabs of a server.
struct Tabs {
    server: Server,
    events: SocketStream,
}

impl Tabs {
    async fn subscribe(server: &Server) -> Result<Self, Error> {
        match timeout(SUBSCRIBE_TIMEOUT, server.websocket(EVENTS, &[])).await {
            Ok(socket) => Ok(Self { server: server.clone(), events: socket.map_err(failure::of)?.stream }),
            Err(_) => Err(disconnected("it did not answer")),
        }
    }

    /// Sends a request. Returns its id.
    async fn send(&mut self, name: &str, mut arguments: Value) -> Result<String, Error> {
        let request = Uuid::new_v4().to_string();
        arguments["requestId"] = request.as_str().into();
        self.server.emit_event(&command(name, arguments)).await.map_err(failure::of)?;
        Ok(request)
    }

    /// Waits until a tab answers the request.
    async fn answer(&mut self, request: &str) -> Result<TabAnswer, Error> {
        loop {
            match self.events.next().await {
                Some(Ok(Message::Text(event))) => {
                    if let Some(answer) = TabAnswer::read(&event, request) {
                        return Ok(answer);
                    }
                }
                Some(Ok(Message::Close(_))) | None => return Err(disconnected("the server closed it")),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(disconnected(&error.to_string())),
            }
        }
    }
}

/// An event that requests a command.
fn command(name: &str, mut data: Value) -> Value {
    data["name"] = name.into();
    json!({ "schema_id": COMMAND, "version": "1", "data": data })
}

fn disconnected(why: &str) -> Error {
    Error::new(
        ErrorKind::Disconnected,
        format!("The connection to the server's events broke: {why}."),
        NextStep::TryAgain,
    )
}

#[cfg(test)]
mod tests;
