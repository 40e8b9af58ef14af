use std::future::ready;
use std::path::Path;

use kernel::keeper::Note;
use serde_json::Value;

use super::*;

/// The keeper of a kernel that works on a run whose server has gone.
pub(super) fn keep(path: &Path) -> Keep {
    let folder = KeeperFolder { path: path.to_path_buf() };
    let lock = folder.lock().unwrap().unwrap();
    let log = Log::create(path).unwrap();
    let mut keep = Keep::new(folder, lock, log, Lifetimes::of_idle(FOREVER));
    keep.status.phase = KernelPhase::Running;
    let note = Note { run: "r1".to_owned(), message: Some("m1".to_owned()), data: Value::Null };
    let offset = keep.record(&Record::Note(note.clone())).unwrap();
    keep.runs.note(note, offset, None, SystemTime::now());
    keep
}

#[tokio::test]
async fn a_keeper_that_is_terminated_leaves_the_runs_that_nobody_has_read() {
    for is_read in [false, true] {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("one");
        std::fs::create_dir(&folder).unwrap();
        let mut keep = keep(&folder);
        if is_read {
            keep.runs.acknowledge("r1");
        }
        let listener = UnixListener::bind(folder.join("s")).unwrap();
        let ending = keep.run(Some(&listener), ready(())).await;
        keep.end(ending).await;
        assert_eq!(folder.exists(), !is_read);
    }
}

#[test]
fn a_folder_is_gone_if_it_is_missing_twice_and_not_if_that_cannot_be_told() {
    let state = tempfile::tempdir().unwrap();
    let (parent, away) = (state.path().join("kernels"), state.path().join("away"));
    let folder = parent.join("one");
    std::fs::create_dir_all(&folder).unwrap();
    let mut keep = keep(&folder);
    let mut looks = |count: usize| (0..count).map(|_| keep.is_folder_gone()).collect::<Vec<_>>();
    assert_eq!(looks(2), [false, false]);
    std::fs::rename(&parent, &away).unwrap();
    std::fs::write(&parent, "").unwrap();
    assert_eq!(looks(3), [false; 3], "it cannot be told");
    std::fs::remove_file(&parent).unwrap();
    assert_eq!(looks(1), [false]);
    std::fs::rename(&away, &parent).unwrap();
    assert_eq!(looks(1), [false]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(looks(2), [false, true]);
}
