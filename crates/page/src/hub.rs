//! What all pages of a program share: what its kernels do, and which pages there are. Nothing is asked while no page is open.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use notebook::Notebook;
use parking_lot::Mutex;
use place::{FoundNotebooks, NotebookPath, RunId, RunState};
use tokio::sync::watch;
use workspace::{Activity, PERSON, Session, Workspace};

use crate::cells::Near;
use crate::charts::Charts;
use crate::kernels::{Machine, SeenKernel};
use crate::pages::{OpenPage, Pages};
use crate::questions::{OpenQuestion, OpenQuestions, Question};
use crate::tabs::OpenTab;

/// How often kernels are looked at while one of them runs something, and otherwise.
const BUSY_PAUSE: Duration = Duration::from_millis(300);
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// How often notebooks are searched for.
const SEARCH_PAUSE: Duration = Duration::from_secs(15);
/// How many notebooks a page lists.
const MAX_NOTEBOOKS: usize = 500;
/// How long an agent without a connected session is shown after its last change.
const ACTIVE: Duration = Duration::from_secs(600);

/// What pages show: a workspace, and the kernels beyond it.
pub struct Hub {
    workspace: Arc<Workspace>,
    pub(crate) machine: Arc<dyn Machine>,
    /// What was seen last; changes with each look.
    seen: watch::Sender<Arc<Seen>>,
    pages: Mutex<HashMap<u64, watch::Sender<Near>>>,
    next_page: AtomicU64,
    /// How many pages are open, for whoever ends the program without any.
    open: watch::Sender<usize>,
    noted: Mutex<HashMap<NotebookPath, Noted>>,
    pub(crate) charts: Charts,
    pub(crate) rights: Rights,
    all_pages: Arc<Pages>,
}

/// What the pages of a notebook share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    /// The digests of outputs that the person trusts.
    pub(crate) trusted: HashSet<String>,
    pub(crate) verification: Option<Verification>,
}

/// What a page may do.
#[derive(Debug, Clone, Copy)]
pub struct Rights {
    /// Change notebooks.
    pub edits: bool,
    /// Run code, interrupt it, and answer it.
    pub runs: bool,
    /// Show which agents of this person work elsewhere: in other folders, on servers, in Colab tabs.
    pub sees_elsewhere: bool,
}

/// The last verification of a notebook on a page.
#[derive(Debug, Clone)]
pub(crate) enum Verification {
    Running {
        run: RunId,
        since: SystemTime,
        progress: String,
    },
    Ended {
        at: SystemTime,
        /// The notebook that was verified, and the verdict in words.
        verdict: Result<(Notebook, String), String>,
    },
}

/// The place at one moment.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) kernels: Vec<SeenKernel>,
    pub(crate) notebooks: FoundNotebooks,
    pub(crate) agents: Vec<SeenAgent>,
    /// Colab tabs of servers of this person.
    pub(crate) tabs: Arc<[OpenTab]>,
    /// Whether anything was looked at yet.
    pub(crate) is_known: bool,
}

/// An agent that works on a notebook.
pub(crate) struct SeenAgent {
    /// The notebook, if that was found in the place.
    pub(crate) notebook: Option<NotebookPath>,
    pub(crate) activity: Activity,
}

impl Hub {
    /// Looks at nothing yet.
    pub fn new(
        workspace: Arc<Workspace>,
        machine: Arc<dyn Machine>,
        rights: Rights,
        all_pages: Arc<Pages>,
    ) -> Arc<Self> {
        Arc::new(Self {
            workspace,
            charts: Charts::new(machine.clone()),
            machine,
            seen: watch::Sender::default(),
            pages: Mutex::default(),
            next_page: AtomicU64::new(1),
            open: watch::Sender::new(0),
            noted: Mutex::default(),
            rights,
            all_pages,
        })
    }

    /// How many pages are open.
    pub fn open_pages(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }

    /// Ends what pages have started, such as a verification. Returns in bounded time.
    pub async fn shutdown(&self) {
        self.workspace.shutdown().await;
    }

    /// A session of the person. It ends with one call or one page, so that no number of pages reaches the limit of a session.
    pub(crate) fn session(&self) -> Session {
        let session = Session::new(self.workspace.clone());
        session.introduce_person();
        session
    }

    /// What waits for the person's answer.
    pub(crate) fn questions(&self) -> &OpenQuestions {
        &self.all_pages.questions
    }

    pub(crate) fn seen(&self) -> watch::Receiver<Arc<Seen>> {
        self.seen.subscribe()
    }

