//! One notebook file as a [`Document`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use notebook::{Edit, Notebook};
use place::{
    Applied, CachedVersion, Content, Document, Error, Expected, Future, IdRecord, NotebookPath,
    NotebookStore, Replaced, SaveStatus, StoredNotebook,
};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

#[cfg(unix)]
use super::displaced::{Displaced, DisplacedFiles, Late};
use super::file::Version;
use super::{file, io_error, lock};
use crate::open_handles::naming_holders;
use crate::real_path::canonicalize;
use crate::replacement;
use crate::stamp::Stamp;

/// The attempts, and the pause between them, after which a missing or partial file is read again: other programs replace files in several
/// steps.
const READ_ATTEMPTS: u32 = 6;
const READ_RETRY_DELAY: Duration = Duration::from_millis(60);

pub struct FileDocument {
    this: Weak<Self>,
    notebook: StoredNotebook<NotebookFile>,
}

impl FileDocument {
    /// The document of the real path `file`, which agents see as `path`. Reads nothing yet.
    pub fn new(file: PathBuf, path: NotebookPath) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            notebook: StoredNotebook::new(
                NotebookFile {
                    file,
                    path,
                    is_edited: AtomicBool::new(false),
                    #[cfg(unix)]
                    displaced: Arc::default(),
                },
                watch::Sender::new(0),
            ),
        })
    }

    /// Reads the file unless its content is known and it had this stamp at `seen`.
    pub(super) async fn confirm(&self, seen: Instant, stamp: Option<Stamp>) -> Result<(), Error> {
        let is_same = |version: &Version| version.is_settled && Some(version.stamp) == stamp;
        self.notebook.confirm(seen, is_same).await
    }

    /// Reads the file again if it has changed, and notifies subscribers.
    pub async fn refresh_if_read(&self) {
        self.notebook.refresh_if_read().await;
    }
}

#[cfg(unix)]
impl FileDocument {
    /// Looks for a while at the files that were replaced, and puts back what editors write there.
    fn watch_displaced(&self) {
        if !self.notebook.store().displaced.begin_watching() {
            return;
        }
        let this = self.this.clone();
        place::spawn(async move {
            // Held until the end: what is written late counts, whichever session has the notebook open.
            let Some(this) = this.upgrade() else { return };
            let displaced = &this.notebook.store().displaced;
            for pause in displaced.pauses() {
                tokio::time::sleep(pause).await;
                this.put_back().await;
            }
        });
    }

    /// Looks at the files that were replaced.
    pub(super) async fn put_back(&self) {
        let Some(this) = self.this.upgrade() else { return };
        let put_back = spawn_blocking(move || {
            let store = this.notebook.store();
            store.displaced.put_back(&store.file)
        });
        match put_back.await.map_err(std::io::Error::other).flatten() {
            Ok(None) => {}
            Ok(Some(Late { edits })) => {
                tracing::info!("{}: an editor had the file open while it was replaced", self.path());
                for edit in edits {
                    if let Err(error) = self.notebook.apply(&[edit], &[]).await {
                        tracing::warn!("{}: an edit could not be applied again: {error}", self.path());
                    }
                }
            }
            Err(error) => tracing::debug!("{}: a replaced file cannot be read: {error}", self.path()),
        }
    }
}

impl Document for FileDocument {
    fn path(&self) -> &NotebookPath {
        &self.notebook.store().path
    }

