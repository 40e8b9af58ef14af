//! One agent: the names it has given to notebooks, its current notebook, and what it has seen of the cells.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notebook::Edit;
use tokio::sync::mpsc;

use crate::changes::Changes;
use crate::limits::{Slot, Slots};
use crate::open_notebook::{KernelSelector, OpenNotebook, find_kernel};
use crate::place::{Applied, Expected, Kernel, KernelChoice, Mode, Place, ServerSpec};
use crate::places::ConnectScope;
use crate::runs::Run;
use crate::workspace::Workspace;
use crate::{Error, ErrorKind, NextStep, SessionId};

mod cells;
mod seen;

use seen::Seen;

/// The state of one agent's session. Nothing of it is shared with another.
pub struct Session {
    workspace: Arc<Workspace>,
    id: SessionId,
    slots: Slots,
    desk: Mutex<Desk>,
}

#[derive(Default)]
struct Desk {
    /// What the agent calls itself.
    agent: Option<String>,
    /// The place it has chosen.
    place: Option<Arc<dyn Place>>,
    /// Whether the session is one call, and nothing of it is there for the next.
    is_stateless: bool,
    /// Where the notebooks live that it has opened, by path.
    homes: HashMap<String, Arc<dyn Place>>,
    /// Name → path, in the order in which they were given.
    names: Vec<(String, String)>,
    current: Option<String>,
    seen: HashMap<String, Seen>,
}

