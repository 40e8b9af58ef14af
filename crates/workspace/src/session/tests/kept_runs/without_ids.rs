//! Notebooks whose files do not tell cells apart.

use files::{FileStore, Root};
use place::RunDetails;

use super::super::adopted::orphan;
use super::*;
use StaleState::{Edited, InputChanged, UpToDate};

/// The file of a machine's notebook, of nbformat 4.4.
struct InFile {
    machine: Machine,
    folder: tempfile::TempDir,
}

impl InFile {
    fn new(sources: &[&str]) -> Self {
        let cell = |source: &&str| {
            serde_json::json!({ "cell_type": "code", "metadata": {}, "source": source, "execution_count": null,
                "outputs": [] })
        };
        let cells: Vec<_> = sources.iter().map(cell).collect();
        let notebook =
            serde_json::json!({ "nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells });
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.ipynb"), notebook.to_string()).unwrap();
        Self { machine: Machine::new(), folder }
    }

    /// From now on a program reads the file that has not read it before.
    fn forget(&self) {
        let files = FileStore::new(Root::new(self.folder.path().to_path_buf()));
        *self.machine.memory.files.lock().unwrap() = Some(Arc::new(files));
    }

    async fn server(&self) -> Server {
        self.forget();
        self.machine.server().await
    }
}

#[tokio::test]
async fn what_is_stale_survives_the_server_without_ids() {
    let file = InFile::new(&["a = 1", "b = a + 1", "print(b)", "print(b)"]);
    let first = file.server().await;
    first.run_all().await;
    first.set(1, "b = a + 2").await;
    let expected = [UpToDate, Edited, InputChanged, InputChanged];
    assert_eq!(first.states().await, expected);
    drop(first);
    assert_eq!(file.server().await.states().await, expected);
}

#[tokio::test]
async fn outputs_of_an_earlier_servers_run_reach_an_edited_cell() {
    let file = InFile::new(&["a = 1", "b = 2"]);
    let first = file.server().await;
    first.set(1, "a = 1").await;
    let cell = first.snapshot().await.cells()[1].id().clone();
    drop(first);
    let details = RunDetails {
        run: "r1-earlier".into(),
        notebook: Some("a.ipynb".into()),
        cell: Some(cell),
        source: "a = 1".to_owned(),
        ..RunDetails::default()
    };
    file.machine.kernel.orphans.lock().unwrap().push(orphan(&details, 1).0);
    // As the program that a keeper starts: it has no recorder.
    file.forget();
    let workspace = Workspace::new(file.machine.memory.clone(), Settings::default());
    workspace.read_ids(file.machine.state.path().to_path_buf());
    let session = Session::new(workspace);
    session.adopt("kept".into()).await.unwrap();
    session.workspace().journal().run(&details.run).unwrap().settled().await;
    let stored = std::fs::read(file.folder.path().join("a.ipynb")).unwrap();
    let stored = Notebook::parse(stored.into()).unwrap();
    let shown: Vec<_> = stored.cells().iter().map(notebook::Cell::output_count).collect();
    assert_eq!(shown, [0, 1]);
}
