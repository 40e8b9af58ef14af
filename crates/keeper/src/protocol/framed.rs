//! Frames over a stream of bytes.

use std::io;

use bytes::{Bytes, BytesMut};
use kernel::log::{FrameReader, write_frame};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The receiving half.
#[derive(Debug)]
pub struct FramedRead<R> {
    stream: R,
    reader: FrameReader,
}

impl<R: AsyncRead + Unpin> FramedRead<R> {
    /// Receives from `stream`, which is at the start of a frame.
    pub fn new(stream: R) -> Self {
        Self { stream, reader: FrameReader::default() }
    }

    /// The next frame; `None` at the end of the stream. Fails also on a frame beyond the limit. Cancel safe.
    pub async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let frame = self.reader.next_frame();
            let frame = frame.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if frame.is_some() {
                return Ok(frame);
            }
            self.reader.buffer().reserve(16 * 1024);
            if self.stream.read_buf(self.reader.buffer()).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// The sending half.
#[derive(Debug)]
pub struct FramedWrite<W> {
    stream: W,
    /// What waits to be sent.
    queue: BytesMut,
}

impl<W: AsyncWrite + Unpin> FramedWrite<W> {
    /// Sends on `stream`.
    pub fn new(stream: W) -> Self {
        Self { stream, queue: BytesMut::new() }
    }

    /// Queues a frame with this payload.
    pub fn queue(&mut self, payload: &[u8]) {
        write_frame(&mut self.queue, payload);
    }

    /// Whether [`FramedWrite::flush`] has something to send.
    pub fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Sends what is queued. Cancel safe: the rest stays in the queue.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.queue.is_empty() {
            if self.stream.write_buf(&mut self.queue).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        // Memory of a large frame is given back.
        self.queue = BytesMut::new();
        Ok(())
    }

    /// Sends a frame behind what is queued. Cancel safe.
    pub async fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.queue(payload);
        self.flush().await
    }
}
