mod recorded_ids;

use std::collections::VecDeque;
use std::sync::Arc;

use notebook::{CellType, NewCell};
use parking_lot::Mutex as SyncMutex;

use super::*;
use crate::ErrorKind;

/// What another program does while we replace the notebook.
#[derive(Clone)]
enum Other {
    Nothing,
    /// Saves this content before us.
    Saves(Notebook),
    /// Saves this content at the same moment, and wins.
    Wins(Notebook),
    /// Saves at the same moment, and loses.
    Loses,
}

#[derive(Default)]
struct State {
    notebook: Notebook,
    version: u64,
    others: VecDeque<Other>,
    attempts: u32,
    /// How often the store was asked.
    reads: u32,
}

#[derive(Clone, Default)]
struct Store(Arc<SyncMutex<State>>);

impl State {
    fn save(&mut self, notebook: Notebook) {
        self.notebook = notebook;
        self.version += 1;
    }
}

impl NotebookStore for Store {
    type Version = u64;
    const MAX_ATTEMPTS: u32 = 3;
    const RETRY_DELAY: Duration = Duration::ZERO;

    fn path(&self) -> &'static str {
        "x.ipynb"
    }

    async fn read(&self, known: Option<&CachedVersion<u64>>) -> Result<Content<u64>, Error> {
        let State { notebook, version, reads, .. } = &mut *self.0.lock();
        *reads += 1;
        Ok(match known {
            Some(known) if known.version == *version => Content::Unchanged { version: *version },
            _ => Content::Changed { notebook: reread(notebook), version: *version },
        })
    }

    async fn replace(
        &self,
        current: &CachedVersion<u64>,
        edited: Notebook,
        _: &[Edit],
    ) -> Result<Replaced<u64>, Error> {
        let mut state = self.0.lock();
        state.attempts += 1;
        assert_eq!(current.version, state.version, "the newest content is edited");
        Ok(match state.others.pop_front().unwrap_or(Other::Nothing) {
            Other::Nothing => {
                state.save(edited.clone());
                Replaced::Written { notebook: edited, version: state.version }
            }
            Other::Saves(theirs) => {
                state.save(theirs);
                Replaced::Conflict
            }
            Other::Wins(theirs) => {
                state.save(edited);
                state.save(theirs);
                Replaced::Race
            }
            Other::Loses => {
                state.save(edited);
                Replaced::Race
            }
        })
    }
}

fn reread(notebook: &Notebook) -> Notebook {
    Notebook::parse(notebook.to_bytes().into()).unwrap()
}

fn cell(id: &str, source: &str) -> NewCell {
    NewCell { id: id.into(), ..NewCell::new(CellType::Code, source) }
}

fn notebook(cells: &[(&str, &str)]) -> Notebook {
    let mut notebook = Notebook::new();
    for (index, (id, source)) in cells.iter().enumerate() {
        notebook.apply(&Edit::Insert { index, cell: cell(id, source) }).unwrap();
    }
    notebook
}

fn sources(notebook: &Notebook) -> Vec<String> {
    notebook.cells().iter().map(|cell| cell.source().to_string()).collect()
}

/// A store whose first content is one cell `a`, and what others do during our attempts.
fn store(others: impl IntoIterator<Item = Other>) -> (Store, StoredNotebook<Store>) {
    let store = Store::default();
    *store.0.lock() =
        State { notebook: notebook(&[("a", "1")]), others: others.into_iter().collect(), ..State::default() };
    (store.clone(), StoredNotebook::new(store, watch::Sender::new(0)))
}

fn append() -> [Edit; 1] {
    [Edit::Insert { index: 1, cell: cell("ours", "ours") }]
}

#[tokio::test]
async fn an_edit_is_made_on_what_others_saved_before() {
    let (store, stored) = store([Other::Saves(notebook(&[("a", "2")]))]);
    let edited = stored.apply(&append(), &[]).await.unwrap();
    assert_eq!(sources(&edited), ["2", "ours"]);
    assert_eq!(sources(&store.0.lock().notebook), ["2", "ours"]);
}

#[tokio::test]
async fn an_edit_that_lost_a_race_is_made_again_on_the_winner() {
    let (store, stored) = store([Other::Wins(notebook(&[("a", "2")]))]);
    let edited = stored.apply(&append(), &[]).await.unwrap();
    assert_eq!(sources(&edited), ["2", "ours"]);
    assert_eq!(store.0.lock().attempts, 2);
}

#[tokio::test]
async fn an_edit_that_won_a_race_is_made_once() {
    let (store, stored) = store([Other::Loses]);
    let edited = stored.apply(&append(), &[]).await.unwrap();
    assert_eq!(sources(&edited), ["1", "ours"]);
    assert_eq!(store.0.lock().attempts, 1);
}

#[tokio::test]
async fn a_cell_that_others_have_changed_is_not_overwritten() {
    for other in [Other::Saves(notebook(&[("a", "theirs")])), Other::Wins(notebook(&[("a", "theirs")]))] {
        let (store, stored) = store([other]);
        let seen = stored.snapshot().await.unwrap();
        let revision = Some(seen.cells()[0].revision().to_owned());
        let edit = [Edit::SetSource { id: "a".into(), source: "ours".to_owned() }];
        let refused =
            stored.apply(&edit, &[Expected { id: "a".into(), revision, read: None }]).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Conflict);
        assert!(refused.cause.contains("theirs"), "{}", refused.cause);
        assert_eq!(sources(&store.0.lock().notebook), ["theirs"]);
    }
}

#[tokio::test]
async fn attempts_are_bounded() {
    let (store, stored) = store(vec![Other::Saves(notebook(&[("a", "2")])); 5]);
    let failed = stored.apply(&append(), &[]).await.unwrap_err();
    assert_eq!(failed.kind, ErrorKind::Busy);
    assert_eq!(store.0.lock().attempts, 3);
}

#[tokio::test]
async fn subscribers_are_notified_of_others_changes_only() {
    let (store, stored) = store([]);
    let changes = stored.changes();
    stored.apply(&append(), &[]).await.unwrap();
    stored.refresh_if_read().await;
    assert_eq!(*changes.borrow(), 0);
    store.0.lock().save(notebook(&[("a", "2")]));
    stored.refresh_if_read().await;
    assert_eq!(*changes.borrow(), 1);
}

#[tokio::test]
async fn what_was_compared_late_enough_is_not_read_again() {
    let store = Store::default();
    let stored = StoredNotebook::new(store.clone(), watch::Sender::new(0));
    let reads = || store.0.lock().reads;
    let seen = Instant::now();
    stored.confirm(seen, |_| panic!("nothing is known yet")).await.unwrap();
    stored.snapshot_since(seen).await.unwrap();
    assert_eq!(reads(), 1);
    let later = Instant::now();
    stored.snapshot_since(later).await.unwrap();
    assert_eq!(reads(), 2, "it may have changed since");
    let seen = Instant::now();
    stored.confirm(seen, |version| *version == 0).await.unwrap();
    stored.snapshot_since(seen).await.unwrap();
    assert_eq!(reads(), 2);
    store.0.lock().save(notebook(&[("a", "1")]));
    let seen = Instant::now();
    stored.confirm(seen, |version| *version == 1).await.unwrap();
    let now = stored.snapshot_since(seen).await.unwrap();
    assert_eq!((reads(), now.cells().len()), (3, 1), "another version is read");
    stored.confirm(later, |version| *version == 1).await.unwrap();
    stored.snapshot_since(seen).await.unwrap();
    assert_eq!(reads(), 3, "an older look takes nothing back");
}
