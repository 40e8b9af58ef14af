//! The stream of one page: what changed, as events. It computes the next event when the connection has taken the one before, so a slow
//! browser gets fewer events, and nothing is queued.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use html::Libraries;
use notebook::{CellId, Notebook};
use place::{Error, Kernel, NotebookPath};
use runs::OpenNotebook;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;
use workspace::{BlobId, PastOperation, Session, StaleJudgement};

use crate::cells::{self, Digests, Mark, Near, Trust, Viewed};
use crate::hub::{Hub, PageGuard, Seen};
use crate::kernels::{ObservedKernel, SeenRun};
use crate::notices::Notices;
use crate::parts::{Known, Section, updates};
use crate::{now, timeline};

/// A page whose browser is gone is noticed by a write.
const SILENCE: Duration = Duration::from_secs(15);

/// What a browser asks for when it connects.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Connect {
    /// The folder that it shows, where a program serves several.
    pub(crate) root: String,
    /// The path of the notebook that it shows.
    pub(crate) notebook: Option<String>,
    /// The parts that it has.
    pub(crate) known: Known,
    /// The ids of the cells that it shows; nothing if it does not know yet.
    pub(crate) near: Option<Vec<String>>,
}

/// The events of a page, until the browser is gone.
pub(crate) fn events(
    hub: &Arc<Hub>,
    connect: Connect,
) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + use<> {
    let near = connect.near.map_or(Near::Top, Near::Parts);
    let (guard, near) = hub.enter(near);
    let first = event(&json!({ "page": guard.number }));
    let page = Page {
        session: hub.session(),
        seen: hub.seen(),
        near,
        questions: hub.questions().changes(),
        path: connect.notebook.filter(|path| !path.is_empty()).map(NotebookPath::from),
        notebook: None,
        problem: None,
        known: connect.known,
        digests: Digests::default(),
        notices: Notices::default(),
        guard,
        is_behind: true,
    };
    unfold((page, Some(first)), |(mut page, first)| async move {
        let event = match first {
            Some(first) => first,
            None => page.next().await,
        };
        Some((Ok(event), (page, None)))
    })
}

fn event(value: &Value) -> Bytes {
    // JSON has no line breaks outside of strings, and escapes them there.
    format!("data: {value}\n\n").into()
}

/// A page and what its browser has.
struct Page {
    guard: PageGuard,
    session: Session,
    seen: watch::Receiver<Arc<Seen>>,
    near: watch::Receiver<Near>,
    questions: watch::Receiver<()>,
    path: Option<NotebookPath>,
    notebook: Option<Opened>,
    /// Why the notebook is not shown, as the browser knows it.
    problem: Option<String>,
    known: Known,
    digests: Digests,
    notices: Notices,
    /// Whether there may be more to send.
    is_behind: bool,
}

/// The notebook of a page.
struct Opened {
    notebook: Arc<OpenNotebook>,
    history_version: Option<u64>,
    past: Vec<PastOperation>,
    marks: HashMap<CellId, Mark>,
    /// The outputs that runs have written.
    made: Arc<HashSet<BlobId>>,
    libraries: Arc<Libraries>,
    /// The notebook in which scripts were looked for.
    searched: Option<Notebook>,
}

impl Page {
    async fn next(&mut self) -> Bytes {
        loop {
            if !std::mem::take(&mut self.is_behind) && !self.changed().await {
                return Bytes::from_static(b": still here\n\n");
            }
            if let Some(event) = self.event().await {
                return event;
            }
        }
    }

    /// Waits for anything that may change the page. `false` after a while without.
    async fn changed(&mut self) -> bool {
        let changed = async {
            tokio::select! {
                changed = self.seen.changed() => changed.is_ok(),
                changed = self.near.changed() => changed.is_ok(),
                changed = self.questions.changed() => changed.is_ok(),
            }
        };
        // All senders live in the hub, which the guard holds.
        timeout(SILENCE, changed).await.unwrap_or(false)
    }

    /// The next event, if the browser lacks anything.
    async fn event(&mut self) -> Option<Bytes> {
        let (seen, near) = (self.seen.borrow_and_update().clone(), self.near.borrow_and_update().clone());
        let problem = match self.read(&seen).await {
            Ok(None) => None,
            Ok(Some(notebook)) => return self.send(&seen, Some((&notebook, &near)), None),
            Err(error) => Some(error.cause),
        };
        self.send(&seen, None, problem)
    }

