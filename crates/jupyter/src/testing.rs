//! A fake server for tests: one notebook, with or without a room, that can be made to misbehave.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use notebook::{CellType, Edit, NewCell, Notebook};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tokio_util::task::AbortOnDropHandle;
use ydoc::{Dialect, LiveNotebook, Room, RoomEvent};

use crate::server_handle::ServerHandle;
use crate::settings::Source;

/// What a room does when a save is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saving {
    Writes,
    /// Reports success, and writes nothing.
    Lies,
    /// Reverts the cell `c1` to `b` once, as if the file had been read again; writes from then on.
    Reverts,
    /// Drops all connections once, and rebuilds the document from the file; writes from then on.
    Dies,
}

pub(crate) struct Inside {
    /// The notebook's JSON on disk, and how often it was written.
    pub(crate) file: String,
    pub(crate) version: u64,
    /// Its path.
    pub(crate) path: String,
    /// Whether another file is at its first path.
    pub(crate) is_taken: bool,
    /// How many requests the server got.
    pub(crate) requests: u64,
    pub(crate) has_rooms: bool,
    pub(crate) dialect: Dialect,
    pub(crate) saving: Saving,
    /// How others change the file when it is about to be replaced, or before the document is rebuilt.
    pub(crate) meanwhile: Option<fn(&mut Notebook)>,
    pub(crate) puts: u64,
    /// The size of the disk in bytes. A longer file is truncated.
    pub(crate) disk: usize,
    /// Whether a hook of the server fails after the file was written.
    pub(crate) fails_after_writing: bool,
    live: LiveNotebook,
    /// Changes when connections must be dropped.
    drops: watch::Sender<u64>,
}

pub(crate) struct Fake {
    pub(crate) base: String,
    inside: Arc<Mutex<Inside>>,
    _task: AbortOnDropHandle<()>,
}

/// Serves a router on a free port, until the handle is dropped. Returns the address.
pub(crate) async fn serve_router(router: axum::Router) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, AbortOnDropHandle::new(task))
}

/// What a place has of the server at this address.
pub(crate) fn handle(url: String) -> Arc<ServerHandle> {
    let source = Source::Given { url, credentials: rest::Credentials::None };
    Arc::new(ServerHandle::new(source, rest::Options::default()))
}

/// A notebook with these sources, in cells `c0`, `c1`, …
pub(crate) fn notebook(sources: &[&str]) -> Notebook {
    let mut notebook = Notebook::new();
    for (index, source) in sources.iter().enumerate() {
        let cell = NewCell { id: format!("c{index}").into(), ..NewCell::new(CellType::Code, *source) };
        notebook.apply(&Edit::Insert { index, cell }).unwrap();
    }
    notebook
}

pub(crate) fn sources(notebook: &Notebook) -> Vec<String> {
    notebook.cells().iter().map(|cell| cell.source().to_string()).collect()
}

fn text(notebook: &Notebook) -> String {
    let mut text = Vec::new();
    notebook.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

impl Inside {
    pub(crate) fn notebook(&self) -> Notebook {
        Notebook::parse(Bytes::from(self.file.clone())).unwrap()
    }

    pub(crate) fn write(&mut self, notebook: &Notebook) {
        self.file = text(notebook);
        self.version += 1;
    }

    /// Builds the document from the file, with a new history.
    fn load(&mut self) {
        let mut live = LiveNotebook::new();
        let cells = self.notebook();
        let insert = |(index, cell): (usize, &notebook::Cell)| Edit::Insert {
            index,
            cell: NewCell {
                id: cell.id().clone(),
                ..NewCell::new(CellType::Code, cell.source().to_string())
            },
        };
        let mut edits: Vec<Edit> = cells.cells().iter().enumerate().map(insert).collect();
        if edits.is_empty() {
            // As `YNotebook.set` of jupyter_ydoc does.
            edits.push(Edit::Insert { index: 0, cell: NewCell::new(CellType::Code, "") });
        }
        live.apply(&edits).unwrap();
        self.live = live;
    }

    pub(crate) fn live(&mut self) -> Notebook {
        self.live.snapshot().unwrap()
    }

    pub(crate) fn drop_connections(&mut self) {
        self.load();
        self.drops.send_modify(|count| *count += 1);
    }
}

impl Fake {
    pub(crate) async fn new(sources: &[&str], has_rooms: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        let mut inside = Inside {
            file: text(&notebook(sources)),
            version: 1,
            path: "x.ipynb".to_owned(),
            is_taken: false,
            requests: 0,
            has_rooms,
            dialect: Dialect::Collaboration,
            saving: Saving::Writes,
            meanwhile: None,
            puts: 0,
            disk: usize::MAX,
            fails_after_writing: false,
            live: LiveNotebook::new(),
            drops: watch::Sender::new(0),
        };
        inside.load();
        let inside = Arc::new(Mutex::new(inside));
        let shared = inside.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { base, inside, _task: AbortOnDropHandle::new(task) }
    }

    pub(crate) fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap()
    }

    pub(crate) fn handle(&self) -> Arc<ServerHandle> {
        handle(self.base.clone())
    }
}

