//! One agent's session: its names for notebooks, its current notebook, and the cells that it has seen.
//!
//! `session/copy` and `session/undo` have methods of [`Session`], with the types of their results.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use notebook::CellId;
use operations::{PERSON, SessionLock};
use parking_lot::{Mutex, MutexGuard};
use place::{Error, ErrorKind, Kernel, Mode, NextStep, NotebookPath, Place, SessionId, nearest};
use render::ShownOutputs;
use runs::{Changes, EndsKernel, OpenNotebook, SessionOrder, Slots};

use crate::places::Located;
use crate::shown_paths::ShownPaths;
use crate::workspace::{Limits, Workspace};

mod cell_lookup;
mod copy;
mod edit;
pub(crate) mod person;
mod places;
mod run;
mod seen_cells;
mod undo;

pub use copy::{CopiedNotebook, CopyPreview, FilePreview};
use seen_cells::SeenCells;
pub use undo::{PastOperation, UndoTarget, Undone};

/// Among how many notebooks one is looked for that was not found.
const MAX_SEARCHED: usize = 5000;

/// One agent's session. Sessions share nothing but the workspace.
pub struct Session {
    workspace: Arc<Workspace>,
    id: SessionId,
    own: PerAgent,
    run_order: SessionOrder,
    shown_outputs: Arc<ShownOutputs>,
    /// Tells its operations from those of other sessions.
    lock: Arc<SessionLock>,
    state: Mutex<SessionState>,
}

/// State of the agent of a session, or of all agents without sessions together.
pub(crate) struct PerAgent {
    slots: Slots,
    shown_paths: ShownPaths,
    /// The position in each history up to which the agent was notified of the person's actions.
    histories: person::Histories,
}

impl PerAgent {
    pub(crate) fn new(limits: Limits) -> Self {
        let (shown_paths, histories) = Default::default();
        Self { slots: Slots::new(limits.runs), shown_paths, histories }
    }
}

#[derive(Default)]
struct SessionState {
    /// The agent's name for itself.
    agent: Option<String>,
    /// The place that it has chosen.
    place: Option<Arc<dyn Place>>,
    /// Whether the session is one call.
    is_stateless: bool,
    /// The places of the notebooks that it has opened, by path.
    homes: HashMap<NotebookPath, Arc<dyn Place>>,
    /// Name → path, in the order in which they were given.
    names: Vec<(String, NotebookPath)>,
    current: Option<String>,
    seen: HashMap<NotebookPath, SeenCells>,
    /// The notebooks that it has changed.
    edited: HashSet<NotebookPath>,
}

