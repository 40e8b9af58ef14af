//! The process that serves the page of this user: a hub for each folder that a page shows, until no page has been open for a while.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use colab::Browser;
use environments::ProcessEnv;
use local::Folder;
use mcp::HttpAuth;
#[cfg(unix)]
use page::TabServer;
use page::{Hub, Hubs, Machine, Pages};
use parking_lot::Mutex;
use place::{Error, ErrorKind, Future, NextStep, Place};
use rest::Secret;
use tokio::net::TcpListener;

use super::address::{self, Address, AddressFile};
use super::shown::{Login, Shown};
use crate::endpoint::interruption;
use crate::process::{history_folder, problem, run_logs};

/// How long the process waits for a page after the last one was closed.
const UNUSED: Duration = Duration::from_secs(600);
/// How many folders are kept; the others are opened again when a page asks for them.
const MAX_FOLDERS: usize = 16;

/// Serves the page. With `shown`, in front of the person until Ctrl-C; otherwise until no page was open for ten minutes.
pub(super) async fn run(process_env: &ProcessEnv, shown: Option<(&Shown, Browser)>) -> anyhow::Result<()> {
    let state = address::folder(process_env.own_state_dir());
    let taken = state.context("there is no home folder").map(|state| AddressFile::take(&state));
    let mut file = match (taken, &shown) {
        (Ok(Ok(file)), _) => file,
        // Only commands that are started later do not find the page.
        (_, Some(_)) => None,
        (Ok(Err(error)), None) => bail!("the address of the page cannot be written down: {error}"),
        (Err(error), None) => return Err(error),
    };
    if file.is_none() && shown.is_none() {
        // Another process serves the page.
        return Ok(());
    }
    #[cfg(unix)]
    if shown.is_none() {
        // From here on, no signal to the session of its starter reaches this process.
        rustix::process::setsid()?;
    }
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port can be opened on loopback")?;
    let address = Address { port: listener.local_addr()?.port(), token: Secret::generate()? };
    if let Some(file) = &mut file {
        file.write(&address)?;
    }
    let shutdown = interruption();
    let folders = Arc::new(Folders::new(process_env));
    if let Some(login) = shown.as_ref().and_then(|(shown, _)| shown.login.clone()) {
        folders.add_server(login).await?;
    }
    let auth = HttpAuth::new(Some(address.token.clone()), [], false);
    let serving = mcp::serve_page(folders.clone(), listener, auth, shutdown.clone());
    let ending = async {
        if let Some((shown, browser)) = shown {
            let url = shown.url(&address);
            let presenting = super::present(&url, &browser, process_env, shown.folder());
            shutdown.run_until_cancelled(presenting).await;
        } else {
            shutdown.run_until_cancelled(folders.pages.unused_for(UNUSED)).await;
            shutdown.cancel();
        }
    };
    tokio::select! {
        _ = async { tokio::join!(serving, ending) } => {}
        () = folders.pages.take_questions() => {}
    }
    drop(file);
    let mut hubs: Vec<_> = folders.hubs.lock().values().cloned().collect();
    hubs.extend(folders.servers.lock().values().map(|shared| shared.hub.clone()));
    futures_util::future::join_all(hubs.iter().map(|hub| hub.shutdown())).await;
    Ok(())
}

/// The folders that pages show.
struct Folders {
    process_env: ProcessEnv,
    pages: Arc<Pages>,
    hubs: Mutex<HashMap<PathBuf, Arc<Hub>>>,
    /// Those of Jupyter servers, by address.
    servers: Mutex<HashMap<String, Shared>>,
}

/// A Jupyter server that pages show.
struct Shared {
    login: Login,
    place: Arc<dyn Place>,
    hub: Arc<Hub>,
}

impl Folders {
    fn new(process_env: &ProcessEnv) -> Self {
        Self {
            process_env: process_env.clone(),
            pages: Arc::new(Pages::of_user(process_env.own_state_dir(), process_env.temp_dir())),
            hubs: Mutex::default(),
            servers: Mutex::default(),
        }
    }

