//! Two stores on one folder stand for two programs.

#[cfg(windows)]
mod open_handles;

use std::fs::File;
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::poll;
use notebook::{CellType, Edit, NewCell};
use place::{Document as _, Expected};
use tempfile::TempDir;

use super::*;
use crate::stamp::Stamp;

const NOTEBOOK: &str = r#"{
 "cells": [
  {"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": "one"},
  {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "two"}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}"#;

/// A folder with the notebook `x.ipynb`.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = canonicalize(folder.path()).unwrap().join("x.ipynb");
    fs::write(&file, NOTEBOOK).unwrap();
    (folder, file)
}

/// Renames a file as another program does. Windows refuses that while somebody reads the file that is replaced.
async fn replace(new: &Path, file: &Path) {
    let replaced = async {
        while let Err(error) = fs::rename(new, file) {
            assert!(cfg!(windows) && error.kind() == std::io::ErrorKind::PermissionDenied, "{error}");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), replaced).await.unwrap();
}

fn store(folder: &TempDir) -> FileStore {
    FileStore::new(Root::new(folder.path().to_path_buf()))
}

async fn open(folder: &TempDir) -> (FileStore, Arc<FileDocument>) {
    let store = store(folder);
    let document = store.open(&"x.ipynb".into(), Mode::Connect).await.unwrap();
    (store, document)
}

fn set(id: &str, source: &str) -> Vec<Edit> {
    vec![Edit::SetSource { id: id.into(), source: source.to_owned() }]
}

fn sources(notebook: &Notebook) -> Vec<String> {
    notebook.cells().iter().map(|cell| cell.source().into_owned()).collect()
}

fn on_disk(file: &Path) -> Vec<String> {
    sources(&Notebook::parse(fs::read(file).unwrap().into()).unwrap())
}

/// As while a program replaces it that first takes the old file away.
#[tokio::test]
async fn a_notebook_that_is_gone_for_a_moment_is_opened() {
    let (folder, file) = folder();
    let (store, aside, path) = (store(&folder), file.with_extension("old"), "x.ipynb".into());
    for mode in [Mode::Connect, Mode::Reopen] {
        fs::rename(&file, &aside).unwrap();
        let mut opening = std::pin::pin!(store.open(&path, mode));
        assert!(poll!(&mut opening).is_pending());
        for _ in 0..10 {
            // Gives the thread that looks for the file its turn.
            tokio::task::spawn_blocking(|| ()).await.unwrap();
        }
        fs::rename(&aside, &file).unwrap();
        assert_eq!(sources(&opening.await.unwrap().snapshot().await.unwrap()), ["one", "two"]);
    }
}

#[tokio::test]
async fn edits_by_others_to_other_cells_survive() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    fs::write(&file, NOTEBOOK.replace("two", "two, by hand")).unwrap();
    let revision = document.snapshot().await.unwrap().cell(&"a".into()).unwrap().1.revision().to_owned();
    fs::write(&file, NOTEBOOK.replace("two", "two, by hand again")).unwrap();
    let expected = vec![Expected { id: "a".into(), revision: Some(revision), read: None }];
    let after = document.apply(set("a", "three"), expected).await.unwrap();
    assert_eq!(sources(&after.notebook), ["three", "two, by hand again"]);
    assert_eq!(on_disk(&file), ["three", "two, by hand again"]);
}

#[tokio::test]
async fn an_edit_on_a_stale_view_is_refused_with_the_new_source() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let revision = document.snapshot().await.unwrap().cell(&"a".into()).unwrap().1.revision().to_owned();
    let foreign = NOTEBOOK.replace("one", "one, by hand");
    fs::write(&file, &foreign).unwrap();
    let expected = |id: &str| vec![Expected { id: id.into(), revision: Some(revision.clone()), read: None }];
    let error = document.apply(set("a", "three"), expected("a")).await.unwrap_err();
    assert!(error.fault == place::Fault::Agent && error.cause.ends_with("):\none, by hand"), "{error}");
    let now = document.snapshot().await.unwrap();
    assert!(error.to_string().contains(now.cell(&"a".into()).unwrap().1.revision()), "{error}");
    let error = document.apply(set("a", "three"), expected("gone")).await.unwrap_err();
    assert!(error.cause.contains("Cell gone no longer exists"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), foreign);
}

