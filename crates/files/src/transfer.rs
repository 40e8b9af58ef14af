//! Files of any kind: read and written piece by piece.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::try_unfold;
use place::{Error, ErrorKind, Existing, FileContent, NextStep};
use tempfile::NamedTempFile;

use crate::listing::{Wanted, is_notebook};
use crate::nearest::Nearest;
use crate::on_disk::on_disk;
use crate::open_handles::naming_holders;
use crate::replacement;
use crate::root::Root;

/// The size of a piece, in bytes.
const PIECE: usize = 1 << 20;

/// Reads a file below the root.
pub async fn read(root: Root, path: String) -> Result<FileContent, Error> {
    let asked = path.clone();
    let (file, metadata) = on_disk(move || open(&root, &asked)).await?;
    let pieces = try_unfold(file, move |file| {
        let path = path.clone();
        on_disk(move || next_piece(file).map_err(|error| unreadable(&path, error)))
    });
    Ok(FileContent { size: Some(metadata.len()), mode: mode(&metadata), pieces: pieces.boxed() })
}

fn open(root: &Root, path: &str) -> Result<(File, Metadata), Error> {
    let error = match open_exactly(root, path) {
        Err(error) if error.kind == ErrorKind::NotFound => error,
        opened => return opened,
    };
    match Nearest::find(root, path, Wanted::Files) {
        Nearest { same: Some(same), .. } => open_exactly(root, &same),
        nearest => Err(nearest.name_in(error)),
    }
}

fn open_exactly(root: &Root, path: &str) -> Result<(File, Metadata), Error> {
    let file = root.resolve(path)?;
    let opened = || -> io::Result<(File, Metadata)> {
        // Checked first: opening a named pipe would block.
        let metadata = fs::metadata(&file)?;
        if metadata.is_dir() {
            return Err(io::Error::other("it is a folder"));
        }
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok((File::open(&file)?, metadata))
    };
    opened().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Error::new(ErrorKind::NotFound, format!("There is no file {path:?}."), NextStep::ListFiles)
        }
        _ => unreadable(path, error),
    })
}

