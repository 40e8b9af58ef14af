//! Streamable HTTP: who is let in, and both eras by hand.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use testkit::{Connection, Endpoint, Page, Program, Serving, Session, Signal, Tab, within};

use crate::bridge::{LIST_CHANGED, PROGRAM, Served};

const OPEN: &str = r#"{"name":"open_colab_browser_connection","arguments":{"timeout_seconds":0}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Asks for the tab's port and token.
async fn connection(endpoint: &Endpoint) -> Result<Connection> {
    let session = Session::open(endpoint, "2025-11-25").await?;
    Connection::read(&session.call("1", "tools/call", OPEN).await?)
}

/// Connects a tab by hand.
pub(crate) async fn tab(endpoint: &Endpoint) -> Result<Tab> {
    let session = Session::open(endpoint, "2025-11-25").await?;
    let mut events = session.listen().await?;
    let mut tab = Tab::connect(&connection(endpoint).await?).await?;
    tab.open().await?;
    events.notification(LIST_CHANGED).await?;
    Ok(tab)
}

/// Connects a page that answers by itself.
pub(crate) async fn serve(endpoint: &Endpoint, page: Page) -> Result<Serving> {
    let session = Session::open(endpoint, "2025-11-25").await?;
    let mut events = session.listen().await?;
    let serving = Tab::connect(&connection(endpoint).await?).await?.serve(page).await?;
    events.notification(LIST_CHANGED).await?;
    Ok(serving)
}

/// Calls a tool of the page: what the agent sends has to reach the page as it was written, and so does the result the agent.
pub(crate) async fn assert_crosses(
    session: &Session,
    tab: &mut Tab,
    (tool, arguments): (&str, &str),
    result: &str,
) -> Result<()> {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    let page = async {
        let asked = tab.expect_call(tool).await?;
        // Not assert_eq: a failure would print both.
        assert!(asked.params().contains(arguments), "not what was sent");
        tab.reply(&asked, result).await
    };
    let agent = async { session.request("1", "tools/call", &params).await?.message().await };
    let (answer, ()) = tokio::try_join!(agent, page)?;
    assert!(answer.result()? == result, "not what was sent");
    Ok(())
}

#[tokio::test]
async fn health_needs_no_token() -> Result<()> {
    let served = Served::start(&[]).await?;
    let health = Endpoint::new(served.sibling("/healthz")).send("GET".parse()?, None, &[]).await?;
    assert_eq!(health.status(), 200);
    assert_eq!(serde_json::from_str::<Value>(&health.text().await?)?, json!({ "status": "ok" }));
    Ok(())
}