#[tokio::test]
async fn all_edits_are_applied_or_none() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let edits = [set("a", "three"), set("gone", "x")].concat();
    document.apply(edits, vec![]).await.unwrap_err();
    assert_eq!(fs::read_to_string(&file).unwrap(), NOTEBOOK);
    assert_eq!(sources(&document.snapshot().await.unwrap()), ["one", "two"]);
}

#[tokio::test]
async fn changes_within_the_resolution_of_the_clock_are_noticed() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    for count in 100..200 {
        fs::write(&file, NOTEBOOK.replace("two", &count.to_string())).unwrap();
        assert_eq!(sources(&document.snapshot().await.unwrap())[1], count.to_string());
    }
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_replaced() {
    let (_folder, file) = folder();
    let current = file::Version { stamp: Stamp::of(&file).unwrap(), digest: 0, is_settled: true };
    fs::write(&file, NOTEBOOK.replace("two", "two, by hand")).unwrap();
    let replaced = file::replace(&file, &Notebook::new(), &current).unwrap();
    assert!(replaced.is_none());
    assert_eq!(on_disk(&file), ["one", "two, by hand"]);
}

/// An editor that has opened the file in place before ours replaces it.
#[cfg(unix)]
struct OpenEditor(fs::File);

#[cfg(unix)]
impl OpenEditor {
    fn open(file: &Path) -> Self {
        Self(fs::File::options().write(true).open(file).unwrap())
    }

    fn write(&mut self, text: &str) {
        use std::io::{Seek as _, Write as _};
        self.0.rewind().unwrap();
        self.0.write_all(text.as_bytes()).unwrap();
        self.0.set_len(text.len() as u64).unwrap();
    }
}

#[cfg(unix)]
async fn until_on_disk(document: &FileDocument, file: &Path, expected: &[&str]) {
    let merged = async {
        while on_disk(file) != expected {
            // A loop without a pause would take the processor from those it waits for.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let is_merged = tokio::time::timeout(Duration::from_secs(30), merged).await.is_ok();
    assert!(is_merged, "what was written late is lost: {:?}", on_disk(file));
    let shown = async { while sources(&document.snapshot().await.unwrap()) != expected {} };
    tokio::time::timeout(Duration::from_secs(30), shown).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn what_an_editor_writes_into_a_file_that_was_replaced_is_merged() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let mut editor = OpenEditor::open(&file);
    let cell = NewCell::new(CellType::Code, "new");
    document.apply(set("a", "three"), vec![]).await.unwrap();
    document.apply(vec![Edit::Insert { index: 2, cell }], vec![]).await.unwrap();
    let mut changes = document.changes();
    editor.write(&NOTEBOOK.replace("two", "two, by hand"));
    drop(editor);
    until_on_disk(&document, &file, &["three", "two, by hand", "new"]).await;
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
}

#[cfg(unix)]
#[tokio::test]
async fn of_two_changes_of_a_cell_the_one_written_late_counts() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let mut editor = OpenEditor::open(&file);
    document.apply([set("a", "three"), set("b", "four")].concat(), vec![]).await.unwrap();
    editor.write(&NOTEBOOK.replace("one", "one, by hand"));
    until_on_disk(&document, &file, &["one, by hand", "four"]).await;
}

/// Only what the editor has read counts as unchanged by the person, also where earlier files were replaced.
#[cfg(unix)]
#[tokio::test]
async fn what_ours_changed_before_an_editor_opened_the_file_is_not_the_persons() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    document.apply(set("a", "three"), vec![]).await.unwrap();
    let read = fs::read_to_string(&file).unwrap();
    let mut editor = OpenEditor::open(&file);
    document.apply(set("a", "four"), vec![]).await.unwrap();
    editor.write(&read.replace("two", "two, by hand"));
    until_on_disk(&document, &file, &["four", "two, by hand"]).await;
}

