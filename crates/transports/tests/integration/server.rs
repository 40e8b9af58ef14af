//! A Jupyter server's kernel WebSocket that only answers `kernel_info_request` by itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use futures_util::{SinkExt, StreamExt};
use kernel::{Client, MessageId};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::server::{Request as Upgrade, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::SEC_WEBSOCKET_PROTOCOL;
use tokio_tungstenite::tungstenite::{Error, Message, error::ProtocolError};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, client_async};
use transports::{Dial, DialError, Dialed, Outage};

use crate::events::Events;
use crate::fake::TIMEOUT;

const V1: &str = "v1.kernel.websocket.jupyter.org";

/// Listens where [`TestDial`] dials.
pub(crate) struct Server {
    listener: TcpListener,
    pub(crate) dial: Arc<TestDial>,
    is_v1: bool,
    /// The number of the kernel's next message.
    pub(crate) number: u64,
}

/// The way to the server.
pub(crate) struct TestDial {
    port: u16,
    /// What the next attempts end with.
    pub(crate) refusals: Mutex<VecDeque<DialError>>,
    /// An attempt was refused.
    pub(crate) refused: Notify,
    may_offer: bool,
}

/// One open socket, seen from the server.
pub(crate) struct Socket {
    stream: WebSocketStream<TcpStream>,
    pub(crate) session: String,
    is_v1: bool,
    pub(crate) pongs: usize,
}

/// A message of the client.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) channel: String,
    pub(crate) header: Value,
    pub(crate) parent: Value,
    pub(crate) content: Value,
}

impl Asked {
    pub(crate) fn kind(&self) -> &str {
        self.header["msg_type"].as_str().unwrap()
    }
}

impl Server {
    pub(crate) async fn start(is_v1: bool) -> Self {
        Self::listen(is_v1, true).await
    }

    /// A server behind a proxy through which no protocol may be offered.
    pub(crate) async fn behind_proxy() -> Self {
        Self::listen(false, false).await
    }

    async fn listen(is_v1: bool, may_offer: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dial = TestDial {
            port: listener.local_addr().unwrap().port(),
            refusals: Mutex::default(),
            refused: Notify::new(),
            may_offer,
        };
        Self { listener, dial: Arc::new(dial), is_v1, number: 0 }
    }

    /// Connects a client, and returns the socket that it uses.
    pub(crate) async fn client(&mut self) -> (Client, Socket) {
        let mut connecting = Box::pin(transports::connect_websocket(
            self.dial.clone(),
            Outage::default(),
            TIMEOUT,
            false,
            None,
        ));
        let mut socket = tokio::select! {
            socket = self.accept() => socket,
            client = &mut connecting => panic!("unexpected: {client:?}"),
        };
        tokio::select! {
            client = connecting => (client.unwrap().0, socket),
            asked = self.asked(&mut socket) => panic!("unexpected: {asked:?}"),
        }
    }

