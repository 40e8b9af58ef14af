//! A keeper that says what the test wants, on a real socket.

use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use kernel::log::Announcement;
use kernel::log::{Channel, LogEvent, LogRecord, Peek, RunRecord};
use kernel::{Death, Event, LossCause, Outcome, Status};
use serde_json::{Value, json};

use super::*;
use crate::protocol::{AdoptedRuns, KernelPhase, KernelStatus};

const TIMEOUT: Duration = Duration::from_secs(60);
const SILENCE: Duration = Duration::from_millis(300);

/// The keeper's end of a connection, and its log.
struct FakeKeeper {
    read: FramedRead<OwnedReadHalf>,
    write: FramedWrite<OwnedWriteHalf>,
    log: BytesMut,
    runs: Vec<RunRecord>,
}

fn announcement(run: &str, message: Option<&str>) -> Announcement {
    Announcement { run: run.into(), message: message.map(Into::into), data: json!({ "cell": "c" }) }
}

impl FakeKeeper {
    fn new() -> (Self, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (read, write) = framed(ours.into_split());
        (Self { read, write, log: BytesMut::new(), runs: Vec::new() }, theirs)
    }

    fn record(&mut self, record: &LogRecord) {
        record.write(SystemTime::now(), &mut self.log);
    }

    /// A run whose client is gone, in the log.
    fn orphan(&mut self, run: &str, message: Option<&str>) {
        let announcement = announcement(run, message);
        self.record(&LogRecord::Announced(announcement.clone()));
        self.runs.push(RunRecord {
            announcement,
            announced_at: SystemTime::UNIX_EPOCH,
            is_stored: false,
            is_acknowledged: false,
        });
    }

    fn publish(&mut self, channel: Channel, kind: &str, parent: &str, content: &Value) {
        let header = json!({
            "msg_id": format!("{kind} of {parent}"), "msg_type": kind, "session": "k", "username": "kernel",
            "version": "5.3", "date": "2026-01-01T00:00:00.000000Z",
        });
        let parent = json!({ "msg_id": parent });
        let parts = [&header, &parent, &json!({}), content].map(|part| Bytes::from(part.to_string()));
        self.record(&LogRecord::FromKernel { channel, parts: parts.into() });
    }

    fn print(&mut self, parent: &str, text: &str) {
        let content = json!({ "name": "stdout", "text": text });
        self.publish(Channel::Iopub, "stream", parent, &content);
    }

    fn status(&mut self, parent: &str, state: &str) {
        self.publish(Channel::Iopub, "status", parent, &json!({ "execution_state": state }));
    }

    fn finish(&mut self, parent: &str) {
        let content = json!({ "status": "ok", "execution_count": 3 });
        self.publish(Channel::Shell, "execute_reply", parent, &content);
        self.status(parent, "idle");
    }

    async fn frame(&mut self) -> ClientFrame {
        ClientFrame::read(self.read.try_next().await.unwrap().unwrap().freeze()).unwrap()
    }

    async fn send(&mut self, frame: KeeperFrame) {
        self.write.send(frame.write()).await.unwrap();
    }

    /// Sends what the log has more than what it had at `from`.
    async fn send_log(&mut self, from: usize) {
        let bytes = Bytes::copy_from_slice(&self.log[from..]);
        // In two parts, since records may be cut anywhere.
        let (one, other) = (bytes.slice(..bytes.len() / 2), bytes.slice(bytes.len() / 2..));
        self.send(KeeperFrame::Records { offset: from as u64, bytes: one.clone() }).await;
        self.send(KeeperFrame::Records { offset: (from + one.len()) as u64, bytes: other }).await;
    }

