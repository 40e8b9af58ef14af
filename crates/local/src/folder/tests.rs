//! Kernels that earlier servers left to keepers, as the next server sees them. The end-to-end tests cover keepers that live.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use futures_util::{SinkExt as _, TryStreamExt as _};
use keeper::{
    Attachment, ChosenKernel, KeeperFolder, KeeperFrame, KeptKernel, KernelFile, KernelPhase, KernelStatus,
    VERSION, Welcome, attach, framed, keepers,
};
use kernel::log::{Announcement, LogRecord};
use notebook::CellId;
use place::{EarlierRuns as _, ErrorKind, Leftovers};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::UnixListener;

use super::Folder;
use crate::launch::{KernelKeeping, refusal};
use environments::ProcessEnv;

struct Machine {
    process_env: ProcessEnv,
    _folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().to_str().unwrap();
        let process_env = ProcessEnv {
            home: Some(state.into()),
            ..ProcessEnv::with_variables(&[("XDG_STATE_HOME", state)])
        };
        Self { process_env, _folder: folder }
    }

    /// What is left of a keeper that was killed: this log.
    fn leave(&self, records: &[LogRecord]) -> (KeeperFolder, KernelFile) {
        let folder = KeeperFolder::named(&self.process_env.state_folder(), "one").unwrap();
        folder.create().unwrap();
        let mut log = BytesMut::new();
        for record in records {
            record.write(SystemTime::now(), &mut log);
        }
        std::fs::write(folder.path.join(format!("log.{:020}", 0)), &log).unwrap();
        let kernelspec = json!({
            "name": "k", "resources": "", "argv": ["k"], "display_name": "K", "language": "k", "env": {},
            "interrupt_mode": "Signal",
        });
        let choice = json!({ "kernelspec": kernelspec, "program": "/k", "environment": null });
        let record = KernelFile {
            id: "one".to_owned(),
            program_version: "1".to_owned(),
            protocol: VERSION,
            choice: ChosenKernel::new(&choice).unwrap(),
            folder: "/".into(),
            notebook: Some("/x.ipynb".into()),
            started_at: SystemTime::now(),
            process: 1,
            socket: folder.path.join("s"),
        };
        folder.set_record(&record).unwrap();
        (folder, record)
    }

    /// A server that has just started in the folder of all notebooks.
    fn server(&self) -> Arc<Folder> {
        let keeping =
            KernelKeeping { program: "/k".into(), idle: Duration::from_secs(60), only_stores: false };
        Folder::new("/".into(), self.process_env.clone(), Some(keeping))
    }
}

fn announcement(data: Value) -> LogRecord {
    LogRecord::Announced(Announcement { run: "r1".into(), message: Some("m1".into()), data })
}

#[tokio::test(start_paused = true)]
async fn a_keeper_that_does_not_answer_is_not_used() {
    let machine = Machine::new();
    let (folder, record) = machine.leave(&[]);
    let _lock = folder.lock().unwrap().unwrap();
    let _listener = UnixListener::bind(folder.path.join("s")).unwrap();
    let known = KeptKernel::ask(folder, record).await;
    assert_eq!(refusal(&known).as_deref(), Some("its keeper (process 1) does not answer"));
}

/// Serves whoever asks the keeper, whose kernel is so.
fn served(
    machine: &Machine,
    record: LogRecord,
    phase: KernelPhase,
    is_busy: bool,
) -> tokio::task::JoinHandle<()> {
    let (folder, _) = machine.leave(&[record]);
    let listener = UnixListener::bind(folder.path.join("s")).unwrap();
    tokio::spawn(async move {
        let _lock = folder.lock().unwrap().unwrap();
        loop {
            let (mut read, mut write) = framed(listener.accept().await.unwrap().0.into_split());
            read.try_next().await.unwrap();
            let phase = phase.clone();
            let kernel = KernelStatus { phase, is_busy, language_info: Value::Null, process: None };
            let (last_request, attached) = (SystemTime::now(), vec![1]);
            let welcome = Welcome { version: VERSION, kernel, last_request, attached, orphans: 0 };
            write.send(KeeperFrame::Welcome(welcome).write()).await.unwrap();
        }
    })
}

#[tokio::test]
async fn the_cells_that_a_kernel_runs_are_known_but_not_before_it_has_started() {
    let announcement = announcement(json!({ "notebook": "/x.ipynb", "cell": "c", "source": "1" }));
    let cells = async |phase, is_busy| {
        let machine = Machine::new();
        let served = served(&machine, announcement.clone(), phase, is_busy);
        let folder = Folder::new("/".into(), machine.process_env.clone(), None);
        let cells = folder.cells_to_run(&"x.ipynb".into()).await;
        assert!(folder.cells_to_run(&"y.ipynb".into()).await.unwrap().is_empty());
        served.abort();
        cells
    };
    assert_eq!(cells(KernelPhase::Running, true).await.unwrap(), [CellId::from("c")]);
    assert!(cells(KernelPhase::Running, false).await.unwrap().is_empty());
    assert_eq!(cells(KernelPhase::Starting, false).await.unwrap_err().kind, ErrorKind::Busy);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_another_server_reads_is_not_left() {
    let machine = Machine::new();
    let (folder, record) = machine.leave(&[announcement(Value::Null)]);
    for has_socket in [false, true] {
        if has_socket {
            drop(UnixListener::bind(folder.path.join("s")).unwrap());
        }
        let attached: Attachment = attach(&folder, &record, false, Duration::from_secs(60)).await.unwrap();
        assert_eq!(machine.server().leftovers().await, Leftovers::default());
        drop(attached);
        while folder.is_kept() {
            tokio::task::yield_now().await;
        }
    }
}

/// Whoever reads the file waits from now on until somebody writes it.
#[cfg(target_os = "linux")]
fn make_slow(path: &Path) {
    std::fs::remove_file(path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_read_too_late_for_the_first_reply_does_not_count_as_reported() {
    let machine = Machine::new();
    machine.leave(&[announcement(Value::Null)]);
    let [(keeper, _)] = &keepers(&machine.process_env.state_folder())[..] else { panic!() };
    let log = keeper.path.join(format!("log.{:020}", 0));
    let written = std::fs::read(&log).unwrap();
    let left = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let left = runtime.block_on(machine.server().leftovers()).runs;
        (left.into_iter().map(|run| run.details.run.to_string()).collect::<Vec<_>>(), runtime)
    };
    make_slow(&log);
    let (runs, runtime) = left();
    assert!(runs.is_empty());
    // It may be closed at once: a pipe is no log.
    let _ = std::fs::write(&log, &written);
    // Waits for whoever reads.
    drop(runtime);
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&log, &written).unwrap();
    assert_eq!(left().0, ["r1"]);
    assert!(left().0.is_empty(), "it was reported");
}