/// What a fake server receives on a connection.
pub(crate) enum Received {
    Socket(Box<WebSocketStream<TcpStream>>),
    Request(TcpStream, Vec<u8>),
}

/// Reads the head of a request, and either its body or the handshake of a WebSocket.
pub(crate) async fn receive(mut stream: TcpStream) -> Option<(String, Received)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    if let Some(key) = header("Sec-WebSocket-Key") {
        let accept = derive_accept_key(key.as_bytes());
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
        return Some((head, Received::Socket(Box::new(socket))));
    }
    let mut body = vec![0; header("Content-Length").map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, Received::Request(stream, body)))
}

async fn serve(stream: TcpStream, inside: Arc<Mutex<Inside>>) {
    let Some((head, received)) = receive(stream).await else { return };
    let (mut stream, body) = match received {
        Received::Socket(socket) => return room(*socket, inside).await,
        Received::Request(stream, body) => (stream, body),
    };
    let line = head.lines().next().unwrap_or_default();
    let (status, answer) = answer(line, &body, &mut inside.lock().unwrap());
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
}

fn answer(line: &str, body: &[u8], inside: &mut Inside) -> (&'static str, String) {
    inside.requests += 1;
    let is_collaboration = inside.dialect == Dialect::Collaboration;
    let id = if inside.is_taken && line.contains("x.ipynb") { "other" } else { "f" };
    if line.starts_with("PUT /api/collaboration/session/") && inside.has_rooms && is_collaboration {
        return ("200 OK", json!({"fileId": id, "sessionId": "s"}).to_string());
    }
    if line.contains(" /api/fileid/") && inside.has_rooms && !is_collaboration {
        return ("200 OK", json!({"id": id, "path": inside.path}).to_string());
    }
    if line.starts_with("PUT /api/contents/x.ipynb") {
        inside.puts += 1;
        let body: serde_json::Value = serde_json::from_slice(body).unwrap();
        inside.file = body["content"].to_string();
        inside.version += 1;
        if inside.fails_after_writing {
            return (
                "500 Failed",
                json!({"message": "Unexpected error while running post hook save"}).to_string(),
            );
        }
        if inside.file.len() > inside.disk {
            inside.file.truncate(inside.disk);
            return ("500 Failed", json!({"message": "[Errno 28] No space left on device"}).to_string());
        }
        return ("200 OK", model(inside, false));
    }
    // A new notebook is written under another name, and then renamed.
    if line.starts_with("PUT /api/contents/") || line.starts_with("PATCH /api/contents/") {
        inside.is_taken = true;
        return ("201 Created", model(inside, false));
    }
    if line.starts_with(&format!("GET /api/contents/{}?", inside.path))
        || inside.is_taken && line.starts_with("GET /api/contents/x.ipynb?")
    {
        if line.contains("type=file") {
            let text = json!(inside.file);
            return ("200 OK", json!({"path": inside.path, "type": "file", "content": text}).to_string());
        }
        // Reading a notebook while it is being written may destroy it.
        assert!(
            !inside.has_rooms || !line.contains("content=1"),
            "a notebook with a room must not be read through the contents API"
        );
        if line.contains("content=1") && serde_json::from_str::<serde_json::Value>(&inside.file).is_err() {
            return ("400 Bad", json!({"message": "Unreadable Notebook: x.ipynb"}).to_string());
        }
        let model = model(inside, line.contains("content=1"));
        // Others change the file between reading and writing.
        if let Some(meanwhile) = inside.meanwhile.take_if(|_| inside.puts == 0 && line.contains("content=1"))
        {
            let mut notebook = inside.notebook();
            meanwhile(&mut notebook);
            inside.write(&notebook);
        }
        return ("200 OK", model);
    }
    ("404 Not Found", json!({"message": "no"}).to_string())
}