    /// Answers a client until it follows the log; then sends the log so far.
    async fn welcome(&mut self, phase: KernelPhase, is_busy: bool) {
        let language_info = json!({ "name": "fake" });
        let kernel = KernelStatus { phase, is_busy, language_info, process: None };
        assert!(matches!(self.frame().await, ClientFrame::Hello(Hello { version: VERSION, .. })));
        let last_request = SystemTime::UNIX_EPOCH;
        let (version, attached, orphans) = (VERSION, Vec::new(), self.runs.len());
        let welcome = Welcome { version, kernel: kernel.clone(), last_request, attached, orphans };
        self.send(KeeperFrame::Welcome(welcome)).await;
        assert_eq!(self.frame().await, ClientFrame::Adopt);
        let (runs, end) = (std::mem::take(&mut self.runs), self.log.len() as u64);
        let from = if runs.is_empty() { end } else { 0 };
        self.send(KeeperFrame::Adopted(AdoptedRuns { kernel, runs, from, end })).await;
        assert_eq!(self.frame().await, ClientFrame::Follow { offset: from });
        if from < end {
            self.send_log(0).await;
        }
    }
}

fn connected(stream: UnixStream) -> tokio::task::JoinHandle<Result<Connection, KernelError>> {
    connect_beside(stream, None)
}

/// Connects to a keeper whose kernel runs.
async fn connect_to(keeper: &mut FakeKeeper, stream: UnixStream, is_busy: bool) -> Connection {
    let connecting = connected(stream);
    keeper.welcome(KernelPhase::Running, is_busy).await;
    connecting.await.unwrap().unwrap()
}

/// A keeper whose kernel works on the run of a server that has ended, and the connection to it.
async fn with_running_orphan() -> (FakeKeeper, Connection) {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", Some("m1"));
    keeper.status("m1", "busy");
    let kept = connect_to(&mut keeper, stream, true).await;
    (keeper, kept)
}

fn connect_beside(
    stream: UnixStream,
    read_log: Option<ReadLog>,
) -> tokio::task::JoinHandle<Result<Connection, KernelError>> {
    tokio::spawn(connect(Connect {
        stream: stream.into_std().unwrap(),
        read_log,
        restart: false,
        ready_timeout: TIMEOUT,
        process: 77,
        silence_timeout: SILENCE,
    }))
}

/// The events of an orphan until it is over.
async fn events((_, events): &mut (RunRecord, Option<TimedEvents>)) -> Vec<Event> {
    let events = events.as_mut().unwrap();
    let mut all = Vec::new();
    loop {
        let (_, event) = timeout(TIMEOUT, events.recv()).await.unwrap().unwrap();
        let is_over = matches!(event, Event::Finished(_));
        all.push(event);
        if is_over {
            return all;
        }
    }
}

fn printed(events: &[Event]) -> String {
    let text = |event: &Event| match event {
        Event::Output { output: notebook::Output::Stream { text, .. }, .. } => text.as_str().to_string(),
        _ => String::new(),
    };
    events.iter().map(text).collect()
}

#[tokio::test]
async fn a_run_that_ended_unwatched_is_adopted_with_everything() {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", Some("m1"));
    keeper.status("m1", "busy");
    keeper.print("m1", "one\n");
    keeper.print("somebody's", "not ours\n");
    keeper.print("m1", "two\n");
    keeper.finish("m1");
    let mut kept = connect_to(&mut keeper, stream, false).await;
    assert_eq!(kept.client.language_info().to_value()["name"], "fake");
    let [orphan] = &mut kept.orphans[..] else { panic!("{:?}", kept.orphans) };
    let announcement = &orphan.0.announcement;
    assert_eq!((&*announcement.run, &announcement.data["cell"]), ("r1", &json!("c")));
    let events = events(orphan).await;
    assert_eq!(printed(&events), "one\ntwo\n");
    let done = Outcome::Done { execution_count: Some(3), next_input: None };
    assert_eq!(events.last(), Some(&Event::Finished(done)));
    assert_eq!(*kept.client.status().borrow(), Status::Idle);
}

#[tokio::test]
async fn a_run_that_goes_on_is_followed_to_its_end_and_its_input_answered() {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", Some("m1"));
    keeper.status("m1", "busy");
    keeper.print("m1", "one\n");
    keeper.publish(Channel::Stdin, "input_request", "m1", &json!({ "prompt": "? ", "password": false }));
    let mut kept = connect_to(&mut keeper, stream, true).await;
    assert_eq!(*kept.client.status().borrow(), Status::Busy);
    let id = kept.orphans[0].0.announcement.message.as_ref().unwrap();
    assert!(kept.client.answer_input(id, "Ada".to_owned()));
    let ClientFrame::Send { channel: Channel::Stdin, parts } = keeper.frame().await else { panic!() };
    assert_eq!(Peek::of(Channel::Stdin, &parts).parent, "input_request of m1");
    let from = keeper.log.len();
    keeper.print("m1", "two\n");
    keeper.finish("m1");
    keeper.send_log(from).await;
    assert_eq!(printed(&events(&mut kept.orphans[0]).await), "one\ntwo\n");
}