impl Session {
    /// A new agent's session.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let (id, slots) = (workspace.new_session(), Slots::new(workspace.settings().limits));
        Self { workspace, id, slots, desk: Mutex::default() }
    }

    pub fn id(&self) -> SessionId {
        self.id
    }

    /// What all sessions share.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// What the agent calls itself, for those who work on the same notebooks.
    pub fn introduce(&self, agent: String) {
        self.desk().agent = Some(agent);
    }

    /// The session is one call, and nothing of it is there for the next.
    pub fn be_stateless(&self) {
        self.desk().is_stateless = true;
    }

    /// The place that this agent works in.
    pub fn place(&self) -> Arc<dyn Place> {
        let (chosen, is_stateless) = {
            let desk = self.desk();
            (desk.place.clone(), desk.is_stateless)
        };
        match chosen {
            Some(place) => place,
            None if is_stateless => self.workspace.common_place(),
            None => self.workspace.place(),
        }
    }

    /// Reaches a server and works there from now on; without sessions, all agents that have none do.
    pub async fn connect(&self, wish: ServerSpec) -> Result<Arc<dyn Place>, Error> {
        let before = self.place();
        let scope = if self.desk().is_stateless { ConnectScope::Stateless } else { ConnectScope::Session };
        let place = self.workspace.connect(wish, scope).await?;
        {
            let mut desk = self.desk();
            desk.place = Some(place.clone());
            // The same server with another token: its notebooks go on with that one.
            let is_here =
                |home: &Arc<dyn Place>| !place.prefix().is_empty() && home.prefix() == place.prefix();
            desk.homes.values_mut().filter(|home| is_here(home)).for_each(|home| *home = place.clone());
        }
        if before.frontend().is_some() != place.frontend().is_some() {
            self.workspace.capabilities_changed();
        }
        Ok(place)
    }

    /// Shows others of a notebook that this agent works on one of its cells.
    pub fn works_on(&self, path: &str, cell: Option<&str>) {
        if let Some(opened) = self.workspace.find(&self.home(path), path) {
            let name = self.desk().agent.clone().unwrap_or_else(|| "AI agent".to_owned());
            opened.show_presence(self.id, name, cell.map(str::to_owned));
        }
    }

    /// Opens a notebook under a name, and makes it the current one.
    pub async fn use_notebook(&self, name: &str, path: &str, mode: Mode) -> Result<Arc<OpenNotebook>, Error> {
        self.check_room_for(path)?;
        let opened = self.workspace.open(&self.place(), path, mode).await?;
        self.enter(&opened);
        self.works_on(opened.path(), None);
        self.workspace.remember_name(name, &opened);
        let mut desk = self.desk();
        desk.names.retain(|(known, _)| known != name);
        desk.names.push((name.to_owned(), opened.path().to_owned()));
        desk.current = Some(name.to_owned());
        Ok(opened)
    }

    /// Forgets a notebook, and ends its kernel if this session brought it and nobody else uses the notebook; with
    /// `takes_orphans` also if a session did that has ended. Gives the kernel that was ended.
    pub async fn unuse_notebook(
        &self,
        name: Option<&str>,
        takes_orphans: bool,
    ) -> Result<(Arc<OpenNotebook>, Option<Arc<dyn Kernel>>), Error> {
        let opened = self.notebook(name).await?;
        let is_used = {
            let mut desk = self.desk();
            let path = opened.path();
            let name = name.map(str::to_owned).or_else(|| desk.current.clone()).unwrap_or_default();
            desk.names.retain(|(known, of)| *known != name && !(name == path && of == path));
            self.workspace.forget_name(&name, &opened);
            if desk
                .current
                .as_ref()
                .is_some_and(|current| !desk.names.iter().any(|(known, _)| known == current))
            {
                desk.current = None;
            }
            desk.seen.remove(path);
            let is_used = desk.names.iter().any(|(_, of)| of == path);
            if !is_used {
                desk.homes.remove(path);
            }
            is_used
        };
        let kernel = if is_used { None } else { opened.leave(self.id, takes_orphans) };
        self.workspace.session_left();
        let kernel = kernel.filter(|kernel| !self.workspace.is_shared(&**kernel, opened.path()));
        let Some(kernel) = kernel else { return Ok((opened, None)) };
        self.workspace.close(&opened);
        if kernel.is_shared().await {
            return Ok((opened, None));
        }
        kernel.shutdown().await?;
        Ok((opened, Some(kernel)))
    }

    /// The notebook that is meant: by a name of this session, by its path, by a name that another session gave;
    /// without a name the current one.
    pub async fn notebook(&self, name: Option<&str>) -> Result<Arc<OpenNotebook>, Error> {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return self.current_notebook().await };
        if let Some(path) = self.path_of(name) {
            return self.reopen(&path).await;
        }
        let place = self.place();
        if Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
            self.check_room_for(name)?;
            let opened = self.workspace.open(&place, name, Mode::Connect).await?;
            self.enter(&opened);
            return Ok(opened);
        }
        if let Some(opened) = self.workspace.named(&place, name) {
            self.enter(&opened);
            return Ok(opened);
        }
        let open = self.names().into_iter().map(|(name, _)| name).collect();
        Err(Error::new(
            ErrorKind::NotFound,
            format!("No notebook is open under the name {name:?}."),
            NextStep::NameNotebook { open },
        ))
    }

    /// Makes all of `edits` or none in a notebook, as [`Document::apply`](crate::Document::apply) does.
    pub async fn edit(
        &self,
        notebook: &OpenNotebook,
        edits: Vec<Edit>,
        expected: Vec<Expected>,
    ) -> Result<Applied, Error> {
        let applied = notebook.document().apply(edits, expected).await?;
        notebook.changed_by(self.id);
        Ok(applied)
    }

    /// What is heard of a notebook's changes by others than this agent.
    pub fn changes(&self, notebook: &OpenNotebook) -> Changes {
        notebook.changes(self.id)
    }

    /// The names of this session and their paths, in the order in which they were given.
    pub fn names(&self) -> Vec<(String, String)> {
        self.desk().names.clone()
    }

    /// The name of the current notebook.
    pub fn current(&self) -> Option<String> {
        self.desk().current.clone()
    }

    /// The kernel of a notebook, chosen if it has none yet.
    pub async fn choose_kernel(
        &self,
        notebook: &OpenNotebook,
        wish: &KernelSelector,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<KernelChoice, Error> {
        notebook.choose(wish, self.id, false, progress).await
    }

    /// Runs a cell, or code beside the cells, in a notebook's kernel. Never waits.
    pub fn run(
        &self,
        notebook: Arc<OpenNotebook>,
        cell: Option<String>,
        source: String,
    ) -> Result<Arc<Run>, Error> {
        Ok(self.workspace.runner().run(notebook, cell, source, self.id, self.slot()?))
    }

    /// Runs cells, by id and source, in order; each has its run from the beginning. Never waits.
    pub fn run_in_order(
        &self,
        notebook: &Arc<OpenNotebook>,
        cells: Vec<(String, String)>,
        stops_on_error: bool,
    ) -> Result<Vec<Arc<Run>>, Error> {
        Ok(self.workspace.runner().run_in_order(notebook, cells, stops_on_error, self.id, self.slot()?))
    }

    /// The kernel with this id, or the only one whose id begins so.
    pub async fn kernel(&self, id: &str) -> Result<Arc<dyn Kernel>, Error> {
        find_kernel(&*self.place(), id).await
    }

    /// Runs code in the kernel with this id; without one in a kernel that belongs to no notebook. Never waits for the
    /// run.
    pub async fn run_code(&self, kernel: Option<&str>, source: String) -> Result<Arc<Run>, Error> {
        self.workspace.runner().run_code(self.place(), kernel, source, self.slot()?).await
    }

    async fn current_notebook(&self) -> Result<Arc<OpenNotebook>, Error> {
        let path = self.current().and_then(|name| self.path_of(&name));
        match (path, self.place().first_notebook()) {
            (Some(path), _) => self.reopen(&path).await,
            (None, Some(first)) => self.use_notebook("default", &first, Mode::Connect).await,
            (None, None) => Err(Error::new(
                ErrorKind::InvalidArgument,
                "No notebook is current.",
                NextStep::NameNotebook { open: self.names().into_iter().map(|(name, _)| name).collect() },
            )),
        }
    }

    /// A notebook that was opened before, by the path that its document gave.
    async fn reopen(&self, path: &str) -> Result<Arc<OpenNotebook>, Error> {
        self.workspace.open(&self.home(path), path, Mode::Connect).await
    }

    /// Where a notebook lives that this session has opened.
    fn home(&self, path: &str) -> Arc<dyn Place> {
        let home = self.desk().homes.get(path).cloned();
        home.unwrap_or_else(|| self.place())
    }

    fn enter(&self, opened: &OpenNotebook) {
        opened.enter(self.id);
        self.desk().homes.insert(opened.path().to_owned(), opened.place().clone());
    }

    /// Fails if the session has as many notebooks open as it may, and this is another.
    fn check_room_for(&self, path: &str) -> Result<(), Error> {
        let desk = self.desk();
        if desk.homes.contains_key(path) {
            return Ok(());
        }
        self.workspace.settings().limits.check_notebooks(desk.homes.len())
    }

    /// The place of one more run.
    fn slot(&self) -> Result<Slot, Error> {
        if self.desk().is_stateless { self.workspace.common_slots().take() } else { self.slots.take() }
    }

    fn path_of(&self, name: &str) -> Option<String> {
        self.desk().names.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone())
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for opened in self.workspace.open_notebooks() {
            opened.forget(self.id);
        }
        self.workspace.session_left();
    }
}

#[cfg(test)]
mod tests;
