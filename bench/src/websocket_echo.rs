//! The other baseline: a WebSocket echo between two processes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, accept_async_with_config, client_async_with_config};

use crate::line_client::id_of;
use crate::process::Killed;
use crate::statistics::Series;

pub(crate) fn limits() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(None).max_frame_size(None)
}

/// Serves one connection after printing its port.
pub(crate) async fn echo() -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?.port());
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    let mut socket = accept_async_with_config(stream, Some(limits())).await?;
    while let Some(message) = socket.next().await {
        let message = message?;
        if message.is_text() {
            socket.feed(message).await?;
        }
        // What has come already is answered first, in one system call.
        while let Some(Some(Ok(message))) = socket.next().now_or_never() {
            if message.is_text() {
                socket.feed(message).await?;
            }
        }
        socket.flush().await?;
    }
    Ok(())
}

/// A client of [`echo`] in another process.
pub(crate) struct Baseline {
    child: Killed,
    socket: WebSocketStream<TcpStream>,
}

impl Baseline {
    pub(crate) async fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("no standard output")?;
        let mut port = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut port)?;
        let stream = TcpStream::connect(("127.0.0.1", port.trim().parse()?)).await?;
        stream.set_nodelay(true)?;
        let url = format!("ws://localhost:{}/", port.trim());
        let (socket, _) = client_async_with_config(url, stream, Some(limits())).await?;
        Ok(Self { child: Killed(child), socket })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// As the series of lines.
    pub(crate) async fn series(
        &mut self,
        count: usize,
        in_flight: usize,
        call: impl Fn(usize) -> String,
    ) -> Result<Series> {
        let start = Instant::now();
        let mut sent = Vec::with_capacity(count);
        let mut times = Vec::with_capacity(count);
        while times.len() < count {
            while sent.len() < count && sent.len() - times.len() < in_flight {
                self.socket.feed(Message::text(call(sent.len()))).await?;
                sent.push(Instant::now());
            }
            self.socket.flush().await?;
            let mut next = self.socket.next().await;
            while let Some(message) = next {
                let id = id_of(&message?.into_data())?;
                times.push(sent.get(id).context("an id that was never sent")?.elapsed());
                match self.socket.next().now_or_never() {
                    None => break,
                    Some(more) => next = more,
                }
            }
        }
        Ok(Series::new(times, start))
    }

    /// The time of one round trip.
    pub(crate) async fn round_trip(&mut self, text: String) -> Result<Duration> {
        let start = Instant::now();
        self.socket.send(Message::text(text)).await?;
        self.socket.next().await.context("the echo ended")??;
        Ok(start.elapsed())
    }
}