#[tokio::test]
async fn input_that_an_earlier_client_answered_is_not_waited_for() {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", Some("m1"));
    keeper.publish(Channel::Stdin, "input_request", "m1", &json!({ "prompt": "? " }));
    let header = json!({ "msg_id": "1", "msg_type": "input_reply" });
    let parent = json!({ "msg_id": "input_request of m1" });
    let parts = [header, parent].map(|part| Bytes::from(part.to_string()));
    keeper.record(&LogRecord::ToKernel { channel: Channel::Stdin, parts: parts.into() });
    keeper.finish("m1");
    let mut kept = connect_to(&mut keeper, stream, false).await;
    assert!(events(&mut kept.orphans[0]).await.contains(&Event::InputAnswered));
}

#[tokio::test]
async fn a_run_whose_request_was_never_sent_has_no_execution() {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", None);
    let kept = connect_to(&mut keeper, stream, false).await;
    assert!(kept.orphans[0].1.is_none());
}

#[tokio::test]
async fn a_note_precedes_its_request() {
    let (mut keeper, stream) = FakeKeeper::new();
    let kept = connect_to(&mut keeper, stream, false).await;
    let data = json!({ "cell": "x" });
    let noted = Announcement { run: "r9".into(), message: None, data: data.clone() };
    let id = kept.client.execute_announced("1", Some(noted), Box::new(|_| {}));
    let message = Some(id.as_str().to_owned());
    assert_eq!(
        keeper.frame().await,
        ClientFrame::Announce(Announcement { run: "r9".into(), message: message.map(Into::into), data })
    );
    let ClientFrame::Send { channel: Channel::Shell, parts } = keeper.frame().await else { panic!() };
    assert_eq!(Peek::of(Channel::Shell, &parts).id, id.as_str());
    assert!(kept.keeper.send(ClientFrame::Acknowledge { run: "r9".into() }));
    assert_eq!(keeper.frame().await, ClientFrame::Acknowledge { run: "r9".into() });
}

#[tokio::test]
async fn an_interrupt_names_its_execution_and_follows_its_request() {
    let (mut keeper, stream) = FakeKeeper::new();
    let kept = connect_to(&mut keeper, stream, false).await;
    let (sender, mut outcome) = mpsc::unbounded_channel();
    let sink = Box::new(move |event| {
        if let Event::Finished(outcome) = event {
            let _ = sender.send(outcome);
        }
    });
    let id = kept.client.execute("1", sink);
    kept.client.interrupt_execution(&id);
    let ClientFrame::Send { channel: Channel::Shell, .. } = keeper.frame().await else { panic!() };
    let message = id.as_str().to_owned();
    assert_eq!(keeper.frame().await, ClientFrame::Interrupt { message: Some(message.as_str().into()) });
    keeper.record(&LogRecord::Event(LogEvent::Withdrawn { message: message.into() }));
    keeper.send_log(0).await;
    assert_eq!(timeout(TIMEOUT, outcome.recv()).await.unwrap(), Some(Outcome::Aborted));
}

#[tokio::test]
async fn runs_of_an_earlier_process_end_with_it_and_the_connection_goes_on() {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", Some("m1"));
    keeper.status("m1", "busy");
    keeper.record(&LogRecord::Event(LogEvent::Died { how: "exit code 9".to_owned() }));
    keeper.orphan("r2", Some("m2"));
    keeper.record(&LogRecord::Event(LogEvent::Restarting));
    keeper.record(&LogRecord::Event(LogEvent::Ready { language_info: json!({ "name": "later" }) }));
    let mut kept = connect_to(&mut keeper, stream, false).await;
    let died = Event::Finished(Outcome::KernelDied { how: "exit code 9".into() });
    assert_eq!(events(&mut kept.orphans[0]).await.last(), Some(&died));
    let restarted = Event::Finished(Outcome::KernelDied { how: Death::Restarted });
    assert_eq!(events(&mut kept.orphans[1]).await.last(), Some(&restarted));
    assert_eq!(kept.client.language_info().to_value()["name"], "later");
    assert_eq!(*kept.client.status().borrow(), Status::Idle);
}

