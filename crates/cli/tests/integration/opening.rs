//! `open_colab_browser_connection`: the browser it opens, the addresses it refuses, and the text for a person.

use anyhow::{Context as _, Result};
use serde_json::json;
use testkit::{Agent, Connection, Options, Upgrade, exchange, silent, within};

use crate::bridge::{Bridge, LIST_CHANGED, PROGRAM};

const OPEN: &str = "open_colab_browser_connection";

/// The text of the answer `false`.
async fn message(agent: &mut Agent) -> Result<String> {
    let answer = agent.call_tool(OPEN, r#"{"timeout_seconds":0}"#).await?;
    answer["content"][1]["text"].as_str().map(str::to_owned).context("no text")
}

/// Calls the tool until the program has noticed what the test did.
async fn wait_for_message(agent: &mut Agent, part: &str) -> Result<()> {
    let asking = async {
        loop {
            if message(agent).await?.contains(part) {
                return anyhow::Ok(());
            }
        }
    };
    within(part, asking).await?
}

#[tokio::test]
async fn the_answer_describes_the_state_of_the_browser() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let agent = &mut bridge.agent;
    wait_for_message(agent, "No browser has connected").await?;
    let prompt = silent(bridge.connection.port).await?;
    wait_for_message(agent, "permission prompt").await?;
    drop(prompt);
    wait_for_message(agent, "blocked or dismissed").await?;
    let stale = Upgrade::good("/?access_token=of-an-earlier-start").bytes();
    exchange([127, 0, 0, 1].into(), bridge.connection.port, &stale).await?;
    wait_for_message(agent, "was refused").await?;
    bridge.tab().await?.close(1000).await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    wait_for_message(&mut bridge.agent, "has disconnected").await
}

