//! Copies notebooks and files from one place to another.

use std::sync::Arc;

use bytes::Bytes;
use notebook::{Edit, NewCell, Notebook};
use place::{
    Error, ErrorKind, Existing, Expected, FileContent, Mode, NextStep, NotebookPath, SaveStatus, is_same_text,
};
use runs::OpenNotebook;

use super::Session;
use crate::copied_file::{CopiedFile, counted};
use crate::executed_later::executed_later_in;
use crate::places::Located;

/// A notebook after it was copied.
#[derive(Debug, Clone)]
pub struct CopiedNotebook {
    /// The path of the copy, as it is shown to the agent.
    pub path: NotebookPath,
    pub cells: usize,
    pub saved: SaveStatus,
    /// Whether the copy lacks outputs and metadata that the application at the other end cannot be given.
    pub is_reduced: bool,
}

/// The effect of copying a notebook.
#[derive(Debug, Clone)]
pub struct CopyPreview {
    /// The path of the copy, as it is shown to the agent.
    pub path: NotebookPath,
    pub cells: usize,
    /// The difference in the notebook that is there, cell by cell; `None` if the copy would be a new file.
    pub replaces: Option<String>,
    /// The reason why a later start may execute it: see [`executed_later`](crate::executed_later).
    pub executed_later: Option<&'static str>,
}

/// The effect of copying a file.
#[derive(Debug, Clone)]
pub struct FilePreview {
    /// The path of the copy, as it is shown to the agent.
    pub path: NotebookPath,
    /// In bytes, if it is known.
    pub size: Option<u64>,
    /// Whether there is a file that would be replaced.
    pub replaces: bool,
    /// The reason why a later start may execute it, or what it contains: see [`executed_later`](crate::executed_later).
    pub executed_later: Option<&'static str>,
}

impl Session {
    /// Copies a file of any kind. A path that ends with `/` or `:` is the folder for a copy of the same name.
    pub async fn copy_file(&self, from: &str, to: &str, existing: Existing) -> Result<CopiedFile, Error> {
        let (source, target) =
            (self.locate(&from.into()).await?, self.copy_target(&in_folder(to, from)).await?);
        let content = source.place.reach_files()?.read(&source.path).await?;
        let (content, passed) = counted(content);
        let path = target.place.reach_files()?.write(&target.path, content, existing).await?;
        let path = self.shown(&target.place, &path.into());
        if path.to_lowercase().ends_with(".ipynb") {
            self.created(&target.place, &path, Some(from.to_owned()));
        }
        let copied = passed.lock().copied(path.to_string());
        Ok(copied)
    }

    /// The effect of copying a file. Fails as that would, and touches nothing.
    pub async fn preview_file(&self, from: &str, to: &str, existing: Existing) -> Result<FilePreview, Error> {
        let (source, target) =
            (self.locate(&from.into()).await?, self.copy_target(&in_folder(to, from)).await?);
        let size = source.place.reach_files()?.read(&source.path).await?.size;
        let (path, replaces) = target.place.reach_files()?.check_write(&target.path, existing).await?;
        let executed_later = executed_later_in(&*target.place, &path).await;
        Ok(FilePreview { path: self.shown(&target.place, &path.into()), size, replaces, executed_later })
    }