    fn send(
        &mut self,
        seen: &Seen,
        notebook: Option<(&Notebook, &Near)>,
        problem: Option<String>,
    ) -> Option<Bytes> {
        // What takes longer to find out comes after the cells.
        let has_cells = self.known.contains_key("cells");
        let viewed = self.notebook.as_ref().zip(notebook).map(|(opened, (notebook, _))| {
            let path = opened.notebook.path();
            Viewed {
                notebook,
                states: if has_cells {
                    states(&self.session, &opened.notebook, notebook)
                } else {
                    Vec::new()
                },
                marks: &opened.marks,
                runs: latest_runs(seen, path),
                trust: Trust { made: opened.made.clone(), accepted: self.guard.hub.noted(path).trusted },
                libraries: &opened.libraries,
                is_brief: false,
            }
        });
        let questions = self.guard.hub.questions().all();
        let notices = if seen.is_known { self.notices.of(&seen.kernels, &questions) } else { Vec::new() };
        let mut sections: Vec<Section<'_>> = Vec::new();
        if seen.is_known {
            sections.extend(now::sections(&seen.kernels, &seen.notebooks, &seen.agents, &seen.tabs));
        }
        sections.push(now::questions(&questions));
        if let Some(path) = &self.path {
            sections.push(now::source(self.guard.hub.machine.source(path)));
        }
        if let (Some(viewed), Some((_, near)), Some(opened)) = (&viewed, notebook, &self.notebook) {
            sections.push(cells::section(viewed, near, &mut self.digests));
            let verification = self.guard.hub.noted(opened.notebook.path()).verification;
            sections.push(timeline::verified(verification, viewed.notebook));
            sections.push(timeline::section(&opened.past));
        }
        let (updates, is_all) = updates(&mut self.known, &sections);
        self.is_behind = !is_all || (!has_cells && notebook.is_some());
        let is_other = problem != self.problem;
        if updates.is_empty() && !is_other && notices.is_empty() {
            return None;
        }
        let mut value = json!({ "updates": updates, "notices": notices });
        if is_other {
            value["problem"] = json!(problem);
            self.problem = problem;
        }
        Some(event(&value))
    }

    /// The notebook as it is now, with its history; `None` if the page shows none.
    async fn read(&mut self, seen: &Seen) -> Result<Option<Notebook>, Error> {
        let Some(path) = &self.path else { return Ok(None) };
        if self.notebook.is_none() {
            let opened = self.session.notebook(Some(path)).await?;
            self.notebook = Some(Opened {
                notebook: opened,
                history_version: None,
                past: Vec::new(),
                marks: HashMap::new(),
                made: Arc::default(),
                libraries: Arc::default(),
                searched: None,
            });
        }
        let Some(shown) = &mut self.notebook else { return Ok(None) };
        let notebook = shown.notebook.document().snapshot().await?;
        observe(&shown.notebook, seen, &notebook);
        self.session.workspace().look_at_kernel(&shown.notebook).await;
        if self.known.contains_key("cells")
            && shown.searched.as_ref().is_none_or(|searched| !notebook.has_cells_of(searched))
        {
            if shown.libraries.is_empty() && cells::have_scripts(&notebook) {
                shown.libraries = self.guard.hub.charts.of(shown.notebook.path(), &notebook).await;
            }
            shown.searched = Some(notebook.clone());
        }
        // A notebook without a history is shown, too.
        let version = self.session.history_version(&shown.notebook).await.ok();
        if version != shown.history_version {
            shown.past = self.session.history(&shown.notebook, None).await.unwrap_or_default();
            shown.marks = timeline::marks(&shown.past);
            shown.made = timeline::made(&shown.past);
            shown.history_version = version;
        }
        Ok(Some(notebook))
    }
}

/// The stale state of each cell, if anything is known of the notebook's runs.
pub(crate) fn states(
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
) -> Vec<Option<StaleJudgement>> {
    let known = calls::replies::cell_text::cell_states(session, opened, notebook);
    if !known.has_runs() {
        return Vec::new();
    }
    (0..notebook.cells().len()).map(|index| known.get(index)).collect()
}

/// The latest run of each cell of a notebook.
fn latest_runs<'s>(seen: &'s Seen, path: &NotebookPath) -> HashMap<&'s CellId, &'s SeenRun> {
    let runs = seen.kernels.iter().flat_map(|kernel| &kernel.runs);
    let of_notebook = runs.filter(|run| run.notebook.as_ref() == Some(path));
    of_notebook.filter_map(|run| Some((run.cell.as_ref()?, run))).collect()
}

/// Judges the cells of a notebook by the kernel that other programs use for it, the newest.
fn observe(opened: &OpenNotebook, seen: &Seen, notebook: &Notebook) {
    let language = notebook.language().unwrap_or_else(|| "python".to_owned());
    let of_notebook =
        seen.kernels.iter().rev().filter(|kernel| kernel.notebook.as_ref() == Some(opened.path()));
    let mut alive = of_notebook.filter_map(|kernel| ObservedKernel::of(kernel, &language));
    opened.observe(alive.next().map(|kernel| Arc::new(kernel) as Arc<dyn Kernel>));
}