fn next_piece(mut file: File) -> io::Result<Option<(Bytes, File)>> {
    let mut piece = Vec::with_capacity(PIECE);
    (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
    Ok(if piece.is_empty() { None } else { Some((piece.into(), file)) })
}

/// Writes a file below the root under a temporary name, and renames it when all of it is on the disk. Returns its path
/// from the root.
pub async fn write(
    root: Root,
    path: String,
    mut content: FileContent,
    existing: Existing,
) -> Result<String, Error> {
    let (asked, new) = (path.clone(), new_mode([content.mode]));
    let (target, relative, mut file) = on_disk(move || start(&root, &asked, existing, new)).await?;
    while let Some(piece) = content.pieces.next().await {
        let piece = piece?;
        let relative = relative.clone();
        file = on_disk(move || {
            file.write_all(&piece).map_err(|error| unwritable(&relative, error))?;
            Ok(file)
        })
        .await?;
    }
    on_disk(move || {
        finish(file, &target, existing)
            .map_err(|error| unwritable(&relative, naming_holders(error, &target)))?;
        Ok(relative)
    })
    .await
}

/// Writes a whole file under a temporary name, which then replaces the file there, whatever that is. Nobody ever sees a part of it. If
/// there is none, the new one is not more readable than those it was made from.
pub fn replace_file(path: &Path, content: &[u8], made_from: &[&Path]) -> io::Result<()> {
    let new = new_mode(made_from.iter().map(|source| mode_of(source)));
    let mode = if path.exists() { replacement::REPLACING } else { new };
    let mut file = replacement::temporary(path, mode)?;
    file.write_all(content)?;
    finish(file, path, Existing::Replace)
}

/// The permission bits of a file, where there are any.
pub fn mode_of(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().as_ref().and_then(mode)
}

#[cfg_attr(unix, expect(clippy::unnecessary_wraps, reason = "elsewhere there is none"))]
fn mode(metadata: &Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        Some(metadata.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// The mode of a new file that is made from files with these. This user may write it in any case.
fn new_mode(sources: impl IntoIterator<Item = Option<u32>>) -> u32 {
    sources
        .into_iter()
        .flatten()
        .fold(replacement::NEW, |mode, source| mode & (source | replacement::REPLACING))
}

/// Whether there is a file that may be executed.
pub fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    }
    // There, the name says it.
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Fails if [`replace_file`] cannot write there. Leaves nothing behind.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    if path.exists() {
        replacement::check_writable(path)?;
    }
    replacement::temporary(path, replacement::NEW).map(drop)
}

fn finish(file: NamedTempFile, target: &Path, existing: Existing) -> io::Result<()> {
    if existing == Existing::Keep || !target.exists() {
        return replacement::create(file, target);
    }
    let old = replacement::check_writable(target)?;
    replacement::prepare(file.as_file(), &old)?;
    replacement::replace(file, target).map(|_| ())
}

/// Checks what [`write`] checks before it writes. Returns the path from the root, and whether there is a file.
pub fn check(root: &Root, path: &str, existing: Existing) -> Result<(String, bool), Error> {
    let (target, relative) = target(root, path, existing)?;
    Ok((relative, target.exists()))
}

fn start(
    root: &Root,
    path: &str,
    existing: Existing,
    new: u32,
) -> Result<(PathBuf, String, NamedTempFile), Error> {
    let (target, relative) = target(root, path, existing)?;
    let file = (|| {
        target.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mode = if target.exists() { replacement::REPLACING } else { new };
        replacement::temporary(&target, mode)
    })();
    let file = file.map_err(|error| unwritable(&relative, error))?;
    Ok((target, relative, file))
}

/// The file that a path means, and its path from the root; fails unless it may be written.
fn target(root: &Root, path: &str, existing: Existing) -> Result<(PathBuf, String), Error> {
    let target = root.resolve(path)?;
    let relative = root.relative(&target).filter(|relative| !relative.is_empty()).ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, format!("{path:?} is not the path of a file."), "Name a file.")
    })?;
    match fs::metadata(&target) {
        Ok(there) if there.is_dir() => return Err(Error::is_folder(&relative)),
        Ok(there) if !there.is_file() => {
            return Err(unwritable(&relative, io::Error::other("it is not a regular file")));
        }
        Ok(_) if existing == Existing::Keep => return Err(Error::file_exists(&relative)),
        Ok(_) if is_notebook(&target) => return Err(Error::is_notebook_file(&relative)),
        _ => {}
    }
    Ok((target, relative))
}

fn unreadable(path: &str, error: io::Error) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("The file {path:?} cannot be read: {error}."),
        NextStep::ListFiles,
    )
    .with_source(error)
}

