//! Raw bytes on plain TCP, for what no WebSocket client would send.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::within;

/// An upgrade request whose every part a test can change.
#[derive(Debug, Clone)]
pub struct Upgrade {
    /// Everything before the headers, without the line's end.
    pub request_line: String,
    /// The headers in their order.
    pub headers: Vec<(String, String)>,
}

impl Upgrade {
    /// The request that a browser sends from the real page.
    pub fn good(target: &str) -> Self {
        let headers = [
            ("Host", "localhost"),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Origin", "https://colab.research.google.com"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("Sec-WebSocket-Protocol", "mcp"),
        ];
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self { request_line: format!("GET {target} HTTP/1.1"), headers: headers.map(own).into() }
    }

    /// Replaces a header, or adds it.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header beside one of the same name.
    #[must_use]
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// The bytes on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{}\r\n", self.request_line);
        for (name, value) in &self.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

/// Sends a request and reads the answer: all until the server closes, or the head of a 101.
pub async fn exchange(address: IpAddr, port: u16, request: &[u8]) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(SocketAddr::new(address, port)).await?;
    // A server may refuse before it has read all; what it answered counts.
    let _ = stream.write_all(request).await;
    read_answer(stream).await
}

/// As [`exchange`], with every byte in a packet of its own.
pub async fn exchange_bytewise(address: IpAddr, port: u16, request: &[u8]) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(SocketAddr::new(address, port)).await?;
    stream.set_nodelay(true)?;
    for byte in request {
        stream.write_all(&[*byte]).await?;
        tokio::task::yield_now().await;
    }
    read_answer(stream).await
}

/// A connection on which nothing is said, as a browser holds it while it asks the person for permission.
pub async fn silent(port: u16) -> Result<TcpStream> {
    TcpStream::connect(("127.0.0.1", port)).await.context("cannot connect")
}

async fn read_answer(mut stream: TcpStream) -> Result<Vec<u8>> {
    let mut answer = Vec::new();
    let read = async {
        loop {
            match stream.read_buf(&mut answer).await {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            // Frames may follow an acceptance at once.
            let end = answer.windows(4).position(|end| end == b"\r\n\r\n");
            if let Some(end) = end.filter(|_| answer.starts_with(b"HTTP/1.1 101")) {
                answer.truncate(end + 4);
                return Ok(());
            }
        }
    };
    within("an answer or the end of the connection", read).await??;
    Ok(answer)
}