impl Session {
    /// A new agent's session.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let (id, own) = (workspace.new_session(), PerAgent::new(workspace.settings().limits));
        Self {
            workspace,
            id,
            own,
            run_order: SessionOrder::default(),
            shown_outputs: Arc::default(),
            lock: Arc::default(),
            state: Mutex::default(),
        }
    }

    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The outputs and the advice that the agent was shown.
    pub fn shown_outputs(&self) -> &Arc<ShownOutputs> {
        &self.shown_outputs
    }

    /// The workspace that all sessions share.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Names the agent, for others who work on the same notebooks.
    pub fn introduce(&self, agent: String) {
        // No agent passes for the person, or for their ways in, however the name is written.
        let words = agent.to_lowercase();
        let mut words = words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let is_like_person =
            words.any(|word| [PERSON, "you", "user", "human", "page", "cellbridge"].contains(&word));
        let agent = if is_like_person { format!("{agent} (agent)") } else { agent };
        self.state().agent = Some(agent);
    }

    /// The session is the person's.
    pub fn introduce_person(&self) {
        self.state().agent = Some(PERSON.to_owned());
    }

    /// The session is one call: the next call has another.
    pub fn be_stateless(&self) {
        self.state().is_stateless = true;
    }

    /// Shows the other users of a notebook on which cell this agent works.
    pub fn works_on(&self, path: &NotebookPath, cell: Option<&CellId>) {
        if let Some(opened) = self.workspace.notebooks().find(&self.home(path), path) {
            let name = self.state().agent.clone().unwrap_or_else(|| "AI agent".to_owned());
            opened.show_presence(self.id, name, cell.cloned());
        }
    }

    /// Opens a notebook under a name, and makes it the current one. Fails if the name is the path of another notebook: a call with that
    /// path would change this one.
    pub fn use_notebook<'s>(
        &'s self,
        name: &'s str,
        path: &'s NotebookPath,
        mode: Mode,
    ) -> place::Future<'s, Arc<OpenNotebook>> {
        // Boxed, so that its code is not again in each crate that opens notebooks.
        Box::pin(async move {
            let located = self.locate(path).await?;
            self.check_room_for(&located.path)?;
            if is_notebook_path(name) && *name != **path {
                self.check_is_no_other(name, &located).await?;
            }
            let opened = self.open(located, mode).await?;
            if mode == Mode::Create {
                self.created(opened.place(), opened.path(), None);
            }
            self.enter(&opened);
            self.works_on(opened.path(), None);
            self.workspace.notebooks().remember_name(name, &opened);
            let mut state = self.state();
            state.names.retain(|(other, _)| other != name);
            state.names.push((name.to_owned(), opened.path().clone()));
            state.current = Some(name.to_owned());
            Ok(opened)
        })
    }

    /// Closes a notebook for this session. Shuts down its kernels, and returns them, if nobody else uses the notebook and
    /// `ends` says so.
    pub async fn unuse_notebook(
        &self,
        name: Option<&str>,
        ends: EndsKernel,
    ) -> Result<(Arc<OpenNotebook>, Vec<Arc<dyn Kernel>>), Error> {
        let opened = self.notebook(name).await?;
        let is_used = {
            let mut state = self.state();
            let path = opened.path();
            let name = name.map(str::to_owned).or_else(|| state.current.clone()).unwrap_or_default();
            state.names.retain(|(other, of)| *other != name && !(*path == *name && of == path));
            self.workspace.notebooks().forget_name(&name, &opened);
            if state
                .current
                .as_ref()
                .is_some_and(|current| !state.names.iter().any(|(other, _)| other == current))
            {
                state.current = None;
            }
            state.seen.remove(path);
            let is_used = state.names.iter().any(|(_, of)| of == path);
            if !is_used {
                state.homes.remove(path);
            }
            is_used
        };
        let mut kernels = if is_used { Vec::new() } else { opened.leave(self.id, ends) };
        kernels.retain(|kernel| !self.workspace.notebooks().is_shared(&**kernel, opened.path()));
        if !kernels.is_empty() {
            self.workspace.notebooks().close(&opened);
        }
        let mut ended = Vec::new();
        for kernel in kernels {
            // A server may have ended it when its session got another one.
            if !kernel.is_gone() && !kernel.is_shared().await {
                kernel.shutdown().await?;
                ended.push(kernel);
            }
        }
        Ok((opened, ended))
    }

    /// The notebook with a name of this session, a path, or a name of another session; without a name the current one.
    pub fn notebook<'s>(&'s self, name: Option<&'s str>) -> place::Future<'s, Arc<OpenNotebook>> {
        Box::pin(async move {
            let Some(name) = name.filter(|name| !name.is_empty()) else {
                return self.current_notebook().await;
            };
            if let Some(path) = self.path_of(name) {
                return self.reopen(&path).await;
            }
            let path = NotebookPath::from(name);
            if is_notebook_path(name) || self.workspace.places().are_named_by(&path) {
                let located = self.locate(&path).await?;
                self.check_room_for(&located.path)?;
                let opened = self.open(located, Mode::Connect).await?;
                self.enter(&opened);
                return Ok(opened);
            }
            if let Some(opened) = self.workspace.notebooks().named(&self.place(), name) {
                self.enter(&opened);
                return Ok(opened);
            }
            let open: Vec<String> = self.names().into_iter().map(|(name, _)| name).collect();
            let near = match nearest(name, open.iter().map(String::as_str)) {
                Some(near) => near.sentence(),
                None => self.near_notebook(&self.place(), name).await.1,
            };
            Err(Error::new(
                ErrorKind::NotFound,
                format!("No notebook is open under the name {name:?}.{near}"),
                NextStep::NameNotebook { open },
            ))
        })
    }

    /// Opens a notebook. One that is not found is opened if exactly one is there under the same name in another Unicode form;
    /// otherwise the error names the nearest.
    async fn open(&self, located: Located, mode: Mode) -> Result<Arc<OpenNotebook>, Error> {
        let located = if mode == Mode::Create { copy::spelled(located).await } else { located };
        let Located { place, path } = &located;
        let mut error = match self.workspace.open(located.clone(), mode).await {
            Err(error) if mode == Mode::Connect => error,
            // Without the ending of a notebook, an existing one may be meant.
            Err(error) if mode == Mode::Create && error.kind == ErrorKind::InvalidArgument => error,
            other => return other,
        };
        if !matches!(error.kind, ErrorKind::NotFound | ErrorKind::InvalidArgument | ErrorKind::Forbidden) {
            return Err(error);
        }
        let (same, sentence) = self.near_notebook(place, path).await;
        if let Some(path) = same.filter(|_| error.kind == ErrorKind::NotFound) {
            return self.workspace.open(Located { place: place.clone(), path }, mode).await;
        }
        // The place may have said it.
        if !error.cause.contains("The nearest") {
            error.cause.push_str(&sentence);
        }
        Err(error)
    }

    /// The notebook that has this name in another Unicode form, and what to say of those with nearly this name.
    async fn near_notebook(&self, place: &Arc<dyn Place>, name: &str) -> (Option<NotebookPath>, String) {
        let Ok(notebooks) = place.notebooks(MAX_SEARCHED).await else { return (None, String::new()) };
        let name = place.strip_name(name).unwrap_or(name);
        let Some(near) = nearest(name, notebooks.paths.iter().map(NotebookPath::as_str)) else {
            return (None, String::new());
        };
        match &near.names[..] {
            [one] if near.is_same_text => (Some((*one).into()), near.sentence()),
            _ => (None, near.sentence()),
        }
    }

    /// A subscription to changes of a notebook by others.
    pub fn changes(&self, notebook: &OpenNotebook) -> Changes {
        notebook.changes(self.id)
    }

    /// The names and paths of the session's notebooks, in the order in which they were opened.
    pub fn names(&self) -> Vec<(String, NotebookPath)> {
        self.state().names.clone()
    }

    /// The name of the current notebook.
    pub fn current(&self) -> Option<String> {
        self.state().current.clone()
    }

    async fn current_notebook(&self) -> Result<Arc<OpenNotebook>, Error> {
        let path = self.current().and_then(|name| self.path_of(&name));
        match (path, self.place().first_notebook()) {
            (Some(path), _) => self.reopen(&path).await,
            (None, Some(first)) => self.use_notebook("default", &first, Mode::Connect).await,
            (None, None) => Err(Error::new(
                ErrorKind::InvalidArgument,
                "There is no current notebook.",
                NextStep::NameNotebook { open: self.names().into_iter().map(|(name, _)| name).collect() },
            )),
        }
    }

    /// A notebook that was opened before, by its document's path.
    async fn reopen(&self, path: &NotebookPath) -> Result<Arc<OpenNotebook>, Error> {
        let located = Located { place: self.home(path), path: path.clone() };
        self.workspace.open(located, Mode::Reopen).await
    }

    fn enter(&self, opened: &OpenNotebook) {
        opened.enter(self.id);
        self.remember_shown(opened.place(), opened.path());
        self.state().homes.insert(opened.path().clone(), opened.place().clone());
    }

    /// Fails if the session has as many notebooks open as it may, and this is another.
    fn check_room_for(&self, path: &NotebookPath) -> Result<(), Error> {
        let (state, limit) = (self.state(), self.workspace.settings().limits.notebooks);
        if state.homes.contains_key(path) || state.homes.len() < limit {
            return Ok(());
        }
        let cause = format!("This session has reached its limit of open notebooks ({}).", state.homes.len());
        Err(Error::new(ErrorKind::LimitReached, cause, NextStep::CloseNotebook))
    }

    async fn check_is_no_other(&self, name: &str, wanted: &Located) -> Result<(), Error> {
        let Ok(Located { place, path }) = self.locate(&name.into()).await else { return Ok(()) };
        let path = path.trim_start_matches('/');
        if path == wanted.path.trim_start_matches('/') {
            return Ok(());
        }
        // An open document may have lost its file.
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let files = place.list_files(folder, 0).await.unwrap_or_default();
        if !files.iter().any(|file| file.path == path) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("{name:?} is the path of another notebook."),
            "Choose another notebook_name, or leave it out.",
        ))
    }

    fn path_of(&self, name: &str) -> Option<NotebookPath> {
        self.state().names.iter().find(|(other, _)| other == name).map(|(_, path)| path.clone())
    }

    /// The state of this agent.
    fn kept(&self) -> &PerAgent {
        if self.state().is_stateless { self.workspace.common() } else { &self.own }
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }
}

fn is_notebook_path(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

impl Drop for Session {
    fn drop(&mut self) {
        for opened in self.workspace.open_notebooks() {
            opened.forget(self.id);
        }
    }
}

#[cfg(test)]
mod tests;