    fn hub_of(&self, root: &Path) -> anyhow::Result<Arc<Hub>> {
        let root = dunce::canonicalize(root).with_context(|| root.display().to_string())?;
        if !root.is_dir() {
            bail!("{} is not a folder", root.display());
        }
        let mut hubs = self.hubs.lock();
        if let Some(hub) = hubs.get(&root) {
            return Ok(hub.clone());
        }
        if hubs.len() >= MAX_FOLDERS {
            hubs.retain(|_, hub| *hub.open_pages().borrow() > 0);
        }
        let folder = Folder::new(root.clone(), self.process_env.clone(), None);
        let hub = self.hub_with(folder, page::of_folder(&root, &self.process_env));
        hubs.insert(root, hub.clone());
        Ok(hub)
    }

    fn hub_with(&self, place: Arc<dyn Place>, machine: Arc<dyn Machine>) -> Arc<Hub> {
        super::hub(place, history_folder(&self.process_env), machine, true, self.pages.clone())
    }

    /// Lets pages show a Jupyter server.
    async fn add_server(&self, login: Login) -> anyhow::Result<()> {
        let is_known = |known: &Shared| known.login == login && known.place.is_present();
        if !self.servers.lock().get(&login.url).is_some_and(is_known) {
            let place = login.place().await?;
            let machine = page::of_server(place.clone(), run_logs(&self.process_env));
            let hub = self.hub_with(place.clone(), machine);
            self.servers.lock().insert(login.url.clone(), Shared { login, place, hub });
        }
        Ok(())
    }
}

impl Hubs for Folders {
    fn hub(&self, root: &str) -> Result<Arc<Hub>, Error> {
        if let Some(shared) = self.servers.lock().get(root) {
            return Ok(shared.hub.clone());
        }
        let root = Path::new(root);
        let found = if root.is_absolute() {
            self.hub_of(root)
        } else {
            Err(anyhow::anyhow!("the address names no folder and no server that the page can reach"))
        };
        found.map_err(|error| {
            let next = "Run `cellbridge view` in the folder, or with the address of the server.";
            Error::new(ErrorKind::NotFound, format!("The page cannot be shown: {}.", problem(&error)), next)
        })
    }

    #[cfg(unix)]
    fn tab_server(&self, root: &str) -> Option<TabServer> {
        TabServer::of(root, &self.pages)
    }

    fn add(&self, place: serde_json::Value) -> Future<'_, ()> {
        Box::pin(async move {
            let added = async { self.add_server(serde_json::from_value(place)?).await };
            added.await.map_err(|error: anyhow::Error| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!("The server cannot be shown: {}.", problem(&error)),
                    NextStep::ReportBug,
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_process_ends_ten_minutes_after_the_last_page() {
        let pages = Arc::<Pages>::default();
        let began = tokio::time::Instant::now();
        let using = async {
            for seconds in [300, 300] {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                let page = pages.enter();
                tokio::time::sleep(Duration::from_secs(1000)).await;
                drop(page);
            }
        };
        tokio::join!(pages.unused_for(UNUSED), using);
        assert_eq!(began.elapsed().as_secs(), 2 * 1300 + 600);
    }

    fn folders() -> Folders {
        let variables = std::iter::empty::<(std::ffi::OsString, std::ffi::OsString)>().collect();
        Folders::new(&ProcessEnv { variables, home: None })
    }

    #[tokio::test]
    async fn a_server_is_shown_once_it_was_added() {
        let (folders, url) = (folders(), "http://127.0.0.1:9/");
        let login = |token: &str| serde_json::json!({ "url": url, "token": token, "network_timeout": 1.0 });
        assert!(folders.hub(url).is_err());
        folders.add(login("a")).await.unwrap();
        let first = folders.hub(url).unwrap();
        folders.add(login("a")).await.unwrap();
        assert!(Arc::ptr_eq(&first, &folders.hub(url).unwrap()));
        folders.add(login("b")).await.unwrap();
        assert!(!Arc::ptr_eq(&first, &folders.hub(url).unwrap()), "another person's token");
        assert!(folders.add(serde_json::json!({ "url": url })).await.is_err());
        assert!(folders.hub("http://127.0.0.1:10/").is_err());
    }

    #[tokio::test]
    async fn a_folder_has_one_hub_and_a_file_none() {
        let (root, folders) = (tempfile::tempdir().unwrap(), folders());
        let path = root.path().to_str().unwrap();
        assert!(Arc::ptr_eq(&folders.hub(path).unwrap(), &folders.hub(path).unwrap()));
        for bad in ["", "relative", "/no/such/folder"] {
            assert!(folders.hub(bad).is_err(), "{bad}");
        }
    }
}
