//! One agent: the names it has given to notebooks, its current notebook, and what it has seen of the cells.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notebook::{CellRef, Notebook};
use tokio::sync::mpsc;

use crate::limits::{Slot, Slots};
use crate::opened::{KernelWish, Opened, find_kernel};
use crate::place::{Choice, Expected, Kernel, Mode, Place, ServerWish};
use crate::places::For;
use crate::run::Run;
use crate::workspace::Workspace;
use crate::{Error, Side};

mod seen;

use seen::Seen;

/// The reference to the cell that a person is in. No id has an `@`.
const SELECTED: &str = "@selected";

/// The state of one agent's session. Nothing of it is shared with another.
pub struct Session {
    workspace: Arc<Workspace>,
    id: u64,
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

    /// Which one it is, counted from 0.
    pub fn number(&self) -> u64 {
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
    pub async fn connect(&self, wish: ServerWish) -> Result<Arc<dyn Place>, Error> {
        let before = self.place();
        let whose = if self.desk().is_stateless { For::Stateless } else { For::Session };
        let place = self.workspace.connect(wish, whose).await?;
        {
            let mut desk = self.desk();
            desk.place = Some(place.clone());
            // The same server with another token: its notebooks go on with that one.
            let is_here =
                |home: &Arc<dyn Place>| !place.prefix().is_empty() && home.prefix() == place.prefix();
            desk.homes.values_mut().filter(|home| is_here(home)).for_each(|home| *home = place.clone());
        }
        if before.front_end().is_some() != place.front_end().is_some() {
            self.workspace.abilities_changed();
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
    pub async fn use_notebook(&self, name: &str, path: &str, mode: Mode) -> Result<Arc<Opened>, Error> {
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
    ) -> Result<(Arc<Opened>, Option<Arc<dyn Kernel>>), Error> {
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
        self.workspace.left();
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
    pub async fn notebook(&self, name: Option<&str>) -> Result<Arc<Opened>, Error> {
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
        let known: Vec<String> = self.names().into_iter().map(|(name, _)| name).collect();
        let hint = if known.is_empty() {
            "Open it with use_notebook, or give its path; list_notebooks shows what there is.".to_owned()
        } else {
            format!("Open are: {}. use_notebook opens another; a path works as well.", known.join(", "))
        };
        Err(Error::new(Side::Agent, format!("No notebook is open under the name {name:?}."), hint))
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
        notebook: &Opened,
        wish: &KernelWish,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<Choice, Error> {
        notebook.choose(wish, self.id, false, progress).await
    }

    /// Runs a cell, or code beside the cells, in a notebook's kernel. Never waits.
    pub fn run(
        &self,
        notebook: Arc<Opened>,
        cell: Option<String>,
        source: String,
    ) -> Result<Arc<Run>, Error> {
        Ok(self.workspace.run(notebook, cell, source, self.id, self.slot()?))
    }

    /// Runs cells, by id and source, in order; each has its run from the beginning. Never waits.
    pub fn run_in_order(
        &self,
        notebook: &Arc<Opened>,
        cells: Vec<(String, String)>,
        stops_on_error: bool,
    ) -> Result<Vec<Arc<Run>>, Error> {
        Ok(self.workspace.run_in_order(notebook, cells, stops_on_error, self.id, self.slot()?))
    }

    /// The kernel with this id, or the only one whose id begins so.
    pub async fn kernel(&self, id: &str) -> Result<Arc<dyn Kernel>, Error> {
        find_kernel(&*self.place(), id).await
    }

    /// Runs code in the kernel with this id; without one in a kernel that belongs to no notebook. Never waits for the
    /// run.
    pub async fn run_code(&self, kernel: Option<&str>, source: String) -> Result<Arc<Run>, Error> {
        self.workspace.run_code(self.place(), kernel, source, self.slot()?).await
    }

    /// The cell that a reference means, for a tool that only looks. `@selected` is the one that a person is in.
    pub fn find(&self, path: &str, notebook: &Notebook, reference: &CellRef) -> Result<usize, Error> {
        match reference {
            CellRef::Id(id) if id.eq_ignore_ascii_case(SELECTED) => {
                Ok(notebook.resolve(&CellRef::Id(self.selected(path)?))?)
            }
            reference => Ok(notebook.resolve(reference)?),
        }
    }

    /// The id of the cell that a person is in.
    fn selected(&self, path: &str) -> Result<String, Error> {
        let document = self.workspace.find(&self.home(path), path).map(|opened| opened.document().clone());
        if let Some(id) = document.as_ref().and_then(|document| document.selected()) {
            return Ok(id);
        }
        Err(if document.is_some_and(|document| document.is_live()) {
            Error::new(
                Side::Person,
                format!("No person is known to have the cursor in a cell of {path}, so {SELECTED} is none."),
                "Ask the person to click into the cell, or name it by its id; who was there before is seen within 15 s.",
            )
        } else {
            Error::new(
                Side::Agent,
                format!(
                    "People are not seen in {path}, which is not edited together, so {SELECTED} is no cell."
                ),
                "Name the cell by its id or index; read_notebook shows all.",
            )
        })
    }

    /// The cell that a reference means, for a tool that changes or runs it.
    ///
    /// An index means the cell that this agent was shown there: it fails if another cell stands there now.
    pub fn target(&self, path: &str, notebook: &Notebook, reference: &CellRef) -> Result<usize, Error> {
        let index = self.find(path, notebook, reference)?;
        self.works_on(path, Some(notebook.cells()[index].id()));
        let CellRef::Index(asked) = reference else { return Ok(index) };
        let mut desk = self.desk();
        let Some(seen) = desk.seen.get_mut(path) else { return Ok(index) };
        let Some(believed) = seen.order.get(asked).cloned() else { return Ok(index) };
        let now = notebook.cells()[index].id().to_owned();
        if believed == now {
            return Ok(index);
        }
        // The refusal tells this much.
        seen.order.insert(*asked, now.clone());
        let cause = match notebook.cell(&believed) {
            Some((moved, _)) => format!(
                "The notebook has changed: the cell that you saw at index {asked} ({believed}) is at index {moved} now, \
                 and at {asked} stands {now}."
            ),
            None => format!(
                "The notebook has changed: the cell that you saw at index {asked} ({believed}) is gone, and {now} \
                 stands there now."
            ),
        };
        Err(Error::new(
            Side::Agent,
            cause,
            "Nothing was done. Call again with the cell_id that you mean; read_notebook shows all.",
        ))
    }

    /// What must still be true of a cell before this agent changes it: `claimed`, or else what it was shown.
    pub fn expected(&self, path: &str, id: &str, claimed: Option<String>) -> Expected {
        let seen = || self.desk().seen.get(path)?.revisions.get(id).cloned();
        Expected { id: id.to_owned(), revision: claimed.or_else(seen) }
    }

    /// Remembers that the agent was shown the sources of these cells, and where they stand.
    pub fn saw(&self, path: &str, notebook: &Notebook, shown: impl IntoIterator<Item = usize> + Clone) {
        self.desk().seen.entry(path.to_owned()).or_default().saw(notebook, shown);
    }

    /// Remembers that the agent was told where these cells stand.
    pub fn listed(&self, path: &str, notebook: &Notebook, listed: impl IntoIterator<Item = usize>) {
        self.desk().seen.entry(path.to_owned()).or_default().listed(notebook, listed);
    }

    /// The agent put a cell in: what it saw from there on stands one further.
    pub fn inserted(&self, path: &str, index: usize) {
        if let Some(seen) = self.desk().seen.get_mut(path) {
            seen.inserted(index);
        }
    }

    /// The agent took a cell out: what it saw after it stands one before.
    pub fn removed(&self, path: &str, index: usize) {
        if let Some(seen) = self.desk().seen.get_mut(path) {
            seen.removed(index);
        }
    }

    /// The indices of cells whose source is no longer what this agent was shown.
    pub fn changed_by_others(&self, path: &str, notebook: &Notebook) -> Vec<usize> {
        self.desk().seen.get(path).map(|seen| seen.changed(notebook)).unwrap_or_default()
    }

    async fn current_notebook(&self) -> Result<Arc<Opened>, Error> {
        let path = self.current().and_then(|name| self.path_of(&name));
        match (path, self.place().first_notebook()) {
            (Some(path), _) => self.reopen(&path).await,
            (None, Some(first)) => self.use_notebook("default", &first, Mode::Connect).await,
            (None, None) => Err(Error::new(
                Side::Agent,
                "No notebook is current.",
                "Say which one with notebook_name (its path works), or open one with use_notebook; list_notebooks shows \
                 what there is.",
            )),
        }
    }

    /// A notebook that was opened before, by the path that its document gave.
    async fn reopen(&self, path: &str) -> Result<Arc<Opened>, Error> {
        self.workspace.open(&self.home(path), path, Mode::Connect).await
    }

    /// Where a notebook lives that this session has opened.
    fn home(&self, path: &str) -> Arc<dyn Place> {
        let home = self.desk().homes.get(path).cloned();
        home.unwrap_or_else(|| self.place())
    }

    fn enter(&self, opened: &Opened) {
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
        for opened in self.workspace.opened() {
            opened.forget(self.id);
        }
        self.workspace.left();
    }
}

#[cfg(test)]
mod tests;
