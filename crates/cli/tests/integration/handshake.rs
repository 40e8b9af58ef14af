//! The opening handshake over sockets: every answer that Colab and the original program agreed on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::Result;
use testkit::{Options, Tab, Upgrade, exchange, exchange_bytewise, silent};

use crate::bridge::Bridge;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

const ACCEPTED: &str = "HTTP/1.1 101 Switching Protocols";
const MISSING: &str = "HTTP/1.1 401 Unauthorized";
const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden";
const BAD_REQUEST: &str = "HTTP/1.1 400 Bad Request";
const OLD: &str = "HTTP/1.0 426 Upgrade Required";
const NO_UPGRADE: &str = "HTTP/1.1 426 Upgrade Required";

/// A request for each answer, also for what is no such request. All checks are in `front_door` and `colab/src/handshake/tests.rs`.
fn rows(token: &str) -> Vec<(&'static str, Upgrade, &'static str)> {
    let at = Upgrade::good;
    let bare = || at("/");
    let good = || at(&format!("/?access_token={token}"));
    let bearer = |value: &str| bare().with("Authorization", value);
    let line = |line: &str| Upgrade { request_line: line.replace("TOKEN", token), ..good() };
    vec![
        ("token in the query", good(), ACCEPTED),
        ("token in the header", bearer(&format!("Bearer {token}")), ACCEPTED),
        ("no authorization", bare(), MISSING),
        ("basic scheme", bearer(&format!("Basic {token}")), MISSING),
        ("one-word header", bearer(token), MISSING),
        ("wrong token in the header", bearer("Bearer wrong"), MISSING),
        ("another origin", good().with("Origin", "https://evil.example"), FORBIDDEN),
        ("no subprotocol", good().without("Sec-WebSocket-Protocol"), BAD_REQUEST),
        ("no upgrade", good().without("Upgrade").without("Connection"), NO_UPGRADE),
        ("POST", line("POST /?access_token=TOKEN HTTP/1.1"), NO_UPGRADE),
        ("HTTP/1.0", line("GET /?access_token=TOKEN HTTP/1.0"), OLD),
        ("garbage", line("\u{1}\u{2} garbage"), BAD_REQUEST),
    ]
}

fn status_line(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn each_request_gets_its_answer() -> Result<()> {
    let bridge = Bridge::start().await?;
    let mut wrong = Vec::new();
    for (name, request, expected) in rows(&bridge.connection.token) {
        let seen = status_line(&exchange(V4, bridge.connection.port, &request.bytes()).await?);
        if seen != expected {
            wrong.push(format!("{name}: expected {expected:?}, got {seen:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test]
async fn requests_of_single_bytes_get_the_same_answers() -> Result<()> {
    let bridge = Bridge::start().await?;
    for (name, request, expected) in rows(&bridge.connection.token) {
        // A server that has refused and closed may reset what still comes, and the answer with it.
        if expected != BAD_REQUEST {
            let answer = exchange_bytewise(V4, bridge.connection.port, &request.bytes()).await?;
            assert_eq!(status_line(&answer), expected, "{name}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_accepted_handshake_names_the_subprotocol_and_proves_the_key() -> Result<()> {
    let bridge = Bridge::start().await?;
    let request = Upgrade::good(&format!("/?access_token={}", bridge.connection.token));
    let answer = exchange(V4, bridge.connection.port, &request.bytes()).await?;
    let head = String::from_utf8(answer)?.to_ascii_lowercase();
    assert!(head.contains("\r\nsec-websocket-protocol: mcp\r\n"), "{head}");
    // The answer to the key of RFC 6455, section 1.3.
    assert!(head.contains("\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"), "{head}");
    assert!(!head.contains("sec-websocket-extensions"), "{head}");
    Ok(())
}

#[tokio::test]
async fn bytes_that_are_not_http_open_nothing() -> Result<()> {
    let bridge = Bridge::start().await?;
    let tls_hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    for garbage in [&tls_hello[..], b"\0\0\0\0\r\n\r\n", b"\xff\xfe\r\n\r\n", b"hello\r\n\r\n"] {
        let answer = exchange(V4, bridge.connection.port, garbage).await?;
        assert_eq!(status_line(&answer), BAD_REQUEST, "{garbage:?}");
    }
    Ok(())
}

#[tokio::test]
async fn both_loopback_addresses_share_the_port() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let answer = exchange(V4, bridge.connection.port, &Upgrade::good("/").bytes()).await?;
    assert_eq!(status_line(&answer), MISSING);
    if std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return Ok(()); // This machine has no IPv6, and the program has just shown that it works without.
    }
    let answer = exchange(V6, bridge.connection.port, &Upgrade::good("/").bytes()).await?;
    assert_eq!(status_line(&answer), MISSING);
    let mut tab =
        Tab::connect_with(&bridge.connection, &Options { ipv6: true, ..Options::default() }).await?;
    tab.open().await?;
    bridge.agent.wait_notification(crate::bridge::LIST_CHANGED).await?;
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn a_second_tab_is_refused_as_busy() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut first = bridge.tab().await?;
    let mut second = Tab::connect(&bridge.connection).await?;
    assert_eq!(second.wait_close().await?, (1013, "Server is busy".to_owned()));
    bridge.assert_works(&mut first).await?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn silent_sockets_do_not_delay_a_real_tab() -> Result<()> {
    // 64 may wait; the tab must come through below that number and above it.
    for number in [60, 70] {
        let mut bridge = Bridge::start().await?;
        let mut waiting = Vec::new();
        for _ in 0..number {
            waiting.push(silent(bridge.connection.port).await?);
        }
        let mut tab = bridge.tab().await?;
        bridge.assert_works(&mut tab).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_silent_socket_may_speak_after_others_did() -> Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut bridge = Bridge::start().await?;
    let mut patient = silent(bridge.connection.port).await?;
    bridge.tab().await?.close(1000).await?;
    bridge.agent.wait_notification(crate::bridge::LIST_CHANGED).await?;
    patient.write_all(&Upgrade::good(&format!("/?access_token={}", bridge.connection.token)).bytes()).await?;
    let mut start = [0; 12];
    testkit::within("the answer", patient.read_exact(&mut start)).await??;
    assert_eq!(&start, b"HTTP/1.1 101");
    Ok(())
}
