//! Pages that go, pages that come late, and the end of the program.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use testkit::{Agent, Connection, Signal, Tab, text_result};

use crate::bridge::{Bridge, LIST_CHANGED, PROGRAM};

/// The promise is one second; the rest is for a machine that is busy with other tests.
const AT_ONCE: Duration = Duration::from_secs(3);

#[tokio::test]
async fn pending_calls_are_answered_when_the_page_disconnects() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    for manner in ["close", "reset", "end of stream", "close without a code"] {
        let mut tab = bridge.tab().await?;
        let tools = ["run_code_cell", "update_cell", "echo"];
        let mut calls = Vec::new();
        for tool in tools {
            calls.push((tool, bridge.agent.start_call(tool, "{}").await?));
            tab.expect_call(tool).await?;
        }
        let gone = Instant::now();
        match manner {
            "close" => tab.close(1001).await?,
            "reset" => tab.drop_hard()?,
            "end of stream" => drop(tab),
            _ => tab.send_raw(&[0x88, 0x80, 0, 0, 0, 0]).await?,
        }
        for (tool, call) in calls {
            let text = bridge.agent.wait_failure(call).await?;
            assert!(text.contains(tool) && text.contains("may still be running"), "{manner}: {text}");
        }
        assert!(gone.elapsed() < AT_ONCE, "{manner}: answered after {:?}", gone.elapsed());
        bridge.agent.wait_notification(LIST_CHANGED).await?;
    }
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn each_change_of_the_list_is_notified_once() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    bridge.agent.assert_quiet().await?;
    let mut tab = bridge.tab().await?;
    bridge.agent.assert_quiet().await?;
    tab.notify("notifications/tools/list_changed", "{}").await?;
    let list = tab.expect("tools/list").await?;
    tab.reply(&list, r#"{"tools":[{"name":"novelty","inputSchema":{"type":"object"}}]}"#).await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    bridge.agent.assert_quiet().await?;
    tab.close(1000).await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn a_page_may_connect_after_the_timeout() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let arguments = r#"{"timeout_seconds":1}"#;
    let call =
        bridge.agent.start_call_with_progress("open_colab_browser_connection", arguments, "\"p\"").await?;
    let answer = bridge.agent.wait_response(call).await?.result_value()?;
    let message = &answer["content"][1]["text"];
    assert_eq!(answer["structuredContent"], json!({ "result": false, "message": message }));
    assert_eq!(Connection::read(&answer)?, bridge.connection);
    let progress: Vec<_> = bridge.agent.take_notifications();
    let progress = progress.iter().map(testkit::Message::params_value).collect::<Result<Vec<_>>>()?;
    let progress: Vec<_> =
        progress.iter().map(|report| (report["progress"].as_f64(), report["message"].as_str())).collect();
    assert_eq!(
        progress,
        [
            (Some(1.0), Some("The user is not connected to the Colab UI")),
            (Some(2.0), Some("Waiting for user to connect in Colab - will wait for 1s")),
            (Some(3.0), Some("Timeout while waiting for the user to connect.")),
        ]
    );
    let mut tab = bridge.tab().await?;
    let answer = bridge.agent.call_tool("open_colab_browser_connection", "{}").await?;
    assert_eq!(answer["structuredContent"], json!({ "result": true }));
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "true" }]));
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn a_page_that_connects_ends_the_wait() -> Result<()> {
    let mut bridge = Bridge::start_with(&["--connect-timeout", "600"]).await?;
    let call = bridge.agent.start_call_with_progress("open_colab_browser_connection", "{}", "5").await?;
    for message in [
        "The user is not connected to the Colab UI",
        "Waiting for user to connect in Colab - will wait for 600s",
    ] {
        let report = bridge.agent.wait_notification("notifications/progress").await?.params_value()?;
        assert_eq!((report["message"].as_str(), report["total"].as_f64()), (Some(message), Some(3.0)));
        assert_eq!(report["progressToken"], 5);
    }
    let mut tab = Tab::connect(&bridge.connection).await?;
    tab.open().await?;
    let answer = bridge.agent.wait_response(call).await?.result_value()?;
    assert_eq!(answer["structuredContent"], json!({ "result": true }));
    let report = bridge.agent.wait_notification("notifications/progress").await?.params_value()?;
    assert_eq!(report["message"], "The Colab UI is successfully connected!");
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn the_end_of_standard_input_closes_the_page_and_ends_the_program() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    bridge.agent.close_stdin();
    assert_eq!(tab.wait_close().await?.0, 1000);
    assert_eq!(bridge.agent.wait_exit().await?.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn signals_close_the_page_and_end_the_program() -> Result<()> {
    for signal in [Signal::TERM, Signal::INT] {
        let mut bridge = Bridge::start().await?;
        let mut tab = bridge.tab().await?;
        bridge.agent.start_call("run_code_cell", "{}").await?;
        tab.expect_call("run_code_cell").await?;
        bridge.agent.signal(signal)?;
        assert_eq!(tab.wait_close().await?.0, 1000);
        assert_eq!(bridge.agent.wait_exit().await?.code(), Some(0), "{signal:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_program_ends_in_every_state() -> Result<()> {
    // Before a word was said.
    let mut agent = Agent::start(PROGRAM, &["colab", "--no-browser"])?;
    agent.close_stdin();
    assert_eq!(agent.wait_exit().await?.code(), Some(0));
    // While it waits for a page, with a browser that is silent, and with a page that never closes.
    let mut bridge = Bridge::start().await?;
    let _silent = testkit::silent(bridge.connection.port).await?;
    bridge.agent.start_call("open_colab_browser_connection", "{}").await?;
    bridge.agent.discard_notifications().await?;
    bridge.agent.close_stdin();
    assert_eq!(bridge.agent.wait_exit().await?.code(), Some(0));
    let mut bridge = Bridge::start().await?;
    let _deaf = bridge.tab().await?;
    bridge.agent.close_stdin();
    assert_eq!(bridge.agent.wait_exit().await?.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn answers_given_before_the_end_of_standard_input_are_not_lost() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let result = text_result(&"x".repeat(1 << 20));
    let call = bridge.agent.start_call("echo", "{}").await?;
    let asked = tab.expect_call("echo").await?;
    tab.reply(&asked, &result).await?;
    assert!(bridge.agent.wait_response(call).await?.result()? == result, "not what was sent");
    bridge.agent.close_stdin();
    bridge.agent.wait_exit().await?;
    Ok(())
}
