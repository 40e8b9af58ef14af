//! The transport: gets a keeper's log from its socket, and writes what clients want.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, TryStreamExt as _};
use kernel::log::{Announcement, Followed, RecordReader, RunRecord};
use kernel::{
    Death, KernelError, LossCause, MessageId, Outgoing, Received, Sequence, TimedEvents, Transport,
    write_parts,
};
use notebook::Json;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep_until, timeout};

use super::liveness::{Liveness, Silence};
use super::log_reader::LogReader;
use super::{Control, FINISH_TIMEOUT, Halves, KEEPER_ENDED, KeeperHandle, ReadLog, hello, unusable};
use crate::protocol::{ClientFrame, KeeperFrame, KernelPhase};

/// How long what is here already takes to read.
const READ_TIMEOUT: Duration = Duration::from_millis(50);

/// A connection to a keeper that reads its log.
pub(super) struct LogTransport {
    halves: Halves,
    control: mpsc::UnboundedReceiver<Control>,
    /// Who waits until everything queued is sent.
    flushing: Vec<oneshot::Sender<()>>,
    log: LogReader,
    pub(super) read_log: Option<ReadLog>,
    /// Whether the log itself is read, because the keeper has gone.
    reads_log: bool,
    session: String,
    /// Why the keeper will not say how executions end.
    loss: Option<LossCause>,
    is_lost: Arc<AtomicBool>,
    /// Where the log ends because the keeper could not write to it, and why.
    log_failed: Option<(u64, LossCause)>,
    /// Whether [`Received::CaughtUp`] was returned.
    has_caught_up: bool,
    /// Why the kernel could not be started.
    pub(super) failed: Option<String>,
    is_closed: bool,
}

pub(super) type Opened = (LogTransport, KeeperHandle, Vec<(RunRecord, Option<TimedEvents>)>);

impl LogTransport {
    pub(super) async fn open(
        stream: UnixStream,
        restart: bool,
        liveness: Liveness,
    ) -> Result<Opened, KernelError> {
        let mut halves = Halves::new(stream);
        halves.greet().await?;
        if restart {
            halves.send(&ClientFrame::Restart).await.map_err(|error| unusable(&error))?;
        }
        halves.send(&ClientFrame::Adopt).await.map_err(|error| unusable(&error))?;
        let runs = match halves.answer().await? {
            KeeperFrame::Adopted(runs) => runs,
            KeeperFrame::LogFailed { os_error, .. } => return Err(KernelError::LogFailed { os_error }),
            _ => return Err(unusable(&"its keeper did not list its runs")),
        };
        let follow = ClientFrame::Follow { offset: runs.from };
        halves.send(&follow).await.map_err(|error| unusable(&error))?;
        let (sender, orphaned) = watch::channel(0);
        let (control, commands) = mpsc::unbounded_channel();
        let is_lost = Arc::<AtomicBool>::default();
        let mut log = LogReader {
            records: RecordReader::at(runs.from),
            end: runs.end,
            kernel: runs.kernel,
            orphaned: sender,
            followed: Followed::default(),
            liveness,
            sequence: Sequence::of_direct_connection(),
            held: None,
            how_it_ended: None,
        };
        let orphans = runs.runs.into_iter().map(|run| {
            let execution = run.announcement.message.clone().map(|message| log.adopt(message));
            (run, execution)
        });
        let orphans = orphans.collect();
        let connection = Self {
            halves,
            control: commands,
            flushing: Vec::new(),
            log,
            read_log: None,
            reads_log: false,
            session: uuid::Uuid::new_v4().to_string(),
            loss: None,
            is_lost: is_lost.clone(),
            log_failed: None,
            has_caught_up: false,
            failed: None,
            is_closed: false,
        };
        Ok((connection, KeeperHandle { control, orphaned, is_lost }, orphans))
    }

    /// What the kernel reported as its `language_info`.
    pub(super) fn language_info(&self) -> Json {
        match &self.log.kernel.language_info {
            object @ serde_json::Value::Object(_) => Json::from_value(object),
            _ => Json::empty_object(),
        }
    }

    /// Passes frames on after the kernel's end, such as the acknowledgements of its last runs, until nobody has a handle.
    pub(super) async fn serve_handles(mut self) {
        loop {
            tokio::select! {
                control = self.control.recv() => match control {
                    Some(control) => self.on_control(control),
                    None => return self.finish().await,
                },
                flushed = SinkExt::<Bytes>::flush(&mut self.halves.write), if self.halves.has_queued() => {
                    self.notify_flushed();
                    if flushed.is_err() {
                        return;
                    }
                }
                frame = self.halves.read.try_next() => if !matches!(frame, Ok(Some(_))) {
                    return;
                },
            }
        }
    }

    fn on_control(&mut self, control: Control) {
        match control {
            Control::Frame(frame) => self.halves.queue(&frame),
            Control::Flush(done) => self.flushing.push(done),
        }
        if !self.halves.has_queued() {
            self.notify_flushed();
        }
    }

    fn notify_flushed(&mut self) {
        for done in self.flushing.drain(..) {
            // It may have stopped waiting.
            let _ = done.send(());
        }
    }

    /// Takes the next part of what a keeper had written, and not sent, when it was killed. `false` at the end, and if it has
    /// removed its log.
    fn read_unsent(&mut self) -> bool {
        let Some(read_log) = &mut self.read_log else { return false };
        if !std::mem::replace(&mut self.reads_log, true) {
            // A part of a record may have arrived.
            self.log.records = RecordReader::at(self.log.records.offset());
        }
        let Ok(bytes) = read_log(self.log.records.end()) else { return false };
        self.log.records.push(&bytes);
        !bytes.is_empty()
    }

