//! The listener of the live page: who is let in, and what every answer forbids.

use anyhow::{Context as _, Result};
use testkit::{Endpoint, Program};

use crate::bridge::{PROGRAM, Served};

const CONNECT: &str = concat!(r#"{"known":{},"root":""#, env!("CARGO_MANIFEST_DIR"), "\"}");

/// The page of a folder, and its token.
struct Viewed {
    _program: Program,
    base: String,
    token: String,
}

impl Viewed {
    async fn start() -> Result<Self> {
        let mut program = Program::start(
            PROGRAM,
            &["view", "--foreground", "--no-browser", env!("CARGO_MANIFEST_DIR")],
            &[],
        )?;
        let url = program.line().await?;
        let (address, fragment) = url.split_once("/view#").context("no address")?;
        let token = fragment.split('&').find_map(|pair| pair.strip_prefix("token=")).context("no token")?;
        Ok(Self { _program: program, base: address.to_owned(), token: token.to_owned() })
    }

    fn at(&self, path: &str) -> Endpoint {
        Endpoint::new(format!("{}{path}", self.base))
    }
}

#[tokio::test]
async fn only_the_shell_needs_no_token() -> Result<()> {
    let viewed = Viewed::start().await?;
    for path in ["/view", "/view/page.js", "/view/page.css", "/view/frame"] {
        let reply = viewed.at(path).send("GET".parse()?, None, &[]).await?;
        assert_eq!(reply.status(), 200, "{path}");
        assert!(!reply.header("content-security-policy").is_empty(), "{path}");
        for (name, value) in [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")] {
            assert_eq!(reply.header(name), value, "{path}");
        }
        assert!(!reply.text().await?.contains(&viewed.token));
    }
    for path in ["/view/events", "/view/act", "/view/", "/other", "/mcp"] {
        for endpoint in [viewed.at(path), viewed.at(path).with_bearer("wrong")] {
            assert_eq!(endpoint.post(CONNECT, &[]).await?.status(), 401, "{path}");
        }
    }
    let policy = viewed.at("/view").send("GET".parse()?, None, &[]).await?;
    let policy = policy.header("content-security-policy").to_owned();
    assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
    Ok(())
}

#[tokio::test]
async fn other_pages_and_rebound_names_get_nothing() -> Result<()> {
    let viewed = Viewed::start().await?;
    for (headers, status) in [
        (&[][..], 200),
        (&[("Sec-Fetch-Site", "same-origin")], 200),
        (&[("Origin", "http://evil.example")], 403),
        (&[("Origin", "null")], 403),
        (&[("Host", "evil.example")], 403),
        (&[("Sec-Fetch-Site", "cross-site")], 403),
        (&[("Sec-Fetch-Site", "same-site")], 403),
        (&[("Sec-Fetch-Site", "none")], 403),
    ] {
        let reply = viewed.at("/view/events").with_bearer(&viewed.token).post(CONNECT, headers).await?;
        assert_eq!(reply.status(), status, "{headers:?}");
    }
    let framed =
        [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")];
    assert_eq!(viewed.at("/view").send("GET".parse()?, None, &framed).await?.status(), 403);
    Ok(())
}

#[tokio::test]
async fn a_server_over_http_serves_the_page_behind_its_token() -> Result<()> {
    let served = Served::start_with(&["--no-browser"]).await?;
    let token = served.url.split_once("token=").context("no token")?.1.to_owned();
    let events = Endpoint::new(served.sibling("/view/events"));
    assert_eq!(events.post(CONNECT, &[]).await?.status(), 401);
    assert_eq!(events.with_bearer(&token).post(CONNECT, &[]).await?.status(), 200);
    let shell = Endpoint::new(served.sibling("/view")).send("GET".parse()?, None, &[]).await?;
    assert_eq!(shell.status(), 200);
    Ok(())
}

#[tokio::test]
async fn agents_that_must_ask_cannot_use_the_page() -> Result<()> {
    for options in [&["--no-browser", "--no-token"][..], &["--no-browser", "--ask", "run"]] {
        let served = Served::start_with(options).await?;
        for path in ["/view", "/view/act"] {
            let page = Endpoint::new(served.sibling(path));
            let page = match served.url.split_once("token=") {
                Some((_, token)) => page.with_bearer(token),
                None => page,
            };
            assert_eq!(page.post("{}", &[]).await?.status(), 404, "{options:?} {path}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_offers_no_edits_undoes_nothing() -> Result<()> {
    let served = Served::start_with(&["--no-browser", "--read-only"]).await?;
    let token = served.url.split_once("token=").context("no token")?.1.to_owned();
    let act = Endpoint::new(served.sibling("/view/act")).with_bearer(&token);
    for action in [
        r#"{"do":"undo","notebook":"a.ipynb","operation":1}"#,
        r#"{"do":"interrupt","run":"r1"}"#,
        r#"{"do":"verify","notebook":"a.ipynb"}"#,
    ] {
        let reply = act.post(action, &[]).await?;
        assert_eq!(reply.status(), 409, "{action}");
        assert!(reply.text().await?.contains("does not offer"), "{action}");
    }
    Ok(())
}