#[tokio::test]
async fn a_restart_by_another_server_ends_a_run_of_this_one_as_restarted() {
    let (mut keeper, stream) = FakeKeeper::new();
    let kept = connect_to(&mut keeper, stream, false).await;
    let (sender, mut events) = mpsc::unbounded_channel();
    let id = kept.client.execute("1", Box::new(move |event| drop(sender.send(event))));
    let ClientFrame::Send { channel: Channel::Shell, .. } = keeper.frame().await else { panic!() };
    keeper.status(id.as_str(), "busy");
    keeper.record(&LogRecord::Event(LogEvent::Restarting));
    keeper.send_log(0).await;
    let restarted = Event::Finished(Outcome::KernelDied { how: Death::Restarted });
    let until_end = async { while events.recv().await.expect("it ends") != restarted {} };
    timeout(TIMEOUT, until_end).await.unwrap();
    // The next run connects again.
    let dead = Status::Dead { how: Death::Restarted };
    timeout(TIMEOUT, kept.client.status().wait_for(|status| *status == dead)).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_death_of_the_kernel_and_the_end_of_the_keeper_end_the_connection() {
    for is_told in [true, false] {
        let (mut keeper, stream) = FakeKeeper::new();
        let kept = connect_to(&mut keeper, stream, false).await;
        if is_told {
            keeper.record(&LogRecord::Event(LogEvent::Died { how: "exit code 9".to_owned() }));
            keeper.send_log(0).await;
        } else {
            drop(keeper);
        }
        let how = if is_told { "exit code 9" } else { KEEPER_ENDED };
        let mut status = kept.client.status();
        let dead = Status::Dead { how: how.into() };
        timeout(TIMEOUT, status.wait_for(|status| *status == dead)).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_a_keeper_wrote_before_it_was_killed_is_read_from_its_log() {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", Some("m1"));
    keeper.print("m1", "one\n");
    let log = std::sync::Arc::new(parking_lot::Mutex::new(BytesMut::new()));
    let read = log.clone();
    let read_log = move |from: u64| -> io::Result<Vec<u8>> {
        let log = read.lock();
        let rest = &log[usize::try_from(from).unwrap()..];
        Ok(rest[..rest.len().min(50)].to_vec())
    };
    let connecting = connect_beside(stream, Some(Box::new(read_log)));
    keeper.welcome(KernelPhase::Running, true).await;
    let mut kept = connecting.await.unwrap().unwrap();
    let from = keeper.log.len();
    keeper.print("m1", "two\n");
    let half = from + (keeper.log.len() - from) / 2;
    keeper.print("m1", "three\n");
    log.lock().extend_from_slice(&keeper.log);
    let bytes = Bytes::copy_from_slice(&keeper.log[from..half]);
    keeper.send(KeeperFrame::Records { offset: from as u64, bytes }).await;
    drop(keeper);
    let events = events(&mut kept.orphans[0]).await;
    assert_eq!(printed(&events), "one\ntwo\nthree\n");
    let died = Outcome::KernelDied { how: KEEPER_ENDED.into() };
    assert_eq!(events.last(), Some(&Event::Finished(died)));
}

/// Fails unless the failure of a starting kernel ends the attempt to connect.
async fn assert_fails_to_start(mut keeper: FakeKeeper, stream: UnixStream) {
    let connecting = connected(stream);
    keeper.welcome(KernelPhase::Starting, false).await;
    keeper.send(KeeperFrame::Failed { cause: "no licence".to_owned() }).await;
    let error = connecting.await.unwrap().unwrap_err();
    assert_eq!(error, KernelError::Unusable { cause: "no licence".to_owned() });
}

#[tokio::test]
async fn a_starting_kernel_is_waited_for_and_its_failure_reported() {
    let (mut keeper, stream) = FakeKeeper::new();
    let connecting = connected(stream);
    keeper.welcome(KernelPhase::Starting, false).await;
    assert!(!connecting.is_finished());
    keeper.record(&LogRecord::Event(LogEvent::Ready { language_info: Value::Null }));
    keeper.send_log(0).await;
    connecting.await.unwrap().unwrap();

    let (keeper, stream) = FakeKeeper::new();
    assert_fails_to_start(keeper, stream).await;
}

#[tokio::test]
async fn an_earlier_process_that_was_ready_is_not_the_one_that_starts() {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", None);
    keeper.record(&LogRecord::Event(LogEvent::Ready { language_info: Value::Null }));
    keeper.record(&LogRecord::Event(LogEvent::Died { how: "exit code 9".to_owned() }));
    keeper.record(&LogRecord::Event(LogEvent::Restarting));
    assert_fails_to_start(keeper, stream).await;
}

#[tokio::test]
async fn a_keeper_of_another_version_is_named() {
    let (mut keeper, stream) = FakeKeeper::new();
    let connecting = connected(stream);
    keeper.frame().await;
    keeper.send(KeeperFrame::Refused { version: 7 }).await;
    let error = connecting.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("protocol 7") && error.contains(&format!("here {VERSION}")), "{error}");
}

#[tokio::test]
async fn runs_are_acknowledged_after_the_death_of_the_kernel() {
    let (mut keeper, stream) = FakeKeeper::new();
    keeper.orphan("r1", Some("m1"));
    keeper.record(&LogRecord::Event(LogEvent::Died { how: "exit code 9".to_owned() }));
    let connecting = connected(stream);
    keeper.welcome(KernelPhase::Dead { how: "exit code 9".to_owned() }, false).await;
    let mut kept = connecting.await.unwrap().unwrap();
    assert!(matches!(*kept.client.status().borrow(), Status::Dead { .. }), "it is known at once");
    events(&mut kept.orphans[0]).await;
    kept.keeper.send(ClientFrame::Acknowledge { run: "r1".into() });
    drop(kept);
    assert_eq!(keeper.frame().await, ClientFrame::Acknowledge { run: "r1".into() });
    assert_eq!(keeper.read.try_next().await.unwrap(), None, "the connection ends with its last handle");
}

#[tokio::test]
async fn a_run_whose_keeper_no_longer_answers_is_lost() {
    let (_keeper, mut kept) = with_running_orphan().await;
    let [orphan] = &mut kept.orphans[..] else { panic!("{:?}", kept.orphans) };
    let events = events(orphan).await;
    let lost = |event: &Event| {
        let Event::Finished(Outcome::Lost { cause, .. }) = event else { return false };
        *cause == LossCause::KeeperSilent { process: 77 }
    };
    assert!(events.last().is_some_and(lost), "{events:?}");
    assert!(
        matches!(&*kept.client.status().borrow(), Status::Dead { how } if how.to_string().contains("process 77"))
    );
}

#[tokio::test]
async fn a_keeper_that_answers_is_not_given_up_although_the_kernel_is_silent() {
    let (mut keeper, mut kept) = with_running_orphan().await;
    for _ in 0..4 {
        assert!(matches!(keeper.frame().await, ClientFrame::Hello(_)));
        let kernel = KernelStatus {
            phase: KernelPhase::Running,
            is_busy: true,
            language_info: Value::Null,
            process: None,
        };
        let last_request = SystemTime::UNIX_EPOCH;
        let (version, attached, orphans) = (VERSION, Vec::new(), 0);
        keeper.send(KeeperFrame::Welcome(Welcome { version, kernel, last_request, attached, orphans })).await;
    }
    let from = keeper.log.len();
    keeper.finish("m1");
    keeper.send_log(from).await;
    let [orphan] = &mut kept.orphans[..] else { panic!("{:?}", kept.orphans) };
    assert!(matches!(events(orphan).await.last(), Some(Event::Finished(Outcome::Done { .. }))));
}
