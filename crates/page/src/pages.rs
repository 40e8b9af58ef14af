//! What all pages of a program share, whatever they show: how many are open, what waits for the person, and which Colab tabs there are.

#[cfg(unix)]
use std::io;
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

#[cfg(unix)]
use crate::private_socket;
use crate::questions::OpenQuestions;
#[cfg(unix)]
use crate::questions::{folder_of_pages, socket};
use crate::tabs::OpenTab;
#[cfg(unix)]
use crate::tabs::{TabServers, folder_of_tabs};

/// A page that is loaded again is closed for less than this.
#[cfg(unix)]
const RELOAD: Duration = Duration::from_secs(10);

/// The pages of a program.
#[derive(Default)]
pub struct Pages {
    open: watch::Sender<usize>,
    /// What waits for the person's answer.
    pub(crate) questions: OpenQuestions,
    #[cfg(unix)]
    sockets: Option<Sockets>,
}

/// The sockets by which processes of this user reach each other.
#[cfg(unix)]
struct Sockets {
    /// The folder of what this program remembers between two starts.
    state: PathBuf,
    /// The folder of a socket whose path below `state` is too long.
    temporary: PathBuf,
    tabs: Arc<TabServers>,
}

impl Pages {
    /// Pages that also show the questions of this user's servers, and their Colab tabs.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "there are no Unix sockets"))]
    pub fn of_user(state: Option<PathBuf>, temporary: PathBuf) -> Self {
        #[cfg(unix)]
        let sockets = state.map(|state| {
            let tabs = Arc::new(TabServers::new(folder_of_tabs(&state)));
            Sockets { state, temporary, tabs }
        });
        Self {
            #[cfg(unix)]
            sockets,
            ..Self::default()
        }
    }

    #[cfg(unix)]
    pub(crate) fn tab_servers(&self) -> Option<&TabServers> {
        self.sockets.as_ref().map(|sockets| &*sockets.tabs)
    }

    /// The servers with Colab tabs that are known. Never waits.
    #[cfg_attr(not(unix), expect(clippy::unused_self, reason = "there are no Unix sockets"))]
    pub(crate) fn tabs(&self) -> Arc<[OpenTab]> {
        #[cfg(unix)]
        return self.sockets.as_ref().map(|sockets| sockets.tabs.known()).unwrap_or_default();
        #[cfg(not(unix))]
        return Arc::default();
    }

    /// How many are open.
    pub fn open(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }

    /// Waits until no page has been open for this long.
    pub async fn unused_for(&self, limit: Duration) {
        let mut open = self.open();
        // The sender lives in `self`.
        while open.wait_for(|open| *open == 0).await.is_ok() {
            if tokio::time::timeout(limit, open.wait_for(|open| *open > 0)).await.is_err() {
                return;
            }
        }
    }

    /// One more is open, until the result is dropped.
    pub fn enter(self: &Arc<Self>) -> OpenPage {
        self.open.send_modify(|open| *open += 1);
        OpenPage(self.clone())
    }

    /// Takes the questions of servers while a page is open. Never ends: a page without questions is of use, too.
    pub async fn take_questions(&self) {
        #[cfg(unix)]
        if let Some(Sockets { state, temporary, .. }) = &self.sockets
            && let Err(error) = self.take_to(&folder_of_pages(state), temporary).await
        {
            tracing::warn!(%error, "the page shows no questions of servers");
        }
        std::future::pending::<()>().await;
    }

    /// Ends only if the folder cannot be used.
    #[cfg(unix)]
    async fn take_to(&self, folder: &Path, temporary: &Path) -> io::Result<()> {
        let mut open = self.open();
        while open.wait_for(|open| *open > 0).await.is_ok() {
            let listener = private_socket::listen(folder, temporary)?;
            tokio::select! {
                () = listener.serve(socket::routes(self.questions.clone())) => {}
                () = self.unused_for(RELOAD) => {}
            }
        }
        Ok(())
    }
}

/// A page that is open.
pub struct OpenPage(Arc<Pages>);

impl Drop for OpenPage {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open = open.saturating_sub(1));
    }
}
