//! REST calls to a Jupyter server, over plain sockets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context as _, Result, ensure};

/// The token of every Jupyter server here.
pub(crate) const TOKEN: &str = "bench-token-for-loopback";

pub(crate) fn authorization() -> String {
    format!("token {TOKEN}")
}

/// One persistent connection for REST calls.
pub(crate) struct Rest(BufReader<TcpStream>);

impl Rest {
    pub(crate) fn new(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        self.ask("GET", path, "")
    }

    /// Makes one request and reads its answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Vec<u8>> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            authorization(),
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut length, mut status) = (0, String::new());
        self.0.read_line(&mut status)?;
        loop {
            let mut line = String::new();
            ensure!(self.0.read_line(&mut line)? > 0, "the server closed the connection");
            if line.trim().is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("no header")?;
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer)?;
        ensure!(status.contains(" 20"), "{path}: {}", status.trim());
        Ok(answer)
    }
}
