//! The tabs as the person's page looks at them: it opens none, and reads each at most as often as that costs little.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use notebook::{Edit, Notebook};
use parking_lot::Mutex;
use place::{Applied, Document, Error, ErrorKind, Expected, Future, NextStep, NotebookPath};
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout};

use crate::place::no_tab;
use crate::tabs::{TabNotebook, Tabs};

/// The pause before a page reads a tab again, unless reading took longer: that is at most half of a tab's time.
const PAUSE: Duration = Duration::from_secs(1);
/// The time for which a page waits for a newer notebook than it has.
const SOON: Duration = Duration::from_millis(300);
/// The time that a tab may take to answer. Agents' calls wait longer, for themselves only.
const READ_TIMEOUT: Duration = Duration::from_secs(15);

/// The notebooks of tabs as the person's page has read them.
#[derive(Default)]
pub(crate) struct SeenDocuments(Mutex<HashMap<NotebookPath, Arc<SeenDocument>>>);

/// A page's knowledge of a tab's notebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenTab {
    /// When it was read last.
    pub read_at: SystemTime,
    pub is_connected: bool,
}

impl SeenDocuments {
    pub(crate) fn read_at(&self, path: &NotebookPath) -> Option<SystemTime> {
        self.0.lock().get(path)?.0.state.lock().read_at
    }

    pub(crate) fn of(&self, path: &NotebookPath, tabs: &Tabs) -> Result<Arc<dyn Document>, Error> {
        let TabNotebook { document, .. } = tabs.at(path).ok_or_else(|| no_tab(path))?;
        let mut documents = self.0.lock();
        // The tabs that were replaced.
        documents.retain(|other, _| other == path || tabs.at(other).is_some());
        let seen = documents.entry(path.clone()).or_insert_with(|| Arc::new(SeenDocument::new(document)));
        Ok(seen.clone())
    }
}

/// A tab's notebook, as it was read last.
struct SeenDocument(Arc<Reading>);

struct Reading {
    document: Arc<dyn Document>,
    state: Mutex<State>,
    /// Held while it is read.
    turns: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    notebook: Option<Notebook>,
    read_at: Option<SystemTime>,
    /// When it may be read again.
    next: Option<Instant>,
    /// The reason why it could not be read.
    failure: Option<String>,
}

impl SeenDocument {
    fn new(document: Arc<dyn Document>) -> Self {
        Self(Arc::new(Reading { document, state: Mutex::default(), turns: Arc::default() }))
    }
}

impl Reading {
    /// The turn to read the notebook, unless somebody reads it or has just read it.
    fn turn(&self) -> Option<OwnedMutexGuard<()>> {
        let is_due = self.state.lock().next.is_none_or(|next| Instant::now() >= next);
        self.turns.clone().try_lock_owned().ok().filter(|_| is_due)
    }

    /// Reads the notebook. What was read before stays if that fails.
    async fn read(&self, _turn: OwnedMutexGuard<()>) -> Result<Notebook, Error> {
        let began = Instant::now();
        let read =
            timeout(READ_TIMEOUT, self.document.snapshot()).await.unwrap_or_else(|_| Err(self.silent()));
        self.state.lock().next = Some(Instant::now() + PAUSE.max(began.elapsed()));
        match &read {
            Ok(notebook) => self.keep(notebook),
            Err(error) => self.state.lock().failure = Some(error.cause.clone()),
        }
        read
    }

    fn keep(&self, notebook: &Notebook) {
        let mut state = self.state.lock();
        (state.notebook, state.read_at) = (Some(notebook.clone()), Some(SystemTime::now()));
    }

    /// The reason why there is nothing to show.
    fn problem(&self) -> Error {
        let failure = self.state.lock().failure.clone();
        let cause = failure.unwrap_or_else(|| "The notebook of the Colab tab is being read.".to_owned());
        Error::new(ErrorKind::Unavailable, cause, NextStep::TryAgain)
    }

    fn silent(&self) -> Error {
        let path = self.document.path();
        let cause = format!("The Colab tab {path} did not answer within {} s.", READ_TIMEOUT.as_secs());
        let next = "Look at the tab: it may show a question, or need a reload.";
        Error::new(ErrorKind::Timeout, cause, next)
    }
}

impl Document for SeenDocument {
    fn path(&self) -> &NotebookPath {
        self.0.document.path()
    }