    fn snapshot(&self) -> Future<'_, Notebook> {
        self.notebook.snapshot().boxed()
    }

    fn snapshot_since(&self, since: Instant) -> Future<'_, Notebook> {
        self.notebook.snapshot_since(since).boxed()
    }

    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied> {
        async {
            // A separate task: the caller may be dropped, which must not leave half of the work.
            let this =
                self.this.upgrade().ok_or_else(|| Error::notebook_task_failed("the notebook was closed"))?;
            let task = tokio::spawn(async move {
                let applied = this.notebook.apply(&edits, &expected).await;
                #[cfg(unix)]
                this.watch_displaced();
                applied
            });
            let notebook = task.await.unwrap_or_else(|error| Err(Error::notebook_task_failed(error)))?;
            Ok(Applied { notebook, saved: SaveStatus::OnDisk })
        }
        .boxed()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.notebook.changes()
    }

    fn record_ids(&self, record: IdRecord) -> BoxFuture<'_, ()> {
        self.notebook.record_ids(record).boxed()
    }
}

struct NotebookFile {
    /// The path on disk.
    file: PathBuf,
    /// The path that agents see.
    path: NotebookPath,
    is_edited: AtomicBool,
    #[cfg(unix)]
    displaced: Arc<DisplacedFiles>,
}

impl NotebookStore for NotebookFile {
    type Version = Version;

    const MAX_ATTEMPTS: u32 = 400;
    const RETRY_DELAY: Duration = Duration::from_millis(5);

    fn path(&self) -> &str {
        &self.path
    }

    async fn read(&self, last: Option<&CachedVersion<Version>>) -> Result<Content<Version>, Error> {
        let last = last.map(|last| last.version);
        let mut attempt = 1;
        loop {
            let (file, path) = (self.file.clone(), self.path.clone());
            let content = spawn_blocking(move || read(&file, &path, last)).await;
            match content.unwrap_or_else(|error| Err(Error::notebook_task_failed(error))) {
                Err(_) if attempt < READ_ATTEMPTS => attempt += 1,
                content => return content,
            }
            tokio::time::sleep(READ_RETRY_DELAY).await;
        }
    }

    async fn replace(
        &self,
        current: &CachedVersion<Version>,
        edited: Notebook,
        #[cfg_attr(not(unix), expect(unused_variables, reason = "nothing is put back there"))]
        edits: &[Edit],
    ) -> Result<Replaced<Version>, Error> {
        #[cfg(unix)]
        let (displaced, before, edits) = (self.displaced.clone(), current.notebook.clone(), edits.to_vec());
        let (file, current) = (self.file.clone(), current.version);
        let is_first = !self.is_edited.swap(true, Ordering::Relaxed);
        let replaced = spawn_blocking(move || {
            if is_first {
                replacement::remove_leftovers(&file);
            }
            #[cfg(unix)]
            let _replacing = displaced.replacing();
            // Held until the file is replaced.
            let Some(_lock) = lock::try_lock(&file)? else { return Ok(Replaced::Conflict) };
            let replaced =
                file::replace(&file, &edited, &current).map_err(|error| naming_holders(error, &file))?;
            Ok(match replaced {
                #[cfg_attr(not(unix), expect(unused_variables, reason = "nothing is put back there"))]
                Some((version, old)) => {
                    #[cfg(unix)]
                    if let Some(old) = old
                        && let Ok(Some(old)) = Displaced::new(old, (before, &current), edits, version.stamp)
                    {
                        displaced.add(old);
                    }
                    Replaced::Written { notebook: edited, version }
                }
                None => Replaced::Conflict,
            })
        });
        let replaced = replaced.await.map_err(Error::notebook_task_failed)?;
        replaced.map_err(|error| io_error::writing(&self.path, error))
    }
}