    /// The next socket that is opened.
    pub(crate) async fn accept(&self) -> Socket {
        let (stream, _) = self.listener.accept().await.unwrap();
        let (mut session, mut is_offered) = (String::new(), false);
        #[expect(clippy::result_large_err, reason = "the type is tungstenite's")]
        let select = |upgrade: &Upgrade, mut response: Response| {
            session = upgrade.uri().query().unwrap().replace("session_id=", "");
            let offers = upgrade.headers().get(SEC_WEBSOCKET_PROTOCOL).is_some_and(|offer| offer == V1);
            is_offered = offers;
            if self.is_v1 && offers {
                response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(V1));
            }
            Ok(response)
        };
        let stream = accept_hdr_async(stream, select).await.unwrap();
        assert!(self.dial.may_offer || !is_offered, "a protocol was offered");
        if is_offered && !self.is_v1 {
            // The client leaves because nothing was selected, and comes again.
            return Box::pin(self.accept()).await;
        }
        Socket { stream, session, is_v1: self.is_v1, pongs: 0 }
    }

    /// The next message other than `kernel_info_request`, which is answered.
    pub(crate) async fn asked(&mut self, socket: &mut Socket) -> Asked {
        loop {
            let asked = socket.asked().await.expect("the client is there");
            if asked.kind() != "kernel_info_request" {
                return asked;
            }
            self.introduce(socket, &asked).await;
        }
    }

    /// Answers `kernel_info_request`.
    pub(crate) async fn introduce(&mut self, socket: &mut Socket, asked: &Asked) {
        self.publish(socket, asked, "status", json!({ "execution_state": "busy" })).await;
        let content =
            json!({ "status": "ok", "implementation": "fake", "language_info": { "name": "fake" } });
        self.say(socket, &asked.channel, asked, "kernel_info_reply", content).await;
        self.publish(socket, asked, "status", json!({ "execution_state": "idle" })).await;
    }

    /// Requests an execution, and returns the request as the server got it.
    pub(crate) async fn execute(
        &mut self,
        socket: &mut Socket,
        client: &Client,
    ) -> (Asked, Events, MessageId) {
        let (events, sink) = Events::new();
        let id = client.execute("code", sink);
        let asked = self.asked(socket).await;
        assert_eq!((asked.kind(), asked.header["msg_id"].as_str()), ("execute_request", Some(id.as_str())));
        self.publish(socket, &asked, "status", json!({ "execution_state": "busy" })).await;
        (asked, events, id)
    }

    pub(crate) async fn print(&mut self, socket: &mut Socket, asked: &Asked, text: &str) {
        self.publish(socket, asked, "stream", json!({ "name": "stdout", "text": text })).await;
    }

    pub(crate) async fn finish(&mut self, socket: &mut Socket, asked: &Asked) {
        let content = json!({ "status": "ok", "execution_count": 1 });
        self.say(socket, "shell", asked, "execute_reply", content).await;
        self.publish(socket, asked, "status", json!({ "execution_state": "idle" })).await;
    }

    pub(crate) async fn publish(&mut self, socket: &mut Socket, asked: &Asked, kind: &str, content: Value) {
        self.say(socket, "iopub", asked, kind, content).await;
    }

    /// Sends a message of the kernel, with the next number.
    pub(crate) async fn say(
        &mut self,
        socket: &mut Socket,
        channel: &str,
        asked: &Asked,
        kind: &str,
        content: Value,
    ) {
        let header = self.header(kind);
        socket.send(channel, [header, asked.header.clone(), json!({}), content]).await;
    }

    /// Publishes that the code of a request waits for an answer of Colab's page.
    pub(crate) async fn ask_colab(&mut self, socket: &mut Socket, asked: &Asked) {
        let header = self.header("colab_request");
        let parent = json!({ "session": asked.header["session"] });
        let metadata = json!({ "colab_request_type": "GetSecret", "colab_msg_id": 7 });
        socket.send("iopub", [header, parent, metadata, json!({ "request": { "key": "k" } })]).await;
    }

    /// The header of the kernel's next message.
    fn header(&mut self, kind: &str) -> Value {
        let id = format!("k-1_7_{}", self.number);
        self.number += 1;
        json!({
            "msg_id": id, "session": "k-1", "username": "k", "date": "2026-01-02T03:04:05.678Z",
            "msg_type": kind, "version": "5.4",
        })
    }

    /// The socket of a client that comes again.
    pub(crate) async fn accept_again(&self, session: &str) -> Socket {
        let socket = self.accept().await;
        assert_eq!(socket.session, session);
        socket
    }
}

