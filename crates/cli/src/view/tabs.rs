//! The page of the Colab tabs that are connected to this program. The process that serves the pages of this user passes it on.
#![cfg(unix)]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use colab::{Colab, ColabPlace, SeenTab};
use environments::ProcessEnv;
use page::{Hub, OpenTab, Pages, SeenSource, ServerKernels, TabHost, private_socket};
use place::{NotebookPath, Place as _};
use workspace::Workspace;

/// Serves the page once a tab has connected, until the future is dropped.
pub(crate) async fn serve(
    colab: Arc<Colab>,
    agents: Arc<Workspace>,
    history: Option<PathBuf>,
    process_env: ProcessEnv,
) {
    let (Some(state), mut attempts) = (process_env.own_state_dir(), colab.attempts()) else { return };
    if attempts.wait_for(|attempt| attempt.as_ref().is_some_and(|it| it.is_connected)).await.is_err() {
        return;
    }
    match private_socket::listen(&page::folder_of_tabs(&state), &process_env.temp_dir()) {
        Ok(listener) => {
            let pages = Arc::new(Pages::of_user(Some(state), process_env.temp_dir()));
            let host =
                TabPage { tabs: colab.seen(), agents, history, pages: pages.clone(), hub: OnceLock::new() };
            tokio::join!(page::serve_tabs(listener, Arc::new(host)), pages.take_questions());
        }
        Err(error) => tracing::warn!(%error, "no page shows the Colab tabs"),
    }
}

struct TabPage {
    tabs: Arc<ColabPlace>,
    /// What runs the agents' cells.
    agents: Arc<Workspace>,
    /// The folder of the records of changes.
    history: Option<PathBuf>,
    pages: Arc<Pages>,
    hub: OnceLock<Arc<Hub>>,
}

impl TabHost for TabPage {
    fn tabs(&self) -> Vec<OpenTab> {
        let open =
            |path: NotebookPath| OpenTab { identity: self.tabs.identity(&path), path: path.to_string() };
        self.tabs.connected().into_iter().map(open).collect()
    }

    fn hub(&self) -> Arc<Hub> {
        let new = || {
            let agents = self.agents.clone();
            let runs = Box::new(move || vec![agents.journal().runs()]);
            let tabs = self.tabs.clone();
            let machine = ServerKernels::of_own_runs(self.tabs.clone(), runs).with_source(move |path| {
                let SeenTab { read_at, is_connected } = tabs.seen(path)?;
                Some(SeenSource { read_at, is_connected })
            });
            super::hub(self.tabs.clone(), self.history.clone(), Arc::new(machine), false, self.pages.clone())
        };
        self.hub.get_or_init(new).clone()
    }
}
