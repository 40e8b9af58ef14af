use std::sync::Arc;
use std::thread;

use super::*;

fn operation(text: &str) -> (Operation, Blobs) {
    let mut blobs = Blobs::default();
    blobs.add(&text.as_bytes().to_vec().into());
    (Operation { tool: text.to_owned(), ..Operation::default() }, blobs)
}

fn append(log: &OperationLog, text: &str) -> u64 {
    let (operation, blobs) = operation(text);
    log.append(operation, &blobs).unwrap().number()
}

fn tools(log: &OperationLog) -> Vec<(u64, String)> {
    log.read().unwrap().into_iter().map(|operation| (operation.id.number(), operation.tool)).collect()
}

fn file(root: &Path, log: &OperationLog) -> PathBuf {
    assert!(log.folder.starts_with(root));
    log.folder.join(LOG)
}

#[test]
fn operations_are_read_as_they_were_appended() {
    let root = tempfile::tempdir().unwrap();
    let log = OperationLog::new(root.path(), "local:/x/a.ipynb");
    assert_eq!(log.read().unwrap(), []);
    assert_eq!((append(&log, "one"), append(&log, "two")), (1, 2));
    let other = OperationLog::new(root.path(), "local:/x/a.ipynb");
    assert_eq!(tools(&other), [(1, "one".to_owned()), (2, "two".to_owned())]);
    assert_eq!(append(&other, "three"), 3);
    assert_eq!(append(&log, "four"), 4);
    assert_eq!(log.content(&BlobId::of(b"three")).unwrap(), "three");
    assert_eq!(log.content(&BlobId::of(b"none")), None);
    assert_eq!(OperationLog::new(root.path(), "local:/x/b.ipynb").read().unwrap(), []);
}

#[test]
fn what_was_added_is_read_once() {
    let root = tempfile::tempdir().unwrap();
    let log = OperationLog::new(root.path(), "local:/x/a.ipynb");
    let mut length = log.size();
    assert_eq!(log.read_since(&mut length), []);
    append(&log, "one");
    append(&log, "two");
    let mut added = || log.read_since(&mut length).into_iter().map(|it| it.tool).collect::<Vec<_>>();
    assert_eq!(added(), ["one", "two"]);
    assert!(added().is_empty());
    append(&log, "three");
    let path = file(root.path(), &log);
    let mut text = fs::read(&path).unwrap();
    let unfinished = text.split_off(text.len() - 5);
    fs::write(&path, &text).unwrap();
    assert!(added().is_empty());
    fs::write(&path, [text, unfinished].concat()).unwrap();
    assert_eq!(added(), ["three"]);
}

#[test]
fn a_torn_line_does_no_harm() {
    let root = tempfile::tempdir().unwrap();
    let log = OperationLog::new(root.path(), "x");
    append(&log, "one");
    let whole = fs::read(file(root.path(), &log)).unwrap();
    append(&log, "two");
    let with_two = fs::read(file(root.path(), &log)).unwrap();
    // Wherever the append was interrupted.
    for length in whole.len()..with_two.len() {
        fs::write(file(root.path(), &log), &with_two[..length]).unwrap();
        let log = OperationLog::new(root.path(), "x");
        let is_whole = length == with_two.len() - 1;
        let id = append(&log, "three");
        assert_eq!(id, if is_whole { 3 } else { 2 }, "{length}");
        assert_eq!(tools(&log).last().unwrap(), &(id, "three".to_owned()));
        assert_eq!(tools(&log).len(), if is_whole { 3 } else { 2 }, "{length}");
    }
    // A header that was torn, and nothing else.
    fs::write(file(root.path(), &log), "{\"vers").unwrap();
    let log = OperationLog::new(root.path(), "x");
    assert_eq!(append(&log, "first"), 1);
    assert_eq!(tools(&log), [(1, "first".to_owned())]);
}

#[test]
fn a_damaged_content_counts_as_gone() {
    let root = tempfile::tempdir().unwrap();
    let log = OperationLog::new(root.path(), "x");
    append(&log, "one");
    let id = BlobId::of(b"one");
    fs::write(log.folder.join("contents").join(id.as_str()), "damaged").unwrap();
    assert_eq!(log.content(&id), None);
}

#[test]
fn a_content_that_a_power_cut_left_empty_is_written_again() {
    let root = tempfile::tempdir().unwrap();
    let log = OperationLog::new(root.path(), "x");
    append(&log, "one");
    let id = BlobId::of(b"one");
    for left in ["", "damaged"] {
        fs::write(log.folder.join("contents").join(id.as_str()), left).unwrap();
        append(&log, "one");
        assert_eq!(log.content(&id).unwrap(), "one");
    }
}

#[test]
fn a_log_of_a_newer_version_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let log = OperationLog::new(root.path(), "x");
    append(&log, "one");
    let newer = "{\"version\":2,\"notebook\":\"x\",\"more\":1}\nsomething else\n";
    fs::write(file(root.path(), &log), newer).unwrap();
    let (operation, blobs) = operation("two");
    for log in [log, OperationLog::new(root.path(), "x")] {
        let error = log.append(operation.clone(), &blobs).unwrap_err();
        assert!(matches!(error, LogError::Newer { version: 2, .. }), "{error}");
        assert!(log.read().is_err());
        assert_eq!(fs::read_to_string(file(root.path(), &log)).unwrap(), newer);
    }
}

#[test]
fn several_programs_append_at_once() {
    let root = tempfile::tempdir().unwrap();
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let log = Arc::new(OperationLog::new(root.path(), "x"));
            thread::spawn(move || {
                for count in 0..50 {
                    append(&log, &format!("{number} {count}"));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let log = OperationLog::new(root.path(), "x");
    let ids: Vec<u64> = log.read().unwrap().iter().map(|operation| operation.id.number()).collect();
    assert_eq!(ids, (1..=200).collect::<Vec<_>>());
}

#[test]
fn the_oldest_operations_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let log = OperationLog::new(root.path(), "x");
    for count in 0..2200 {
        append(&log, &format!("{count}"));
    }
    let kept = tools(&log);
    assert!((2000..=2100).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().unwrap(), &(2200, "2199".to_owned()));
    // No operation here names its content.
    assert!(log.content(&BlobId::of(b"0")).is_none());
    assert_eq!(append(&log, "next"), 2201);
}

#[cfg(unix)]
#[test]
fn only_this_user_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().unwrap();
    let log = OperationLog::new(&root.path().join("history"), "x");
    append(&log, "one");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&log.folder), 0o700);
    assert_eq!(mode(&log.folder.join("contents")), 0o700);
    assert_eq!(mode(&log.folder.join(LOG)), 0o600);
    assert_eq!(mode(&log.folder.join("contents").join(BlobId::of(b"one").as_str())), 0o600);
}