#[cfg(unix)]
#[tokio::test]
async fn what_was_put_back_is_not_written_late_again() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let mut editor = OpenEditor::open(&file);
    document.apply(set("a", "three"), vec![]).await.unwrap();
    editor.write(&NOTEBOOK.replace("two", "two, by hand"));
    until_on_disk(&document, &file, &["three", "two, by hand"]).await;
    let read = fs::read_to_string(&file).unwrap();
    let mut editor = OpenEditor::open(&file);
    document.apply(set("b", "four"), vec![]).await.unwrap();
    editor.write(&read.replace("three", "three, by hand"));
    until_on_disk(&document, &file, &["three, by hand", "four"]).await;
}

/// Whoever writes the file after us has seen what we wrote.
#[cfg(unix)]
#[tokio::test]
async fn what_was_written_late_does_not_replace_what_is_newer() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let mut editor = OpenEditor::open(&file);
    document.apply(set("a", "three"), vec![]).await.unwrap();
    let newer = fs::read_to_string(&file).unwrap().replace("two", "two, newest");
    fs::write(&file, newer).unwrap();
    editor.write(&NOTEBOOK.replace("two", "two, by hand"));
    document.put_back().await;
    assert_eq!(on_disk(&file), ["three", "two, newest"]);
}

/// An editor reads the file and writes it in place, as often as it can, while ours replaces it.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_editor_that_writes_in_place_loses_nothing() {
    const WRITES: usize = 150;
    let (folder, file) = folder();
    let is_over = Arc::new(AtomicBool::new(false));
    let editor = std::thread::spawn({
        let (file, is_over) = (file.clone(), is_over.clone());
        move || {
            let lost = (0..WRITES).filter(|number| {
                let source = format!("by hand {number}");
                let mut notebook = Notebook::parse(fs::read(&file).unwrap().into()).unwrap();
                notebook.apply(&set("b", &source)[0]).unwrap();
                let mut text = Vec::new();
                notebook.write(&mut text).unwrap();
                let written = fs::File::options().write(true).open(&file).unwrap();
                OpenEditor(written).write(str::from_utf8(&text).unwrap());
                let start = std::time::Instant::now();
                while on_disk(&file)[1] != source {
                    if start.elapsed() > Duration::from_secs(20) {
                        return true;
                    }
                    std::thread::yield_now();
                }
                false
            });
            let lost = lost.count();
            is_over.store(true, Ordering::Relaxed);
            lost
        }
    });
    let (_store, document) = open(&folder).await;
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        // It may find the file half written for longer than it waits.
        let _ = document.apply(set("a", &format!("ours {count}")), vec![]).await;
        count += 1;
    }
    assert_eq!(editor.join().unwrap(), 0, "of {count} edits");
}

/// As a backup that shares the file until one of the two is replaced.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_has_another_name_is_not_the_notebook_any_longer() {
    let (folder, file) = folder();
    let backup = folder.path().join("backup");
    fs::hard_link(&file, &backup).unwrap();
    let (_store, document) = open(&folder).await;
    document.apply(set("a", "three"), vec![]).await.unwrap();
    fs::write(&backup, NOTEBOOK.replace("two", "two, in the backup")).unwrap();
    document.put_back().await;
    assert_eq!(on_disk(&file), ["three", "two"]);
}