    /// Copies a notebook as it is now, with what others have changed and not saved yet. Where there is no notebook at `to`,
    /// the copy is the same byte for byte. One that is there is replaced cell by cell, so that people who have it open see
    /// the copy.
    pub async fn copy_notebook(
        &self,
        from: &OpenNotebook,
        to: &NotebookPath,
        existing: Existing,
    ) -> Result<CopiedNotebook, Error> {
        let notebook = from.document().snapshot().await?;
        let target = self.notebook_target(from, to).await?;
        if let Some(files) = target.place.files() {
            let mode = match from.place().files() {
                Some(files) => files.mode_of(from.path()).await.unwrap_or_default(),
                None => None,
            };
            let content = FileContent { mode, ..FileContent::whole(Bytes::from(notebook.to_bytes())) };
            match files.write(&target.path, content, Existing::Keep).await {
                Ok(path) => {
                    let path = self.shown(&target.place, &path.into());
                    self.created(&target.place, &path, Some(from.path().to_string()));
                    let cells = notebook.cells().len();
                    return Ok(CopiedNotebook { path, cells, saved: SaveStatus::OnDisk, is_reduced: false });
                }
                Err(error) if error.kind == ErrorKind::Conflict && existing == Existing::Replace => {}
                Err(error) => return Err(error),
            }
        }
        let Replacement { opened, before, edits, is_reduced } =
            self.replacement(from, &notebook, target, existing).await?;
        // Cells that somebody changes during the copy are not deleted.
        let expected = before.cells().iter().map(Expected::unchanged);
        let applied = self.edit(&opened, &before, edits, expected.collect()).await;
        let applied = applied.map_err(|error| match error.kind {
            // The next step of an edit is not that of a copy.
            ErrorKind::Conflict | ErrorKind::NotFound => Error {
                next: NextStep::TryAgain,
                cause: format!("{} changed while it was being replaced: {}", opened.path(), error.cause),
                ..error
            },
            _ => error,
        })?;
        let path = self.shown(opened.place(), opened.path());
        Ok(CopiedNotebook { path, cells: applied.notebook.cells().len(), saved: applied.saved, is_reduced })
    }

    /// The effect of copying a notebook. Fails as that would, and touches nothing.
    pub async fn preview_copy(
        &self,
        from: &OpenNotebook,
        to: &NotebookPath,
        existing: Existing,
    ) -> Result<CopyPreview, Error> {
        let notebook = from.document().snapshot().await?;
        let target = self.notebook_target(from, to).await?;
        if let Some(files) = target.place.files() {
            match files.check_write(&target.path, Existing::Keep).await {
                Ok((path, _)) => {
                    let executed_later = executed_later_in(&*target.place, &path).await;
                    let (path, cells) = (self.shown(&target.place, &path.into()), notebook.cells().len());
                    return Ok(CopyPreview { path, cells, replaces: None, executed_later });
                }
                Err(error) if error.kind == ErrorKind::Conflict && existing == Existing::Replace => {}
                Err(error) => return Err(error),
            }
        }
        let Replacement { opened, before, edits, .. } =
            self.replacement(from, &notebook, target, existing).await?;
        let diff = self.preview(&opened, &before, &edits, &[])?;
        let executed_later = executed_later_in(&**opened.place(), opened.path()).await;
        let path = self.shown(opened.place(), opened.path());
        Ok(CopyPreview { path, cells: notebook.cells().len(), replaces: Some(diff), executed_later })
    }

    /// Fails if no notebook can be created at `path`, as far as that is known before. Returns the path as it is shown, and why a later
    /// start may execute files there.
    pub async fn check_new(
        &self,
        path: &NotebookPath,
    ) -> Result<(NotebookPath, Option<&'static str>), Error> {
        let Located { place, path } = spelled(self.locate(path).await?).await;
        let Some(files) = place.files() else { return Ok((path, None)) };
        let (path, _) = files.check_write(&path, Existing::Keep).await.map_err(|error| match error.kind {
            ErrorKind::Conflict => Error::notebook_exists(&path),
            _ => error,
        })?;
        let executed_later = executed_later_in(&*place, &path).await;
        Ok((self.shown(&place, &path.into()), executed_later))
    }

    /// The place and path of a copy of a notebook.
    async fn notebook_target(&self, from: &OpenNotebook, to: &NotebookPath) -> Result<Located, Error> {
        let mut target = self.copy_target(to).await?;
        if target.place.files().is_some() {
            target.path = in_folder(&target.path, from.path());
            target = spelled(target).await;
            if !target.path.to_lowercase().ends_with(".ipynb") {
                return Err(Error::not_a_notebook(&target.path, "its name does not end in .ipynb"));
            }
        }
        Ok(target)
    }

