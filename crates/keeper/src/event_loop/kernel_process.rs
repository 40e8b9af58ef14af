//! The keeper's kernel: its messages, and the start and end of its process.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt as _;
use kernel::MessageId;
use kernel::log::{Channel, LogDecision, LogEvent, LogRecord, Peek};
use tokio::time::timeout;

use super::Keeper;
use crate::launcher::{LaunchError, Launched};
use crate::protocol::{KeeperFrame, KernelPhase, KernelStatus};
use crate::turns::QueuedRequest;

/// How much of the outputs of one run is kept.
const MAX_RUN_BYTES: u64 = 256 * 1024 * 1024;
/// How many messages of the kernel are taken before clients get their turn.
const MAX_MESSAGES: usize = 256;
/// How long a dead kernel's connection may be silent before nothing more is expected, and how long it is read at all.
const DRAIN_SILENCE: Duration = Duration::from_millis(500);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

impl Keeper {
    pub(super) fn on_message(&mut self, channel: Channel, parts: Vec<Bytes>) {
        let peek = Peek::of(channel, &parts);
        match peek.state.as_deref() {
            Some("busy") => self.status.is_busy = true,
            Some("idle") => self.status.is_busy = false,
            _ => {}
        }
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        let limit = if self.log.size() > super::MAX_LOG_BYTES { 0 } else { MAX_RUN_BYTES };
        match self.runs.decide(channel, &peek, bytes, limit) {
            LogDecision::Keep => {
                self.runs.on_message(SystemTime::now(), channel, &peek, &parts);
                self.write(&LogRecord::FromKernel { channel, parts });
            }
            LogDecision::CutFromHere => {
                let message = peek.parent.clone();
                self.record(&LogRecord::Event(LogEvent::Cut { message: message.into() }));
            }
            LogDecision::Drop => {}
        }
        let released = self.turns.received(channel, &peek, Instant::now());
        self.release(released);
    }

    /// Takes what has arrived already, up to a limit.
    pub(super) fn take_messages(&mut self) {
        for _ in 0..MAX_MESSAGES {
            let next = self.kernel.as_mut().and_then(|kernel| kernel.connection.try_receive());
            let Some((channel, parts)) = next else { return };
            self.on_message(channel, parts);
        }
    }

    pub(super) fn release(&mut self, requests: Vec<QueuedRequest>) {
        for QueuedRequest { channel, parts, .. } in requests {
            // Without the content of a reply to `input()`, which may be a password: header, parent header, metadata.
            let logged = if channel == Channel::Stdin { 3.min(parts.len()) } else { parts.len() };
            self.record(&LogRecord::ToKernel { channel, parts: parts[..logged].to_vec() });
            if let Some(kernel) = &self.kernel {
                kernel.connection.send(channel, parts);
            }
        }
    }

    /// Ends an execution of which a message is missing for too long.
    pub(super) fn end_overdue(&mut self, now: Instant) {
        if let Some((message, released)) = self.turns.tick(now) {
            self.record(&LogRecord::Event(LogEvent::Ended { message }));
            self.release(released);
        }
    }

    /// A request will never reach the kernel.
    pub(super) fn withdrawn(&mut self, message: MessageId) {
        self.record(&LogRecord::Event(LogEvent::Withdrawn { message }));
    }

    /// Interrupts the kernel; with the request that is meant, only if the kernel works on that.
    pub(super) fn interrupt(&mut self, message: Option<MessageId>) {
        if let Some(message) = message {
            if self.turns.withdraw(&message) {
                self.withdrawn(message);
                return;
            }
            if !self.turns.is_current(&message) {
                // It is over. What runs now is somebody else's.
                return;
            }
        }
        let (Some(kernel), Some(launcher)) = (&self.kernel, &self.launcher) else { return };
        if launcher.interrupts_by_signal() {
            kernel.process.interrupt();
        } else {
            kernel.connection.send_interrupt();
        }
    }

    pub(super) fn restart(&mut self) {
        let Some(launcher) = self.launcher.clone() else { return };
        self.requested();
        self.kernel_ended(KernelPhase::Starting);
        self.record(&LogRecord::Event(LogEvent::Restarting));
        let (old, starting) = (self.kernel.take(), self.starting.take());
        self.starting = Some(
            async move {
                // Its process ends with it.
                drop(starting);
                if let Some(old) = old {
                    old.stop(true).await;
                }
                launcher.start().await
            }
            .boxed(),
        );
    }

    pub(crate) fn started(&mut self, kernel: Launched) {
        let language_info = kernel.connection.language_info().to_value();
        self.status = KernelStatus {
            phase: KernelPhase::Running,
            is_busy: false,
            language_info: language_info.clone(),
            process: kernel.process.id(),
        };
        self.kernel = Some(kernel);
        self.are_sockets_open = true;
        self.record(&LogRecord::Event(LogEvent::Ready { language_info }));
    }

    pub(super) fn on_failed_start(&mut self, error: &LaunchError) {
        let how = error.cause.clone();
        self.kernel_ended(KernelPhase::Dead { how: how.clone() });
        for client in self.clients.values() {
            client.send(KeeperFrame::Failed { cause: how.clone() });
        }
        self.record(&LogRecord::Event(LogEvent::Died { how }));
    }

    /// The kernel's process ended. Its connections may hold messages that it sent before.
    pub(super) async fn on_exit(&mut self, how: String) {
        let began = Instant::now();
        while self.are_sockets_open && began.elapsed() < DRAIN_TIMEOUT {
            let Some(kernel) = &mut self.kernel else { break };
            match timeout(DRAIN_SILENCE, kernel.connection.receive()).await {
                Ok(Ok((channel, parts))) => self.on_message(channel, parts),
                Ok(Err(_)) | Err(_) => break,
            }
        }
        self.kernel = None;
        self.kernel_ended(KernelPhase::Dead { how: how.clone() });
        self.record(&LogRecord::Event(LogEvent::Died { how }));
    }

    pub(super) fn kernel_ended(&mut self, phase: KernelPhase) {
        self.status.phase = phase;
        (self.status.is_busy, self.status.process) = (false, None);
        self.are_sockets_open = false;
        self.turns.kernel_ended();
    }
}
