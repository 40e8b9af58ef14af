//! One notebook file as a [`Document`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use notebook::{Edit, Notebook};
use tokio::sync::{Mutex, watch};
use workspace::{Applied, Document, Error, ErrorKind, Expected, Future, SaveStatus};

use super::failure;
use super::file::{self, Replaced};
use crate::stamp::Stamp;

/// How often, and with what pause, a file is read again that is gone or half-written: other programs replace
/// files in several steps.
const READINGS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(60);

/// How often a writing is tried again because others changed or locked the file meanwhile.
const WRITINGS: u32 = 400;
const SHORT_PAUSE: Duration = Duration::from_millis(5);

/// A notebook file. The newest state that is known of it is kept, so that neither a long notebook is parsed for
/// every question nor what we wrote ourselves read back.
pub(crate) struct FileDocument {
    this: Weak<Self>,
    file: PathBuf,
    path: String,
    /// Also the queue of those who want to change it.
    known: Mutex<Option<Known>>,
    changes: watch::Sender<u64>,
}

/// What is known of the file.
#[derive(Clone)]
struct Known {
    notebook: Notebook,
    stamp: Stamp,
    digest: u64,
    is_settled: bool,
}

impl FileDocument {
    /// The document of the real path `file`, which agents know as `path`. Touches no disk.
    pub(crate) fn new(file: PathBuf, path: String) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            file,
            path,
            known: Mutex::new(None),
            changes: watch::Sender::new(0),
        })
    }

    /// Reads the file again if it has changed, and notifies subscribers.
    pub(crate) async fn refresh_if_read(&self) {
        let mut known = self.known.lock().await;
        if known.is_some()
            && let Err(error) = self.refresh(&mut known).await
        {
            tracing::debug!("{}: {}", self.path, error.cause);
        }
    }

    /// Brings `known` up to date and gives it.
    async fn refresh(&self, known: &mut Option<Known>) -> Result<Known, Error> {
        let mut reading = 1;
        loop {
            let (file, before) = (self.file.clone(), known.clone());
            let read = tokio::task::spawn_blocking(move || read(&file, before.as_ref())).await;
            match read.unwrap_or_else(|error| Err(Unread::Cut(error.to_string()))) {
                Ok(Read::Same(now)) => {
                    *known = Some(now.clone());
                    return Ok(now);
                }
                Ok(Read::New(now)) => {
                    if known.replace(now.clone()).is_some() {
                        self.changes.send_modify(|count| *count += 1);
                    }
                    return Ok(now);
                }
                Err(unread) if reading == READINGS => return Err(unread.into_error(&self.path)),
                Err(_) => {
                    reading += 1;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn change(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Result<Notebook, Error> {
        let mut known = self.known.lock().await;
        let wanted = Arc::new((edits, expected));
        for _ in 0..WRITINGS {
            let current = self.refresh(&mut known).await?;
            let (file, path, wanted) = (self.file.clone(), self.path.clone(), wanted.clone());
            let written = tokio::task::spawn_blocking(move || {
                let (edits, expected) = &*wanted;
                write(&file, &path, &current, edits, expected)
            });
            if let Some(now) = written.await.unwrap_or_else(|error| Err(failure::ours(&error)))? {
                *known = Some(now.clone());
                return Ok(now.notebook);
            }
            tokio::time::sleep(SHORT_PAUSE).await;
        }
        Err(failure::contended(&self.path))
    }
}

impl Document for FileDocument {
    fn path(&self) -> &str {
        &self.path
    }

    fn snapshot(&self) -> Future<'_, Notebook> {
        async {
            let mut known = self.known.lock().await;
            Ok(self.refresh(&mut known).await?.notebook)
        }
        .boxed()
    }

    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied> {
        async {
            // A task of its own: whoever asked may go away, and must not leave half of it.
            let this = self.this.upgrade().ok_or_else(|| failure::ours(&"the notebook was closed"))?;
            let task = tokio::spawn(async move { this.change(edits, expected).await });
            let notebook = task.await.unwrap_or_else(|error| Err(failure::ours(&error)))?;
            Ok(Applied { notebook, saved: SaveStatus::OnDisk })
        }
        .boxed()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

enum Read {
    /// The content is what was known.
    Same(Known),
    New(Known),
}

enum Unread {
    Failed(std::io::Error),
    Changing,
    Unusable(String),
    Cut(String),
}

impl Unread {
    fn into_error(self, path: &str) -> Error {
        match self {
            Self::Failed(error) => failure::reading(path, &error),
            Self::Changing => failure::content(path, &"it changes while it is read"),
            Self::Unusable(problem) => failure::content(path, &problem),
            Self::Cut(problem) => failure::ours(&problem),
        }
    }
}

fn read(file: &Path, before: Option<&Known>) -> Result<Read, Unread> {
    // A folder or the file itself may have become a link, perhaps one that leads out of the root.
    let real = file.canonicalize().map_err(Unread::Failed)?;
    if real != file {
        return Err(Unread::Unusable("a link has taken its place; open it again".to_owned()));
    }
    if let Some(before) = before
        && before.is_settled
        && before.stamp == Stamp::of(file).map_err(Unread::Failed)?
    {
        return Ok(Read::Same(before.clone()));
    }
    let contents = file::read(file).map_err(Unread::Failed)?.ok_or(Unread::Changing)?;
    let (stamp, digest, is_settled) = (contents.stamp, contents.digest, contents.is_settled);
    if let Some(before) = before.filter(|before| before.digest == digest) {
        return Ok(Read::Same(Known { notebook: before.notebook.clone(), stamp, digest, is_settled }));
    }
    if contents.bytes.is_empty() {
        return Err(Unread::Unusable("the file is empty".to_owned()));
    }
    let mut notebook =
        Notebook::parse(contents.bytes).map_err(|error| Unread::Unusable(error.to_string()))?;
    if let Some(before) = before {
        notebook.carry_ids(&before.notebook);
    }
    Ok(Read::New(Known { notebook, stamp, digest, is_settled }))
}

/// Makes the edits on `current` and replaces the file. `None` if the file is not what `current` says, or locked.
fn write(
    file: &Path,
    path: &str,
    current: &Known,
    edits: &[Edit],
    expected: &[Expected],
) -> Result<Option<Known>, Error> {
    let failed = |error: std::io::Error| failure::writing(path, &error);
    // Held until the file is replaced.
    let Some(_lock) = file::try_lock(file).map_err(failed)? else { return Ok(None) };
    let mut notebook = current.notebook.clone();
    for expected in expected {
        expected.check(&notebook)?;
    }
    for edit in edits {
        notebook.apply(edit).map_err(|error| {
            Error::new(
                ErrorKind::Conflict,
                format!("the notebook {path:?} was not changed: {error}."),
                "Call read_notebook to see the cells as they are now, then try again.",
            )
        })?;
    }
    match file::replace(file, &notebook, current.stamp, current.digest).map_err(failed)? {
        // Nobody else can have had the time to write the new file within a tick of its making.
        Replaced::Written { stamp, digest } => Ok(Some(Known { notebook, stamp, digest, is_settled: true })),
        Replaced::Same => Ok(Some(Known { notebook, ..current.clone() })),
        Replaced::Changed => Ok(None),
    }
}
