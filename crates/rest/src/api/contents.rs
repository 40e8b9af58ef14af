//! Listing, reading and writing files. A notebook's content is passed on as bytes, without parsing it.
//!
//! <https://jupyter-server.readthedocs.io/en/latest/developers/contents.html>

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient;
use crate::body::{self, Payload};
use crate::random;
use crate::request::Request;
use crate::{Kind, RestError, Result, Server, path};

/// The slowest supported upload, in bytes per second. The timeout of a save grows with its size accordingly.
const MIN_BYTES_PER_SECOND: usize = 256 << 10;

/// What to read of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentsQuery {
    /// A folder with its entries.
    Listing,
    /// Metadata without the content. Contains the hash if the server supports it (2.11 and later), for which the server
    /// reads the whole file.
    Hash,
    /// Metadata without the content and the hash.
    Attributes,
    /// A notebook with its content.
    Notebook,
    /// A file's text, which may be partly written.
    ///
    /// Unlike [`ContentsQuery::Notebook`], this is safe while another program writes the file: when Jupyter Server fails
    /// to parse a notebook, it replaces the file by an older copy (`_read_notebook` in
    /// `jupyter_server/services/contents/fileio.py`).
    Text,
    /// A file's bytes.
    Bytes,
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    Directory,
    Notebook,
    /// Any other file.
    #[serde(other)]
    File,
}

/// A file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The last part of the path.
    pub name: String,
    /// The path from the server's root, without a leading slash.
    pub path: String,
    pub kind: EntryKind,
    /// Whether the server allows writing it.
    pub is_writable: bool,
    /// When it was last written (ISO 8601), unchanged from the response.
    pub last_modified: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The hash of its content with the algorithm's name, `sha256:…`.
    pub hash: Option<String>,
    /// A notebook's content as JSON (a slice of the response, not a copy), or a file's text.
    pub content: Option<Bytes>,
    /// A folder's entries.
    pub entries: Vec<Entry>,
}

/// An entry in a response. Unknown fields are ignored.
#[derive(Deserialize)]
struct Model<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    name: String,
    path: String,
    #[serde(rename = "type")]
    kind: EntryKind,
    #[serde(default)]
    writable: Option<bool>,
    #[serde(default)]
    last_modified: Option<String>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    hash: Option<String>,
    #[serde(default)]
    hash_algorithm: Option<String>,
    #[serde(default)]
    format: Option<String>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

impl Server {
    /// Reads `path`, relative to the server's root.
    pub async fn contents(&self, path: &str, want: ContentsQuery) -> Result<Entry> {
        let query = match want {
            ContentsQuery::Listing => "type=directory&content=1",
            // Servers before 2.11 ignore `hash`.
            ContentsQuery::Hash => "content=0&hash=1",
            ContentsQuery::Attributes => "content=0",
            ContentsQuery::Notebook => "type=notebook&content=1&hash=1",
            ContentsQuery::Text => "type=file&format=text&content=1",
            ContentsQuery::Bytes => "type=file&format=base64&content=1",
        };
        let entry = self.read(path, want, query).await;
        match entry {
            // A folder has no hash, so Jupyter Server 2.11 to 2.21 respond 500.
            Err(RestError { kind: Kind::Server, cause, .. })
                if want == ContentsQuery::Hash && cause.contains("'hash'") =>
            {
                self.read(path, want, "content=0").await
            }
            entry => entry,
        }
    }

    async fn read(&self, path: &str, want: ContentsQuery, query: &str) -> Result<Entry> {
        let subject = format!("{path:?}");
        let mut request = Request::get(format!("api/contents/{}?{query}", path::file(path)?), &subject);
        if matches!(want, ContentsQuery::Notebook | ContentsQuery::Text | ContentsQuery::Bytes) {
            request = request.limit(body::MAX_NOTEBOOK_BYTES);
        }
        let body = self.ask(&request).await?;
        self.entry(&body, &subject)
    }

    /// Creates or replaces the notebook at `path`. `content` is its JSON in pieces.
    ///
    /// The server overwrites an existing file without a check. Check for changes first, and never call this while a room
    /// of the notebook is open.
    pub async fn save_notebook(&self, path: &str, content: Vec<Bytes>) -> Result<Entry> {
        self.save(path, content, &format!("{path:?}")).await
    }

