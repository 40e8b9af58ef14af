//! A copy on this computer of a notebook on a machine, which outlives the machine.

use std::io;

use notebook::Notebook;

use super::{ContentsStore, text};

impl ContentsStore {
    /// Keeps what was written to the machine. A copy that fails delays and fails no edit.
    pub(super) async fn keep_copy(&self, written: &Notebook) {
        let Some(machine) = &self.handle.machine else { return };
        let Some(folder) = &machine.copies else { return };
        let below = self.path.strip_prefix(machine.root).unwrap_or(&self.path).trim_start_matches('/');
        let (file, text) = (folder.join(below), text(written));
        let kept = match text {
            Ok(text) => tokio::task::spawn_blocking(move || state::replace(&file, &text)).await,
            Err(error) => Ok(Err(io::Error::other(error))),
        };
        if let Ok(Err(error)) = kept {
            tracing::warn!(%error, "a notebook of a machine could not be kept on this computer");
        }
    }
}
