//! One MCP session for each socket: what the program says to a page first, and what survives a page.

use anyhow::Result;
use serde_json::{Value, json};
use testkit::{SEVEN_AND_ECHO, Tab};

use crate::bridge::{Bridge, LIST_CHANGED};

#[tokio::test]
async fn initialize_comes_first_on_every_socket() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    for _ in 0..3 {
        let mut tab = Tab::connect(&bridge.connection).await?;
        let initialize = tab.expect("initialize").await?;
        let params = initialize.params_value()?;
        assert_eq!(params["protocolVersion"], "2025-11-25");
        assert!(params["capabilities"].is_object(), "{params}");
        assert!(
            params["clientInfo"]["name"].is_string() && params["clientInfo"]["version"].is_string(),
            "{params}"
        );
        let answer = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {} });
        tab.reply(&initialize, &answer.to_string()).await?;
        tab.expect("notifications/initialized").await?;
        let list = tab.expect("tools/list").await?;
        tab.reply(&list, &format!(r#"{{"tools":{SEVEN_AND_ECHO}}}"#)).await?;
        bridge.agent.wait_notification(LIST_CHANGED).await?;
        bridge.assert_works(&mut tab).await?;
        tab.close(1001).await?;
        bridge.agent.wait_notification(LIST_CHANGED).await?;
    }
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn a_page_that_never_answers_initialize_still_works() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = Tab::connect(&bridge.connection).await?;
    tab.expect("initialize").await?;
    serve_until_listed(&mut tab).await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn a_page_can_reconnect_twenty_times_in_every_way() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    for round in 0..20 {
        let mut tab = bridge.tab().await?;
        bridge.assert_works(&mut tab).await?;
        match round % 4 {
            0 => tab.close(1000).await?,
            1 => tab.close(1001).await?,
            2 => tab.drop_hard()?,
            _ => drop(tab),
        }
        bridge.agent.wait_notification(LIST_CHANGED).await?;
    }
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn a_page_lost_while_it_opens_affects_no_other() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = Tab::connect(&bridge.connection).await?;
    tab.expect("initialize").await?;
    tab.drop_hard()?;
    let mut tab = reconnect(&bridge).await?;
    tab.answer_initialize("2025-11-25").await?;
    tab.expect("tools/list").await?;
    drop(tab);
    let mut tab = reconnect(&bridge).await?;
    tab.open().await?;
    // Pages that never opened may or may not have been announced.
    loop {
        bridge.agent.wait_notification(LIST_CHANGED).await?;
        let listed = names(&bridge.agent.request("tools/list", "{}").await?);
        if listed.contains(&"echo".to_owned()) {
            break;
        }
    }
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn nothing_of_an_old_page_reaches_a_new_one() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut old = bridge.tab().await?;
    let call = bridge.agent.start_call("run_code_cell", r#"{"cellId":"a"}"#).await?;
    let asked = old.expect_call("run_code_cell").await?;
    old.drop_hard()?;
    bridge.agent.wait_failure(call).await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;

    let mut new = bridge.tab().await?;
    new.reply(&asked, r#"{"content":[{"type":"text","text":"of the old page"}]}"#).await?;
    bridge.assert_works(&mut new).await?;
    bridge.agent.assert_quiet().await
}

/// Answers whatever comes until the tool list has been asked for and given.
async fn serve_until_listed(tab: &mut Tab) -> Result<()> {
    loop {
        let message = tab.receive().await?;
        if message.method.as_deref() == Some("tools/list") {
            return tab.reply(&message, &format!(r#"{{"tools":{SEVEN_AND_ECHO}}}"#)).await;
        }
    }
}

/// Connects until the place of a tab that has just vanished is free.
async fn reconnect(bridge: &Bridge) -> Result<Tab> {
    testkit::within("a free place", async {
        loop {
            let mut tab = Tab::connect(&bridge.connection).await?;
            // A busy server closes before it says anything.
            if tab.ready().await.is_ok() {
                return Ok(tab);
            }
        }
    })
    .await?
}

fn names(list: &Value) -> Vec<String> {
    let tools = list["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}
