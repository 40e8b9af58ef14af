//! A home folder of its own for each test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clients::{
    ChangeError, Client, FileChange, Ledger, Machine, Scope, ServerEntry, Start, System, install, uninstall,
};
use tempfile::TempDir;

pub(crate) struct Home {
    folder: TempDir,
    pub(crate) machine: Machine,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::on(System::Linux)
    }

    pub(crate) fn on(system: System) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (home, mut variables) = (folder.path().join("home"), BTreeMap::new());
        if system == System::Windows {
            variables.insert("AppData".to_owned(), home.join("AppData").join("Roaming").into());
        }
        Self { folder, machine: Machine { system, home, variables } }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The client's configuration, in a folder that exists.
    pub(crate) fn file(&self, client: &Client) -> PathBuf {
        let file = client.file(&self.machine, Scope::User).unwrap();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        file
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::read(self.folder.path().join("data/installed.json"))
    }

    pub(crate) fn change(&self, client: &'static Client, scope: Scope) -> Result<FileChange, ChangeError> {
        install(client, &self.machine, scope, &started(), &self.ledger())
    }

    pub(crate) fn install(&self, client: &'static Client) {
        self.change(client, Scope::User).unwrap().apply(&mut self.ledger()).unwrap();
    }

    pub(crate) fn uninstall(&self, client: &'static Client) {
        let mut change = uninstall(client, &self.machine, Scope::User, &self.ledger()).unwrap();
        change.apply(&mut self.ledger()).unwrap();
    }
}

pub(crate) fn started() -> ServerEntry {
    let arguments = vec!["--read-only".to_owned()];
    let folder = Some(("--root".to_owned(), "/home/ada/notebooks".to_owned()));
    let start = Start::Command { program: "/opt/bin/cellbridge".to_owned(), arguments, folder };
    ServerEntry { start, secret_variables: Vec::new() }
}

pub(crate) fn read(file: &Path) -> Option<String> {
    std::fs::read_to_string(file).ok()
}
