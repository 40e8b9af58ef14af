//! Connects to a kernel's channels: the server's WebSocket, through the same client as all requests.

use connection::NetworkTimeout;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rest::{Kind, RestError, Server};
use transports::{Dial, DialError, Dialed};

use crate::server_handle::ServerHandle;

pub(crate) struct Channels {
    server: Server,
    kernel: String,
    is_limited: bool,
    /// Whether a machine's proxy answers for the server at times. It accepts the offer of a protocol, and then passes nothing on.
    is_behind_proxy: bool,
    /// The failure of the last attempt to open a socket, if it failed.
    pub(crate) failure: Mutex<Option<RestError>>,
}

impl Channels {
    pub(crate) fn new(server: Server, kernel: &str, handle: &ServerHandle) -> Self {
        let (is_limited, is_behind_proxy) = (handle.is_limited(), handle.machine.is_some());
        Self { server, kernel: kernel.to_owned(), is_limited, is_behind_proxy, failure: Mutex::default() }
    }

    async fn open(&self, session: &str, protocols: &[&str]) -> Result<Dialed, RestError> {
        let path = rest::channels_path(&self.kernel, session)?;
        let socket = self.server.websocket(&path, protocols).await?;
        Ok((Box::new(socket.stream), socket.protocol))
    }

    /// Whether an error says nothing of a machine's kernel: its proxy answers for the server, and a login may end.
    async fn is_of_proxy(&self, error: &RestError) -> bool {
        if !self.is_behind_proxy || error.kind == Kind::Gone {
            return false;
        }
        error.kind != Kind::NotFound || !matches!(self.server.kernel(&self.kernel).await, Ok(None))
    }
}

impl Dial for Channels {
    fn dial<'a>(
        &'a self,
        session_id: &'a str,
        protocols: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Dialed, DialError>> {
        async move {
            let opened = self.open(session_id, protocols).await;
            *self.failure.lock() = opened.as_ref().err().cloned();
            match opened {
                Ok(dialed) => Ok(dialed),
                Err(error) if self.is_of_proxy(&error).await => {
                    Err(DialError::Unreachable { cause: reason(&error) })
                }
                Err(error) => Err(failure(&error)),
            }
        }
        .boxed()
    }

    fn may_offer_protocols(&self) -> bool {
        !self.is_behind_proxy
    }

    fn network_timeout(&self) -> NetworkTimeout {
        self.server.network_timeout()
    }

    fn is_rate_limited(&self) -> bool {
        self.is_limited
    }

    /// jupyter-server-documents, which has no rate limit, connects all sockets to the kernel under one `ZeroMQ` identity,
    /// and the kernel answers the last one (`KernelManager.client`, `ROUTER_HANDOVER`).
    fn can_be_superseded(&self) -> bool {
        !self.is_limited
    }
}

/// The cause, as the end of a sentence.
fn reason(error: &RestError) -> String {
    error.cause.trim_end_matches('.').to_owned()
}

fn failure(error: &RestError) -> DialError {
    match error.kind {
        Kind::NotFound => DialError::Gone { how: "the server has shut it down".to_owned() },
        // The server behind a Hub was stopped, and its kernels with it.
        Kind::Stopped => DialError::Gone { how: "its server was stopped".to_owned() },
        Kind::Gone => DialError::Gone { how: "its machine has ended".to_owned() },
        Kind::Unreachable | Kind::Timeout | Kind::Starting | Kind::Server => {
            DialError::Unreachable { cause: reason(error) }
        }
        _ => DialError::Refused { cause: reason(error) },
    }
}
