//! Files of any size: downloaded piece by piece, uploaded in chunks.
//!
//! Downloads come from the handler `files/`, which sends a file's bytes; the contents API would send them as one JSON
//! string. Uploads use the chunks of the contents API (`LargeFileManager` in
//! `jupyter_server/services/contents/largefilemanager.py`): chunk 1 creates the file, further ones are appended, and
//! chunk -1 is the last.
//!
//! On a Colab machine, another program serves files (`colab-fileshim.py`), which Google's clients ask for one file in one request. Where
//! a server refuses `files/`, chunks or a rename, that is done here, too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::Response;
use tokio::task::JoinHandle;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::contents::ContentsQuery;
use crate::auth::denial::explain;
use crate::body;
use crate::random;
use crate::request::Request;
use crate::{Kind, RestError, Result, Server, path};

/// The size of a chunk, in bytes.
const CHUNK: usize = 4 << 20;

/// A file that is being downloaded.
pub struct Download {
    /// The size in bytes, if the server says it.
    pub size: Option<u64>,
    pub pieces: BoxStream<'static, Result<Bytes>>,
}

/// A file that is being uploaded, under a temporary name until all of it is there. Dropped before that, it is deleted
/// from the server.
pub struct Upload {
    server: Server,
    path: String,
    temporary: String,
    /// What has not been sent yet: never empty after the first byte, since the last chunk is marked.
    buffer: BytesMut,
    /// The server appends chunks; `None` until that was tried. If it does not, the whole file is sent in one request.
    appends: Option<bool>,
    /// The number of chunks that were sent.
    chunks: i64,
    sent: u64,
    /// The chunk under way. It goes on if nobody waits for it any longer, so that it never arrives after the file is deleted.
    chunk: Option<JoinHandle<Result<Bytes>>>,
    is_finished: bool,
    /// Until it is dropped, the end of all uploads waits for it.
    _under_way: TaskTrackerToken,
}

impl Server {
    /// Downloads the file at `path`.
    pub async fn download(&self, path: &str) -> Result<Download> {
        let subject = format!("{path:?}");
        let request = Request::get(format!("files/{}", path::file(path)?), &subject);
        let response = self.send(&request).await?;
        if !response.status().is_success() {
            self.check_hub(response.status()).await?;
            let error = explain(self.sender(), &subject, response).await;
            let whole = if error.is_unsupported() { self.bytes(path).await.ok() } else { None };
            let whole = whole.ok_or(error)?;
            let size = u64::try_from(whole.len()).ok();
            return Ok(Download { size, pieces: stream::iter([Ok(whole)]).boxed() });
        }
        Ok(Download { size: response.content_length(), pieces: self.pieces(response) })
    }

    /// A file in one response of the contents API.
    async fn bytes(&self, path: &str) -> Result<Bytes> {
        let content = self.contents(path, ContentsQuery::Bytes).await?.content;
        content.ok_or_else(|| {
            RestError::new(Kind::Malformed, "The server sent no content.", "Copy the file by other means.")
        })
    }

    fn pieces(&self, response: Response) -> BoxStream<'static, Result<Bytes>> {
        let (server, timeout) = (self.clone(), self.network_timeout().duration());
        let pieces = stream::try_unfold(response, move |mut response| {
            let server = server.clone();
            async move {
                let piece = body::next(&mut response, server.base(), timeout).await?;
                Ok(piece.map(|piece| (piece, response)))
            }
        });
        pieces.boxed()
    }

    /// Begins to upload a file that will be at `path`.
    pub fn upload(&self, path: &str) -> Result<Upload> {
        let path = path.trim_matches('/').to_owned();
        let temporary = format!("{path}.part-{}", random::digits()?);
        Ok(Upload {
            server: self.clone(),
            path,
            temporary,
            buffer: BytesMut::new(),
            appends: None,
            chunks: 0,
            sent: 0,
            chunk: None,
            is_finished: false,
            _under_way: self.uploads().tasks.token(),
        })
    }
}

