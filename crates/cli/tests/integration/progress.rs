//! Progress, cancellation and time-outs of forwarded calls.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use testkit::{Message, Tab, text_result};

use crate::bridge::Bridge;

const PROGRESS: &str = "notifications/progress";

#[tokio::test]
async fn progress_comes_under_the_agents_own_token() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    for token in ["\"agent-7\"", "7", "\"7\"", "0", "\"\""] {
        let call = bridge.agent.start_call_with_progress("run_code_cell", r#"{"cellId":"a"}"#, token).await?;
        let asked = tab.expect_call("run_code_cell").await?;
        tab.progress(&asked, 1, "a first line").await?;
        let seen = bridge.agent.wait_notification(PROGRESS).await?.params_value()?;
        let expected =
            json!({ "progressToken": 0, "progress": 1.0, "total": 9.0, "message": "a first line" });
        assert_eq!(as_numbers(&seen, token)?, as_numbers(&expected, token)?, "{seen}");
        assert_eq!(seen["progressToken"].to_string(), token);
        // Reported in one breath with the answer, progress still comes first.
        tab.progress(&asked, 2, "a last line").await?;
        tab.reply(&asked, &text_result("done")).await?;
        assert_eq!(bridge.agent.wait_response(call).await?.result()?, text_result("done"));
        let before: Vec<_> = bridge.agent.take_notifications();
        assert_eq!(before.len(), 1, "{before:?}");
        assert_eq!(before[0].params_value()?["message"], "a last line");
    }
    bridge.agent.assert_quiet().await
}

/// A report with the numbers as one type, because a number may be re-typed here, and the token made equal.
fn as_numbers(report: &Value, token: &str) -> Result<Value> {
    let number = |name: &str| report[name].as_f64();
    let token: Value = serde_json::from_str(token)?;
    Ok(json!([token, number("progress"), number("total"), report["message"]]))
}

#[tokio::test]
async fn unrequested_progress_is_not_forwarded() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let call = bridge.agent.start_call("run_code_cell", "{}").await?;
    let asked = tab.expect_call("run_code_cell").await?;
    let meta = &asked.params_value()?["_meta"]["progressToken"];
    let token = if meta.is_null() { asked.need_id()?.to_owned() } else { meta.to_string() };
    tab.notify(PROGRESS, &format!(r#"{{"progressToken":{token},"progress":1}}"#)).await?;
    tab.reply(&asked, &text_result("done")).await?;
    bridge.agent.wait_response(call).await?.result()?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn progress_after_the_answer_is_not_forwarded() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let call = bridge.agent.start_call_with_progress("run_code_cell", "{}", "1").await?;
    let asked = tab.expect_call("run_code_cell").await?;
    tab.reply(&asked, &text_result("done")).await?;
    tab.progress(&asked, 1, "late").await?;
    bridge.agent.wait_response(call).await?.result()?;
    bridge.assert_works(&mut tab).await?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_once_under_the_pages_id() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    // Moves the page's ids away from the agent's.
    bridge.assert_works(&mut tab).await?;
    bridge.agent.request("ping", "{}").await?;
    let call = bridge.agent.start_call("run_code_cell", "{}").await?;
    let asked = tab.expect_call("run_code_cell").await?;
    for _ in 0..2 {
        bridge
            .agent
            .notify("notifications/cancelled", json!({ "requestId": call, "reason": "enough" }))
            .await?;
    }
    assert_cancelled(&mut tab, &asked).await?;
    tab.reply(&asked, &text_result("too late")).await?;
    // Nothing more about that call may come before this one.
    bridge.assert_works(&mut tab).await?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn only_the_named_call_is_cancelled() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let kept = bridge.agent.start_call("run_code_cell", r#"{"cellId":"kept"}"#).await?;
    let asked_to_keep = tab.expect_call("run_code_cell").await?;
    let gone = bridge.agent.start_call("run_code_cell", r#"{"cellId":"gone"}"#).await?;
    let asked_in_vain = tab.expect_call("run_code_cell").await?;
    bridge.agent.notify("notifications/cancelled", json!({ "requestId": gone })).await?;
    bridge.agent.notify("notifications/cancelled", json!({ "requestId": 4711 })).await?;
    assert_cancelled(&mut tab, &asked_in_vain).await?;
    tab.reply(&asked_to_keep, &text_result("kept")).await?;
    assert_eq!(bridge.agent.wait_response(kept).await?.result()?, text_result("kept"));
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn a_call_times_out_and_is_cancelled() -> Result<()> {
    let mut bridge = Bridge::start_with(&["--call-timeout", "1"]).await?;
    let mut tab = bridge.tab().await?;
    let call = bridge.agent.start_call("run_code_cell", "{}").await?;
    let asked = tab.expect_call("run_code_cell").await?;
    let text = bridge.agent.wait_failure(call).await?;
    assert!(text.contains("run_code_cell") && text.contains("may still be running"), "{text}");
    assert_cancelled(&mut tab, &asked).await?;
    tab.reply(&asked, &text_result("too late")).await?;
    bridge.assert_works(&mut tab).await?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn progress_extends_the_timeout_even_if_it_is_not_forwarded() -> Result<()> {
    let mut bridge = Bridge::start_with(&["--call-timeout", "2"]).await?;
    let mut tab = bridge.tab().await?;
    let watched = bridge.agent.start_call_with_progress("run_code_cell", "{}", "1").await?;
    let asked_watched = tab.expect_call("run_code_cell").await?;
    let unwatched = bridge.agent.start_call("run_code_cell", "{}").await?;
    let asked_unwatched = tab.expect_call("run_code_cell").await?;
    // Time itself is under test here: reports come more often than the time-out, for longer than it.
    let (mut tick, begin) = (tokio::time::interval(Duration::from_millis(250)), Instant::now());
    for number in 1.. {
        tick.tick().await;
        tab.progress(&asked_watched, number, "running").await?;
        tab.progress(&asked_unwatched, number, "running").await?;
        bridge.agent.wait_notification(PROGRESS).await?;
        if begin.elapsed() > Duration::from_secs(4) {
            break;
        }
    }
    for (call, asked) in [(watched, asked_watched), (unwatched, asked_unwatched)] {
        tab.reply(&asked, &text_result("done")).await?;
        assert_eq!(bridge.agent.wait_response(call).await?.result()?, text_result("done"));
    }
    bridge.agent.assert_quiet().await
}

/// The next message to the page cancels `asked`.
pub(crate) async fn assert_cancelled(tab: &mut Tab, asked: &Message) -> Result<()> {
    let cancelled = tab.expect("notifications/cancelled").await?;
    assert_eq!(cancelled.params_value()?["requestId"].to_string(), asked.need_id()?, "{}", cancelled.text);
    Ok(())
}

#[tokio::test]
async fn a_burst_of_progress_arrives_whole() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let call = bridge.agent.start_call_with_progress("echo", "{}", "1").await?;
    let asked = tab.expect_call("echo").await?;
    for step in 1..=1000 {
        tab.progress(&asked, step, "on the way").await?;
    }
    tab.reply(&asked, &text_result("done")).await?;
    bridge.agent.wait_response(call).await?;
    let seen = bridge.agent.take_notifications();
    assert_eq!(seen.len(), 1000);
    assert_eq!(seen[999].params_value()?["progress"].as_f64(), Some(1000.0));
    Ok(())
}
