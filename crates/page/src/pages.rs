//! What all pages of a program share, whatever they show: how many are open, what waits for the person, and which Colab tabs there are.

use std::sync::Arc;
#[cfg(unix)]
use std::time::Duration;

use tokio::sync::watch;

#[cfg(unix)]
use crate::private_socket;
use crate::questions::OpenQuestions;
#[cfg(unix)]
use crate::questions::socket;
use crate::tabs::ServerTabs;
#[cfg(unix)]
use crate::tabs::TabServers;

/// A page that is loaded again is closed for less than this.
#[cfg(unix)]
const RELOAD: Duration = Duration::from_secs(10);

/// The pages of a program.
#[derive(Default)]
pub struct Pages {
    open: watch::Sender<usize>,
    questions: OpenQuestions,
    #[cfg(unix)]
    tabs: Option<Arc<TabServers>>,
}

impl Pages {
    /// Pages that also show the Colab tabs of servers whose sockets are in this folder.
    #[cfg(unix)]
    pub fn with_tabs(folder: std::path::PathBuf) -> Self {
        Self { tabs: Some(Arc::new(TabServers::new(folder))), ..Self::default() }
    }

    #[cfg(unix)]
    pub(crate) fn tab_servers(&self) -> Option<&TabServers> {
        self.tabs.as_deref()
    }

    /// The servers with Colab tabs that are known. Never waits.
    #[cfg_attr(not(unix), expect(clippy::unused_self, reason = "there are no Unix sockets"))]
    pub(crate) fn tabs(&self) -> Arc<[ServerTabs]> {
        #[cfg(unix)]
        return self.tabs.as_ref().map(TabServers::known).unwrap_or_default();
        #[cfg(not(unix))]
        return Arc::default();
    }

    /// How many are open.
    pub fn open(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }

    /// One more is open, until the result is dropped.
    pub fn enter(self: &Arc<Self>) -> OpenPage {
        self.open.send_modify(|open| *open += 1);
        OpenPage(self.clone())
    }

    /// What waits for the person's answer.
    pub(crate) fn questions(&self) -> &OpenQuestions {
        &self.questions
    }

    /// Takes the questions of servers to the folder of pages while a page is open; the socket is in the `temporary` folder if that path
    /// is too long for one. Ends only if the folder cannot be used.
    #[cfg(unix)]
    pub async fn take_questions(&self, folder: &std::path::Path, temporary: &std::path::Path) {
        let mut open = self.open();
        // The sender lives in `self`.
        while open.wait_for(|open| *open > 0).await.is_ok() {
            let listener = match private_socket::listen(folder, temporary) {
                Ok(listener) => listener,
                Err(error) => {
                    tracing::warn!(folder = %folder.display(), %error, "the page shows no questions of servers");
                    return;
                }
            };
            tokio::select! {
                () = listener.serve(socket::routes(self.questions.clone())) => {}
                () = until_closed(&mut open) => {}
            }
        }
    }
}

/// Waits until no page is open, and none comes back.
#[cfg(unix)]
async fn until_closed(open: &mut watch::Receiver<usize>) {
    while open.wait_for(|open| *open == 0).await.is_ok() {
        if tokio::time::timeout(RELOAD, open.wait_for(|open| *open > 0)).await.is_err() {
            return;
        }
    }
}

/// A page that is open.
pub struct OpenPage(Arc<Pages>);

impl Drop for OpenPage {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open = open.saturating_sub(1));
    }
}
