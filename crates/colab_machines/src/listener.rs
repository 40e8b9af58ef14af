//! Waits on 127.0.0.1 for the browser that Google sends back. Only the answer to the running attempt ends the wait: browsers open
//! connections that they never use, ask for icons, and pages of others may guess the port.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use front_door::{Caller, Door, Limits, Origins, Policy};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{Answer, SignIn};

/// A name that leads to this machine would let a page of others read the answer. The browser's navigation has no Origin.
const POLICY: Policy = Policy { hosts: Vec::new(), is_public: false, origins: Origins::Own };

/// A free port of 127.0.0.1.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    port: u16,
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
    pub async fn answer(self, attempt: SignIn) -> Option<Answer> {
        let (answers, mut answered) = mpsc::channel(1);
        let shutdown = CancellationToken::new();
        let (answer, ()) = tokio::join!(
            async {
                let answer = answered.recv().await;
                // The browser still gets its page.
                shutdown.cancel();
                answer
            },
            front_door::serve(Arc::new(Waiting { attempt, answers }), [self.listener], &shutdown),
        );
        answer
    }
}

/// The attempt whose answer is waited for.
struct Waiting {
    attempt: SignIn,
    answers: mpsc::Sender<Answer>,
}

impl Door for Waiting {
    const LIMITS: Limits = Limits {
        strangers: 16,
        protected: Duration::ZERO,
        silence: Duration::from_secs(10),
        head: Duration::from_secs(10),
    };
    type Body = String;

    async fn answer(self: Arc<Self>, request: Request<Incoming>, _: Caller) -> Response<String> {
        let (status, text) = self.read(request);
        let mut response = Response::new(text.to_owned());
        *response.status_mut() = status;
        for (name, value) in [
            (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
            (header::CONNECTION, "close"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

impl Waiting {
    /// The status and the page for the browser.
    fn read<B>(&self, request: Request<B>) -> (StatusCode, &'static str) {
        let parts = request.into_parts().0;
        if POLICY.check(&parts).is_err() {
            return (StatusCode::FORBIDDEN, "This address serves only the browser of a login.\n");
        }
        let nothing = (StatusCode::NOT_FOUND, "There is nothing here.\n");
        if parts.method != Method::GET || parts.uri.path() != "/" {
            return nothing;
        }
        let answer = self.attempt.answer(parts.uri.query().unwrap_or_default());
        let text = match &answer {
            Answer::Unrelated => return nothing,
            Answer::Foreign => {
                let text = "This answer belongs to another login. Use the latest address.\n";
                return (StatusCode::BAD_REQUEST, text);
            }
            Answer::Code(_) => "Google has answered. You can close this page and return to the terminal.\n",
            Answer::Denied | Answer::Refused(_) => {
                "Google granted no access. You can close this page and return to the terminal.\n"
            }
        };
        // If there is an answer already, that one counts.
        let _ = self.answers.try_send(answer);
        (StatusCode::OK, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Google, OAuthClient};
    use connection::Secret;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

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
            for _ in 0..48 {
                unused.push(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap());
            }
            for (target, host, status) in [
                ("/favicon.ico", own.as_str(), "404"),
                ("/", &own, "404"),
                ("/?code=4/0the-code&state=guessed", &own, "400"),
                ("/?error=access_denied&state=guessed", &own, "400"),
                (&right, "example.com", "403"),
                (&right, "localhost.example", "403"),
                (&right.replace("/?", "/x?"), &own, "404"),
            ] {
                let response = request(port, target, host).await;
                assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{target} {host}: {response}");
                assert!(!response.contains("the-code"), "{response}");
            }
            request(port, &right, &own).await
        };
        let (answer, response) = tokio::join!(listener.answer(attempt), browser);
        assert_eq!(answer.unwrap(), Answer::Code(Secret::new("4/0the-code").unwrap()));
        assert!(response.contains("200 OK") && response.ends_with("return to the terminal.\n"), "{response}");
    }
}
