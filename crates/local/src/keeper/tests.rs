//! What a dead keeper left, and keepers of other versions. The end-to-end tests cover those that live.

use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use kernel::keeper::{
    Channel, ClientFrame, FramedRead, FramedWrite, KeeperEvent, KeeperFrame, KernelPhase, KernelStatus,
    LogRecord, Note, OrphanedExecution, VERSION, Welcome,
};
use kernel::{Event, Outcome, Status};
use notebook::CellId;
#[cfg(target_os = "linux")]
use place::Leftovers;
use place::{ErrorKind, Place as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::UnixListener;

#[cfg(target_os = "linux")]
use super::Lifetimes;
use super::folder::{KeeperFolder, KernelFile};
use super::log::Log;
use super::start::StartError;
use super::{Attached, KeeperState, attach, keepers, kept_kernels, make_room};
#[cfg(target_os = "linux")]
use crate::launch::KernelKeeping;
use crate::launch::KnownKeeper;
use crate::process_env::tests::with;
use crate::{Folder, ProcessEnv};

struct Machine {
    folder: TempDir,
    process_env: ProcessEnv,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().to_str().unwrap();
        let process_env = ProcessEnv { home: Some(state.into()), ..with(&[("XDG_STATE_HOME", state)]) };
        Self { folder, process_env }
    }

    /// What is left of a keeper that was killed: this log.
    fn leave(&self, name: &str, records: &[LogRecord]) {
        self.leave_by(VERSION, name, records);
    }

    /// The same of a keeper of this version.
    fn leave_by(&self, protocol: u32, name: &str, records: &[LogRecord]) {
        let folder = KeeperFolder::named(&self.process_env, name).unwrap();
        folder.create().unwrap();
        let mut log = Log::create(&folder.path).unwrap();
        for record in records {
            log.append(record, SystemTime::now()).unwrap();
        }
        let kernelspec = json!({
            "name": "k", "resources": "", "argv": ["k"], "display_name": "K", "language": "k", "env": {},
            "interrupt_mode": "Signal",
        });
        let choice = json!({ "kernelspec": kernelspec, "program": "/k", "environment": null });
        let record = KernelFile {
            id: name.to_owned(),
            program_version: "1".to_owned(),
            protocol,
            choice: serde_json::from_value(choice).unwrap(),
            folder: "/".into(),
            notebook: Some("/x.ipynb".into()),
            started_at: SystemTime::now(),
            process: 1,
            socket: folder.path.join("s"),
        };
        folder.set_record(&record).unwrap();
    }

    /// A server that has just started in the folder of all notebooks.
    #[cfg(target_os = "linux")]
    fn server(&self) -> Arc<Folder> {
        let lifetimes = Lifetimes::of_idle(Duration::from_secs(60));
        let keeping = KernelKeeping { program: "/k".into(), lifetimes, only_stores: false };
        Folder::new("/".into(), self.process_env.clone(), Some(keeping))
    }

    async fn attach(&self) -> Attached {
        let [(folder, record)] = &keepers(&self.process_env)[..] else { panic!("not one keeper") };
        attach(folder, record, false, Duration::from_secs(60)).await.unwrap()
    }

    async fn until_removed(&self) {
        let kernels = self.folder.path().join("cellbridge/kernels");
        while std::fs::read_dir(&kernels).unwrap().count() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

fn note(run: &str, message: Option<&str>) -> LogRecord {
    LogRecord::Note(Note { run: run.to_owned(), message: message.map(str::to_owned), data: Value::Null })
}

fn from_kernel(channel: Channel, kind: &str, parent: &str, content: &Value) -> LogRecord {
    let header = json!({ "msg_id": "1", "msg_type": kind, "session": "k" });
    let parent = json!({ "msg_id": parent });
    let parts = [&header, &parent, &json!({}), content].map(|part| Bytes::from(part.to_string()));
    LogRecord::FromKernel { channel, parts: parts.into() }
}

fn finished(message: &str) -> [LogRecord; 3] {
    [
        from_kernel(Channel::Iopub, "stream", message, &json!({ "name": "stdout", "text": "a line" })),
        from_kernel(Channel::Shell, "execute_reply", message, &json!({ "status": "ok" })),
        from_kernel(Channel::Iopub, "status", message, &json!({ "execution_state": "idle" })),
    ]
}

async fn outcome(orphan: &mut OrphanedExecution) -> Outcome {
    let (_, events) = orphan.execution.as_mut().unwrap();
    loop {
        if let (_, Event::Finished(outcome)) = events.recv().await.unwrap() {
            return outcome;
        }
    }
}

#[tokio::test]
async fn runs_of_a_dead_keeper_are_adopted_and_its_folder_is_removed_once_they_are_acknowledged() {
    let machine = Machine::new();
    let mut records = vec![note("r0", Some("m0")), note("r1", Some("m1")), note("r2", Some("m2"))];
    records.extend(finished("m0"));
    records.push(LogRecord::Acknowledged { run: "r0".to_owned() });
    records.extend(finished("m1"));
    machine.leave("one", &records);
    let Attached { mut kept, is_kept } = machine.attach().await;
    assert!(!is_kept);
    let runs: Vec<_> = kept.orphans.iter().map(|run| (&*run.note.run, run.is_acknowledged)).collect();
    assert_eq!(runs, [("r0", true), ("r1", false), ("r2", false)]);
    let done = Outcome::Done { execution_count: None, next_input: None };
    assert_eq!(outcome(&mut kept.orphans[1]).await, done);
    let Outcome::KernelDied { how } = outcome(&mut kept.orphans[2]).await else { panic!() };
    assert!(how.contains("its keeper was killed"), "{how}");
    let mut status = kept.client.status();
    status.wait_for(|status| matches!(status, Status::Dead { .. })).await.unwrap();
    // A run that was announced here before the kernel's death was seen; it runs on another kernel.
    let note = Note { run: "r3".to_owned(), message: None, data: Value::Null };
    kept.keeper.send(ClientFrame::Note(note));
    for run in ["r1", "r2"] {
        kept.keeper.send(ClientFrame::Acknowledge { run: run.to_owned() });
    }
    drop(kept);
    machine.until_removed().await;
}

#[tokio::test]
async fn runs_that_waited_for_a_kernel_that_never_started_are_known_and_leave_nothing_once_acknowledged() {
    let machine = Machine::new();
    let died = LogRecord::Event(KeeperEvent::Died { how: "its server ended".to_owned() });
    machine.leave("one", &[note("r1", None), note("r2", None), died]);
    let Attached { kept, is_kept } = machine.attach().await;
    assert!(!is_kept);
    let runs: Vec<_> = kept.orphans.iter().map(|run| (&*run.note.run, run.execution.is_none())).collect();
    assert_eq!(runs, [("r1", true), ("r2", true)]);
    for run in ["r1", "r2"] {
        kept.keeper.send(ClientFrame::Acknowledge { run: run.to_owned() });
    }
    // Although the connection stays.
    machine.until_removed().await;
}

#[tokio::test]
async fn what_nobody_acknowledged_is_adopted_again() {
    let machine = Machine::new();
    machine.leave("one", &[note("r1", Some("m1"))]);
    for _ in 0..2 {
        let Attached { kept, .. } = machine.attach().await;
        assert_eq!(kept.orphans.len(), 1);
        drop(kept);
        // The log is free again once its reader has noticed.
        let [(folder, _)] = &keepers(&machine.process_env)[..] else { panic!() };
        while folder.is_kept() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_log_that_is_no_log_is_an_error_and_stays() {
    let machine = Machine::new();
    machine.leave("one", &[]);
    let [(folder, record)] = &keepers(&machine.process_env)[..] else { panic!() };
    std::fs::remove_file(folder.path.join(format!("log.{:020}", 0))).unwrap();
    assert!(attach(folder, record, false, Duration::from_secs(60)).await.is_err());
    assert!(Path::new(&folder.path).exists());
}

#[tokio::test]
async fn what_a_keeper_of_a_later_version_left_is_not_touched() {
    let machine = Machine::new();
    machine.leave_by(VERSION + 1, "one", &[note("r1", Some("m1"))]);
    let [(folder, record)] = &keepers(&machine.process_env)[..] else { panic!() };
    let log = folder.path.join(format!("log.{:020}", 0));
    let mut written = std::fs::read(&log).unwrap();
    // Here it would be cut off, as a record that is not whole.
    written.extend_from_slice(b"\0\0\x01");
    std::fs::write(&log, &written).unwrap();
    let error = attach(folder, record, false, Duration::from_secs(60)).await.unwrap_err();
    assert!(error.to_string().contains("of a later version of cellbridge (protocol"), "{error}");
    assert_eq!(std::fs::read(&log).unwrap(), written);
}

#[tokio::test]
async fn a_keeper_that_refuses_is_listed_with_the_reason() {
    let machine = Machine::new();
    machine.leave("one", &[]);
    let [(folder, _)] = &keepers(&machine.process_env)[..] else { panic!() };
    let _lock = folder.lock().unwrap().unwrap();
    let listener = UnixListener::bind(folder.path.join("s")).unwrap();
    let refuse = async {
        let (stream, _) = listener.accept().await.unwrap();
        let (read, write) = stream.into_split();
        let (mut read, mut write) = (FramedRead::new(read), FramedWrite::new(write));
        let hello = ClientFrame::read(read.receive().await.unwrap().unwrap()).unwrap();
        assert!(matches!(hello, ClientFrame::Hello(_)), "{hello:?}");
        write.send(&KeeperFrame::Refused { version: VERSION + 1 }.write()).await.unwrap();
    };
    let (listed, ()) = tokio::join!(kept_kernels(&machine.process_env), refuse);
    let KeeperState::Refused { cause } = &listed[0].state else { panic!("{:?}", listed[0].state) };
    assert!(cause.contains("of another version of cellbridge (protocol"), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn a_keeper_that_does_not_answer_is_not_used() {
    let machine = Machine::new();
    machine.leave("one", &[]);
    let [(folder, record)] = &keepers(&machine.process_env)[..] else { panic!() };
    let _lock = folder.lock().unwrap().unwrap();
    let _listener = UnixListener::bind(folder.path.join("s")).unwrap();
    let known = KnownKeeper::from_earlier(folder.clone(), record.clone()).await;
    assert_eq!(known.refusal.as_deref(), Some("its keeper (process 1) does not answer"));
}

/// Serves whoever asks the keeper `name`, to which a server is attached.
fn attached(machine: &Machine, name: &str) -> tokio::task::JoinHandle<()> {
    served(machine, name, &[], KernelPhase::Running, false)
}

/// The same for a keeper with this log, whose kernel is so.
fn served(
    machine: &Machine,
    name: &str,
    records: &[LogRecord],
    phase: KernelPhase,
    is_busy: bool,
) -> tokio::task::JoinHandle<()> {
    machine.leave(name, records);
    let folder = KeeperFolder::named(&machine.process_env, name).unwrap();
    let listener = UnixListener::bind(folder.path.join("s")).unwrap();
    tokio::spawn(async move {
        let _lock = folder.lock().unwrap().unwrap();
        loop {
            let (read, write) = listener.accept().await.unwrap().0.into_split();
            let (mut read, mut write) = (FramedRead::new(read), FramedWrite::new(write));
            read.receive().await.unwrap();
            let phase = phase.clone();
            let kernel = KernelStatus { phase, is_busy, language_info: Value::Null, process: None };
            let (last_request, attached) = (SystemTime::now(), vec![1]);
            let welcome = Welcome { version: VERSION, kernel, last_request, attached, orphans: 0 };
            write.send(&KeeperFrame::Welcome(welcome).write()).await.unwrap();
        }
    })
}

#[tokio::test]
async fn the_cells_that_a_kernel_runs_are_known_but_not_before_it_has_started() {
    let data = json!({ "notebook": "/x.ipynb", "cell": "c", "source": "1" });
    let note = LogRecord::Note(Note { run: "r1".to_owned(), message: Some("m".to_owned()), data });
    let cells = async |phase, is_busy| {
        let machine = Machine::new();
        let served = served(&machine, "1", std::slice::from_ref(&note), phase, is_busy);
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
async fn what_another_server_reads_is_no_keeper_that_hangs_and_no_other_process_is_signalled() {
    let machine = Machine::new();
    machine.leave("one", &[note("r1", Some("m1"))]);
    let [(folder, record)] = &keepers(&machine.process_env)[..] else { panic!() };
    // Another process has the id that the keeper had, which left its socket behind.
    let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    folder.set_record(&KernelFile { process: other.id(), ..record.clone() }).unwrap();
    for has_socket in [false, true] {
        if has_socket {
            drop(UnixListener::bind(folder.path.join("s")).unwrap());
        }
        let attached = machine.attach().await;
        let [listed] = &kept_kernels(&machine.process_env).await[..] else { panic!() };
        let stopped = listed.stop().await;
        assert_eq!(other.try_wait().unwrap(), None, "it was ended");
        assert_eq!(listed.state, KeeperState::KeeperDead);
        let error = stopped.unwrap_err().0;
        assert!(error.contains("another server is reading"), "{error}");
        assert_eq!(machine.server().leftovers().await, Leftovers::default());
        drop(attached);
        while folder.is_kept() {
            tokio::task::yield_now().await;
        }
    }
    let [listed] = &kept_kernels(&machine.process_env).await[..] else { panic!() };
    listed.stop().await.unwrap();
    assert!(!folder.path.exists());
    other.kill().unwrap();
    other.wait().unwrap();
}

/// Whoever reads the file waits from now on until somebody writes it.
#[cfg(target_os = "linux")]
fn make_slow(path: &Path) {
    std::fs::remove_file(path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_does_other_things_while_it_reads_what_a_keeper_left() {
    let machine = Machine::new();
    machine.leave("one", &[]);
    let [(folder, record)] = &keepers(&machine.process_env)[..] else { panic!() };
    let log = folder.path.join(format!("log.{:020}", 0));
    make_slow(&log);
    let attaching = attach(folder, record, false, Duration::from_secs(60));
    let other_things = async {
        std::fs::write(&log, "").unwrap();
        // For the file that goes on with the log.
        std::fs::File::open(&log).unwrap()
    };
    let (attached, _) = tokio::join!(attaching, other_things);
    assert!(attached.is_err(), "it is not a file");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_read_too_late_for_the_first_reply_does_not_count_as_reported() {
    let machine = Machine::new();
    machine.leave("one", &[note("r1", Some("m1"))]);
    let [(keeper, _)] = &keepers(&machine.process_env)[..] else { panic!() };
    let log = keeper.path.join(format!("log.{:020}", 0));
    let written = std::fs::read(&log).unwrap();
    let left = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let left = runtime.block_on(machine.server().leftovers()).runs;
        (left.into_iter().map(|run| run.run.to_string()).collect::<Vec<_>>(), runtime)
    };
    make_slow(&log);
    let (runs, runtime) = left();
    assert!(runs.is_empty());
    std::fs::write(&log, &written).unwrap();
    // Waits for whoever reads.
    drop(runtime);
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&log, &written).unwrap();
    assert_eq!(left().0, ["r1"]);
    assert!(left().0.is_empty(), "it was reported");
}

#[tokio::test]
async fn no_ninth_kernel_is_kept_while_servers_are_attached_to_all() {
    let machine = Machine::new();
    let mut served: Vec<_> = (1..=7).map(|number| attached(&machine, &number.to_string())).collect();
    let [notice] = &make_room(&machine.process_env).await.unwrap()[..] else { panic!() };
    assert!(
        notice.contains("8 kernels are kept, which")
            && notice.contains("another one will end with its server")
    );
    served.push(attached(&machine, "8"));
    let Err(StartError::Keeper(cause)) = make_room(&machine.process_env).await else { panic!() };
    assert!(cause.contains("8 kernels are already kept"), "{cause}");
    served.iter().for_each(tokio::task::JoinHandle::abort);
}