fn model(inside: &Inside, has_content: bool) -> String {
    let content = if has_content { inside.file.as_str() } else { "null" };
    format!(
        r#"{{"name":"x.ipynb","path":"x.ipynb","type":"notebook","writable":true,"size":{},"hash":"{}","hash_algorithm":"v","last_modified":"{}","content":{content}}}"#,
        inside.file.len(),
        inside.version,
        inside.version,
    )
}

async fn room(mut socket: WebSocketStream<TcpStream>, inside: Arc<Mutex<Inside>>) {
    if serde_json::from_str::<serde_json::Value>(&inside.lock().unwrap().file).is_err() {
        // As jupyter-server-ydoc does for a file that it cannot read.
        let reason = "Error initializing: x.ipynb.".into();
        let _ = socket.close(Some(CloseFrame { code: 4400.into(), reason })).await;
        return;
    }
    let (mut room, mut frames, mut drops) = {
        let inside = inside.lock().unwrap();
        let (room, frames) = Room::open(&inside.live);
        (room, frames, inside.drops.subscribe())
    };
    loop {
        for frame in frames.drain(..) {
            if socket.send(Message::Binary(frame.into())).await.is_err() {
                return;
            }
        }
        let message = tokio::select! {
            _ = drops.changed() => return,
            message = socket.next() => message,
        };
        match message {
            Some(Ok(Message::Binary(frame))) => {
                handle_frame(&frame, &mut room, &mut inside.lock().unwrap(), &mut frames);
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return,
        }
    }
}

fn handle_frame(frame: &[u8], room: &mut Room, inside: &mut Inside, frames: &mut Vec<Vec<u8>>) {
    if frame.first() != Some(&2) {
        for event in room.receive(frame, std::time::Instant::now(), &mut inside.live) {
            if let RoomEvent::Send(frame) = event {
                frames.push(frame);
            }
        }
        if inside.dialect == Dialect::ServerDocuments {
            let notebook = inside.live();
            inside.write(&notebook);
        }
        return;
    }
    match inside.saving {
        Saving::Writes => {
            let notebook = inside.live();
            inside.write(&notebook);
        }
        Saving::Lies => {}
        Saving::Reverts => {
            inside.saving = Saving::Writes;
            let back = Edit::SetSource { id: "c1".into(), source: "b".to_owned() };
            let update = inside.live.apply(&[back]).unwrap();
            frames.push(room.update(&update));
            let notebook = inside.live();
            inside.write(&notebook);
        }
        Saving::Dies => {
            inside.saving = Saving::Writes;
            if let Some(meanwhile) = inside.meanwhile.take() {
                let mut notebook = inside.notebook();
                meanwhile(&mut notebook);
                inside.write(&notebook);
            }
            inside.drop_connections();
            return;
        }
    }
    // Numbers below 128 are one byte.
    let request = frame.last().copied().unwrap_or_default();
    let reply = json!({"type": "save", "responseTo": request, "status": "success"}).to_string();
    let mut answer = vec![2, u8::try_from(reply.len()).unwrap()];
    answer.extend(reply.into_bytes());
    frames.push(answer);
}
