//! Lines that are queued for the agent.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

/// How many bytes are queued before we stop reading requests of an agent that does not read.
const MAX_QUEUED: usize = 64 * 1024 * 1024;

/// Writes lines in the order in which they were pushed.
pub(crate) struct LineWriter {
    queue: Mutex<Queue>,
    writer: tokio::sync::Mutex<Writer>,
    /// Cancelled when the agent has closed its end of the pipe.
    pub(crate) broken: CancellationToken,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<String>,
    bytes: usize,
}

/// The line that is being written stays here: a flush may be dropped in the middle of it.
struct Writer {
    pipe: Box<dyn AsyncWrite + Unpin + Send>,
    line: Vec<u8>,
    written: usize,
}

impl LineWriter {
    pub(crate) fn new(pipe: Box<dyn AsyncWrite + Unpin + Send>) -> Self {
        let writer = Writer { pipe, line: Vec::new(), written: 0 };
        Self {
            queue: Mutex::default(),
            writer: tokio::sync::Mutex::new(writer),
            broken: CancellationToken::new(),
        }
    }

    /// Queues a line, without its line break. The next [`LineWriter::flush`] writes it.
    pub(crate) fn push(&self, line: String) {
        let mut queue = self.queue();
        queue.bytes += line.len();
        queue.lines.push_back(line);
    }

    /// Queues a line and writes it in a task.
    pub(crate) fn post(self: &Arc<Self>, line: String) {
        self.push(line);
        let lines = self.clone();
        // Ends when the line is written or the agent has disconnected.
        tokio::spawn(async move { lines.flush().await });
    }

    /// Whether too much is queued.
    pub(crate) fn is_full(&self) -> bool {
        self.queue().bytes > MAX_QUEUED
    }

    /// Writes everything that is queued. If it is dropped, the next flush continues where it stopped.
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
        let mut queue = self.queue();
        let line = queue.lines.pop_front()?;
        queue.bytes -= line.len();
        Some(line)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing panics under the lock, so it is never poisoned.
        self.queue.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_dropped_flush_continues_where_it_stopped() {
        let (near, mut far) = tokio::io::duplex(7);
        let lines = LineWriter::new(Box::new(near));
        let texts: Vec<String> = (0..20).map(|number| format!("line number {number}")).collect();
        for line in &texts {
            lines.push(line.clone());
        }
        let mut seen = Vec::new();
        // Seven bytes fit: every flush but the last is dropped in the middle of a line.
        while timeout(Duration::from_secs(1), lines.flush()).await.is_err() {
            let mut part = [0; 7];
            let count = far.read(&mut part).await.unwrap();
            seen.extend_from_slice(&part[..count]);
        }
        drop(lines);
        far.read_to_end(&mut seen).await.unwrap();
        assert_eq!(String::from_utf8(seen).unwrap(), texts.join("\n") + "\n");
    }

    #[tokio::test]
    async fn a_disconnected_agent_is_noticed() {
        let (near, far) = tokio::io::duplex(7);
        let lines = LineWriter::new(Box::new(near));
        drop(far);
        lines.push("to nobody".into());
        assert!(lines.flush().await.is_err());
        assert!(lines.broken.is_cancelled());
    }
}