    /// The notebook as it is now if the tab answers soon, and otherwise what was read last. Waits longer only if nothing was read yet.
    fn snapshot(&self) -> Future<'_, Notebook> {
        async move {
            let (turn, last) = (self.0.turn(), self.0.state.lock().notebook.clone());
            match (last, turn) {
                (Some(last), Some(turn)) => {
                    let reading = self.0.clone();
                    // Goes on after the wait.
                    let read = tokio::spawn(async move { reading.read(turn).await });
                    let read = timeout(SOON, read).await.ok().and_then(Result::ok).and_then(Result::ok);
                    Ok(read.unwrap_or(last))
                }
                (Some(last), None) => Ok(last),
                (None, Some(turn)) => self.0.read(turn).await,
                (None, None) => Err(self.0.problem()),
            }
        }
        .boxed()
    }

    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied> {
        async move {
            let applied = self.0.document.apply(edits, expected).await?;
            self.0.keep(&applied.notebook);
            Ok(applied)
        }
        .boxed()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.document.changes()
    }

    fn stores_outputs(&self) -> bool {
        self.0.document.stores_outputs()
    }

    /// No page shows it.
    fn suspend(&self) -> BoxFuture<'_, ()> {
        self.0.state.lock().notebook = None;
        ready(()).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A tab that takes a while to answer, and then fails if it is told to.
    struct Tab {
        path: NotebookPath,
        takes: Duration,
        reads: AtomicUsize,
        fails: Mutex<bool>,
    }

    impl Document for Tab {
        fn path(&self) -> &NotebookPath {
            &self.path
        }

        fn snapshot(&self) -> Future<'_, Notebook> {
            async move {
                tokio::time::sleep(self.takes).await;
                self.reads.fetch_add(1, Ordering::Relaxed);
                if *self.fails.lock() {
                    return Err(Error::new(ErrorKind::Unavailable, "It left.", NextStep::TryAgain));
                }
                Ok(Notebook::new())
            }
            .boxed()
        }

        fn apply(&self, _: Vec<Edit>, _: Vec<Expected>) -> Future<'_, Applied> {
            unimplemented!("nothing is edited")
        }

        fn changes(&self) -> watch::Receiver<u64> {
            unimplemented!("a tab reports no changes")
        }
    }

    fn seen(takes: Duration) -> (Arc<Tab>, SeenDocument) {
        let tab = Tab { path: "colab:".into(), takes, reads: AtomicUsize::new(0), fails: Mutex::new(false) };
        let tab = Arc::new(tab);
        (tab.clone(), SeenDocument::new(tab))
    }

    /// Looks ten times a second for this long; how often the tab was read.
    async fn look(tab: &Tab, document: &SeenDocument, seconds: u32) -> usize {
        let before = tab.reads.load(Ordering::Relaxed);
        for _ in 0..seconds * 10 {
            let _ = document.snapshot().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tab.reads.load(Ordering::Relaxed) - before
    }

    #[tokio::test(start_paused = true)]
    async fn a_tab_is_read_once_a_second_and_a_slow_one_less_often() {
        for (takes, reads) in [(1, 18..=20), (3000, 3..=4)] {
            let (tab, document) = seen(Duration::from_millis(takes));
            let found = look(&tab, &document, 20).await;
            assert!(reads.contains(&found), "{takes} ms: {found}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_waits_long_for_the_first_reading_only() {
        for (takes, waits) in [(Duration::from_secs(3), SOON), (SOON / 2, SOON / 2)] {
            let (tab, document) = seen(takes);
            document.snapshot().await.unwrap();
            tokio::time::sleep(Duration::from_secs(60)).await;
            let began = Instant::now();
            document.snapshot().await.unwrap();
            assert_eq!(began.elapsed(), waits);
            tokio::time::sleep(takes).await;
            assert_eq!(tab.reads.load(Ordering::Relaxed), 2, "it is read to the end");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_read_stays_when_the_tab_leaves() {
        let (tab, document) = seen(Duration::ZERO);
        document.snapshot().await.unwrap();
        let read_at = document.0.state.lock().read_at;
        *tab.fails.lock() = true;
        assert!(look(&tab, &document, 10).await > 0);
        document.snapshot().await.unwrap();
        assert_eq!(document.0.state.lock().read_at, read_at);
    }

    #[tokio::test(start_paused = true)]
    async fn a_tab_without_an_answer_is_not_asked_again_at_once() {
        let (tab, document) = seen(Duration::from_secs(3600));
        let began = Instant::now();
        let error = document.snapshot().await.unwrap_err();
        assert_eq!((began.elapsed(), error.kind), (READ_TIMEOUT, ErrorKind::Timeout));
        assert_eq!(document.snapshot().await.unwrap_err().cause, error.cause);
        assert_eq!(began.elapsed(), READ_TIMEOUT);
        assert_eq!(tab.reads.load(Ordering::Relaxed), 0);
    }
}
