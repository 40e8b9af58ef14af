//! Files: listings, notebooks whose content stays as it is written, and saving them.
//!
//! <https://jupyter-server.readthedocs.io/en/latest/developers/contents.html>

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient;
use crate::body::{self, Payload};
use crate::random::random;
use crate::server::{Request, TIMEOUT};
use crate::{Kind, RestError, Result, Server, path};

/// How slow a connection may be before a transfer counts as stuck, in bytes per second.
const SLOWEST: usize = 256 << 10;

/// What is wanted of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// A folder's entries.
    Listing,
    /// What is known of it without its content; with its hash where the server has hashes (2.11 and later).
    Meta,
    /// The same without the hash, for which the server reads the whole file.
    Glance,
    /// A notebook with its content.
    Notebook,
    /// A file's text as it is, which may be half written.
    ///
    /// To read a notebook as one is no harmless question: what is half written makes Jupyter Server put an older content
    /// in its place, under the hands of whoever writes (`_read_notebook` in `jupyter_server/services/contents/fileio.py`);
    /// then the file is lost.
    Text,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Directory,
    /// A notebook.
    Notebook,
    /// Any other file.
    File,
}

/// What the server knows of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The last part of the path.
    pub name: String,
    /// The path from the server's root, without a leading slash.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Whether the server lets us write it.
    pub is_writable: bool,
    /// When it was written last (ISO 8601), as the server says it.
    pub last_modified: Option<String>,
    /// When it was made (ISO 8601).
    pub created: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The hash of its content with the algorithm's name, `sha256:…`.
    pub hash: Option<String>,
    /// A notebook's content as the server wrote it (JSON): a part of the answer, not a copy. Or a file's text.
    pub content: Option<Bytes>,
    /// A folder's entries.
    pub entries: Vec<Entry>,
    /// What the server found wrong with the notebook when it saved it.
    pub message: Option<String>,
}

/// An entry as it is sent. Unknown fields are left alone.
#[derive(Deserialize)]
struct Model<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    name: String,
    path: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    writable: Option<bool>,
    #[serde(default)]
    last_modified: Option<String>,
    #[serde(default)]
    created: Option<String>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    hash: Option<String>,
    #[serde(default)]
    hash_algorithm: Option<String>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    message: Option<String>,
}

impl Server {
    /// Asks for what is at `path`, relative to the server's root.
    pub async fn contents(&self, path: &str, want: Want) -> Result<Entry> {
        let query = match want {
            Want::Listing => "type=directory&content=1",
            // Servers before 2.11 do not look at `hash`.
            Want::Meta => "content=0&hash=1",
            Want::Glance => "content=0",
            Want::Notebook => "type=notebook&content=1&hash=1",
            Want::Text => "type=file&format=text&content=1",
        };
        let answer = self.read(path, want, query).await;
        match answer {
            // A folder has no hash, for which Jupyter Server 2.11 to 2.21 fail as a whole.
            Err(RestError { kind: Kind::Server, cause, .. })
                if want == Want::Meta && cause.contains("'hash'") =>
            {
                self.read(path, want, "content=0").await
            }
            answer => answer,
        }
    }

    async fn read(&self, path: &str, want: Want, query: &str) -> Result<Entry> {
        let subject = format!("{path:?}");
        let mut request = Request::get(format!("api/contents/{}?{query}", path::file(path)?), &subject);
        if matches!(want, Want::Notebook | Want::Text) {
            request = request.limit(body::MAX_NOTEBOOK_BYTES);
        }
        let body = self.ask(&request).await?;
        self.entry(&body, &subject)
    }

    /// Replaces the notebook at `path`, or makes it. `content` is its JSON in pieces, which are sent as they are.
    ///
    /// The server writes whatever it is given over whatever is there: check before, and never while a room of the
    /// notebook is open.
    pub async fn save_notebook(&self, path: &str, content: Vec<Bytes>) -> Result<Entry> {
        self.save(path, content, &format!("{path:?}")).await
    }

