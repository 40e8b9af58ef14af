//! Wires a place to a transport and runs until the agent, the person or the system ends it.

use std::io::IsTerminal as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use ::jupyter::JupyterConnector;
use anyhow::{Context as _, bail};
use colab::{Browser, Listener, Settings};
use local::ProcessEnv;
use mcp::{Guard, Server};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use workspace::{Token, Workspace};

use crate::args::{self, Serving, Transport};
use crate::beside::Beside;
use crate::{jupyter, logging};

const DEFAULT_HTTP_PORT: u16 = 4040;
/// How long the last frames may take to leave at the end.
const CLOSING: Duration = Duration::from_secs(3);
/// How long `open_colab_browser_connection` waits for the person.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Serves every place until the end: the notebooks of a folder, and a Colab tab.
pub(crate) async fn every_place(options: args::Every) -> anyhow::Result<()> {
    let serving = &options.serving;
    let token = Token::generate()?;
    let door = Door::for_transport(serving).await?;
    logging::start(&serving.logging, secrets(&token, door.as_ref()))?;
    let root = match &options.root {
        Some(root) => root.clone(),
        None => std::env::current_dir().context("the current folder is gone; name one with --root")?,
    };
    let root = root.canonicalize().with_context(|| format!("--root {} cannot be entered", root.display()))?;
    if !root.is_dir() {
        bail!("--root {} is no folder", root.display());
    }
    let folder = local::Folder::new(root, process_env());
    let budget =
        render::Budget { characters: options.max_characters as usize, images: options.max_images as usize };
    let settings = workspace::Settings {
        budget,
        default_timeout: options.execution_timeout,
        ..workspace::Settings::default()
    };
    let workspace =
        Workspace::with_connector(folder, settings, Some(JupyterConnector::new(jupyter::reach(None), None)));

    let shutdown = CancellationToken::new();
    let tab_port = serving.port.filter(|_| serving.transport == Transport::Stdio).unwrap_or(0);
    let listener = Listener::bind(tab_port).context("the port for the Colab tab could not be opened")?;
    let settings = Settings {
        browser: browser(options.no_browser),
        connect_timeout: CONNECT_TIMEOUT,
        call_timeout: None,
    };
    let (tab, tabs) = colab::Colab::new(listener, token, settings, shutdown.clone())?;
    let tabs = tokio::spawn(tabs);
    let server = Server::with_workspace(workspace.clone(), Some(Arc::new(Beside::new(tab))));
    let served = until_the_end(server, door, "cellbridge -- cellbridge", &shutdown).await;
    workspace.shutdown().await;
    let _ = tokio::time::timeout(CLOSING, tabs).await;
    served
}

/// Serves the Colab tab until the end.
pub(crate) async fn colab(options: args::Colab) -> anyhow::Result<()> {
    let serving = &options.serving;
    let is_stdio = serving.transport == Transport::Stdio;
    let tab_port = match (options.tab_port, serving.port) {
        (Some(tab_port), Some(port)) if is_stdio && tab_port != port => {
            bail!(
                "--port {port} and --tab-port {tab_port} say different things: on stdio both are the tab's port"
            )
        }
        (Some(tab_port), _) => tab_port,
        (None, port) => port.filter(|_| is_stdio).unwrap_or(0),
    };
    let token = Token::generate()?;
    let door = Door::for_transport(serving).await?;
    logging::start(&serving.logging, secrets(&token, door.as_ref()))?;
    let listener = Listener::bind(tab_port).context("the port for the Colab tab could not be opened")?;
    tracing::info!(port = listener.port(), "waiting for a Colab tab");

    let shutdown = CancellationToken::new();
    let settings = Settings {
        browser: browser(options.no_browser),
        connect_timeout: options.connect_timeout,
        call_timeout: Some(options.call_timeout).filter(|timeout| !timeout.is_zero()),
    };
    let (place, tabs) = colab::Colab::new(listener, token, settings, shutdown.clone())?;
    let tabs = tokio::spawn(tabs);
    let served = until_the_end(Server::new(place), door, "colab -- cellbridge colab", &shutdown).await;
    let _ = tokio::time::timeout(CLOSING, tabs).await;
    served
}

