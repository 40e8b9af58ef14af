//! What `JupyterLab` shows its person, through jupyterlab-commands-toolkit where the server has it.
//!
//! Requests and answers are events of the server (the schemas in the package's folder `events`): a tab says at once that
//! it takes a request (`lab_command_ack`, since 0.3), and then what came of it (`lab_command_result`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use rest::{EVENTS, Io, RestError, Server};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use uuid::Uuid;
use workspace::{Error, ErrorKind, Frontend, Future};

use crate::failure;
use crate::link::Link;
use crate::paths::Prefix;

/// A request to the tabs.
const COMMAND: &str = "https://events.jupyter.org/jupyterlab_command_toolkit/lab_command/v1";
/// A tab took it.
const ACK: &str = "https://events.jupyter.org/jupyterlab_command_toolkit/lab_command_ack/v1";
/// A tab has done it.
const RESULT: &str = "https://events.jupyter.org/jupyterlab_command_toolkit/lab_command_result/v1";

/// Changes nothing.
const WHO: &str = "jupyterlab-commands-toolkit:get-web-client-id";
const OPEN: &str = "docmanager:open";

/// How long it may take to find out whether the server has the toolkit. Nobody waits for it.
const LOOK: Duration = Duration::from_secs(20);
/// How long the server may take to listen.
const SUBSCRIPTION: Duration = Duration::from_secs(5);
/// How soon a tab takes a request; one that is there needs some 50 ms.
const TAKING: Duration = Duration::from_secs(2);
/// How long a tab may take to show a notebook.
const SHOWING: Duration = Duration::from_secs(15);

/// The tabs of one server.
pub(crate) struct Commands {
    this: Weak<Self>,
    link: Arc<Link>,
    prefix: Prefix,
    is_looked_for: AtomicBool,
    /// Moves from 0 when the toolkit is known to be there.
    found: watch::Sender<u64>,
}

impl Commands {
    pub(crate) fn new(link: Arc<Link>, prefix: Prefix) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            is_looked_for: AtomicBool::new(link.lacks.commands),
            link,
            prefix,
            found: watch::Sender::new(0),
        })
    }

    /// Moves when [`Commands::frontend`] is there.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.found.subscribe()
    }

    /// The way to the tabs, once the server is known to have one.
    pub(crate) fn frontend(&self) -> Option<Arc<dyn Frontend>> {
        if *self.found.borrow() == 0 { None } else { Some(self.this.upgrade()?) }
    }

    /// Finds out, in the background, whether the server has the toolkit. To be called when the server has answered; it
    /// is asked once.
    pub(crate) fn look(&self) {
        if self.is_looked_for.swap(true, Ordering::Relaxed) {
            return;
        }
        let (this, link) = (self.this.clone(), self.link.clone());
        // Bounded.
        tokio::spawn(async move {
            let asked = timeout(LOOK, async { emit(&link.server().await?, &command(WHO, &nobody())).await });
            let asked = asked.await;
            let Some(this) = this.upgrade() else { return };
            match asked {
                Ok(Ok(())) => this.found.send_modify(|count| *count += 1),
                // Refused: the server knows no such events.
                Ok(Err(error)) if !error.is_passing() => {
                    tracing::debug!(%error, "the server takes no commands for JupyterLab");
                }
                _ => this.is_looked_for.store(false, Ordering::Relaxed),
            }
        });
    }

    async fn show(&self, path: &str) -> Result<(), Error> {
        let path = self.prefix.strip_notebook(path)?;
        let server = self.link.server().await.map_err(failure::of)?;
        let mut tabs = Tabs::listen(&server).await?;
        // Every tab does what is asked of nobody in particular, so the first that answers is asked.
        let request = tabs.ask(WHO, json!({})).await?;
        let tab = match timeout(TAKING, tabs.hear(&request)).await {
            Ok(heard) => match heard? {
                Heard::Taken(tab) => tab,
                // Before 0.3 a tab has no name.
                Heard::Done(_) => None,
            },
            Err(_) => return Err(self.nobody_looks()),
        };
        let mut wish = json!({ "args": { "path": path } });
        if let Some(tab) = tab {
            wish["client_id"] = tab.into();
        }
        let request = tabs.ask(OPEN, wish).await?;
        let shown = timeout(SHOWING, async {
            loop {
                if let Heard::Done(outcome) = tabs.hear(&request).await? {
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
                format!("The browser has not said within {} s that it opened {path:?}.", SHOWING.as_secs()),
                "It may still do so; a dialog may be in the way. Ask the person to look.",
            )),
        }
    }

    fn nobody_looks(&self) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!("No browser tab has JupyterLab of {} open.", self.link.title()),
            "Ask the person to open JupyterLab, then try again; everything else works without it.",
        )
    }
}

impl Frontend for Commands {
    fn open(&self, path: &str) -> Future<'_, ()> {
        let path = path.to_owned();
        async move { self.show(&path).await }.boxed()
    }
}

/// What a tab says of a request.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// It takes it; how it is called.
    Taken(Option<String>),
    /// It has done it, or could not.
    Done(Result<(), String>),
}

impl Heard {
    /// Reads an event; `None` if it is about something else.
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
            ACK => Some(Self::Taken(event.client_id)),
            RESULT if event.success == Some(true) => Some(Self::Done(Ok(()))),
            RESULT => Some(Self::Done(Err(event.error.unwrap_or_else(|| "it did not say why".to_owned())))),
            _ => None,
        }
    }
}

/// A conversation with the tabs of a server.
struct Tabs {
    server: Server,
    events: WebSocketStream<Box<dyn Io>>,
}

impl Tabs {
    async fn listen(server: &Server) -> Result<Self, Error> {
        match timeout(SUBSCRIPTION, server.websocket(EVENTS, &[])).await {
            Ok(socket) => {
                let socket = socket.map_err(failure::of)?;
                Ok(Self { server: server.clone(), events: socket.into_stream().await })
            }
            Err(_) => Err(gone("it did not answer")),
        }
    }

    /// Sends a request; what it is known by.
    async fn ask(&mut self, name: &str, mut wish: Value) -> Result<String, Error> {
        let request = Uuid::new_v4().to_string();
        wish["requestId"] = request.as_str().into();
        emit(&self.server, &command(name, &wish)).await.map_err(failure::of)?;
        Ok(request)
    }

    /// Waits until a tab says something of the request.
    async fn hear(&mut self, request: &str) -> Result<Heard, Error> {
        loop {
            match self.events.next().await {
                Some(Ok(Message::Text(event))) => {
                    if let Some(heard) = Heard::read(&event, request) {
                        return Ok(heard);
                    }
                }
                Some(Ok(Message::Close(_))) | None => return Err(gone("the server closed it")),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(gone(&error.to_string())),
            }
        }
    }
}

/// A wish that no tab takes for its own, by which a server without the toolkit is told from others.
fn nobody() -> Value {
    json!({ "client_id": Uuid::new_v4().to_string() })
}

/// An event that asks tabs for a command.
fn command(name: &str, wish: &Value) -> Value {
    let mut data = wish.clone();
    data["name"] = name.into();
    json!({ "schema_id": COMMAND, "version": "1", "data": data })
}

async fn emit(server: &Server, event: &Value) -> Result<(), RestError> {
    server.emit_event(event).await
}

fn gone(why: &str) -> Error {
    Error::new(
        ErrorKind::Disconnected,
        format!("The connection to the server's events broke: {why}."),
        "Try again.",
    )
}

#[cfg(test)]
mod tests;
