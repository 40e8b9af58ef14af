//! The page of the Colab tabs that are connected to this program. The process that serves the pages of this user passes it on.
#![cfg(unix)]

use std::path::PathBuf;
use std::sync::Arc;

use colab::{Colab, SeenTab};
use environments::ProcessEnv;
use page::{OpenTab, Pages, SeenSource, ServerKernels, private_socket};
use place::{NotebookPath, Place as _};
use workspace::Workspace;

/// Serves the page once a tab has connected, until the future is dropped. `agents` runs their cells; `history` is the folder of the
/// records of changes.
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
    let listener = match private_socket::listen(&page::folder_of_tabs(&state), &process_env.temp_dir()) {
        Ok(listener) => listener,
        Err(error) => return tracing::warn!(%error, "no page shows the Colab tabs"),
    };
    let (tabs, seen) = (colab.seen(), colab.seen());
    let runs = Box::new(move || vec![agents.journal().runs()]);
    let place = seen.clone();
    let kernels = ServerKernels::of_own_runs(seen.clone(), runs).with_source(move |path| {
        let SeenTab { read_at, is_connected } = seen.seen(path)?;
        Some(SeenSource { read_at, is_connected })
    });
    let pages = Arc::new(Pages::of_user(Some(state), process_env.temp_dir()));
    let hub = super::hub(place, history, Arc::new(kernels), false, pages.clone());
    let list = move || {
        let open = |path: NotebookPath| OpenTab {
            root: String::new(),
            identity: tabs.identity(&path),
            path: path.to_string(),
        };
        tabs.connected().into_iter().map(open).collect()
    };
    tokio::join!(page::serve_tabs(listener, hub, list), pages.take_questions());
}