#[tokio::test]
async fn the_endpoint_needs_its_token() -> Result<()> {
    let served = Served::start(&["--token", "open sesame"]).await?;
    assert_eq!(served.url, served.bare_url(), "a chosen token was printed");
    let bare = || Endpoint::new(served.bare_url());
    for stranger in [
        bare(),
        bare().with_bearer("open sesam"),
        bare().with_bearer("open sesames"),
        Endpoint::new(format!("{}?token=wrong", served.url)),
        Endpoint::new(format!("{}?zz=token=open%20sesame", served.url)),
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let reply = stranger.send(method.parse()?, Some(PING.to_owned()), &[]).await?;
            assert_eq!(reply.status(), 401, "{method} {} {:?}", stranger.url, stranger.bearer);
            assert!(reply.header("www-authenticate").starts_with("Bearer"), "{method}");
            assert!(!reply.text().await?.contains("sesame"));
        }
    }
    for friend in
        [bare().with_bearer("open sesame"), Endpoint::new(format!("{}?token=open%20sesame", served.url))]
    {
        Session::open(&friend, "2025-11-25").await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_token_may_come_from_the_environment() -> Result<()> {
    let arguments = ["colab", "--no-browser", "--transport", "streamable-http", "--port", "0"];
    let mut program = Program::start(PROGRAM, &arguments, &[("CELLBRIDGE_TOKEN", "from-outside")])?;
    let line = program.wait_stderr("MCP endpoint").await?;
    assert!(!line.contains("from-outside"), "{line}");
    let url = line.rsplit(' ').next().context("no URL")?;
    assert_eq!(Endpoint::new(url).post(PING, &[]).await?.status(), 401);
    Session::open(&Endpoint::new(url).with_bearer("from-outside"), "2025-06-18").await?;
    Ok(())
}

#[tokio::test]
async fn a_generated_token_is_printed_once_and_accepted() -> Result<()> {
    let mut served = Served::start(&[]).await?;
    let (_, token) = served.url.split_once("?token=").context("no token in the URL")?;
    assert!(token.len() >= 22, "{token}");
    Session::open(&served.endpoint(), "2025-11-25").await?;
    Session::open(&Endpoint::new(served.bare_url()).with_bearer(token), "2025-11-25").await?;
    let token = token.to_owned();
    served.program.signal(Signal::TERM)?;
    assert_eq!(served.program.wait_exit().await?.code(), Some(0));
    let stderr = served.program.whole_stderr().await?;
    assert_eq!(stderr.matches(&token).count(), 1, "{stderr}");
    Ok(())
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() -> Result<()> {
    let served = Served::start(&["--token", "t"]).await?;
    let endpoint = Endpoint::new(served.bare_url()).with_bearer("t");
    for headers in [
        ("Host", "evil.example"),
        ("Host", "localhost.evil.example"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "https://colab.research.google.com"),
    ] {
        let reply = endpoint.post(PING, &[headers]).await?;
        assert_eq!(reply.status(), 403, "{headers:?}");
    }
    Ok(())
}

#[tokio::test]
async fn without_a_token_it_serves_only_this_machine() -> Result<()> {
    let served = Served::start(&["--no-token"]).await?;
    assert_eq!(served.url, served.bare_url());
    Session::open(&served.endpoint(), "2025-11-25").await?;
    for host in ["0.0.0.0", "::"] {
        let arguments =
            ["colab", "--transport", "streamable-http", "--port", "0", "--no-token", "--host", host];
        let mut program = Program::start(PROGRAM, &arguments, &[])?;
        assert_eq!(program.wait_exit().await?.code(), Some(1), "{host}");
        let stderr = program.whole_stderr().await?;
        assert!(stderr.contains("--no-token") && stderr.contains("loopback"), "{stderr}");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_listens_beyond_loopback() -> Result<()> {
    let served = Served::start(&[]).await?;
    tab(&served.endpoint()).await?;
    let id = served.program.id().context("no process")?;
    let mut own = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{id}/fd"))? {
        own.extend(std::fs::read_link(entry?.path()).ok().and_then(|link| link.to_str().map(str::to_owned)));
    }
    let mut listening = 0;
    for table in ["tcp", "tcp6"] {
        for line in std::fs::read_to_string(format!("/proc/{id}/net/{table}")).unwrap_or_default().lines() {
            let fields: Vec<_> = line.split_whitespace().collect();
            let [_, local, _, "0A", _, _, _, _, _, inode, ..] = fields[..] else { continue };
            if own.contains(&format!("socket:[{inode}]")) {
                listening += 1;
                let address = local.split(':').next().unwrap_or_default();
                assert!(
                    ["0100007F", "00000000000000000000000001000000"].contains(&address),
                    "listens on {local}"
                );
            }
        }
    }
    assert!(listening >= 2, "the MCP port and the tab's were not found");
    Ok(())
}

#[tokio::test]
async fn results_cross_http_as_they_were_written() -> Result<()> {
    let served = Served::start(&[]).await?;
    let mut tab = tab(&served.endpoint()).await?;
    let odd = r#"{"z":1.0,"a":1e2,"big":12345678901234567890123,"u":"\u00e9\ud83d\udc22é🐢\n"}"#;
    let result = format!(r#"{{"content":[{{"type":"hologram","odd":{odd}}}],"odd":{odd},"isError":true}}"#);
    let params = format!(r#"{{"name":"echo","arguments":{odd},"unknown":1.0}}"#);

    let session = Session::open(&served.endpoint(), "2025-06-18").await?;
    let call = async { session.request("7", "tools/call", &params).await?.message().await };
    let answer = async {
        let asked = tab.expect_call("echo").await?;
        assert!(asked.params().contains(&format!(r#""arguments":{odd}"#)), "{}", asked.text);
        assert!(asked.params().contains(r#""unknown":1.0"#), "{}", asked.text);
        tab.reply(&asked, &result).await
    };
    let (reply, ()) = tokio::try_join!(call, answer)?;
    assert_eq!(reply.result()?, result);

    // The newer era adds its own members and changes nothing else.
    let endpoint = served.endpoint();
    let params = format!(r#""name":"echo","arguments":{odd}"#);
    let call = async { endpoint.post_modern(8, "tools/call", &params, "").await?.message().await };
    let answer = async {
        let asked = tab.expect_call("echo").await?;
        assert!(asked.params().contains(&format!(r#""arguments":{odd}"#)), "{}", asked.text);
        tab.reply(&asked, &result).await
    };
    let (reply, ()) = tokio::try_join!(call, answer)?;
    let text = reply.result()?;
    for part in [
        &format!(r#""content":[{{"type":"hologram","odd":{odd}}}]"#),
        &format!(r#""odd":{odd},"isError":true"#),
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(reply.result_value()?["resultType"], "complete");
    Ok(())
}

#[tokio::test]
async fn deep_nesting_is_forwarded_over_http() -> Result<()> {
    let served = Served::start(&[]).await?;
    let mut tab = tab(&served.endpoint()).await?;
    let session = Session::open(&served.endpoint(), "2025-11-25").await?;
    let deep = format!(r#"{{"deep":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let result = format!(r#"{{"content":[],"structuredContent":{deep}}}"#);
    for arguments in ["{}", &deep] {
        assert_crosses(&session, &mut tab, ("echo", arguments), &result).await?;
    }
    Ok(())
}

#[tokio::test]
async fn clients_without_sessions_are_served() -> Result<()> {
    let served = Served::start(&[]).await?;
    let endpoint = served.endpoint();
    let discovered =
        endpoint.post_modern(1, "server/discover", "", "").await?.message().await?.result_value()?;
    assert!(discovered["supportedVersions"].as_array().is_some_and(|all| all.contains(&json!("2026-07-28"))));
    assert!(discovered["capabilities"]["tools"].is_object(), "{discovered}");
    let list = endpoint.post_modern(2, "tools/list", "", "").await?.message().await?.result_value()?;
    assert_eq!((list["tools"].as_array().map(Vec::len), &list["ttlMs"]), (Some(9), &json!(0)));

    // A header that contradicts the body is refused.
    let body = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")];
    assert_eq!(endpoint.post(body, &headers).await?.status(), 400);
    Ok(())
}

#[tokio::test]
async fn list_changes_reach_clients_with_and_without_sessions() -> Result<()> {
    let served = Served::start(&[]).await?;
    let endpoint = served.endpoint();
    let filter = r#""notifications":{"toolsListChanged":true}"#;
    let mut subscribed = endpoint.post_modern(4, "subscriptions/listen", filter, "").await?;
    subscribed.notification("notifications/subscriptions/acknowledged").await?;
    let mut tab = tab(&endpoint).await?;
    let notification = subscribed.notification(LIST_CHANGED).await?;
    assert_eq!(
        notification.params_value()?["_meta"]["io.modelcontextprotocol/subscriptionId"],
        4,
        "{}",
        notification.text
    );
    tab.send_text("not JSON".to_owned()).await?;
    tab.close(1000).await?;
    subscribed.notification(LIST_CHANGED).await?;
    Ok(())
}

#[tokio::test]
async fn a_signal_ends_the_program_and_closes_the_page() -> Result<()> {
    let mut served = Served::start(&[]).await?;
    let mut tab = tab(&served.endpoint()).await?;
    let session = Session::open(&served.endpoint(), "2025-11-25").await?;
    let mut events = session.listen().await?;
    served.program.signal(Signal::TERM)?;
    assert_eq!(tab.wait_close().await?.0, 1000);
    assert_eq!(served.program.wait_exit().await?.code(), Some(0));
    // The stream ends, cleanly or not.
    within("the stream's end", async { while matches!(events.event().await, Ok(Some(_))) {} }).await?;
    Ok(())
}
