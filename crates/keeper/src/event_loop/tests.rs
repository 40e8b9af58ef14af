use std::future::ready;
use std::path::Path;

use kernel::log::{Announcement, RunStage};
use kernel::{KernelError, Outcome};
use serde_json::{Value, json};

use super::*;
use crate::connection::{self, Connect, Connection};
use crate::log::logged_runs;
use crate::protocol::ClientFrame;
use crate::turns::QueuedRequest;

pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// The keeper of a kernel that works on a run whose server has gone.
pub(super) fn keeper(path: &Path) -> Keeper {
    let folder = KeeperFolder { path: path.to_path_buf() };
    let lock = folder.lock().unwrap().unwrap();
    let log = Log::create(path).unwrap();
    let mut keeper = Keeper::new(folder, lock, log, Lifetimes::of_idle(FOREVER));
    keeper.status.phase = KernelPhase::Running;
    let announcement = Announcement { run: "r1".into(), message: Some("m1".into()), data: Value::Null };
    keeper.record(&LogRecord::Announced(announcement));
    keeper
}

pub(super) async fn connect(keeper: &mut Keeper) -> Result<Connection, KernelError> {
    let (stream, ours) = UnixStream::pair().unwrap();
    keeper.serve(ours);
    let (read_log, restart, process) = (None, false, 1);
    let (ready_timeout, silence_timeout) = (TIMEOUT, TIMEOUT * 100);
    let connect = Connect {
        stream: stream.into_std().unwrap(),
        read_log,
        restart,
        ready_timeout,
        process,
        silence_timeout,
    };
    let listener = UnixListener::bind(keeper.folder.path.join(keeper.client_count.to_string())).unwrap();
    tokio::select! {
        kept = connection::connect(connect) => kept,
        ending = keeper.run(Some(&listener), std::future::pending()) => panic!("{ending:?}"),
    }
}

#[tokio::test]
async fn a_keeper_that_is_terminated_leaves_the_runs_that_nobody_has_read() {
    for is_read in [false, true] {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("one");
        std::fs::create_dir(&folder).unwrap();
        let mut keeper = keeper(&folder);
        if is_read {
            keeper.record(&LogRecord::Acknowledged { run: "r1".into() });
        }
        let listener = UnixListener::bind(folder.join("s")).unwrap();
        let ending = keeper.run(Some(&listener), ready(())).await;
        keeper.end(ending).await;
        assert_eq!(folder.exists(), !is_read);
    }
}

#[test]
fn a_folder_is_gone_if_it_is_missing_twice_and_not_if_that_cannot_be_told() {
    let state = tempfile::tempdir().unwrap();
    let (parent, away) = (state.path().join("kernels"), state.path().join("away"));
    let folder = parent.join("one");
    std::fs::create_dir_all(&folder).unwrap();
    let mut keeper = keeper(&folder);
    let mut looks = |count: usize| (0..count).map(|_| keeper.is_folder_gone()).collect::<Vec<_>>();
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

pub(super) fn parts(kind: &str, id: &str, parent: &str, content: &Value) -> Vec<Bytes> {
    let header = json!({ "msg_id": id, "msg_type": kind });
    let parts = [&header, &json!({ "msg_id": parent }), &json!({}), content];
    parts.map(|part| Bytes::from(part.to_string())).into()
}

#[tokio::test]
async fn the_log_says_that_a_request_came_too_late_for_its_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = keeper(folder.path());
    let (_theirs, ours) = UnixStream::pair().unwrap();
    keeper.serve(ours);
    keeper.clients.values_mut().for_each(|client| client.process = Some(1));
    let parts = parts("execute_request", "m1", "", &json!({}));
    keeper.on_frame(1, ClientFrame::Send { channel: Channel::Shell, parts });
    let states: Vec<_> = logged_runs(folder.path()).into_iter().map(|run| run.stage).collect();
    assert_eq!(states, [RunStage::Withdrawn]);
}

#[test]
fn the_log_says_that_a_run_is_over_although_a_message_of_its_kernel_is_missing() {
    let reply = (Channel::Shell, parts("execute_reply", "1", "m1", &json!({ "status": "ok" })));
    let idle = (Channel::Iopub, parts("status", "2", "m1", &json!({ "execution_state": "idle" })));
    let done = Outcome::Done { execution_count: None, next_input: None };
    let interrupted = Outcome::Interrupted { is_started: true };
    for ((channel, sent), outcome) in [(reply, done), (idle, interrupted)] {
        let folder = tempfile::tempdir().unwrap();
        let mut keeper = keeper(folder.path());
        let request = parts("execute_request", "m1", "", &json!({}));
        keeper.turns.submit(QueuedRequest::new(1, Channel::Shell, request));
        keeper.on_message(channel, sent);
        keeper.end_overdue(Instant::now() + FOREVER);
        let states: Vec<_> = logged_runs(folder.path()).into_iter().map(|run| run.stage).collect();
        assert_eq!(states, [RunStage::Over(outcome)]);
    }
}