    /// The meaning of a path to be written. One that begins like the name of a place is refused if there is no such place: a file
    /// of that name is hardly meant.
    async fn copy_target(&self, path: &NotebookPath) -> Result<Located, Error> {
        let located = spelled(self.locate(path).await?).await;
        if self.workspace.places().are_named_by(path) {
            return Ok(located);
        }
        match scheme_of(path) {
            None => Ok(located),
            Some(scheme) => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("\"{scheme}:\" names no available place."),
                NextStep::NamePlace {
                    paths: self.places().iter().map(|place| format!("{}…", place.name())).collect(),
                },
            )),
        }
    }

    /// The edits by which a notebook at `target` becomes the copy.
    async fn replacement(
        &self,
        from: &OpenNotebook,
        notebook: &Notebook,
        target: Located,
        existing: Existing,
    ) -> Result<Replacement, Error> {
        let opened = self.workspace.open(target, Mode::Connect).await?;
        if opened.path() == from.path() {
            let cause = format!("{} cannot be copied onto itself.", from.path());
            return Err(Error::new(ErrorKind::InvalidArgument, cause, "Choose another path."));
        }
        let before = opened.document().snapshot().await?;
        if existing == Existing::Keep && !is_blank(&before) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("The notebook {} already has cells; it was not changed.", opened.path()),
                NextStep::Overwrite,
            ));
        }
        let is_reduced = opened.document().stores_outputs();
        let edits = replacing(&before, notebook, is_reduced);
        Ok(Replacement { opened, before, edits, is_reduced })
    }
}

/// The path as the file there spells it, if exactly one differs from it in its Unicode form only: a second one would look the same, and
/// each path would lead to another of them.
pub(super) async fn spelled(located: Located) -> Located {
    let Located { place, path } = &located;
    if path.is_ascii() {
        return located;
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let files = place.list_files(folder, 0).await.unwrap_or_default();
    let mut same = files.iter().map(|file| file_name(&file.path)).filter(|there| is_same_text(there, name));
    match (same.next(), same.next()) {
        (Some(there), None) => {
            let path = format!("{}{there}", &path[..path.len() - name.len()]).into();
            Located { place: place.clone(), path }
        }
        _ => located,
    }
}

/// A notebook that is to become the copy of another.
struct Replacement {
    opened: Arc<OpenNotebook>,
    before: Notebook,
    edits: Vec<Edit>,
    is_reduced: bool,
}

/// The edits that make `before` like `notebook`: sources alone if it `is_reduced`. The old cells go last, so that nothing is
/// lost if an application makes only some of the edits. A new cell never has the id of an old one: whether the edits are in
/// the file shows by their ids.
fn replacing(before: &Notebook, notebook: &Notebook, is_reduced: bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (index, cell) in notebook.cells().iter().enumerate() {
        let mut copy = NewCell::new(cell.cell_type().clone(), cell.source());
        if before.cell(cell.id()).is_none() {
            copy.id = cell.id().clone();
        }
        let has_outputs = cell.is_code() && (cell.output_count() > 0 || cell.execution_count().is_some());
        let outputs = has_outputs.then(|| Edit::SetOutputs {
            id: copy.id.clone(),
            outputs: cell.outputs().into(),
            execution_count: cell.execution_count(),
        });
        if !is_reduced {
            copy.metadata = Some(cell.metadata());
            copy.attachments = cell.attachments();
        }
        edits.push(Edit::Insert { index, cell: copy });
        edits.extend(outputs.filter(|_| !is_reduced));
    }
    let ids: Vec<_> = before.cells().iter().map(|cell| cell.id().clone()).collect();
    edits.extend((!ids.is_empty()).then_some(Edit::Delete { ids }));
    let metadata = notebook.metadata();
    let members =
        ["kernelspec", "language_info"].into_iter().filter_map(|name| Some((name, metadata.member(name)?)));
    edits
        .extend(members.map(|(name, value)| Edit::SetMetadata { name: name.to_owned(), value: Some(value) }));
    edits
}

/// Whether nobody has written anything yet.
fn is_blank(notebook: &Notebook) -> bool {
    notebook.cells().iter().all(|cell| cell.source().trim().is_empty() && cell.output_count() == 0)
}

/// `to`, or `to`/name-of-`from` if `to` is a folder. The folder of a place is empty.
fn in_folder(path: &str, from: &str) -> NotebookPath {
    if path.is_empty() || path.ends_with(['/', ':']) {
        format!("{path}{}", file_name(from)).into()
    } else {
        path.into()
    }
}

/// The word before a colon with which a path begins, as that of a place does. A letter of a Windows drive is none.
fn scheme_of(path: &str) -> Option<&str> {
    let (scheme, _) = path.split_once(':')?;
    (scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())).then_some(scheme)
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', ':']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
