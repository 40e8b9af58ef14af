//! Unix sockets in a folder that only this user can use. Servers and the pages of the same user find each other there, and both check
//! whose process is at the other end. They speak HTTP: closing a connection takes its request back.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, Response, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::{client, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::de::DeserializeOwned;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use uuid::Uuid;

/// Maximum number of connections at once; more are closed. A page has one for its stream, and one for each action of a person.
const MAX_CONNECTIONS: usize = 100;
/// Time limit for the head of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_PAUSE: Duration = Duration::from_millis(100);
const EXTENSION: &str = "sock";
/// The digits of a socket's name.
const NAME: usize = 8;

/// A socket in such a folder, until this is dropped.
#[derive(Debug)]
pub struct PrivateListener {
    listener: UnixListener,
    /// The socket, or a link to it.
    path: PathBuf,
}

/// Opens a socket in `folder`, which it makes if needed, or, if that path is too long for a socket, in the `temporary` folder with a link
/// to it. Fails if others can use the folder.
pub fn listen(folder: &Path, temporary: &Path) -> io::Result<PrivateListener> {
    let name = Uuid::new_v4().simple().to_string();
    let path = folder.join(&name[..NAME]).with_extension(EXTENSION);
    state::create_folder_of(&path)?;
    let (listener, socket) = keeper::listen(path.clone(), temporary)?;
    if socket != path {
        symlink(socket, &path)?;
    }
    Ok(PrivateListener { listener, path })
}

impl PrivateListener {
    /// The next connection of a process of this user; `None` if one of another user was closed.
    async fn accept(&self) -> io::Result<Option<UnixStream>> {
        let (stream, _) = self.listener.accept().await?;
        Ok(Some(stream).filter(keeper::is_own_process))
    }

    /// Serves processes of this user. Dropping the future ends what is open.
    pub async fn serve(self, router: Router) {
        let mut served = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.accept() => match accepted {
                    Ok(Some(stream)) if served.len() < MAX_CONNECTIONS => {
                        served.spawn(serve_connection(stream, router.clone()));
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "a process of this user was not served");
                        tokio::time::sleep(RETRY_PAUSE).await;
                    }
                },
                Some(_) = served.join_next() => {}
            }
        }
    }
}

async fn serve_connection(stream: UnixStream, router: Router) {
    let mut http = server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(REQUEST_TIMEOUT);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection on a private socket ended");
    }
}

/// Sends a request to the process that was connected to. Returns with the head of the answer.
pub(crate) async fn request(
    stream: UnixStream,
    method: Method,
    path: &str,
    body: Bytes,
) -> io::Result<Response<Incoming>> {
    let handshake = client::conn::http1::handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.map_err(io::Error::other)?;
    // Ends with the answer, or when that is dropped.
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body))
        .map_err(io::Error::other)?;
    sender.send_request(request).await.map_err(io::Error::other)
}

/// Sends a request, and returns its answer, JSON of at most `most` bytes.
pub(crate) async fn ask<T: DeserializeOwned>(
    stream: UnixStream,
    method: Method,
    path: &str,
    body: Bytes,
    most: usize,
) -> io::Result<T> {
    let answer = request(stream, method, path, body).await?;
    let answer = Limited::new(answer.into_body(), most).collect().await.map_err(io::Error::other)?;
    serde_json::from_slice(&answer.to_bytes()).map_err(io::Error::from)
}

impl Drop for PrivateListener {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes a socket, or a link and the folder that was made for its socket.
fn remove(path: &Path) {
    if let Ok(socket) = fs::read_link(path) {
        let _ = fs::remove_file(&socket);
        // Only if it is empty: it holds nothing but the socket.
        let _ = socket.parent().map(fs::remove_dir);
    }
    let _ = fs::remove_file(path);
}

/// The names of the sockets in `folder`, whether a process serves them or not; none if others can use it.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    if !state::is_private(folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |path: PathBuf| {
        let is_socket = path.extension().is_some_and(|it| it == EXTENSION);
        path.file_stem().filter(|_| is_socket)?.to_str().map(str::to_owned)
    };
    entries.filter_map(|entry| name(entry.path())).filter(|name| is_name(name)).collect()
}

/// Whether a socket can have this name, so that it leads to no other folder.
fn is_name(name: &str) -> bool {
    name.len() == NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Connects to the socket with this name. Removes it if its process is gone.
pub(crate) async fn connect(folder: &Path, name: &str) -> io::Result<UnixStream> {
    let path = folder.join(name).with_extension(EXTENSION);
    let socket = fs::read_link(&path).unwrap_or_else(|_| path.clone());
    if !is_name(name) || !state::is_private(folder) || !socket.parent().is_some_and(state::is_private) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    match UnixStream::connect(&socket).await {
        Ok(stream) if keeper::is_own_process(&stream) => Ok(stream),
        Ok(_) => Err(io::ErrorKind::PermissionDenied.into()),
        Err(error) => {
            if error.kind() == io::ErrorKind::ConnectionRefused {
                remove(&path);
            }
            Err(error)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A folder that only this user can use, and its path.
    pub(crate) fn folder() -> (tempfile::TempDir, PathBuf) {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("state/pages");
        (temporary, path)
    }

    #[tokio::test]
    async fn a_folder_that_others_can_use_and_a_socket_without_a_process_are_not_used() {
        let (_temporary, folder) = folder();
        assert!(names(&folder).is_empty());
        let listener = listen(&folder, &std::env::temp_dir()).unwrap();
        let [name] = names(&folder).try_into().unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(names(&folder).is_empty() && connect(&folder, &name).await.is_err());
        assert!(listen(&folder, &std::env::temp_dir()).is_err());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let _connected = connect(&folder, &name).await.unwrap();
        assert!(listener.accept().await.unwrap().is_some());
        // A process that was killed leaves its socket.
        let path = listener.path.clone();
        drop(listener);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(connect(&folder, &name).await.is_err());
        assert!(!path.exists() && names(&folder).is_empty());
    }

    #[tokio::test]
    async fn a_path_that_is_too_long_for_a_socket_leads_to_one() {
        let (_temporary, folder) = folder();
        let folder = folder.join("x".repeat(100));
        fs::create_dir_all(folder.parent().unwrap()).unwrap();
        let listener = listen(&folder, &std::env::temp_dir()).unwrap();
        let elsewhere = fs::read_link(&listener.path).unwrap();
        let [name] = names(&folder).try_into().unwrap();
        let _connected = connect(&folder, &name).await.unwrap();
        drop(listener);
        assert!(!elsewhere.parent().unwrap().exists() && fs::read_dir(&folder).unwrap().next().is_none());
    }

    #[tokio::test]
    async fn a_name_leads_to_no_other_folder() {
        let (_temporary, folder) = folder();
        let other = folder.with_file_name("other");
        let _listener = listen(&folder, &std::env::temp_dir()).unwrap();
        let _other = listen(&other, &std::env::temp_dir()).unwrap();
        let [name] = names(&other).try_into().unwrap();
        for name in [&*name, &format!("../other/{name}"), &other.join(&name).display().to_string(), "", ".."]
        {
            assert!(connect(&folder, name).await.is_err(), "{name}");
        }
    }
}