/// Serves agents until they, the person or the system end it, and cancels `shutdown` then.
pub(crate) async fn until_the_end(
    server: Server,
    door: Option<Door>,
    registration: &str,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let signals = tokio::spawn(end_on_signal(shutdown.clone()));
    let served = match door {
        None => {
            introduce(registration);
            mcp::serve_stdio(&server, shutdown.clone()).await.map_err(anyhow::Error::from)
        }
        Some(Door { listener, guard, endpoint, .. }) => {
            eprintln!("cellbridge: MCP endpoint {endpoint}");
            mcp::serve_http(server, listener, guard, shutdown.clone()).await.map_err(anyhow::Error::from)
        }
    };
    shutdown.cancel();
    signals.abort();
    served
}

/// What must not reach the log.
fn secrets(token: &Token, door: Option<&Door>) -> Vec<Token> {
    [Some(token), door.and_then(|door| door.token.as_ref())].into_iter().flatten().cloned().collect()
}

/// What kernels and searches for them see of this process's environment.
fn process_env() -> ProcessEnv {
    ProcessEnv { variables: std::env::vars_os().collect(), home: std::env::home_dir() }
}

fn browser(is_forbidden: bool) -> Browser {
    match std::env::var("BROWSER") {
        _ if is_forbidden => Browser::Never,
        Ok(command) if !command.trim().is_empty() => Browser::Command(command),
        _ => Browser::System,
    }
}

/// Tells a person who started the program by hand what it waits for.
fn introduce(registration: &str) {
    if std::io::stdin().is_terminal() {
        eprintln!(
            "cellbridge {} speaks the Model Context Protocol on standard input and output.\n\
             Give this command to an agent, for example:\n  \
             claude mcp add {registration}\n\
             End it with Ctrl-D.",
            env!("CARGO_PKG_VERSION")
        );
    }
}

/// The way in for agents over HTTP.
pub(crate) struct Door {
    listener: TcpListener,
    guard: Guard,
    pub(crate) token: Option<Token>,
    /// Where agents connect; with the token, if it was made just now and nobody knows it yet.
    endpoint: String,
}

impl Door {
    /// The door that the transport needs; stdio needs none.
    pub(crate) async fn for_transport(options: &Serving) -> anyhow::Result<Option<Self>> {
        match options.transport {
            Transport::Stdio => Ok(None),
            Transport::StreamableHttp => Self::open(options).await.map(Some),
        }
    }

    async fn open(options: &Serving) -> anyhow::Result<Self> {
        let (host, port) = (options.host.as_str(), options.port.unwrap_or(DEFAULT_HTTP_PORT));
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = (bare, port)
            .to_socket_addrs()
            .with_context(|| format!("--host {host} is no address of this machine"))?
            .collect();
        if options.no_token && !addresses.iter().all(|address| address.ip().is_loopback()) {
            bail!(
                "--no-token would let everybody on the network run code here; it needs a loopback --host such as 127.0.0.1"
            );
        }
        let from_environment = match std::env::var("CELLBRIDGE_TOKEN") {
            Ok(token) => Some(token).filter(|token| !token.is_empty()),
            Err(std::env::VarError::NotPresent) => None,
            Err(std::env::VarError::NotUnicode(_)) => bail!("CELLBRIDGE_TOKEN is not UTF-8"),
        };
        let (token, is_new) = match options.token.clone().or(from_environment) {
            _ if options.no_token => (None, false),
            Some(chosen) => (
                Some(Token::chosen(chosen).context("--token is empty; leave it out to get a new one")?),
                false,
            ),
            None => (Some(Token::generate()?), true),
        };
        let fits_a_header = |token: &str| {
            token.trim() == token && token.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        };
        if token.as_ref().is_some_and(|token| !fits_a_header(token.expose())) {
            bail!("the token travels in an HTTP header: visible ASCII only, and no space at either end");
        }
        let listener = TcpListener::bind(&addresses[..]).await.with_context(|| {
            format!("cannot listen on {host}:{port}; choose another port with --port (0: any free one)")
        })?;
        let query = token.as_ref().filter(|_| is_new).map(|token| format!("?token={}", token.expose()));
        let endpoint = format!("http://{}/mcp{}", listener.local_addr()?, query.unwrap_or_default());
        let hosts = options.allowed_host.iter().cloned().chain([bare.to_owned()]);
        let is_public = !addresses.iter().all(|address| address.ip().is_loopback());
        Ok(Self { listener, guard: Guard::new(token.clone(), hosts, is_public), token, endpoint })
    }
}

async fn end_on_signal(shutdown: CancellationToken) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    _ = terminate.recv() => {}
                }
            }
            Err(_) => {
                let _ = tokio::signal::ctrl_c().await;
            }
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
    shutdown.cancel();
}