/// The editor opens the file right before it is replaced, and is not done when we look.
#[cfg(unix)]
#[test]
fn a_file_that_is_being_written_while_it_is_replaced_gets_its_name_back() {
    let (folder, file) = folder();
    let current = file::read(&file).unwrap().unwrap().version;
    let mut edited = Notebook::parse(fs::read(&file).unwrap().into()).unwrap();
    edited.apply(&set("a", "three")[0]).unwrap();
    let mut editor = OpenEditor::open(&file);
    let replaced = file::replace_while(&file, &edited, &current, || editor.write(&NOTEBOOK[..20])).unwrap();
    assert!(replaced.is_none());
    editor.write(&NOTEBOOK.replace("two", "two, by hand"));
    assert_eq!(on_disk(&file), ["one", "two, by hand"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// An editor saves by rename right before, or right after, our file gets the name.
#[cfg(unix)]
#[test]
fn a_file_that_an_editor_renames_to_the_path_is_never_replaced() {
    let (folder, file) = folder();
    let current = file::read(&file).unwrap().unwrap().version;
    let mut edited = Notebook::parse(fs::read(&file).unwrap().into()).unwrap();
    edited.apply(&set("a", "three")[0]).unwrap();
    let save = || {
        let new = folder.path().join("saved");
        fs::write(&new, NOTEBOOK.replace("two", "two, by hand")).unwrap();
        fs::rename(new, &file).unwrap();
    };
    let replaced = file::replace_while(&file, &edited, &current, save).unwrap();
    assert!(replaced.is_none());
    assert_eq!(on_disk(&file), ["one", "two, by hand"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let gone = file::replace_while(&file, &edited, &file::read(&file).unwrap().unwrap().version, || {
        fs::remove_file(&file).unwrap();
    });
    assert!(gone.unwrap().is_none(), "a file that was deleted stays deleted");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn an_edit_without_effect_does_not_write() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    document.apply(set("a", "three"), vec![]).await.unwrap();
    let before = Stamp::of(&file).unwrap();
    document.apply(set("a", "three"), vec![]).await.unwrap();
    assert_eq!(Stamp::of(&file).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn two_programs_lose_no_edit_and_no_reader_sees_a_partial_file() {
    const EACH: usize = 25;
    let (folder, file) = folder();
    let is_over = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let (file, is_over) = (file.clone(), is_over.clone());
        move || {
            // Wine replaces no file that is open, and it would be open most of the time.
            while !is_over.load(Ordering::Relaxed) && !crate::is_wine() {
                match fs::read(&file) {
                    Ok(text) => assert!(Notebook::parse(text.into()).unwrap().cells().len() >= 2),
                    // Windows may refuse it for a moment, but never says that there is no file.
                    Err(error) => {
                        let is_denied = error.kind() == std::io::ErrorKind::PermissionDenied;
                        assert!(cfg!(windows) && is_denied, "{error}");
                    }
                }
            }
        }
    });
    let mut writers = Vec::new();
    for name in ["left", "right"] {
        let (store, document) = open(&folder).await;
        writers.push(tokio::spawn(async move {
            for count in 0..EACH {
                let cell = NewCell::new(CellType::Code, format!("{name} {count}"));
                let edit = Edit::Insert { index: 0, cell };
                // On a busy machine one of them can find the file changed each time; then nothing is written.
                while let Err(error) = document.apply(vec![edit.clone()], vec![]).await {
                    assert_eq!(error.kind, ErrorKind::Busy, "{error}");
                }
            }
            drop(store);
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    reader.join().unwrap();
    let sources = on_disk(&file);
    for expected in
        ["left", "right"].iter().flat_map(|name| (0..EACH).map(move |count| format!("{name} {count}")))
    {
        assert!(sources.contains(&expected), "{expected} in {sources:?}");
    }
    assert_eq!(sources.len(), 2 * EACH + 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_stays_a_link_and_is_the_same_document() {
    let (folder, file) = folder();
    let root = file.parent().unwrap();
    fs::create_dir(root.join("deep")).unwrap();
    symlink("../x.ipynb", root.join("deep/link.ipynb")).unwrap();
    let (store, document) = open(&folder).await;
    let linked = store.open(&"/deep/link.ipynb".into(), Mode::Connect).await.unwrap();
    assert!(Arc::ptr_eq(&document, &linked));
    linked.apply(set("a", "three"), vec![]).await.unwrap();
    assert!(root.join("deep/link.ipynb").is_symlink());
    assert_eq!(on_disk(&file), ["three", "two"]);
}

#[cfg(unix)]
#[tokio::test]
async fn writing_keeps_the_permissions_and_leaves_no_temporary_file() {
    let (folder, file) = folder();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let (_store, document) = open(&folder).await;
    document.apply(set("a", "three"), vec![]).await.unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_read_only_file_is_not_replaced() {
    let (folder, file) = folder();
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let (_store, document) = open(&folder).await;
    let error = document.apply(set("a", "three"), vec![]).await.unwrap_err();
    assert!(error.fault == place::Fault::Person && error.cause.contains("read-only"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), NOTEBOOK);
}

#[tokio::test]
async fn a_partially_written_file_is_read_again_and_never_overwritten() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let half = &NOTEBOOK[..NOTEBOOK.len() / 2];
    for text in [half, ""] {
        fs::write(&file, text).unwrap();
        let error = document.apply(set("a", "three"), vec![]).await.unwrap_err();
        assert!(error.cause.contains("readable notebook"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let finish = async { fs::write(&file, NOTEBOOK.replace("two", "whole")).unwrap() };
    let (after, ()) = tokio::join!(document.apply(set("a", "three"), vec![]), finish);
    assert_eq!(sources(&after.unwrap().notebook), ["three", "whole"]);
}

#[tokio::test]
async fn a_deleted_file_is_not_created_again() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    fs::remove_file(&file).unwrap();
    let error = document.apply(set("a", "three"), vec![]).await.unwrap_err();
    assert!(error.cause.contains("no notebook"), "{error}");
    assert!(!file.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_document_does_not_follow_a_link_that_replaces_its_file() {
    let (folder, file) = folder();
    let outside = tempfile::tempdir().unwrap();
    let (_store, document) = open(&folder).await;
    fs::write(outside.path().join("x.ipynb"), NOTEBOOK).unwrap();
    fs::remove_file(&file).unwrap();
    symlink(outside.path().join("x.ipynb"), &file).unwrap();
    document.apply(set("a", "three"), vec![]).await.unwrap_err();
    assert_eq!(on_disk(&outside.path().join("x.ipynb")), ["one", "two"]);
}

#[tokio::test]
async fn an_edit_completes_after_its_caller_is_dropped() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let mut left = document.apply(set("a", "three"), vec![]);
    assert!(poll!(&mut left).is_pending());
    drop(left);
    document.apply(set("b", "four"), vec![]).await.unwrap();
    assert_eq!(on_disk(&file), ["three", "four"]);
}

#[tokio::test]
async fn subscribers_are_notified_only_of_changes_by_others() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let mut changes = document.changes();
    document.apply(set("a", "three"), vec![]).await.unwrap();
    document.apply(set("b", "four"), vec![]).await.unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file.with_extension("new"), text.replace("four", "five")).unwrap();
    replace(&file.with_extension("new"), &file).await;
    tokio::time::timeout(Duration::from_secs(30), changes.changed()).await.unwrap().unwrap();
    assert_eq!(*changes.borrow(), 1);
    assert_eq!(sources(&document.snapshot().await.unwrap()), ["three", "five"]);
    assert_eq!(*changes.borrow(), 1);
}

#[tokio::test]
async fn cells_without_ids_in_the_file_keep_their_generated_ids() {
    let (folder, file) = folder();
    let old = NOTEBOOK
        .replace(r#" "id": "a","#, "")
        .replace(r#" "id": "b","#, "")
        .replace("minor\": 5", "minor\": 4");
    fs::write(&file, &old).unwrap();
    let (_store, document) = open(&folder).await;
    let ids = |notebook: &Notebook| notebook.cells().iter().map(|cell| cell.id().clone()).collect::<Vec<_>>();
    let before = ids(&document.snapshot().await.unwrap());
    document.apply(set(&before[0], "three"), vec![]).await.unwrap();
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("two", "two, by hand")).unwrap();
    let now = document.snapshot().await.unwrap();
    assert_eq!((ids(&now), sources(&now)), (before, vec!["three".to_owned(), "two, by hand".to_owned()]));
}

#[tokio::test]
async fn a_new_notebook_is_created_with_its_folders_and_replaces_none() {
    let (folder, file) = folder();
    let store = store(&folder);
    let document = store.open(&"new/folder/y.ipynb".into(), Mode::Create).await.unwrap();
    assert_eq!(
        (document.path(), document.snapshot().await.unwrap().cells().len()),
        (&"new/folder/y.ipynb".into(), 0)
    );
    let made = folder.path().join("new/folder/y.ipynb");
    #[cfg(unix)]
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o600, 0o600);
    assert_eq!(fs::read_dir(made.parent().unwrap()).unwrap().count(), 1);
    let error = store.open(&"x.ipynb".into(), Mode::Create).await.err().unwrap();
    assert!(error.cause.contains("already"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), NOTEBOOK);
}

#[tokio::test]
async fn files_that_are_not_notebooks_are_refused() {
    let (folder, file) = folder();
    let root = file.parent().unwrap();
    fs::create_dir(root.join("folder.ipynb")).unwrap();
    fs::write(root.join("text.txt"), NOTEBOOK).unwrap();
    let utf_16: Vec<u8> = NOTEBOOK.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(root.join("utf-16.ipynb"), [&[0xff, 0xfe], &*utf_16].concat()).unwrap();
    fs::write(root.join("broken.ipynb"), "{\n \"cells\": [,]}").unwrap();
    #[cfg(unix)]
    {
        let made = std::process::Command::new("mkfifo").arg(root.join("pipe.ipynb")).status().unwrap();
        assert!(made.success());
    }
    #[cfg(windows)]
    fs::create_dir(root.join("pipe.ipynb")).unwrap();
    let store = store(&folder);
    for (path, expected) in [
        ("folder.ipynb", "it is a folder"),
        ("utf-16.ipynb", "encoded as UTF-16 or UTF-32"),
        ("broken.ipynb", "at line 2, column 12"),
        ("pipe.ipynb", "not a regular file"),
        ("text.txt", "not a notebook"),
        ("none.ipynb", "no notebook"),
        ("../x.ipynb", "leads out"),
    ] {
        let error = store.open(&path.into(), Mode::Connect).await.err().unwrap();
        assert!(error.cause.contains(expected), "{path}: {error}");
    }
    let error = store.open(&"text.txt".into(), Mode::Create).await.err().unwrap();
    assert!(error.cause.contains("not a notebook"), "{error}");
}

#[tokio::test]
async fn a_notebook_may_lie_deeper_than_260_characters() {
    if crate::is_wine() {
        return;
    }
    let (folder, file) = folder();
    let path = format!("{}/y.ipynb", ["a", "b", "c"].map(|name| name.repeat(100)).join("/"));
    let store = store(&folder);
    let document = store.open(&(&*path).into(), Mode::Create).await.unwrap();
    assert_eq!(&**document.path(), path);
    let cell = NewCell::new(CellType::Code, "one".to_owned());
    document.apply(vec![Edit::Insert { index: 0, cell }], vec![]).await.unwrap();
    document
        .apply(vec![Edit::Insert { index: 0, cell: NewCell::new(CellType::Code, "two".to_owned()) }], vec![])
        .await
        .unwrap();
    let made = path.split('/').fold(file.parent().unwrap().to_path_buf(), |folder, name| folder.join(name));
    assert_eq!(on_disk(&made), ["two", "one"]);
    let mut changes = document.changes();
    fs::write(&made, NOTEBOOK).unwrap();
    tokio::time::timeout(Duration::from_secs(30), changes.changed()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_notebook_that_is_opened_again_shows_what_is_in_the_file() {
    let (folder, file) = folder();
    let (store, document) = open(&folder).await;
    // Long enough ago for the stamp to be trusted.
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    for source in ["one", "1", "2"] {
        let text = NOTEBOOK.replace("\"one\"", &format!("{source:?}"));
        fs::write(&file, text).unwrap();
        File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        for _ in 0..2 {
            let start = Instant::now();
            let again = store.open(&"x.ipynb".into(), Mode::Reopen).await.unwrap();
            assert!(Arc::ptr_eq(&document, &again));
            let notebook = again.snapshot_since(start).await.unwrap();
            assert_eq!(sources(&notebook), [source, "two"]);
        }
    }
}
