//! What a dead keeper left, and keepers of other versions. The end-to-end tests cover those that live.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::{SinkExt as _, TryStreamExt as _};
use kernel::log::{Announcement, Channel, LogEvent, LogRecord, RunRecord};
use kernel::{Event, Outcome, Status, TimedEvents};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::UnixListener;

use crate::attach::{Attachment, attach};
use crate::capacity::ensure_capacity;
use crate::folder::{KeeperFolder, keepers};
use crate::kernel_file::KernelFile;
use crate::kernel_file::tests::record;
use crate::list::{KeeperState, kept_kernels};
use crate::log::Log;
use crate::protocol::{ClientFrame, KeeperFrame, KernelPhase, KernelStatus, VERSION, Welcome, framed};
use crate::state_folder::StateFolder;

/// Writes an executable shell script.
pub(crate) fn script(path: &Path, body: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

struct Machine {
    folder: TempDir,
    state: StateFolder,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::at(folder.path());
        Self { folder, state }
    }

    /// What is left of a keeper that was killed: this log.
    fn leave(&self, name: &str, records: &[LogRecord]) {
        self.leave_by(VERSION, name, records);
    }

    /// The same of a keeper of this version.
    fn leave_by(&self, protocol: u32, name: &str, records: &[LogRecord]) {
        let folder = KeeperFolder::named(&self.state, name).unwrap();
        folder.create().unwrap();
        let mut log = Log::create(&folder.path).unwrap();
        for record in records {
            log.append(record, SystemTime::now()).unwrap();
        }
        let (notebook, socket) = (Some("/x.ipynb".into()), folder.path.join("s"));
        let record = KernelFile { id: name.to_owned(), protocol, notebook, ..record(socket) };
        folder.set_record(&record).unwrap();
    }

    async fn attach(&self) -> Attachment {
        let [(folder, record)] = &keepers(&self.state)[..] else { panic!("not one keeper") };
        attach(folder, record, false, Duration::from_secs(60)).await.unwrap()
    }

    async fn until_removed(&self) {
        let kernels = self.folder.path().join("cellbridge/kernels");
        while std::fs::read_dir(&kernels).unwrap().count() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

fn announcement(run: &str, message: Option<&str>) -> LogRecord {
    LogRecord::Announced(Announcement {
        run: run.into(),
        message: message.map(Into::into),
        data: Value::Null,
    })
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

async fn outcome((_, events): &mut (RunRecord, Option<TimedEvents>)) -> Outcome {
    let events = events.as_mut().unwrap();
    loop {
        if let (_, Event::Finished(outcome)) = events.recv().await.unwrap() {
            return outcome;
        }
    }
}

#[tokio::test]
async fn runs_of_a_dead_keeper_are_adopted_and_its_folder_is_removed_once_they_are_acknowledged() {
    let machine = Machine::new();
    let mut records =
        vec![announcement("r0", Some("m0")), announcement("r1", Some("m1")), announcement("r2", Some("m2"))];
    records.extend(finished("m0"));
    records.push(LogRecord::Acknowledged { run: "r0".into() });
    records.extend(finished("m1"));
    machine.leave("one", &records);
    let Attachment { mut connection, is_kept } = machine.attach().await;
    assert!(!is_kept);
    let runs: Vec<_> =
        connection.orphans.iter().map(|(run, _)| (&*run.announcement.run, run.is_acknowledged)).collect();
    assert_eq!(runs, [("r0", true), ("r1", false), ("r2", false)]);
    let done = Outcome::Done { execution_count: None, next_input: None };
    assert_eq!(outcome(&mut connection.orphans[1]).await, done);
    let Outcome::KernelDied { how } = outcome(&mut connection.orphans[2]).await else { panic!() };
    assert!(how.to_string().contains("its keeper was killed"), "{how}");
    let mut status = connection.client.status();
    status.wait_for(|status| matches!(status, Status::Dead { .. })).await.unwrap();
    // A run that was announced here before the kernel's death was seen; it runs on another kernel.
    let announcement = Announcement { run: "r3".into(), message: None, data: Value::Null };
    connection.keeper.send(ClientFrame::Announce(announcement));
    for run in ["r1", "r2"] {
        connection.keeper.send(ClientFrame::Acknowledge { run: run.into() });
    }
    drop(connection);
    machine.until_removed().await;
}

#[tokio::test]
async fn runs_that_waited_for_a_kernel_that_never_started_are_known_and_leave_nothing_once_acknowledged() {
    let machine = Machine::new();
    let died = LogRecord::Event(LogEvent::Died { how: "its server ended".to_owned() });
    machine.leave("one", &[announcement("r1", None), announcement("r2", None), died]);
    let Attachment { connection, is_kept } = machine.attach().await;
    assert!(!is_kept);
    let runs: Vec<_> =
        connection.orphans.iter().map(|(run, events)| (&*run.announcement.run, events.is_none())).collect();
    assert_eq!(runs, [("r1", true), ("r2", true)]);
    for run in ["r1", "r2"] {
        connection.keeper.send(ClientFrame::Acknowledge { run: run.into() });
    }
    // Although the connection stays.
    machine.until_removed().await;
}

#[tokio::test]
async fn what_nobody_acknowledged_is_adopted_again() {
    let machine = Machine::new();
    machine.leave("one", &[announcement("r1", Some("m1"))]);
    for _ in 0..2 {
        let Attachment { connection, .. } = machine.attach().await;
        assert_eq!(connection.orphans.len(), 1);
        drop(connection);
        // The log is free again once its reader has noticed.
        let [(folder, _)] = &keepers(&machine.state)[..] else { panic!() };
        while folder.is_kept() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_log_that_is_no_log_is_an_error_and_stays() {
    let machine = Machine::new();
    machine.leave("one", &[]);
    let [(folder, record)] = &keepers(&machine.state)[..] else { panic!() };
    std::fs::remove_file(folder.path.join(format!("log.{:020}", 0))).unwrap();
    assert!(attach(folder, record, false, Duration::from_secs(60)).await.is_err());
    assert!(Path::new(&folder.path).exists());
}

#[tokio::test]
async fn what_a_keeper_of_a_later_version_left_is_not_touched() {
    let machine = Machine::new();
    machine.leave_by(VERSION + 1, "one", &[announcement("r1", Some("m1"))]);
    let [(folder, record)] = &keepers(&machine.state)[..] else { panic!() };
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
    let [(folder, _)] = &keepers(&machine.state)[..] else { panic!() };
    let _lock = folder.lock().unwrap().unwrap();
    let listener = UnixListener::bind(folder.path.join("s")).unwrap();
    let refuse = async {
        let (stream, _) = listener.accept().await.unwrap();
        let (mut read, mut write) = framed(stream.into_split());
        let hello = ClientFrame::read(read.try_next().await.unwrap().unwrap().freeze()).unwrap();
        assert!(matches!(hello, ClientFrame::Hello(_)), "{hello:?}");
        write.send(KeeperFrame::Refused { version: VERSION + 1 }.write()).await.unwrap();
    };
    let (listed, ()) = tokio::join!(kept_kernels(&machine.state), refuse);
    let KeeperState::Refused { cause } = &listed[0].state else { panic!("{:?}", listed[0].state) };
    assert!(cause.contains("has another version of Cellbridge (protocol"), "{cause}");
}

/// Serves whoever asks the keeper `name` of an idle kernel, to which a server is attached.
fn attached(machine: &Machine, name: &str) -> tokio::task::JoinHandle<()> {
    machine.leave(name, &[]);
    let folder = KeeperFolder::named(&machine.state, name).unwrap();
    let listener = UnixListener::bind(folder.path.join("s")).unwrap();
    tokio::spawn(async move {
        let _lock = folder.lock().unwrap().unwrap();
        loop {
            let (mut read, mut write) = framed(listener.accept().await.unwrap().0.into_split());
            read.try_next().await.unwrap();
            let (phase, language_info) = (KernelPhase::Running, Value::Null);
            let kernel = KernelStatus { phase, is_busy: false, language_info, process: None };
            let (last_request, attached) = (SystemTime::now(), vec![1]);
            let welcome = Welcome { version: VERSION, kernel, last_request, attached, orphans: 0 };
            write.send(KeeperFrame::Welcome(welcome).write()).await.unwrap();
        }
    })
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_another_server_reads_is_no_keeper_that_hangs_and_no_other_process_is_signalled() {
    let machine = Machine::new();
    machine.leave("one", &[announcement("r1", Some("m1"))]);
    let [(folder, record)] = &keepers(&machine.state)[..] else { panic!() };
    // Another process has the id that the keeper had, which left its socket behind.
    let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    folder.set_record(&KernelFile { process: other.id(), ..record.clone() }).unwrap();
    for has_socket in [false, true] {
        if has_socket {
            drop(UnixListener::bind(folder.path.join("s")).unwrap());
        }
        let attached = machine.attach().await;
        let [listed] = &kept_kernels(&machine.state).await[..] else { panic!() };
        let stopped = listed.stop().await;
        assert_eq!(other.try_wait().unwrap(), None, "it was ended");
        assert_eq!(listed.state, KeeperState::KeeperDead);
        let error = stopped.unwrap_err().0;
        assert!(error.contains("another server is reading"), "{error}");
        drop(attached);
        while folder.is_kept() {
            tokio::task::yield_now().await;
        }
    }
    let [listed] = &kept_kernels(&machine.state).await[..] else { panic!() };
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
    let [(folder, record)] = &keepers(&machine.state)[..] else { panic!() };
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

#[tokio::test]
async fn no_ninth_kernel_is_kept_while_servers_are_attached_to_all() {
    let machine = Machine::new();
    let mut served: Vec<_> = (1..=7).map(|number| attached(&machine, &number.to_string())).collect();
    let [notice] = &ensure_capacity(&machine.state).await.unwrap()[..] else { panic!() };
    assert!(
        notice.contains("8 kernels are kept, which")
            && notice.contains("the next kernel will stop with its server")
    );
    served.push(attached(&machine, "8"));
    let Err(cause) = ensure_capacity(&machine.state).await else { panic!() };
    assert!(cause.contains("8 kernels are already kept"), "{cause}");
    served.iter().for_each(tokio::task::JoinHandle::abort);
}