impl Socket {
    /// The next message; `None` when the client has left.
    pub(crate) async fn asked(&mut self) -> Option<Asked> {
        loop {
            let frame = self.stream.next().await?.ok()?;
            match frame {
                Message::Pong(_) => self.pongs += 1,
                Message::Text(text) if !self.is_v1 => {
                    let mut whole: Value = serde_json::from_str(&text).unwrap();
                    let [header, parent, content] =
                        ["header", "parent_header", "content"].map(|part| whole[part].take());
                    return Some(Asked {
                        channel: whole["channel"].as_str().unwrap().to_owned(),
                        header,
                        parent,
                        content,
                    });
                }
                Message::Binary(frame) if self.is_v1 => {
                    let number = |at: usize| {
                        usize::try_from(u64::from_le_bytes(frame[8 * at..8 * at + 8].try_into().unwrap()))
                            .unwrap()
                    };
                    assert_eq!(number(0), 6);
                    let part = |at: usize| &frame[number(at)..number(at + 1)];
                    let channel = String::from_utf8(part(1).to_vec()).unwrap();
                    let json = |at: usize| serde_json::from_slice(part(at)).unwrap();
                    return Some(Asked { channel, header: json(2), parent: json(3), content: json(5) });
                }
                Message::Ping(_) | Message::Close(_) => {}
                other => panic!("unexpected: {other}"),
            }
        }
    }

    /// Sends a message: header, header of the parent, metadata, content.
    pub(crate) async fn send(&mut self, channel: &str, [header, parent, metadata, content]: [Value; 4]) {
        let frame = if self.is_v1 {
            let parts = [header, parent, metadata, content].map(|part| part.to_string());
            let pieces = [channel, &parts[0], &parts[1], &parts[2], &parts[3]];
            let mut offset = 8 * 7;
            let mut frame = [6_u64.to_le_bytes(), 56_u64.to_le_bytes()].concat();
            for piece in pieces {
                offset += piece.len();
                frame.extend((offset as u64).to_le_bytes());
            }
            frame.extend(pieces.concat().into_bytes());
            Message::binary(frame)
        } else {
            let whole = json!({
                "channel": channel, "header": header, "parent_header": parent, "metadata": metadata,
                "content": content, "buffers": [],
            });
            Message::text(whole.to_string())
        };
        // A client that has left is noticed by what the test waits for.
        let _ = self.stream.send(frame).await;
    }

    /// Sends what the server itself says on the channel of outputs.
    pub(crate) async fn send_own(&mut self, parent: &Value, kind: &str, content: Value) {
        let header =
            json!({ "msg_id": format!("{}_5_1", self.session), "session": self.session, "msg_type": kind });
        self.send("iopub", [header, parent.clone(), json!({}), content]).await;
    }

    pub(crate) async fn send_frame(&mut self, frame: Message) {
        self.stream.send(frame).await.unwrap();
    }
}

impl Dial for TestDial {
    fn may_offer_protocols(&self) -> bool {
        self.may_offer
    }

    fn dial<'a>(
        &'a self,
        session_id: &'a str,
        protocols: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Dialed, DialError>> {
        Box::pin(async move {
            if let Some(refusal) = self.refusals.lock().unwrap().pop_front() {
                self.refused.notify_one();
                return Err(refusal);
            }
            let unreachable = |error: String| DialError::Unreachable { cause: error };
            let stream = TcpStream::connect(("127.0.0.1", self.port))
                .await
                .map_err(|error| unreachable(error.to_string()))?;
            stream.set_nodelay(true).unwrap();
            let url = format!("ws://localhost/api/kernels/k/channels?session_id={session_id}");
            let mut request = url.into_client_request().unwrap();
            if !protocols.is_empty() {
                let offer = HeaderValue::from_str(&protocols.join(", ")).unwrap();
                request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, offer);
            }
            match client_async(request, stream).await {
                Ok((socket, response)) => {
                    let selected = response.headers().get(SEC_WEBSOCKET_PROTOCOL);
                    let selected = selected.map(|selected| selected.to_str().unwrap().to_owned());
                    Ok((Box::new(socket) as Box<dyn transports::Socket>, selected))
                }
                Err(Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(error))) => {
                    Err(DialError::NoProtocol { cause: error.to_string() })
                }
                Err(error) => Err(unreachable(error.to_string())),
            }
        })
    }
}