fn read(file: &Path, path: &str, last: Option<Version>) -> Result<Content<Version>, Error> {
    let failed = |error| io_error::reading(path, error);
    let unusable = |problem: &str| Err(Error::unreadable_notebook(path, problem));
    let real = canonicalize(file).map_err(failed)?;
    if is_replaced_by_link(file, &real) {
        return unusable("it was replaced by a link; open it again");
    }
    if let Some(last) = last.filter(|last| last.is_settled)
        && last.stamp == Stamp::of(file).map_err(failed)?
    {
        return Ok(Content::Unchanged { version: last });
    }
    let contents = file::read(file).map_err(|error| failed(naming_holders(error, file)))?;
    let Some(contents) = contents else { return unusable("it changes while it is read") };
    let version = contents.version;
    if last.is_some_and(|last| last.digest == version.digest) {
        return Ok(Content::Unchanged { version });
    }
    if contents.bytes.is_empty() {
        return unusable("the file is empty");
    }
    match Notebook::parse(contents.bytes.clone()) {
        Ok(notebook) => Ok(Content::Changed { notebook, version }),
        Err(error) => unusable(no_notebook(&contents.bytes).unwrap_or(&error.to_string())),
    }
}

/// The kind of a file that other programs leave in a notebook's place.
fn no_notebook(bytes: &[u8]) -> Option<&'static str> {
    let starts =
        |with: &str| bytes.get(..with.len()).is_some_and(|it| it.eq_ignore_ascii_case(with.as_bytes()));
    match bytes {
        // A byte order mark, or zeros in the first letters, which JSON starts with.
        [0xff, 0xfe, ..]
        | [0xfe, 0xff, ..]
        | [1..=0xff, 0, ..]
        | [0, 1..=0xff, ..]
        | [0, 0, 0xfe, 0xff, ..]
        | [0, 0, 0, 1..=0xff, ..] => {
            Some("it is encoded as UTF-16 or UTF-32, and notebooks are UTF-8; `iconv -t UTF-8` converts it")
        }
        _ if starts("version https://git-lfs.github.com/") => {
            Some("the file is a Git LFS pointer; `git lfs pull` downloads the notebook")
        }
        _ if starts("<!doctype html") || starts("<html") => {
            Some("the file is a web page, such as one that shows the notebook or requires a login")
        }
        _ => None,
    }
}

/// Whether a folder or the file itself, which was no link, is one by now, perhaps to somewhere outside the root. The real path also
/// differs where case makes no difference, if somebody has renamed a folder in case only.
fn is_replaced_by_link(file: &Path, real: &Path) -> bool {
    real != file && file.ancestors().any(Path::is_symlink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_place_of_notebooks_are_recognised() {
        for (text, expected) in [
            ("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
            ("<!DOCTYPE html><title>x", "web page"),
            ("<HTML>", "web page"),
        ] {
            assert!(no_notebook(text.as_bytes()).unwrap().contains(expected), "{text}");
        }
        assert_eq!([no_notebook(b"{}"), no_notebook(b"")], [None; 2]);
    }

    #[test]
    fn encodings_of_other_programs_are_recognised() {
        let text = "{\r\n \"cells\": []}";
        let units = |order: fn(u16) -> [u8; 2], mark: &[u16]| -> Vec<u8> {
            mark.iter().copied().chain(text.encode_utf16()).flat_map(order).collect()
        };
        for mark in [&[0xfeff][..], &[]] {
            for order in [u16::to_le_bytes, u16::to_be_bytes] {
                assert!(no_notebook(&units(order, mark)).unwrap().contains("encoded as UTF-16"));
            }
        }
        let wide: Vec<u8> = text.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
        assert!(no_notebook(&wide).unwrap().contains("or UTF-32"));
        for text in [text.as_bytes(), b"", b"{}", b"\xef\xbb\xbf{}", &[0; 8]] {
            assert_eq!(no_notebook(text), None, "{text:?}");
        }
    }

    #[test]
    fn another_spelling_is_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = canonicalize(folder.path()).unwrap();
        let [file, other] = ["data", "Data"].map(|name| root.join(name).join("x.ipynb"));
        std::fs::create_dir(root.join("data")).unwrap();
        std::fs::write(&file, "").unwrap();
        assert!(!is_replaced_by_link(&file, &file));
        assert!(!is_replaced_by_link(&file, &other));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&file, root.join("link")).unwrap();
            assert!(is_replaced_by_link(&root.join("link"), &file));
        }
    }
}
