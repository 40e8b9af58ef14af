//! Reading a configuration, and replacing it as a whole.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("it is read-only")]
    ReadOnly,
    #[error("{} is a link, and in a project no link is followed", .0.display())]
    Link(PathBuf),
    #[error("another program has changed it at the same time; try again")]
    Changed,
    #[error("{action} failed: {source}")]
    Io { action: &'static str, source: io::Error },
}

impl FileError {
    fn while_doing(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

/// The text of a file, if it exists.
pub(crate) fn read(path: &Path) -> Result<Option<String>, FileError> {
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| FileError::NotText),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileError::Io { action: "reading it", source }),
    }
}

/// Fails if a file below a folder is reached through a link: whoever may write into a project may plant one.
pub(crate) fn refuse_links(folder: &Path, file: &Path) -> Result<(), FileError> {
    let is_link = |path: &&Path| path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    let mut below = file.ancestors().take_while(|path| *path != folder);
    below.find(is_link).map_or(Ok(()), |link| Err(FileError::Link(link.to_owned())))
}

/// Replaces a file, or creates it for its owner alone. Links stay links, and an existing file keeps its mode.
pub(crate) fn replace(path: &Path, before: Option<&str>, text: &str) -> Result<(), FileError> {
    let path = target(path);
    let existing = permissions(&path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".cellbridge-")
        .tempfile_in(folder)
        .map_err(FileError::while_doing("writing beside it"))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| {
        existing.map_or(Ok(()), |permissions| file.as_file().set_permissions(permissions))?;
        file.as_file().sync_all()
    });
    written.map_err(FileError::while_doing("writing beside it"))?;
    if read(&path)?.as_deref() != before {
        return Err(FileError::Changed);
    }
    name(file, &path).map_err(FileError::while_doing("replacing it"))?;
    sync_folder(folder);
    Ok(())
}

#[cfg(unix)]
fn name(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// An existing file keeps its access control list.
#[cfg(windows)]
fn name(file: NamedTempFile, path: &Path) -> io::Result<()> {
    let file = file.into_temp_path();
    if path.exists() { windows::replace(&file, path) } else { windows::move_new(&file, path) }
}

/// The permissions of a file that exists, if it may be changed.
fn permissions(path: &Path) -> Result<Option<Permissions>, FileError> {
    match std::fs::metadata(path).map(|it| it.permissions()) {
        Ok(permissions) if permissions.readonly() => Err(FileError::ReadOnly),
        permissions => Ok(permissions.ok()),
    }
}

pub(crate) fn delete(path: &Path, before: &str) -> Result<(), FileError> {
    let path = target(path);
    permissions(&path)?;
    if read(&path)?.as_deref() != Some(before) {
        return Err(FileError::Changed);
    }
    std::fs::remove_file(&path).map_err(FileError::while_doing("deleting it"))?;
    path.parent().map(sync_folder);
    Ok(())
}

/// Creates the folder of a file, and returns the folders that did not exist, from the outermost.
pub(crate) fn create_folder_of(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let path = target(path);
    let Some(folder) = path.parent() else { return Ok(Vec::new()) };
    let mut missing: Vec<_> = folder.ancestors().take_while(|it| !it.exists()).map(Path::to_owned).collect();
    missing.reverse();
    std::fs::create_dir_all(folder).map_err(FileError::while_doing("creating its folder"))?;
    Ok(missing)
}

/// Copies a file that is about to be changed beside itself.
pub(crate) fn back_up(path: &Path) -> Result<(), FileError> {
    permissions(path)?;
    let copy = backup(path);
    // The copy takes over the mode, so it must not be an old one that cannot be written.
    let _ = std::fs::remove_file(&copy);
    std::fs::copy(path, copy).map(drop).map_err(FileError::while_doing("copying it"))
}

/// Where the state before the first change is kept.
pub(crate) fn backup(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".cellbridge.bak");
    path.with_file_name(name)
}

/// Where a link leads, also if nothing is there.
fn target(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    match std::fs::read_link(path) {
        Ok(link) => path.parent().map_or_else(|| link.clone(), |folder| folder.join(&link)),
        Err(_) => path.to_owned(),
    }
}

/// The rename is on disk when the folder is. Where a folder cannot be opened, there is no better way.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = std::fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
#[cfg(windows)]
mod tests {
    use std::io::Write as _;
    use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};

    use super::*;

    #[test]
    fn a_replaced_file_keeps_its_attributes() {
        const HIDDEN: u32 = 2;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        let mut old =
            std::fs::File::options().write(true).create_new(true).attributes(HIDDEN).open(&path).unwrap();
        old.write_all(b"old").unwrap();
        drop(old);
        replace(&path, Some("old"), "new").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("new"));
        assert_eq!(std::fs::metadata(&path).unwrap().file_attributes() & HIDDEN, HIDDEN);
    }
}
