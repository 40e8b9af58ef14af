//! Lines on their way to the agent.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

/// The bytes that may wait for an agent to read them before its further requests have to wait, too.
const MOST_WAITING: usize = 64 * 1024 * 1024;

/// Writes lines in the order in which they were handed over.
pub(crate) struct Outbox<W> {
    waiting: Mutex<Waiting>,
    writer: tokio::sync::Mutex<Writer<W>>,
    /// Cancelled when the agent has closed its end.
    pub(crate) broken: CancellationToken,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<String>,
    bytes: usize,
}

/// The line that is being written stays here: a flush may be dropped in the middle of it.
struct Writer<W> {
    pipe: W,
    line: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin + Send + 'static> Outbox<W> {
    pub(crate) fn new(pipe: W) -> Self {
        let writer = Writer { pipe, line: Vec::new(), written: 0 };
        Self {
            waiting: Mutex::default(),
            writer: tokio::sync::Mutex::new(writer),
            broken: CancellationToken::new(),
        }
    }

    /// Hands over a line, without its end. It leaves with the next [`Outbox::flush`].
    pub(crate) fn push(&self, line: String) {
        let mut waiting = self.waiting();
        waiting.bytes += line.len();
        waiting.lines.push_back(line);
    }

    /// Hands over a line and sees to it that it leaves, without waiting for that.
    pub(crate) fn post(self: &Arc<Self>, line: String) {
        self.push(line);
        let outbox = self.clone();
        // Ends when the line has left or the agent has gone.
        tokio::spawn(async move { outbox.flush().await });
    }

    /// Whether an agent that does not read has enough to read.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting().bytes > MOST_WAITING
    }

    /// Writes everything that waits. Dropped at any time, it is taken up by the next flush where it stopped.
    pub(crate) async fn flush(&self) -> io::Result<()> {
        let Writer { pipe, line, written } = &mut *self.writer.lock().await;
        let all = async {
            loop {
                if *written == line.len() {
                    let Some(next) = self.pop() else { return pipe.flush().await };
                    (*line, *written) = (next.into_bytes(), 0);
                    line.push(b'\n');
                }
                match pipe.write(&line[*written..]).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => *written += count,
                }
            }
        };
        all.await.inspect_err(|_| self.broken.cancel())
    }

    fn pop(&self) -> Option<String> {
        let mut waiting = self.waiting();
        let line = waiting.lines.pop_front()?;
        waiting.bytes -= line.len();
        Some(line)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics under the lock, so it is never poisoned.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flush_that_is_dropped_goes_on_where_it_stopped() {
        let (near, mut far) = tokio::io::duplex(7);
        let outbox = Outbox::new(near);
        let lines: Vec<String> = (0..20).map(|number| format!("line number {number}")).collect();
        for line in &lines {
            outbox.push(line.clone());
        }
        let mut seen = Vec::new();
        // Seven bytes fit: every flush but the last is dropped in the middle of a line.
        while timeout(Duration::from_secs(1), outbox.flush()).await.is_err() {
            let mut part = [0; 7];
            let count = far.read(&mut part).await.unwrap();
            seen.extend_from_slice(&part[..count]);
        }
        drop(outbox);
        far.read_to_end(&mut seen).await.unwrap();
        assert_eq!(String::from_utf8(seen).unwrap(), lines.join("\n") + "\n");
    }

    #[tokio::test]
    async fn an_agent_that_has_gone_is_noticed() {
        let (near, far) = tokio::io::duplex(7);
        let outbox = Outbox::new(near);
        drop(far);
        outbox.push("to nobody".into());
        assert!(outbox.flush().await.is_err());
        assert!(outbox.broken.is_cancelled());
    }
}
