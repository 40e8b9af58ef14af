//! How agents reach the program: standard input and output, or an HTTP endpoint; and how it ends.

use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{Context as _, bail, ensure};
use mcp::{HttpAuth, Server};
use rest::Secret;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;

use crate::args::{Serving, Transport};
use terminal::note;

const DEFAULT_PORT: u16 = 4040;
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// The HTTP listener for agents.
pub(crate) struct HttpEndpoint {
    listener: TcpListener,
    auth: HttpAuth,
    pub(crate) token: Option<Secret>,
    /// Where agents connect; includes the token if it was generated just now, because nobody knows it yet.
    url: String,
}

impl HttpEndpoint {
    /// Listens, if the transport is HTTP.
    pub(crate) fn for_transport(options: &Serving) -> anyhow::Result<Option<Self>> {
        if options.transport == Transport::Stdio {
            return Ok(None);
        }
        let (host, port) = (options.host.as_str(), options.port.unwrap_or(DEFAULT_PORT));
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = (bare, port)
            .to_socket_addrs()
            .with_context(|| format!("--host {host} is not an address of this machine"))?
            .collect();
        let is_public = !addresses.iter().all(|address| address.ip().is_loopback());
        if options.no_token && is_public {
            bail!(
                "--no-token would let everybody on the network run code here; it needs a loopback --host such as 127.0.0.1"
            );
        }
        let (token, is_new) = token(options)?;
        let listener = listen(&addresses).with_context(|| {
            format!("cannot listen on {host}:{port}; choose another port with --port (0: any free one)")
        })?;
        let query = token.as_ref().filter(|_| is_new).map(|token| format!("?token={}", token.expose()));
        let url = format!("http://{}/mcp{}", listener.local_addr()?, query.unwrap_or_default());
        let hosts = options.allowed_host.iter().cloned().chain([bare.to_owned()]);
        Ok(Some(Self { listener, auth: HttpAuth::new(token.clone(), hosts, is_public), token, url }))
    }
}

/// Listens on the first of the addresses that can be used.
fn listen(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let on = |address: &SocketAddr| {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // On Unix, a port can be used again at once after its program has ended. On Windows, this option would let two programs
        // share the port; another one prevents it.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        #[cfg(windows)]
        windows::make_exclusive(&socket)?;
        socket.bind(*address)?;
        socket.listen(BACKLOG)
    };
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match on(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The token that agents must send, and whether it was generated just now.
fn token(options: &Serving) -> anyhow::Result<(Option<Secret>, bool)> {
    if options.no_token {
        ensure!(options.token.is_none(), "--token and --no-token contradict each other; give one of them");
        return Ok((None, false));
    }
    let from_environment = match std::env::var("CELLBRIDGE_TOKEN") {
        Ok(token) => Some(token).filter(|token| !token.is_empty()),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(_)) => bail!("CELLBRIDGE_TOKEN is not UTF-8"),
    };
    let Some(chosen) = options.token.clone().or(from_environment) else {
        return Ok((Some(Secret::generate()?), true));
    };
    let fits_a_header =
        chosen.trim() == chosen && chosen.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if !fits_a_header {
        bail!("the token is sent in an HTTP header: use visible ASCII only, and no space at either end");
    }
    let token = Secret::new(chosen).context("--token is empty; omit it to get a new one")?;
    Ok((Some(token), false))
}

/// Serves agents until they, the person or the system end it; then cancels `shutdown`.
pub(crate) async fn serve_until_shutdown(
    server: Server,
    endpoint: Option<HttpEndpoint>,
    registration: &str,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let signals = place::spawn(cancel_on_signal(shutdown.clone()));
    let served = match endpoint {
        None => {
            introduce(registration);
            mcp::serve_stdio(&server, shutdown.clone()).await.map_err(anyhow::Error::from)
        }
        Some(HttpEndpoint { listener, auth, url, .. }) => {
            note(&format!("cellbridge: MCP endpoint {url}"));
            mcp::serve_http(server, listener, auth, shutdown.clone()).await;
            Ok(())
        }
    };
    shutdown.cancel();
    signals.abort();
    served
}

/// Explains itself to a person who started the program by hand.
fn introduce(registration: &str) {
    if std::io::stdin().is_terminal() {
        note(&format!(
            "cellbridge {} speaks the Model Context Protocol on standard input and output.\n\
             Register this command with an agent, for example:\n  \
             claude mcp add {registration}\n\
             Press Ctrl-D to end it.",
            env!("CARGO_PKG_VERSION")
        ));
    }
}

/// Cancelled when the person or the system wants the command to end. From now on, no signal ends it at once.
pub(crate) fn interruption() -> CancellationToken {
    let interruption = CancellationToken::new();
    place::spawn(cancel_on_signal(interruption.clone()));
    interruption
}

/// Whether this process was started to ignore the end of its terminal. Known on Linux only (`proc_pid_status(5)`).
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return !cfg!(target_os = "linux") };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is the first signal.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Cancels `shutdown` at the first signal of the person or the system. The handlers are installed before this returns.
fn cancel_on_signal(shutdown: CancellationToken) -> impl Future<Output = ()> {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        // A closed terminal. Whoever ignores that, as `nohup` does, has said so before.
        let hangup = (!is_hangup_ignored()).then(|| signal(SignalKind::hangup())).transpose();
        hangup.and_then(|hangup| {
            Ok((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, hangup))
        })
    };
    #[cfg(windows)]
    let signals = {
        use tokio::signal::windows::{ctrl_break, ctrl_close, ctrl_logoff, ctrl_shutdown};
        ctrl_break().and_then(|key| Ok((key, ctrl_close()?, ctrl_logoff()?, ctrl_shutdown()?)))
    };
    async move {
        #[cfg(windows)]
        if let Ok((mut key, mut close, mut logoff, mut shutdown_of_system)) = signals {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = key.recv() => {}
                // The system waits some seconds for this program to end.
                _ = close.recv() => {}
                _ = logoff.recv() => {}
                _ = shutdown_of_system.recv() => {}
            }
            return shutdown.cancel();
        }
        #[cfg(unix)]
        if let Ok((mut interrupt, mut terminate, hangup)) = signals {
            let hung_up = async {
                match hangup {
                    Some(mut hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hung_up => {}
            }
            return shutdown.cancel();
        }
        let _ = tokio::signal::ctrl_c().await;
        shutdown.cancel();
    }
}