    fn on_frame(&mut self, frame: io::Result<Option<BytesMut>>) -> io::Result<()> {
        let frame = frame?.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.log.liveness.received(Instant::now());
        let frame = KeeperFrame::read(frame.freeze());
        match frame.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))? {
            KeeperFrame::Records { bytes, .. } => self.log.records.push(&bytes),
            KeeperFrame::Failed { cause } => self.failed = Some(cause),
            KeeperFrame::LogFailed { end, os_error } => {
                self.log_failed = Some((end, LossCause::LogFailed { os_error }));
            }
            _ => {}
        }
        Ok(())
    }

    /// The keeper is silent while an execution waits for it.
    async fn on_silence(&mut self) -> io::Result<()> {
        // This program may have been suspended, and the answer may have arrived.
        if let Ok(frame) = timeout(READ_TIMEOUT, self.halves.read.try_next()).await {
            return self.on_frame(frame);
        }
        match self.log.liveness.tick(Instant::now()) {
            // Every version answers a greeting.
            Some(Silence::Ask) => self.halves.queue(&ClientFrame::Hello(hello())),
            Some(Silence::GiveUp) => self.give_up_silent(),
            None => {}
        }
        Ok(())
    }

    fn give_up_silent(&mut self) {
        self.give_up(LossCause::KeeperSilent { process: self.log.liveness.process });
    }

    fn give_up(&mut self, cause: LossCause) {
        self.log.how_it_ended = Some(cause.to_string().into());
        self.loss = Some(cause);
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Sends a frame. An end of the connection shows when it is read.
    async fn pass_on(&mut self, frame: &ClientFrame) {
        // A keeper that reads nothing must not keep the executions from ending.
        if timeout(self.log.liveness.timeout, self.halves.send(frame)).await.is_err() {
            self.give_up_silent();
        }
    }

    /// Receives the next part of the log, or does what was asked.
    async fn progress(&mut self) -> io::Result<()> {
        let deadline = self.log.liveness.deadline();
        tokio::select! {
            frame = self.halves.read.try_next() => self.on_frame(frame),
            () = sleep_until(deadline.unwrap_or_else(Instant::now).into()), if deadline.is_some() => {
                self.on_silence().await
            }
            Some(control) = self.control.recv() => {
                self.on_control(control);
                Ok(())
            }
            flushed = SinkExt::<Bytes>::flush(&mut self.halves.write), if self.halves.has_queued() => {
                self.notify_flushed();
                flushed
            }
        }
    }
}

impl Transport for LogTransport {
    async fn receive(&mut self) -> Option<Received> {
        if let Some(message) = self.log.held.take() {
            return Some(Received::Message(Box::new(message)));
        }
        loop {
            if self.log.how_it_ended.is_some() || self.failed.is_some() {
                self.is_closed = true;
                return None;
            }
            match self.log.records.next_record() {
                Ok(Some((time, record))) => match self.log.on_record(time, record) {
                    Some(received) => return Some(received),
                    None => continue,
                },
                Ok(None) if !self.has_caught_up && self.is_caught_up() => {
                    self.has_caught_up = true;
                    return Some(Received::CaughtUp);
                }
                Ok(None) => {}
                Err(error) => {
                    self.log.how_it_ended =
                        Some(format!("the log of its keeper cannot be read: {error}").into());
                    continue;
                }
            }
            if let Some((_, cause)) =
                self.log_failed.clone().filter(|(end, _)| *end <= self.log.records.offset())
            {
                self.give_up(cause);
                continue;
            }
            if self.log.has_read_the_past()
                && let KernelPhase::Dead { how } = &self.log.kernel.phase
            {
                self.log.how_it_ended = Some(how.clone().into());
                continue;
            }
            if self.progress().await.is_err() && !self.read_unsent() {
                self.log.how_it_ended = Some(KEEPER_ENDED.into());
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }

    async fn send(&mut self, (channel, message): Outgoing) {
        match write_parts(message, &self.session) {
            Ok(parts) => {
                self.pass_on(&ClientFrame::Send { channel, parts: parts.into() }).await;
            }
            Err(error) => tracing::error!(?channel, %error, "a message to the kernel cannot be written"),
        }
    }

    async fn announce(&mut self, announcement: Announcement) {
        if let Some(id) = &announcement.message {
            self.log.liveness.begin(id.clone(), Instant::now());
        }
        self.pass_on(&ClientFrame::Announce(announcement)).await;
    }

    async fn interrupt(&mut self, id: &MessageId) {
        self.pass_on(&ClientFrame::Interrupt { message: Some(id.clone()) }).await;
    }

    async fn finish(&mut self) {
        while let Ok(control) = self.control.try_recv() {
            self.on_control(control);
        }
        let _ = timeout(FINISH_TIMEOUT, SinkExt::<Bytes>::flush(&mut self.halves.write)).await;
        self.notify_flushed();
    }

    fn is_caught_up(&self) -> bool {
        let is_settled = self.log.kernel.phase == KernelPhase::Running || self.log.how_it_ended.is_some();
        self.failed.is_some() || (self.log.has_read_the_past() && is_settled)
    }

    fn is_busy(&self) -> bool {
        self.log.kernel.is_busy
    }

    fn knows_process_end(&self) -> bool {
        true
    }

    fn loss(&self) -> Option<LossCause> {
        self.loss.clone()
    }

    fn how_it_ended(&self) -> Option<Death> {
        self.log.how_it_ended.clone()
    }
}
