//! Lists files and finds notebooks below a folder.

use std::cell::Cell;
use std::path::Path;
use std::{fs, io};

use place::{Error, ErrorKind, FileEntry, FileKind, FoundNotebooks, NextStep, NotebookPath, SearchExtent};
use walkdir::{DirEntry, WalkDir};

use crate::nearest::Nearest;
use crate::root::Root;

const MAX_ROWS: usize = if cfg!(test) { 50 } else { 20_000 };

/// The maximum number of entries that a search for notebooks visits.
const MAX_SEARCHED: usize = if cfg!(test) { 100 } else { 200_000 };

const MAX_SEARCH_DEPTH: usize = 24;

/// The files and folders below `path`, sorted. Links below it are not followed, so there are no loops.
pub fn list(root: &Root, path: &str, max_depth: usize) -> Result<Vec<FileEntry>, Error> {
    let folder = root.resolve(path)?;
    // An unreadable folder below `path` is a row that says so; `path` itself is an error.
    fs::read_dir(&folder).map_err(|error| {
        let cause = format!("The folder {path:?} cannot be listed: {error}.");
        let kind = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
            _ => ErrorKind::Unavailable,
        };
        let error = Error::new(kind, cause, NextStep::ListFiles).with_source(error);
        if kind == ErrorKind::NotFound {
            Nearest::find(root, path, Wanted::Folders).name_in(error)
        } else {
            error
        }
    })?;
    let walk = WalkDir::new(&folder).min_depth(1).max_depth(max_depth.saturating_add(1)).into_iter();
    let walk =
        walk.filter_entry(|entry| !is_hidden(entry) && !entry.path().parent().is_some_and(is_generated));
    let mut rows: Vec<FileEntry> = walk
        .take(MAX_ROWS + 1)
        .filter_map(|next| match next {
            Ok(entry) => Some(row(root, &entry)),
            Err(error) => unreadable(root, &error),
        })
        .collect();
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    // An unreadable folder comes twice: as an entry of its parent, and as the error when it was read.
    rows.dedup_by(|next, row| {
        let is_same = next.path == row.path;
        if is_same && matches!(next.kind, FileKind::Unreadable(_)) {
            row.kind = next.kind.clone();
        }
        is_same
    });
    if rows.len() > MAX_ROWS {
        rows.truncate(MAX_ROWS);
        let path = root.relative(&folder).unwrap_or_default();
        rows.push(plain(path, FileKind::Truncated(MAX_ROWS)));
    }
    Ok(rows)
}

/// The subject of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Notebooks,
    Files,
    Folders,
}

/// At most `limit` notebooks below the root, sorted.
pub fn notebooks(root: &Root, limit: usize) -> FoundNotebooks {
    let (mut paths, is_complete) = find(root, root.real(), Wanted::Notebooks, limit.saturating_add(1));
    let is_complete = is_complete && paths.len() <= limit;
    paths.truncate(limit);
    let extent = if is_complete { SearchExtent::Complete } else { SearchExtent::Truncated };
    FoundNotebooks { paths: paths.into_iter().map(NotebookPath::from).collect(), extent }
}

/// The paths of at most `limit` files or folders below `folder`, sorted; and whether the search has visited all entries before that.
pub(crate) fn find(root: &Root, folder: &Path, wanted: Wanted, limit: usize) -> (Vec<String>, bool) {
    let walk = WalkDir::new(folder).max_depth(MAX_SEARCH_DEPTH).sort_by_file_name().into_iter();
    let is_entered =
        |entry: &DirEntry| entry.depth() == 0 || !entry.file_type().is_dir() || !is_generated(entry.path());
    let walk = walk.filter_entry(|entry| !is_hidden(entry) && is_entered(entry));
    let is_wanted = |path: &Path| match wanted {
        Wanted::Notebooks => is_notebook(path) && path.is_file(),
        Wanted::Files => path.is_file(),
        Wanted::Folders => path.is_dir(),
    };
    let may_be_wanted = |entry: &DirEntry| wanted != Wanted::Notebooks || is_notebook(entry.path());
    let visited = Cell::new(0);
    let walk = walk.take(MAX_SEARCHED).inspect(|_| visited.set(visited.get() + 1));
    let matches = walk.flatten().filter(|entry| entry.depth() > 0 && may_be_wanted(entry));
    // Links are listed if they lead to one below the root.
    let matches = matches.filter_map(|entry| match entry.file_type() {
        kind if kind.is_symlink() => {
            let path = root.relative(entry.path())?;
            is_wanted(&root.resolve(&path).ok()?).then_some(path)
        }
        kind if kind.is_dir() == (wanted == Wanted::Folders) && is_wanted(entry.path()) => {
            root.relative(entry.path())
        }
        _ => None,
    });
    let mut paths: Vec<_> = matches.take(limit).collect();
    paths.sort();
    (paths, visited.get() < MAX_SEARCHED)
}

/// Whether a path ends in `.ipynb`, in any case.
pub(crate) fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// Hidden files and those in `ContentsManager.hide_globs`, which Jupyter does not show either.
fn is_hidden(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    entry.depth() > 0
        && (name.starts_with('.') || name == "__pycache__" || name.ends_with('~') || name.ends_with(".pyc"))
}

/// Whether a folder contains files made by tools: environments, packages, build output.
pub(crate) fn is_generated(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    name == "node_modules"
        || name == "site-packages"
        || folder.join("pyvenv.cfg").exists()
        || folder.join("conda-meta").exists()
        || folder.join("CACHEDIR.TAG").exists()
}