    async fn save(&self, path: &str, content: Vec<Bytes>, subject: &str) -> Result<Entry> {
        let mut pieces = vec![Bytes::from_static(br#"{"type":"notebook","format":"json","content":"#)];
        pieces.extend(content);
        pieces.push(Bytes::from_static(b"}"));
        let body = self.put(path, pieces, subject, true).await?;
        self.entry(&body, subject)
    }

    /// Sends a model in pieces. The timeout grows with its size.
    pub(super) async fn put(
        &self,
        path: &str,
        pieces: Vec<Bytes>,
        subject: &str,
        is_idempotent: bool,
    ) -> Result<Bytes> {
        let payload = Payload { pieces, is_form: false };
        let slowest = Duration::from_secs((payload.len() / MIN_BYTES_PER_SECOND) as u64);
        let path = format!("api/contents/{}", path::file(path)?);
        let request = Request { payload, is_idempotent, ..Request::new(Method::PUT, path, subject) };
        self.ask(&request.timeout(self.network_timeout().duration() + slowest)).await
    }

    /// Creates a notebook at `path`. Fails with `Kind::Conflict` if the path exists.
    ///
    /// Saving would overwrite a file that was created since the check. Only a rename refuses to overwrite, so the content
    /// is saved to a temporary file, `x-1f2e3d4c.ipynb` for `x.ipynb`, which is then renamed.
    pub async fn create_notebook(&self, path: &str, content: Vec<Bytes>) -> Result<Entry> {
        let taken = || {
            RestError::new(
                Kind::Conflict,
                format!("There is already a file at {path:?}."),
                "Open it, or choose another name.",
            )
        };
        match self.contents(path, ContentsQuery::Hash).await {
            Ok(_) => return Err(taken()),
            Err(RestError { kind: Kind::NotFound, .. }) => {}
            Err(error) => return Err(error),
        }
        let temporary = temporary(path)?;
        let subject = format!("{path:?}");
        let saved = self.save(&temporary, content.clone(), &subject).await;
        let named = match saved {
            Ok(_) => self.rename(&temporary, path).await,
            Err(error) => Err(error),
        };
        let Err(error) = named else { return named };
        // If the disk is full, a part of the file may exist.
        self.discard(&temporary).await;
        match error.kind {
            Kind::Conflict => Err(taken()),
            // The server renames nothing.
            Kind::Unsupported => self.save(path, content, &subject).await,
            _ => Err(error),
        }
    }

    /// Deletes what nobody needs; what is left then is only untidy.
    pub(super) async fn discard(&self, path: &str) {
        if let Err(error) = self.delete(path).await {
            tracing::debug!(cause = error.cause, "cannot delete a temporary file from the server");
        }
    }

    /// Renames the file at `from` to `to`. Fails with `Kind::Conflict` if `to` exists.
    pub async fn rename(&self, from: &str, to: &str) -> Result<Entry> {
        let subject = format!("{to:?}");
        let body = serde_json::json!({ "path": to.trim_matches('/') });
        let request = Request::new(Method::PATCH, format!("api/contents/{}", path::file(from)?), &subject);
        let body = self.ask(&request.json(&body)?).await?;
        self.entry(&body, &subject)
    }

    /// Deletes the file at `path`. Succeeds if it does not exist.
    pub async fn delete(&self, path: &str) -> Result<()> {
        let subject = format!("{path:?}");
        let request = Request::new(Method::DELETE, format!("api/contents/{}", path::file(path)?), &subject);
        self.ask_for(&request).await.map(drop)
    }

    fn entry(&self, body: &Bytes, subject: &str) -> Result<Entry> {
        let read = || -> serde_json::Result<Entry> {
            let model: Model<'_> = serde_json::from_slice(body)?;
            let content = model.content.map(|raw| body.slice_ref(raw.get().as_bytes()));
            let is_base64 = model.format.as_deref() == Some("base64");
            let entry = model.into_entry();
            match (entry.kind, content) {
                (EntryKind::Directory, Some(content)) => {
                    let entries: Vec<Model<'_>> = serde_json::from_slice(&content)?;
                    Ok(Entry { entries: entries.into_iter().map(Model::into_entry).collect(), ..entry })
                }
                (EntryKind::Notebook, content) => Ok(Entry { content, ..entry }),
                (EntryKind::File, Some(content)) => {
                    let text: Option<String> = serde_json::from_slice(&content).ok();
                    let bytes =
                        text.and_then(|text| if is_base64 { decode(&text) } else { Some(text.into()) });
                    Ok(Entry { content: bytes, ..entry })
                }
                (_, _) => Ok(entry),
            }
        };
        read().map_err(|error| self.malformed(body, subject, &error))
    }
}

impl Model<'_> {
    fn into_entry(self) -> Entry {
        let algorithm = self.hash_algorithm.unwrap_or_default();
        Entry {
            name: self.name,
            path: self.path.trim_matches('/').to_owned(),
            kind: self.kind,
            is_writable: self.writable.unwrap_or(true),
            last_modified: self.last_modified,
            size: self.size,
            hash: self.hash.map(|hash| format!("{algorithm}:{hash}")),
            content: None,
            entries: Vec::new(),
        }
    }
}

/// Jupyter writes lines.
fn decode(base64: &str) -> Option<Bytes> {
    let base64: Vec<u8> = base64.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(base64).ok().map(Bytes::from)
}

/// A random path in the same folder: `a/x-1f2e3d4c.ipynb` for `a/x.ipynb`.
fn temporary(path: &str) -> Result<String> {
    let path = path.trim_matches('/');
    let stem = path.strip_suffix(".ipynb").unwrap_or(path);
    Ok(format!("{stem}-{}.ipynb", random::digits()?))
}

#[cfg(test)]
mod tests;
