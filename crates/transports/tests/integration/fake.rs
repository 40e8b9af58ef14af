//! A kernel on real sockets that only answers `kernel_info_request` by itself.

use std::fmt::Write;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use kernel::{Client, ConnectionInfo};
use ring::hmac;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use zeromq::{Endpoint, PubSocket, RouterSocket, Socket, SocketRecv, SocketSend, ZmqMessage};

/// Enough for the slowest machine; no test waits that long when all is well.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The ends of a kernel's connections.
pub(crate) struct FakeKernel {
    pub(crate) info: ConnectionInfo,
    pub(crate) shell: RouterSocket,
    pub(crate) control: RouterSocket,
    pub(crate) stdin: RouterSocket,
    pub(crate) iopub: PubSocket,
    /// Signs with it; not always the key of the client.
    pub(crate) key: String,
    /// What it says that it speaks.
    pub(crate) language: &'static str,
    _folder: Option<TempDir>,
}

/// A message of the client.
#[derive(Debug)]
pub(crate) struct Request {
    identities: Vec<Bytes>,
    pub(crate) header: Value,
    pub(crate) parent: Value,
    pub(crate) content: Value,
}

/// How a kernel can be reached; it need not listen yet.
pub(crate) fn address(transport: &str, folder: Option<&TempDir>) -> ConnectionInfo {
    let ip = folder.map_or("127.0.0.1".into(), |folder| folder.path().join("k").display().to_string());
    let info = json!({
        "transport": transport, "ip": ip, "signature_scheme": "hmac-sha256", "key": "a key",
        "shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5,
    });
    serde_json::from_value(info).unwrap()
}

impl FakeKernel {
    pub(crate) async fn tcp() -> Self {
        let mut kernel = Self::unbound(address("tcp", None), None);
        let any = "tcp://127.0.0.1:0";
        kernel.info.shell_port = port(kernel.shell.bind(any).await.unwrap());
        kernel.info.control_port = port(kernel.control.bind(any).await.unwrap());
        kernel.info.stdin_port = port(kernel.stdin.bind(any).await.unwrap());
        kernel.info.iopub_port = port(kernel.iopub.bind(any).await.unwrap());
        kernel
    }

    #[cfg(unix)]
    pub(crate) async fn ipc(folder: TempDir) -> Self {
        let mut kernel = Self::unbound(address("ipc", Some(&folder)), Some(folder));
        let info = kernel.info.clone();
        kernel.shell.bind(&info.shell_url()).await.unwrap();
        kernel.control.bind(&info.control_url()).await.unwrap();
        kernel.stdin.bind(&info.stdin_url()).await.unwrap();
        kernel.iopub.bind(&info.iopub_url()).await.unwrap();
        kernel
    }

    fn unbound(info: ConnectionInfo, folder: Option<TempDir>) -> Self {
        Self {
            key: info.key.clone(),
            language: "fake",
            info,
            shell: RouterSocket::new(),
            control: RouterSocket::new(),
            stdin: RouterSocket::new(),
            iopub: PubSocket::new(),
            _folder: folder,
        }
    }

    /// Connects a client to it.
    pub(crate) async fn client(&mut self) -> Client {
        self.client_with(pending()).await
    }

    /// Connects a client that watches `process_end`.
    pub(crate) async fn client_with(
        &mut self,
        process_end: impl Future<Output = String> + Send + 'static,
    ) -> Client {
        let info = self.info.clone();
        let connect = transports::connect(&info, TIMEOUT, true, process_end);
        tokio::select! {
            client = connect => client.unwrap(),
            request = self.request() => panic!("unexpected: {request:?}"),
        }
    }

    /// The next request on the shell channel. Meanwhile `kernel_info_request` is answered.
    pub(crate) async fn request(&mut self) -> Request {
        loop {
            let request = Request::read(self.shell.recv().await.unwrap());
            if request.header["msg_type"] != "kernel_info_request" {
                return request;
            }
            self.publish(&request, "status", json!({ "execution_state": "busy" })).await;
            let language = json!({ "name": self.language, "version": "1" });
            let content = json!({ "status": "ok", "implementation": "fake", "language_info": language });
            self.reply(&request, "kernel_info_reply", content).await;
            self.publish(&request, "status", json!({ "execution_state": "idle" })).await;
        }
    }

    /// Publishes a message that belongs to `parent`.
    pub(crate) async fn publish(&mut self, parent: &Request, kind: &str, content: Value) {
        let mut frames = vec![Bytes::from(format!("kernel.{kind}"))];
        frames.extend(self.frames(parent, kind, &content));
        self.iopub.send(ZmqMessage::try_from(frames).unwrap()).await.unwrap();
    }

    /// Replies on the shell channel.
    pub(crate) async fn reply(&mut self, request: &Request, kind: &str, content: Value) {
        let message = self.addressed(request, kind, &content);
        self.shell.send(message).await.unwrap();
    }

    /// A message for whoever sent `request`.
    pub(crate) fn addressed(&self, request: &Request, kind: &str, content: &Value) -> ZmqMessage {
        let mut frames = request.identities.clone();
        frames.extend(self.frames(request, kind, content));
        ZmqMessage::try_from(frames).unwrap()
    }

    /// Ends an execution without an error.
    pub(crate) async fn finish(&mut self, request: &Request) {
        self.reply(request, "execute_reply", json!({ "status": "ok", "execution_count": 1 })).await;
        self.publish(request, "status", json!({ "execution_state": "idle" })).await;
    }

    fn frames(&self, parent: &Request, kind: &str, content: &Value) -> Vec<Bytes> {
        let header = json!({
            "msg_id": Uuid::new_v4().to_string(), "msg_type": kind, "session": "of the kernel",
            "username": "kernel", "version": "5.3", "date": "2026-01-01T00:00:00.000000Z",
        });
        let parts = [&header, &parent.header, &json!({}), content].map(|part| Bytes::from(part.to_string()));
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.key.as_bytes());
        let mut signature = String::new();
        for byte in hmac::sign(&key, &parts.concat()).as_ref() {
            write!(signature, "{byte:02x}").unwrap();
        }
        [&[Bytes::from_static(b"<IDS|MSG>"), Bytes::from(signature)], &parts[..]].concat()
    }
}

impl Request {
    /// One of another client.
    pub(crate) fn of_somebody_else(id: &str) -> Self {
        let header = json!({ "msg_id": id, "msg_type": "execute_request", "session": "of somebody else" });
        Self { identities: Vec::new(), header, parent: json!({}), content: json!({}) }
    }

    pub(crate) fn read(frames: ZmqMessage) -> Self {
        let frames = frames.into_vec();
        let delimiter = frames.iter().position(|frame| frame == "<IDS|MSG>").unwrap();
        let part = |at: usize| serde_json::from_slice(&frames[delimiter + at]).unwrap();
        Self { identities: frames[..delimiter].to_vec(), header: part(2), parent: part(3), content: part(5) }
    }
}

/// The port of a socket that was bound to any.
pub(crate) fn port(endpoint: Endpoint) -> u16 {
    match endpoint {
        Endpoint::Tcp(_, port) => port,
        other => panic!("no port: {other}"),
    }
}