    /// A page was opened. The first one begins the looking, which ends with the last.
    pub(crate) fn enter(self: &Arc<Self>, near: Near) -> (PageGuard, watch::Receiver<Near>) {
        let number = self.next_page.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = watch::channel(near);
        let is_first = {
            let mut pages = self.pages.lock();
            pages.insert(number, sender);
            self.open.send_replace(pages.len());
            pages.len() == 1
        };
        if is_first {
            place::spawn(self.clone().look());
        }
        (PageGuard { hub: self.clone(), number, _open: self.all_pages.enter() }, receiver)
    }

    /// The cells that a page shows have changed.
    pub(crate) fn shows(&self, page: u64, near: Near) {
        if let Some(sender) = self.pages.lock().get(&page) {
            sender.send_replace(near);
        }
    }

    pub(crate) fn noted(&self, path: &NotebookPath) -> Noted {
        self.noted.lock().get(path).cloned().unwrap_or_default()
    }

    /// Changes what the pages of a notebook share, and lets them know.
    pub(crate) fn note(&self, path: &NotebookPath, change: impl FnOnce(&mut Noted)) {
        change(self.noted.lock().entry(path.clone()).or_default());
        self.seen.send_modify(|_| {});
    }

    /// Whether a run is a verification from a page.
    pub(crate) fn is_verification(&self, id: &RunId) -> bool {
        let is_it =
            |it: &Noted| matches!(&it.verification, Some(Verification::Running { run, .. }) if run == id);
        self.noted.lock().values().any(is_it)
    }

    /// The agents of the notebooks that were found, with the paths of these, and those that are connected elsewhere now.
    async fn agents(&self, notebooks: &FoundNotebooks) -> Vec<SeenAgent> {
        let since = SystemTime::now().checked_sub(ACTIVE).unwrap_or(SystemTime::UNIX_EPOCH);
        let Ok(activities) = self.session().activities(since).await else { return Vec::new() };
        let place = self.workspace.places().default_place();
        let paths: HashMap<String, &NotebookPath> =
            notebooks.paths.iter().map(|path| (place.identity(path), path)).collect();
        let here = activities.into_iter().filter(|activity| activity.agent != PERSON);
        let seen = here.map(|activity| {
            let notebook = paths.get(&activity.notebook).map(|path| (*path).clone());
            SeenAgent { notebook, activity }
        });
        let is_shown = |agent: &SeenAgent| {
            agent.notebook.is_some() || (self.rights.sees_elsewhere && agent.activity.is_connected)
        };
        seen.filter(is_shown).collect()
    }

    /// The kernels at this moment.
    pub(crate) async fn kernels(&self) -> Vec<SeenKernel> {
        let mut kernels = self.machine.look().await;
        kernels.iter_mut().for_each(SeenKernel::queue);
        for run in kernels.iter_mut().flat_map(|kernel| &mut kernel.runs) {
            // The log of a server's run holds what the kernel publishes, and not what it asks.
            if let Some(OpenQuestion {
                question: Question { text: prompt, input: Some(input), .. }, ..
            }) = self.questions().input_of(run.id.as_str())
            {
                run.takes_input = true;
                run.state = RunState::WaitingForInput { prompt, is_password: input.is_password };
            }
        }
        kernels
    }

    /// Looks until no page is open.
    async fn look(self: Arc<Self>) {
        let mut open = self.open_pages();
        let (mut notebooks, mut searched) = (FoundNotebooks::default(), None::<Instant>);
        loop {
            if searched.is_none_or(|at| at.elapsed() > SEARCH_PAUSE) {
                let place = self.workspace.places().default_place();
                if let Ok(found) = place.notebooks(MAX_NOTEBOOKS).await {
                    notebooks = found;
                }
                searched = Some(Instant::now());
            }
            let kernels = self.kernels().await;
            let is_busy = kernels.iter().flat_map(|kernel| &kernel.runs).any(|run| !run.state.is_over());
            let agents = self.agents(&notebooks).await;
            let notebooks = notebooks.clone();
            let tabs = if self.rights.sees_elsewhere { self.all_pages.tabs() } else { Arc::default() };
            self.seen.send_replace(Arc::new(Seen { kernels, notebooks, agents, tabs, is_known: true }));
            let pause = if is_busy { BUSY_PAUSE } else { IDLE_PAUSE };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = open.wait_for(|open| *open == 0) => return,
            }
        }
    }
}

/// A page that is open, until this is dropped.
pub(crate) struct PageGuard {
    pub(crate) hub: Arc<Hub>,
    pub(crate) number: u64,
    _open: OpenPage,
}

impl Drop for PageGuard {
    fn drop(&mut self) {
        let mut pages = self.hub.pages.lock();
        pages.remove(&self.number);
        self.hub.open.send_replace(pages.len());
    }
}
