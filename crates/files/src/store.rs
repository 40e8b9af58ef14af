//! Notebook files. A file that is opened several times, under whatever path, is one document.

#[cfg(unix)]
mod displaced;
mod document;
mod file;
mod io_error;
mod lock;
#[cfg(test)]
mod tests;
mod watcher;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Instant;

use notebook::Notebook;
use parking_lot::Mutex;
use place::{Error, ErrorKind, Mode, NotebookPath};

pub use document::FileDocument;

use crate::listing::is_notebook;
use crate::real_path::canonicalize;
use crate::root::Root;
use crate::stamp::Stamp;
use watcher::ChangeWatcher;

/// The open notebooks of one folder.
pub struct FileStore {
    root: Root,
    documents: Arc<OpenDocuments>,
    watcher: ChangeWatcher,
}

/// The open documents by real path.
#[derive(Default)]
pub(crate) struct OpenDocuments(Mutex<HashMap<PathBuf, Weak<FileDocument>>>);

impl OpenDocuments {
    fn get(&self, file: &Path) -> Option<Arc<FileDocument>> {
        self.0.lock().get(file)?.upgrade()
    }

    fn get_or_insert(&self, file: &Path, make: impl FnOnce() -> Arc<FileDocument>) -> Arc<FileDocument> {
        let mut documents = self.0.lock();
        if let Some(document) = documents.get(file).and_then(Weak::upgrade) {
            return document;
        }
        documents.retain(|_, document| document.strong_count() > 0);
        let document = make();
        documents.insert(file.to_path_buf(), Arc::downgrade(&document));
        document
    }

    fn has_any_in(&self, folder: &Path) -> bool {
        let documents = self.0.lock();
        documents.iter().any(|(file, document)| file.parent() == Some(folder) && document.strong_count() > 0)
    }
}

impl FileStore {
    pub fn new(root: Root) -> Self {
        let documents = Arc::new(OpenDocuments::default());
        Self { root, watcher: ChangeWatcher::new(documents.clone()), documents }
    }

    /// Opens a notebook and reads it once, so that a file without a notebook is refused here.
    pub async fn open(&self, path: &NotebookPath, mode: Mode) -> Result<Arc<FileDocument>, Error> {
        let (root, asked, seen) = (self.root.clone(), path.clone(), Instant::now());
        let located = tokio::task::spawn_blocking(move || locate(&root, &asked, mode)).await;
        let Located { file, path, stamp } =
            located.unwrap_or_else(|error| Err(Error::notebook_task_failed(error)))?;
        let document = self.documents.get_or_insert(&file, || FileDocument::new(file.clone(), path));
        // Before the first reading, so that no change in between is missed.
        self.watcher.watch(&file);
        document.confirm(seen, stamp).await?;
        Ok(document)
    }
}

/// A notebook that was looked for.
struct Located {
    /// The path on disk.
    file: PathBuf,
    /// The path that agents see.
    path: NotebookPath,
    /// The file as it was there; `None` if it was made, or is being replaced.
    stamp: Option<Stamp>,
}

/// Finds a notebook. Creates the file if `mode` says so.
fn locate(root: &Root, path: &NotebookPath, mode: Mode) -> Result<Located, Error> {
    let file = root.resolve(path)?;
    if !is_notebook(&file) {
        return Err(Error::not_a_notebook(path, "its name does not end in .ipynb"));
    }
    let relative = root.relative(&file).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("The name of {path:?} is not UTF-8."),
            "Rename the file.",
        )
    })?;
    match (fs::metadata(&file), mode) {
        (Ok(meta), _) if meta.is_dir() => return Err(Error::not_a_notebook(&relative, "it is a folder")),
        (Ok(meta), _) if !meta.is_file() => {
            return Err(Error::not_a_notebook(&relative, "it is not a regular file"));
        }
        (Ok(_), Mode::Connect | Mode::Reopen) => {}
        (Ok(_), Mode::Create) => return Err(Error::notebook_exists(&relative)),
        // Other programs replace files in two steps. Reading allows for the moment in between.
        (Err(_), Mode::Connect | Mode::Reopen) if file.parent().is_some_and(Path::is_dir) => {}
        (Err(error), Mode::Connect | Mode::Reopen) => return Err(io_error::reading(&relative, error)),
        (Err(_), Mode::Create) => {
            // Some file systems store another spelling of the name.
            let created = create(&file).and_then(|()| canonicalize(&file));
            let file = created.map_err(|error| io_error::creating(&relative, error))?;
            let relative = root.relative(&file).unwrap_or(relative);
            return Ok(Located { file, path: relative.into(), stamp: None });
        }
    }
    let stamp = Stamp::of(&file).ok();
    Ok(Located { file, path: relative.into(), stamp })
}

fn create(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    file::create(file, &Notebook::new())
}
