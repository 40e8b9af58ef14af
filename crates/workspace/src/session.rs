//! One agent's session: its names for notebooks, its current notebook, and the cells that it has seen.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Weak};

use notebook::{CellId, Edit, Notebook, placed};
use operations::{OperationKind, PERSON, SessionLock};
use parking_lot::{Mutex, MutexGuard};
use place::{
    Applied, Error, ErrorKind, Expected, Kernel, Mode, NextStep, NotebookPath, Place, SessionId, nearest,
};
use recorder::{
    RecordedEdit, Recorder,
    actor::{self, Actor},
};
use runs::{Changes, EndsKernel, OpenNotebook, Run, SessionOrder, Slots};
use uuid::Uuid;

use crate::places::Located;
use crate::shown_paths::ShownPaths;
use crate::workspace::Workspace;

mod cell_lookup;
mod copy;
mod person;
mod places;
mod run;
mod seen_cells;
mod undo;

pub use copy::{CopiedNotebook, CopyPreview, FilePreview};
use seen_cells::{SeenCells, SeenDifference};
pub use undo::{PastOperation, UndoTarget, Undone};

/// Among how many notebooks one is looked for that was not found.
const MAX_SEARCHED: usize = 5000;

/// One agent's session. Sessions share nothing but the workspace.
pub struct Session {
    workspace: Arc<Workspace>,
    id: SessionId,
    slots: Slots,
    run_order: SessionOrder,
    shown_paths: ShownPaths,
    /// Tells its operations from those of other sessions.
    lock: Arc<SessionLock>,
    state: Mutex<SessionState>,
    /// How long the records of its notebooks were when they were last read for what the person did.
    histories: tokio::sync::Mutex<HashMap<NotebookPath, u64>>,
}

#[derive(Default)]
struct SessionState {
    /// What the agent calls itself.
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
    /// What its changes have removed without a record.
    not_recorded: Vec<String>,
}

impl Session {
    /// A new agent's session.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let (id, slots) = (workspace.new_session(), Slots::new(workspace.settings().limits.runs));
        Self {
            workspace,
            id,
            slots,
            run_order: SessionOrder::default(),
            shown_paths: ShownPaths::default(),
            lock: Arc::default(),
            state: Mutex::default(),
            histories: tokio::sync::Mutex::default(),
        }
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
        // No agent passes for the person.
        let agent =
            if agent.trim().eq_ignore_ascii_case(PERSON) { format!("{agent} (agent)") } else { agent };
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
    pub async fn use_notebook(
        &self,
        name: &str,
        path: &NotebookPath,
        mode: Mode,
    ) -> Result<Arc<OpenNotebook>, Error> {
        let located = self.locate(path)?;
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
        state.names.retain(|(known, _)| known != name);
        state.names.push((name.to_owned(), opened.path().clone()));
        state.current = Some(name.to_owned());
        Ok(opened)
    }