fn row(root: &Root, entry: &DirEntry) -> FileEntry {
    let Some(path) = root.relative(entry.path()) else {
        let path =
            entry.path().strip_prefix(root.real()).unwrap_or(entry.path()).to_string_lossy().into_owned();
        return plain(path, FileKind::Unreadable("its name is not UTF-8".to_owned()));
    };
    if entry.path_is_symlink() && root.resolve(&path).is_err() {
        return plain(
            path,
            FileKind::Unreadable("a broken link, or one that leads out of the folder".to_owned()),
        );
    }
    let meta = match fs::metadata(entry.path()) {
        Ok(meta) => meta,
        Err(error) => return plain(path, FileKind::Unreadable(error.to_string())),
    };
    let kind = match () {
        () if meta.is_dir() => FileKind::Directory,
        () if is_notebook(entry.path()) => FileKind::Notebook,
        () => FileKind::File,
    };
    let size = meta.is_file().then_some(meta.len());
    FileEntry { path, kind, size, modified: meta.modified().ok() }
}

fn unreadable(root: &Root, error: &walkdir::Error) -> Option<FileEntry> {
    let path = root.relative(error.path()?)?;
    let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
    Some(plain(path, FileKind::Unreadable(why)))
}

fn plain(path: String, kind: FileKind) -> FileEntry {
    FileEntry { path, kind, size: None, modified: None }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree(files: &[&str]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "12345").unwrap();
        }
        (folder, Root::new(root))
    }

    fn rows(root: &Root, path: &str, depth: usize) -> Vec<String> {
        let rows = list(root, path, depth).unwrap();
        rows.into_iter().map(|row| format!("{} {:?} {:?}", row.path, row.kind, row.size)).collect()
    }

    #[test]
    fn a_listing_shows_what_jupyter_shows_up_to_the_depth() {
        let (_folder, root) =
            tree(&["b/c/d.txt", "b/x.IPYNB", "a.csv", ".git/x", "b/__pycache__/y.pyc", "b-2/z~"]);
        assert_eq!(rows(&root, "", 0), ["a.csv File Some(5)", "b Directory None", "b-2 Directory None"]);
        assert_eq!(
            rows(&root, "b", 1),
            ["b/c Directory None", "b/c/d.txt File Some(5)", "b/x.IPYNB Notebook Some(5)"]
        );
        for path in ["a.csv", "no", ".."] {
            assert!(list(&root, path, 0).is_err(), "{path}");
        }
    }

    #[test]
    fn generated_folders_are_listed_but_not_entered() {
        let (_folder, root) = tree(&["node_modules/m/x.ipynb", "env/pyvenv.cfg", "env/x.ipynb", "x.ipynb"]);
        assert_eq!(
            rows(&root, "", 3),
            ["env Directory None", "node_modules Directory None", "x.ipynb Notebook Some(5)"]
        );
        assert_eq!(notebooks(&root, 10).paths, ["x.ipynb"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_folder_are_listed_as_unreadable() {
        let (folder, root) = tree(&["a/x.ipynb"]);
        symlink(folder.path(), root.real().join("out")).unwrap();
        symlink("..", root.real().join("a/loop")).unwrap();
        assert_eq!(
            rows(&root, "", 3),
            [
                "a Directory None",
                "a/loop Directory None",
                "a/x.ipynb Notebook Some(5)",
                "out Unreadable(\"a broken link, or one that leads out of the folder\") None",
            ]
        );
    }

    /// macOS has no such names.
    #[cfg(target_os = "linux")]
    #[test]
    fn names_that_are_not_utf8_are_listed_as_unreadable() {
        use std::os::unix::ffi::OsStrExt as _;
        let (_folder, root) = tree(&["a"]);
        fs::write(root.real().join(std::ffi::OsStr::from_bytes(b"b\xff")), "").unwrap();
        assert_eq!(
            rows(&root, "", 3),
            ["a File Some(5)", "b\u{fffd} Unreadable(\"its name is not UTF-8\") None"]
        );
    }

    #[test]
    fn notebooks_are_searched_where_people_have_them() {
        let (_folder, root) = tree(&[
            "b/x.ipynb",
            "a.ipynb",
            ".hidden/x.ipynb",
            "b/.ipynb_checkpoints/x.ipynb",
            "t/CACHEDIR.TAG",
            "t/x.ipynb",
        ]);
        assert_eq!(notebooks(&root, 10).paths, ["a.ipynb", "b/x.ipynb"]);
        assert_eq!(notebooks(&root, 2).extent, SearchExtent::Complete);
        let one = FoundNotebooks { paths: vec!["a.ipynb".into()], extent: SearchExtent::Truncated };
        assert_eq!(notebooks(&root, 1), one);
    }

    #[test]
    fn a_walk_that_stops_at_its_limit_reports_it() {
        let names: Vec<String> = (0..=MAX_SEARCHED).map(|number| format!("{number}.csv")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (_folder, root) = tree(&names);
        let rows = list(&root, "", 0).unwrap();
        assert_eq!((rows.len(), &rows[MAX_ROWS].kind), (MAX_ROWS + 1, &FileKind::Truncated(MAX_ROWS)));
        assert_eq!(notebooks(&root, 10).extent, SearchExtent::Truncated);
    }

    #[cfg(unix)]
    #[test]
    fn the_search_for_notebooks_does_not_loop() {
        let (folder, root) = tree(&["b/x.ipynb"]);
        symlink("..", root.real().join("b/up")).unwrap();
        symlink("x.ipynb", root.real().join("b/y.ipynb")).unwrap();
        fs::write(folder.path().join("o.ipynb"), "").unwrap();
        symlink(folder.path().join("o.ipynb"), root.real().join("o.ipynb")).unwrap();
        assert_eq!(notebooks(&root, 10).paths, ["b/x.ipynb", "b/y.ipynb"]);
    }
}
