//! The servers with tabs, as the process of the page finds them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::Method;
use bytes::Bytes;
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::{LIST, OpenTab, ROOT};
use crate::private_socket::{ask, connect, names};

/// How often servers are asked for their tabs while a page is open: a page looks once a second.
const PAUSE: Duration = Duration::from_millis(900);
/// How long a server may take to list its tabs.
const LIST_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a list may be, in bytes, and how many servers are asked.
const MAX_LIST: usize = 64 * 1024;
const MAX_SERVERS: usize = 32;

/// The servers of this user with tabs, as they were found last.
pub(crate) struct TabServers {
    /// The folder of their sockets.
    pub(crate) folder: PathBuf,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    tabs: Arc<[OpenTab]>,
    asked_at: Option<Instant>,
    is_asking: bool,
}

impl TabServers {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, found: Mutex::default() }
    }

    /// Those that were found last. Looks for them in the background if that is a while ago, so that no server delays a page.
    pub(crate) fn known(self: &Arc<Self>) -> Arc<[OpenTab]> {
        let mut found = self.found.lock();
        if !found.is_asking && found.asked_at.is_none_or(|at| at.elapsed() >= PAUSE) {
            found.is_asking = true;
            let this = self.clone();
            place::spawn(async move {
                let tabs = find(&this.folder).await;
                *this.found.lock() =
                    Found { tabs: tabs.into(), asked_at: Some(Instant::now()), is_asking: false };
            });
        }
        found.tabs.clone()
    }
}

async fn find(folder: &Path) -> Vec<OpenTab> {
    let mut servers = names(folder);
    servers.sort();
    servers.truncate(MAX_SERVERS);
    let asking = servers.into_iter().map(|name| async move {
        let listed = timeout(LIST_TIMEOUT, list(folder, &name)).await;
        match listed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(tabs) => {
                tabs.into_iter().map(|tab| OpenTab { root: format!("{ROOT}{name}"), ..tab }).collect()
            }
            Err(error) => {
                tracing::debug!(%error, "a server does not list its tabs");
                Vec::new()
            }
        }
    });
    join_all(asking).await.into_iter().flatten().collect()
}

async fn list(folder: &Path, name: &str) -> io::Result<Vec<OpenTab>> {
    ask(connect(folder, name).await?, Method::GET, LIST, Bytes::new(), MAX_LIST).await
}
