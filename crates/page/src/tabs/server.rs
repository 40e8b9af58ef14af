//! The side of a server with tabs.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use place::Error;
use questions::private_socket::PrivateListener;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use super::{LIST, OpenTab};
use crate::hub::Hub;
use crate::routes::{Hubs, data};

/// How many connections are served at once; more are closed. A page has one stream, and one for each thing that a person does.
const MAX_CONNECTIONS: usize = 64;
/// How long a request may take to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// What a server shows of its tabs.
pub trait TabHost: Send + Sync + 'static {
    /// The tabs that are connected now.
    fn tabs(&self) -> Vec<OpenTab>;

    /// Their page, which is made when it is first asked for.
    fn hub(&self) -> Arc<Hub>;
}

struct Served(Arc<dyn TabHost>);

impl Hubs for Served {
    fn hub(&self, _root: &str) -> Result<Arc<Hub>, Error> {
        Ok(self.0.hub())
    }
}

/// Serves the page of tabs to processes of this user. Dropping the future ends what is open.
pub async fn serve(listener: PrivateListener, host: Arc<dyn TabHost>) {
    let list = async |State(host): State<Arc<dyn TabHost>>| Json(host.tabs());
    let list = Router::new().route(LIST, get(list)).with_state(host.clone());
    serve_router(listener, data(Arc::new(Served(host))).merge(list)).await;
}

pub(super) async fn serve_router(listener: PrivateListener, router: Router) {
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(Some(stream)) if served.len() < MAX_CONNECTIONS => {
                    served.spawn(serve_connection(stream, router.clone()));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a page did not reach the tabs");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            },
            Some(_) = served.join_next() => {}
        }
    }
}

async fn serve_connection(stream: UnixStream, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(REQUEST_TIMEOUT);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "the connection of a page ended");
    }
}