impl Upload {
    /// Sends what fills whole chunks, and keeps the rest.
    pub async fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.appends.is_none() && self.buffer.len() > CHUNK {
            self.appends = Some(self.try_chunks().await?);
        }
        while self.appends == Some(true) && self.buffer.len() > CHUNK {
            let chunk = self.buffer.split_to(CHUNK);
            self.chunks += 1;
            self.put(&chunk, Some(self.chunks)).await?;
            self.sent += CHUNK as u64;
        }
        Ok(())
    }

    /// Sends the first two bytes as chunks. Unless the server appends the second, they stay in the buffer.
    async fn try_chunks(&mut self) -> Result<bool> {
        for (number, byte) in [(1, self.buffer[0]), (2, self.buffer[1])] {
            match self.put(&[byte], Some(number)).await {
                Err(error) if error.is_unsupported() => return Ok(false),
                sent => sent?,
            }
        }
        if self.stored().await? != Some(2) {
            return Ok(false);
        }
        self.buffer.advance(2);
        (self.chunks, self.sent) = (2, 2);
        Ok(true)
    }

    /// Number of bytes that the server has stored, if it reports that.
    async fn stored(&self) -> Result<Option<u64>> {
        Ok(self.server.contents(&self.temporary, ContentsQuery::Attributes).await?.size)
    }

    /// Sends the rest, checks that all of it arrived, and gives the file its name. A file of that name is replaced if
    /// `replaces` says so; otherwise this fails with `Kind::Conflict`.
    pub async fn finish(mut self, replaces: bool) -> Result<()> {
        let rest = self.buffer.split();
        self.put(&rest, (self.chunks > 0).then_some(-1)).await?;
        self.sent += rest.len() as u64;
        if self.stored().await?.is_some_and(|stored| stored != self.sent) {
            return Err(RestError::new(
                Kind::Unsupported,
                format!("The server did not store all of the {} bytes.", self.sent),
                "Copy the file to the server by other means.",
            ));
        }
        // From here on the part is not this value's to delete. The task goes on if nobody waits any longer: between two
        // renames there would be no file. It is bounded by the timeouts of its requests.
        self.is_finished = true;
        let (server, path) = (self.server.clone(), self.path.clone());
        let temporary = std::mem::take(&mut self.temporary);
        let tasks = self.server.uploads().tasks.clone();
        let named = tasks.spawn(async move { name(&server, &temporary, &path, replaces).await }).await;
        named.unwrap_or_else(|error| {
            let cause = format!("A task that names a file failed: {error}.");
            Err(RestError::defect(Kind::Server, cause).with_source(error))
        })
    }

    async fn put(&mut self, chunk: &[u8], number: Option<i64>) -> Result<()> {
        let sending = put(&self.server, &self.temporary, chunk, number);
        let sending = self.chunk.insert(tokio::spawn(sending));
        let sent = tokio::select! {
            sent = sending => sent,
            () = self.server.uploads().ended.cancelled() => return Err(ended()),
        };
        self.chunk = None;
        let sent = sent.unwrap_or_else(|error| {
            let cause = format!("Sending a chunk failed: {error}.");
            Err(RestError::defect(Kind::Server, cause).with_source(error))
        });
        sent.map(drop)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_finished {
            return;
        }
        let tasks = self.server.uploads().tasks.clone();
        let (server, temporary, chunk) =
            (self.server.clone(), std::mem::take(&mut self.temporary), self.chunk.take());
        // Bounded by the timeouts of the requests.
        let discarded = async move {
            if let Some(chunk) = chunk {
                let _ = chunk.await;
            }
            server.discard(&temporary).await;
        };
        tasks.spawn_on(discarded, &runtime);
    }
}

fn ended() -> RestError {
    RestError::new(
        Kind::Unreachable,
        "The program is shutting down; the upload was cancelled.",
        "Copy the file again.",
    )
}

/// Sends a chunk, or without a number the whole file.
fn put(
    server: &Server,
    path: &str,
    content: &[u8],
    number: Option<i64>,
) -> impl Future<Output = Result<Bytes>> + use<> {
    let (server, path) = (server.clone(), path.to_owned());
    let number = number.map(|number| format!(r#","chunk":{number}"#)).unwrap_or_default();
    let before = format!(r#"{{"type":"file","format":"base64"{number},"content":""#);
    let pieces = vec![before.into(), STANDARD.encode(content).into(), Bytes::from_static(b"\"}")];
    // Sent again, a chunk would be appended twice.
    async move { server.put(&path, pieces, &format!("{path:?}"), false).await }
}

/// Gives the complete file at `temporary` its name, or deletes it.
async fn name(server: &Server, temporary: &str, path: &str, replaces: bool) -> Result<()> {
    let named = match server.rename(temporary, path).await {
        Err(error) if error.kind == Kind::Conflict && replaces => replace(server, temporary, path).await,
        Err(error) if error.is_unsupported() => write_again(server, temporary, path, replaces).await,
        Err(error) => Err(error),
        Ok(_) => return Ok(()),
    };
    // Deleted after a copy, too. After a replacement it is not there, which is no failure.
    server.discard(temporary).await;
    named
}

/// Copies the file to its name, where the server renames nothing.
async fn write_again(server: &Server, temporary: &str, path: &str, replaces: bool) -> Result<()> {
    if !replaces && server.contents(path, ContentsQuery::Attributes).await.is_ok() {
        let cause = format!("There is already a file at {path:?}.");
        return Err(RestError::new(Kind::Conflict, cause, "Choose another name."));
    }
    let content = server.bytes(temporary).await?;
    put(server, path, &content, None).await.map(drop)
}

/// Gives the file its name, in place of the old one, which is kept until then.
async fn replace(server: &Server, temporary: &str, path: &str) -> Result<()> {
    let old = format!("{path}.old-{}", random::digits()?);
    server.rename(path, &old).await?;
    if let Err(error) = server.rename(temporary, path).await {
        server.rename(&old, path).await?;
        return Err(error);
    }
    server.discard(&old).await;
    Ok(())
}

#[cfg(test)]
mod tests;
