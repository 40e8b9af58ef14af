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
