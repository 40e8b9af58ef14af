//! Waits on 127.0.0.1 for the browser that Google sends back. Only the answer to the running attempt ends the wait: browsers open
//! connections that they never use, ask for icons, and pages of others may guess the port.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::abortable;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::{Answer, SignIn};

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REQUEST: usize = 16 * 1024;
/// The open connections; a further one replaces the oldest.
const MAX_CONNECTIONS: usize = 16;
const MAX_HEADERS: usize = 64;

/// A free port of 127.0.0.1.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    port: u16,
}

/// What a browser is shown.
struct Page {
    status: &'static str,
    text: &'static str,
}

impl Listener {
    pub async fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the answer to the attempt, and shows the browser a page. It never returns [`Answer::Foreign`] or
    /// [`Answer::Unrelated`]. The caller bounds the wait.
    pub async fn answer(&self, attempt: &SignIn) -> io::Result<Answer> {
        let (mut requests, mut handles) = (FuturesUnordered::new(), VecDeque::new());
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let request = timeout(REQUEST_TIMEOUT, serve(accepted?.0, self.port, attempt));
                    let (request, handle) = abortable(request);
                    requests.push(request);
                    handles.push_back(handle);
                    // Another program could hold all connections without a request, and keep the browser out.
                    if handles.len() > MAX_CONNECTIONS && let Some(oldest) = handles.pop_front() {
                        oldest.abort();
                    }
                }
                Some(ended) = requests.next() => {
                    if let Ok(Ok(Ok(Some(answer)))) = ended {
                        return Ok(answer);
                    }
                }
            }
        }
    }
}

/// Answers one request. Returns the answer to the attempt, if it has it.
async fn serve(mut stream: TcpStream, port: u16, attempt: &SignIn) -> io::Result<Option<Answer>> {
    let mut request = Vec::new();
    while !request.windows(4).any(|it| it == b"\r\n\r\n") {
        if request.len() > MAX_REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(None);
        }
    }
    let (answer, page) = read(&request, port, attempt);
    let Page { status, text } = page;
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    // An answer counts even if the browser has gone.
    if let Err(error) = stream.write_all(response.as_bytes()).await
        && answer.is_none()
    {
        return Err(error);
    }
    let _ = stream.shutdown().await;
    Ok(answer)
}

fn read(request: &[u8], port: u16, attempt: &SignIn) -> (Option<Answer>, Page) {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let is_whole = parsed.parse(request).is_ok_and(|status| status.is_complete());
    let (Some(target), true) = (parsed.path, is_whole) else {
        return (None, page("400 Bad Request", "The request cannot be read.\n"));
    };
    // A name that leads to this machine would let a page of others read the answer.
    let own = format!("127.0.0.1:{port}");
    let hosts = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    if !hosts.map(|header| header.value).eq([own.as_bytes()]) {
        return (None, page("403 Forbidden", "This address serves only the browser of a login.\n"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if parsed.method != Some("GET") || path != "/" {
        return (None, page("404 Not Found", "There is nothing here.\n"));
    }
    match attempt.answer(query) {
        Answer::Unrelated => (None, page("404 Not Found", "There is nothing here.\n")),
        Answer::Foreign => {
            (None, page("400 Bad Request", "This answer belongs to another login. Use the latest address.\n"))
        }
        Answer::Code(code) => {
            let text = "Google has answered. You can close this page and return to the terminal.\n";
            (Some(Answer::Code(code)), page("200 OK", text))
        }
        refused => {
            let text = "Google granted no access. You can close this page and return to the terminal.\n";
            (Some(refused), page("200 OK", text))
        }
    }
}

fn page(status: &'static str, text: &'static str) -> Page {
    Page { status, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Google, OAuthClient};
    use connection::Secret;

    async fn request(port: u16, target: &str, host: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    /// The state of an attempt, as Google reads it.
    fn state(attempt: &SignIn) -> String {
        let client = OAuthClient { id: String::new(), secret: Secret::new("x").unwrap() };
        let url = url::Url::parse(&attempt.address(&Google::default(), &client)).unwrap();
        url.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned()
    }

    #[tokio::test]
    async fn only_the_right_request_ends_the_wait() {
        let listener = Listener::bind().await.unwrap();
        let port = listener.port();
        let attempt = SignIn::new(port).unwrap();
        let own = format!("127.0.0.1:{port}");
        let right = format!("/?code=4/0the-code&state={}", state(&attempt));
        let browser = async {
            // Connections that browsers open in advance, or another program to keep them out.
            let mut unused = Vec::new();
            for _ in 0..3 * MAX_CONNECTIONS {
                unused.push(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap());
            }
            for (target, host, status) in [
                ("/favicon.ico", own.as_str(), "404"),
                ("/", &own, "404"),
                ("/?code=4/0the-code&state=guessed", &own, "400"),
                ("/?error=access_denied&state=guessed", &own, "400"),
                (&right, "example.com", "403"),
                (&right, "localhost", "403"),
                (&right.replace("/?", "/x?"), &own, "404"),
            ] {
                let response = request(port, target, host).await;
                assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{target} {host}: {response}");
                assert!(!response.contains("the-code"), "{response}");
            }
            request(port, &right, &own).await
        };
        let (answer, response) = tokio::join!(listener.answer(&attempt), browser);
        assert_eq!(answer.unwrap(), Answer::Code(Secret::new("4/0the-code").unwrap()));
        assert!(response.contains("200 OK") && response.ends_with("return to the terminal.\n"), "{response}");
    }
}