fn unwritable(path: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Error::file_exists(path),
        _ => Error::new(
            ErrorKind::Unavailable,
            format!("The file {path:?} could not be written: {error}. No file was changed."),
            "Check the disk, its free space and the folder, then try again.",
        )
        .with_source(error),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use futures_util::TryStreamExt as _;

    use super::*;

    fn root() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path().to_path_buf());
        (folder, root)
    }

    fn content(text: &'static str) -> FileContent {
        FileContent::whole(Bytes::from_static(text.as_bytes()))
    }

    async fn written(
        root: &Root,
        path: &str,
        content: FileContent,
        existing: Existing,
    ) -> Result<String, Error> {
        write(root.clone(), path.to_owned(), content, existing).await
    }

    fn names(root: &Root) -> Vec<String> {
        let entries = fs::read_dir(root.real()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[tokio::test]
    async fn a_file_is_read_in_pieces() {
        let (_folder, root) = root();
        let bytes: Vec<u8> = (0..=250).cycle().take(PIECE * 2 + 7).collect();
        fs::write(root.real().join("a.bin"), &bytes).unwrap();
        let content = read(root, "a.bin".to_owned()).await.unwrap();
        assert_eq!(content.size, Some(bytes.len() as u64));
        let pieces: Vec<Bytes> = content.pieces.try_collect().await.unwrap();
        assert_eq!((pieces.len(), pieces.concat() == bytes), (3, true));
    }

    #[tokio::test]
    async fn a_file_is_created_with_its_folders_and_never_replaced_unasked() {
        let (_folder, root) = root();
        let path = written(&root, "new/a.csv", content("1"), Existing::Keep).await.unwrap();
        assert_eq!(path, "new/a.csv");
        let refused = written(&root, "new/a.csv", content("2"), Existing::Keep).await.unwrap_err();
        assert_eq!((refused.kind, refused.next), (ErrorKind::Conflict, NextStep::Overwrite));
        assert_eq!(fs::read_to_string(root.real().join("new/a.csv")).unwrap(), "1");
    }

    #[tokio::test]
    async fn a_replaced_file_keeps_its_permissions_unless_it_is_read_only() {
        let (_folder, root) = root();
        let file = root.real().join("a.csv");
        fs::write(&file, "1").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        written(&root, "a.csv", content("22"), Existing::Replace).await.unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "22");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
        let refused = written(&root, "a.csv", content("333"), Existing::Replace).await.unwrap_err();
        assert!(refused.cause.contains("No file was changed"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "22");
    }

    #[tokio::test]
    async fn a_new_file_is_not_more_readable_than_what_it_is_made_from() {
        let (_folder, root) = root();
        let path = |name: &str| root.real().join(name);
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
        fs::write(path("open"), "").unwrap();
        let usual = mode("open");
        for (source, copy) in [(0o600, 0o600), (0o640, 0o640 & usual), (0o777, usual), (0o400, 0o600)] {
            fs::write(path("secret"), "1").unwrap();
            fs::set_permissions(path("secret"), fs::Permissions::from_mode(source)).unwrap();
            let content = read(root.clone(), "secret".to_owned()).await.unwrap();
            written(&root, "copy", content, Existing::Keep).await.unwrap();
            replace_file(&path("made"), b"1", &[&path("open"), &path("secret")]).unwrap();
            assert_eq!((mode("copy"), mode("made")), (copy, copy), "{source:o}");
            for name in ["secret", "copy", "made"] {
                fs::remove_file(path(name)).unwrap();
            }
        }
    }

    #[test]
    fn a_file_is_checked_before_it_is_replaced() {
        let (_folder, root) = root();
        let file = root.real().join("a.ipynb");
        check_replaceable(&file).unwrap();
        assert_eq!(names(&root), Vec::<String>::new());
        for text in ["one", "two"] {
            replace_file(&file, text.as_bytes(), &[]).unwrap();
            check_replaceable(&file).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(check_replaceable(&file).is_err() && replace_file(&file, b"three", &[]).is_err());
        for path in [root.real().to_path_buf(), root.real().join("no/a.ipynb")] {
            assert!(check_replaceable(&path).is_err(), "{}", path.display());
        }
        assert_eq!(
            (fs::read_to_string(&file).unwrap().as_str(), names(&root)),
            ("two", vec!["a.ipynb".to_owned()])
        );
    }

    #[tokio::test]
    async fn content_that_fails_leaves_nothing_behind() {
        let (_folder, root) = root();
        let failure = Error::new(ErrorKind::Disconnected, "The server is gone.", NextStep::TryAgain);
        let pieces = futures_util::stream::iter([Ok(Bytes::from_static(b"half")), Err(failure)]).boxed();
        let refused =
            written(&root, "a.csv", FileContent { size: Some(9), mode: None, pieces }, Existing::Keep).await;
        assert_eq!(refused.unwrap_err().kind, ErrorKind::Disconnected);
        assert_eq!(names(&root), Vec::<String>::new());
    }

    #[tokio::test]
    async fn paths_are_confined_and_folders_are_no_files() {
        let (_folder, root) = root();
        fs::create_dir(root.real().join("folder")).unwrap();
        for path in ["../a.csv", "folder", "", "folder/../../a.csv"] {
            assert!(written(&root, path, content("1"), Existing::Replace).await.is_err(), "{path:?}");
            assert!(read(root.clone(), path.to_owned()).await.is_err(), "{path:?}");
        }
        let missing = read(root.clone(), "missing.csv".to_owned()).await.err().unwrap();
        assert_eq!((missing.kind, missing.next), (ErrorKind::NotFound, NextStep::ListFiles));
        fs::write(root.real().join("folder/Data set.csv"), "1").unwrap();
        let missing = read(root.clone(), "data%20set.csv".to_owned()).await.err().unwrap();
        assert!(missing.cause.ends_with(r#"The nearest is "folder/Data set.csv"."#), "{missing}");
        assert_eq!(names(&root), ["folder"]);
    }
}