#[tokio::test]
async fn only_colab_gets_the_token() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    for stranger in [
        "http://colab.research.google.com/drive/abc",
        "https://evil.example/",
        "https://colab.research.google.com.evil.example/",
        "https://colab.research.google.com@evil.example/",
        "https://colab.research.google.com:8443/",
        "javascript:alert(1)",
        "file:///etc/passwd",
    ] {
        let arguments = json!({ "notebook_url": stranger, "timeout_seconds": 0 });
        let text = bridge.agent.call_tool_expecting_failure(OPEN, arguments).await?;
        assert!(!text.contains(&bridge.connection.token), "{stranger}: {text}");
        assert!(text.contains("notebook_url"), "{stranger}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn invalid_arguments_are_refused() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    for (arguments, named) in [
        (json!({ "timeout_seconds": -1 }), "timeout_seconds"),
        (json!({ "timeout_seconds": "soon" }), "timeout_seconds"),
        (json!({ "timeout_seconds": 1e300 }), "timeout_seconds"),
        (json!({ "authuser": "me@example.com" }), "authuser"),
        (json!({ "authuser": -1 }), "authuser"),
        (json!({ "notebook_url": 7 }), "notebook_url"),
    ] {
        let text = bridge.agent.call_tool_expecting_failure(OPEN, &arguments).await?;
        assert!(text.contains(named), "{arguments}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_notebook_and_an_account_may_be_chosen() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let notebook = "https://colab.research.google.com/drive/abc?x=1";
    let arguments = json!({ "notebook_url": notebook, "authuser": 2, "timeout_seconds": 0 });
    let connection = Connection::read(&bridge.agent.call_tool(OPEN, arguments).await?)?;
    assert_eq!((connection.port, &connection.token), (bridge.connection.port, &bridge.connection.token));
    let (page, _) = connection.url.split_once('#').context("no fragment")?;
    assert_eq!(page, "https://colab.research.google.com/drive/abc?x=1&authuser=2");
    let (page, _) = bridge.connection.url.split_once('#').context("no fragment")?;
    assert_eq!(page, "https://colab.research.google.com/notebooks/empty.ipynb");
    Ok(())
}

/// All users of the machine can read the arguments of a process.
#[cfg(unix)]
#[tokio::test]
async fn the_persons_own_browser_command_gets_the_token_in_a_private_file() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (script, opened) = (folder.path().join("browser"), folder.path().join("opened"));
    // Renamed into place, so that a reader finds the whole line or none.
    std::fs::write(&script, "printf '%s\\n' \"$*\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n")?;
    for (place, expected) in [("", "URL"), (" --first %s --last", "--first URL --last")] {
        let _ = std::fs::remove_file(&opened);
        let temporary = tempfile::tempdir()?;
        let command = format!("sh {} {}{place}", script.display(), opened.display());
        let variables = [("BROWSER", &*command), ("TMPDIR", temporary.path().to_str().context("UTF-8")?)];
        let mut agent = Agent::start_with(PROGRAM, &["colab"], &variables)?;
        agent.initialize("2025-11-25").await?;
        let answer = agent.call_tool(OPEN, r#"{"timeout_seconds":1}"#).await?;
        let connection = Connection::read(&answer)?;
        let seen = within("the browser", async {
            loop {
                if let Ok(seen) = std::fs::read_to_string(&opened) {
                    return seen;
                }
                tokio::task::yield_now().await;
            }
        })
        .await?;
        let file = redirect_file(temporary.path())?;
        let expected = expected.replace("URL", &format!("file://{}", file.display()));
        assert_eq!(seen, format!("{} {expected}\n", opened.display()));
        let page = std::fs::read_to_string(&file)?;
        assert!(page.contains(&connection.url.replace('&', "&amp;")), "{page}");
        let mut tab = testkit::Tab::connect(&connection).await?;
        tab.open().await?;
        agent.wait_notification(LIST_CHANGED).await?;
        assert!(
            redirect_file(temporary.path()).is_err(),
            "it is still there although the page has connected"
        );
    }
    Ok(())
}

/// The file in a folder of this kind, in which only this user may look.
#[cfg(unix)]
fn redirect_file(temporary: &std::path::Path) -> Result<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let only = |folder: &std::path::Path| {
        anyhow::Ok(std::fs::read_dir(folder)?.next().context("the folder is empty")??.path())
    };
    let mode = |path: &std::path::Path| anyhow::Ok(path.metadata()?.permissions().mode() & 0o777);
    let folder = only(temporary)?;
    let file = only(&folder)?;
    assert_eq!((mode(&folder)?, mode(&file)?), (0o700, 0o600));
    Ok(file)
}

#[cfg(unix)]
#[tokio::test]
async fn no_file_with_a_token_outlives_the_server() -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let variables = [("BROWSER", "true"), ("TMPDIR", temporary.path().to_str().context("UTF-8")?)];
    for arguments in [&["colab"][..], &[]] {
        let mut agent = Agent::start_with(PROGRAM, arguments, &variables)?;
        agent.initialize("2025-11-25").await?;
        agent.call_tool(OPEN, r#"{"timeout_seconds":1}"#).await?;
        redirect_file(temporary.path())?;
        agent.close_stdin();
        agent.wait_exit().await?;
        assert_eq!(std::fs::read_dir(temporary.path())?.count(), 0);
    }
    Ok(())
}

#[tokio::test]
async fn a_browser_that_cannot_start_is_reported() -> Result<()> {
    let mut agent = Agent::start_with(PROGRAM, &["colab"], &[("BROWSER", "/no/such/browser")])?;
    agent.initialize("2025-11-25").await?;
    let answer = agent.call_tool(OPEN, r#"{"timeout_seconds":1}"#).await?;
    let message = &answer["content"][1]["text"];
    assert_eq!(answer["structuredContent"], json!({ "result": false, "message": message }));
    let help = answer["content"].as_array().context("no content")?.iter();
    let help: String = help.filter_map(|block| block["text"].as_str()).collect();
    assert!(help.contains("/no/such/browser"), "{help}");
    Ok(())
}

#[tokio::test]
async fn a_connected_page_is_reported_without_progress() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let options = Options { origin: "https://colab.google.com", ..Options::default() };
    let mut tab = testkit::Tab::connect_with(&bridge.connection, &options).await?;
    tab.open().await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    let answer = bridge.agent.call_tool(OPEN, "{}").await?;
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "true" }]));
    assert_eq!(answer["structuredContent"], json!({ "result": true }));
    bridge.agent.assert_quiet().await
}