    async fn save(&self, path: &str, content: Vec<Bytes>, subject: &str) -> Result<Entry> {
        let mut pieces = vec![Bytes::from_static(br#"{"type":"notebook","format":"json","content":"#)];
        pieces.extend(content);
        pieces.push(Bytes::from_static(b"}"));
        let payload = Payload { pieces, is_form: false };
        let timeout = TIMEOUT + Duration::from_secs((payload.len() / SLOWEST) as u64);
        let mut request = Request::new(Method::PUT, format!("api/contents/{}", path::file(path)?), subject);
        request.payload = payload;
        let body = self.ask(&request.timeout(timeout)).await?;
        self.entry(&body, subject)
    }

    /// Makes a notebook at `path`; `Kind::Conflict` if anything is there.
    ///
    /// Saving would replace what somebody else made there a moment ago. Renaming is the one operation of the contents
    /// API that refuses to; so the content goes into a new file beside it, which is then given its name.
    pub async fn create_notebook(&self, path: &str, content: Vec<Bytes>) -> Result<Entry> {
        let taken = || {
            RestError::new(
                Kind::Conflict,
                format!("There is already a file at {path:?}."),
                "Open it, or take another name.",
            )
        };
        match self.contents(path, Want::Meta).await {
            Ok(_) => return Err(taken()),
            Err(RestError { kind: Kind::NotFound, .. }) => {}
            Err(error) => return Err(error),
        }
        let beside = beside(path)?;
        let saved = self.save(&beside, content, &format!("{path:?}")).await;
        let named = match saved {
            Ok(_) => self.rename(&beside, path).await,
            Err(error) => Err(error),
        };
        match named {
            Ok(entry) => Ok(entry),
            Err(error) => {
                // A server whose disk is full leaves a part of it.
                if let Err(error) = self.delete(&beside).await {
                    tracing::debug!(cause = error.cause, "a new notebook stays under its passing name");
                }
                Err(if error.kind == Kind::Conflict { taken() } else { error })
            }
        }
    }

    /// Gives the file at `from` the path `to`; `Kind::Conflict` if anything is there.
    pub async fn rename(&self, from: &str, to: &str) -> Result<Entry> {
        let subject = format!("{to:?}");
        let body = serde_json::json!({ "path": to.trim_matches('/') });
        let request = Request::new(Method::PATCH, format!("api/contents/{}", path::file(from)?), &subject);
        let body = self.ask(&request.json(&body)?).await?;
        self.entry(&body, &subject)
    }

    /// Deletes the file at `path`.
    pub async fn delete(&self, path: &str) -> Result<()> {
        let subject = format!("{path:?}");
        let request = Request::new(Method::DELETE, format!("api/contents/{}", path::file(path)?), &subject);
        let response = self.send(&request).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(());
        }
        self.finish(&request, response).await.map(drop)
    }

    fn entry(&self, body: &Bytes, subject: &str) -> Result<Entry> {
        let read = || -> serde_json::Result<Entry> {
            let model: Model<'_> = serde_json::from_slice(body)?;
            let content = model.content.map(|raw| body.slice_ref(raw.get().as_bytes()));
            let entry = model.into_entry();
            match (entry.kind, content) {
                (EntryKind::Directory, Some(content)) => {
                    let entries: Vec<Model<'_>> = serde_json::from_slice(&content)?;
                    Ok(Entry { entries: entries.into_iter().map(Model::into_entry).collect(), ..entry })
                }
                (EntryKind::Notebook, content) => Ok(Entry { content, ..entry }),
                (EntryKind::File, Some(content)) => {
                    let text: Option<String> = serde_json::from_slice(&content).ok();
                    Ok(Entry { content: text.map(Bytes::from), ..entry })
                }
                (_, _) => Ok(entry),
            }
        };
        read().map_err(|error| self.malformed(body, subject, &error))
    }
}

impl Model<'_> {
    fn into_entry(self) -> Entry {
        let kind = match self.kind.as_str() {
            "directory" => EntryKind::Directory,
            "notebook" => EntryKind::Notebook,
            _ => EntryKind::File,
        };
        let algorithm = self.hash_algorithm.unwrap_or_default();
        Entry {
            name: self.name,
            path: self.path.trim_matches('/').to_owned(),
            kind,
            is_writable: self.writable.unwrap_or(true),
            last_modified: self.last_modified,
            created: self.created,
            size: self.size,
            hash: self.hash.map(|hash| format!("{algorithm}:{hash}")),
            content: None,
            entries: Vec::new(),
            message: self.message,
        }
    }
}

/// A path in the same folder that nobody uses.
fn beside(path: &str) -> Result<String> {
    let path = path.trim_matches('/');
    let stem = path.strip_suffix(".ipynb").unwrap_or(path);
    Ok(format!("{stem}-{:08x}.ipynb", u32::from_be_bytes(random()?)))
}

#[cfg(test)]
mod tests;