    /// Closes a notebook for this session. Shuts down its kernel, and returns it, if nobody else uses the notebook and
    /// `ends` says so.
    pub async fn unuse_notebook(
        &self,
        name: Option<&str>,
        ends: EndsKernel,
    ) -> Result<(Arc<OpenNotebook>, Option<Arc<dyn Kernel>>), Error> {
        let opened = self.notebook(name).await?;
        let is_used = {
            let mut state = self.state();
            let path = opened.path();
            let name = name.map(str::to_owned).or_else(|| state.current.clone()).unwrap_or_default();
            state.names.retain(|(known, of)| *known != name && !(*path == *name && of == path));
            self.workspace.notebooks().forget_name(&name, &opened);
            if state
                .current
                .as_ref()
                .is_some_and(|current| !state.names.iter().any(|(known, _)| known == current))
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
        let kernel = if is_used { None } else { opened.leave(self.id, ends) };
        self.workspace.session_left();
        let kernel = kernel.filter(|kernel| !self.workspace.notebooks().is_shared(&**kernel, opened.path()));
        let Some(kernel) = kernel else { return Ok((opened, None)) };
        self.workspace.notebooks().close(&opened);
        if kernel.is_shared().await {
            return Ok((opened, None));
        }
        kernel.shutdown().await?;
        Ok((opened, Some(kernel)))
    }

    /// The notebook with a name of this session, a path, or a name of another session; without a name the current one.
    pub async fn notebook(&self, name: Option<&str>) -> Result<Arc<OpenNotebook>, Error> {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return self.current_notebook().await };
        if let Some(path) = self.path_of(name) {
            return self.reopen(&path).await;
        }
        let path = NotebookPath::from(name);
        if is_notebook_path(name) || self.workspace.places().are_named_by(&path) {
            let located = self.locate(&path)?;
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
        let Ok(found) = place.notebooks(MAX_SEARCHED).await else { return (None, String::new()) };
        let name = place.strip_name(name).unwrap_or(name);
        let Some(near) = nearest(name, found.paths.iter().map(NotebookPath::as_str)) else {
            return (None, String::new());
        };
        match &near.names[..] {
            [one] if near.is_same_text => (Some((*one).into()), near.sentence()),
            _ => (None, near.sentence()),
        }
    }

    /// Applies all of `edits` or none to a notebook, as [`Document::apply`](place::Document::apply) does, and records
    /// what the agent knows of the cells afterwards. `before` is the notebook from which the edits were made.
    pub async fn edit(
        &self,
        notebook: &OpenNotebook,
        before: &Notebook,
        edits: Vec<Edit>,
        expected: Vec<Expected>,
    ) -> Result<Applied, Error> {
        self.edit_as(notebook, before, edits, expected, OperationKind::EDIT).await
    }

    /// The same for edits that undo operations: all that they did, or what they did to some cells.
    async fn edit_as(
        &self,
        notebook: &OpenNotebook,
        before: &Notebook,
        edits: Vec<Edit>,
        expected: Vec<Expected>,
        kind: OperationKind,
    ) -> Result<Applied, Error> {
        let path = notebook.path();
        let edits = placed(before, edits);
        let recorder = self.workspace.recorder();
        let made = recorder.map(|_| edits.clone()).unwrap_or_default();
        let changes: Vec<SeenDifference> = edits.iter().filter_map(SeenDifference::of).collect();
        let stale = expected.iter().find_map(|expected| stale(before, expected));
        // What a person has arranged, and below what the edits do: the next edit may change a part.
        self.workspace.carry_runs(notebook, before);
        let applied = match notebook.document().apply(edits, expected).await {
            Ok(applied) => applied,
            Err(error) => {
                // The refusal shows the first cell that has changed.
                self.saw(path, before, stale);
                return Err(error);
            }
        };
        self.workspace.carry_runs(notebook, &applied.notebook);
        notebook.changed_by(self.id);
        let deleted: Vec<&CellId> = changes.iter().flat_map(SeenDifference::deleted).collect();
        if !deleted.is_empty() {
            let waiting = self.workspace.journal().unfinished(path);
            let is_deleted = |run: &&Arc<Run>| run.cell().is_some_and(|cell| deleted.contains(&&cell.id));
            waiting.iter().filter(is_deleted).for_each(|run| run.cell_deleted_by(self.id));
        }
        self.changed(path, before, &applied.notebook, &changes);
        if let Some(id) = changes.iter().find_map(SeenDifference::inserted) {
            self.works_on(path, Some(id));
        }
        if let Some(recorder) = recorder {
            let edit = RecordedEdit {
                notebook: undo::identity(notebook),
                actor: self.actor(),
                before: before.clone(),
                after: applied.notebook.clone(),
                edits: made,
                kind,
                checkpoint: self.first_change_of(path),
            };
            let lost = recorder.record(edit);
            self.state().not_recorded.extend(lost);
        }
        Ok(applied)
    }

    /// The name of the checkpoint before the first change of this session to a notebook. A session that is one call has none:
    /// each of its changes would be the first.
    fn first_change_of(&self, path: &NotebookPath) -> Option<String> {
        let mut state = self.state();
        let is_first = !state.is_stateless && state.edited.insert(path.clone());
        let agent = state.agent.as_deref().unwrap_or("an agent");
        is_first.then(|| format!("before {agent}"))
    }

    /// What an agent should know about changes that are not recorded. Returned once.
    pub fn take_record_warnings(&self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.state().not_recorded);
        let unwritten = self.workspace.recorder().and_then(Recorder::take_warning);
        warnings.extend(unwritten.map(|warning| format!("Note: {warning}.")));
        warnings
    }

    /// Runs `work`, whose changes are recorded as those of this agent and of `tool`, and waits a moment where it is not known
    /// whether they can be.
    pub async fn acting<F: Future>(&self, tool: &str, work: F) -> F::Output {
        let call = Uuid::new_v4().simple().to_string();
        let output = actor::acting(
            Actor { tool: tool.to_owned(), call, arrived: actor::now(), ..self.own_actor() },
            work,
        )
        .await;
        if let Some(recorder) = self.workspace.recorder() {
            recorder.settle().await;
        }
        output
    }

    /// This session, without a tool.
    fn own_actor(&self) -> Actor {
        let state = self.state();
        let session = if state.is_stateless { Weak::new() } else { Arc::downgrade(&self.lock) };
        Actor { agent: state.agent.clone().unwrap_or_default(), session, ..Actor::default() }
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
        self.note_shown(opened.place(), opened.path());
        self.state().homes.insert(opened.path().clone(), opened.place().clone());
    }

    /// Fails if the session has as many notebooks open as it may, and this is another.
    fn check_room_for(&self, path: &NotebookPath) -> Result<(), Error> {
        let state = self.state();
        if state.homes.contains_key(path) {
            return Ok(());
        }
        self.workspace.settings().limits.check_notebooks(state.homes.len())
    }

    async fn check_is_no_other(&self, name: &str, wanted: &Located) -> Result<(), Error> {
        let Ok(Located { place, path }) = self.locate(&name.into()) else { return Ok(()) };
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
        self.state().names.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone())
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }
}

fn is_notebook_path(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// The index of the cell if it is there with another revision than expected.
fn stale(notebook: &Notebook, expected: &Expected) -> Option<usize> {
    let (index, cell) = notebook.cell(&expected.id)?;
    (expected.revision.as_deref()? != cell.revision()).then_some(index)
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
