//! Calls and results cross the bridge as they were written.

use std::collections::HashMap;

use anyhow::Result;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use testkit::text_result;

use crate::bridge::Bridge;

/// Everything that a typed model would lose or re-type.
const ODD: &str = concat!(
    r#"{"z":1.0,"a":1e2,"b":1E+2,"big":12345678901234567890123,"tiny":-0.0,"long":0.1000000000000000055511151231257827,"#,
    r#""escaped":"\u00e9\ud83d\udc22\/\n","plain":"é🐢","nested":{"y":null,"x":[[],{},""]},"":{" ":0}}"#
);

#[tokio::test]
async fn arguments_arrive_as_they_were_written() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let params = format!(
        r#"{{"name":"echo","unknown":{ODD},"arguments":{ODD},"_meta":{{"vendor/odd":{ODD},"progressToken":"mine"}}}}"#
    );
    bridge.agent.start_request("tools/call", params).await?;
    let asked = tab.expect_call("echo").await?;
    let params: HashMap<&str, &RawValue> = serde_json::from_str(asked.params())?;
    assert_eq!(params["arguments"].get(), ODD);
    assert_eq!(params["unknown"].get(), ODD);
    let meta = params["_meta"].get();
    assert!(meta.contains(&format!(r#""vendor/odd":{ODD}"#)), "{meta}");
    let meta: Value = serde_json::from_str(meta)?;
    assert_ne!(meta["progressToken"], "mine", "the agent's token is not unique among agents");
    Ok(())
}

#[tokio::test]
async fn text_that_is_not_unicode_is_forwarded() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let arguments = r#"{"content":"half a pair: \ud83d","\udc22":0}"#;
    bridge.agent.start_call("update_cell", arguments).await?;
    let asked = tab.expect_call("update_cell").await?;
    assert!(asked.params().contains(arguments), "{}", asked.text);
    Ok(())
}

#[tokio::test]
async fn absent_arguments_stay_absent() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    bridge.agent.start_request("tools/call", r#"{"name":"echo"}"#).await?;
    let asked = tab.expect_call("echo").await?.params_value()?;
    assert!(asked.get("arguments").is_none(), "{asked}");
    Ok(())
}

#[tokio::test]
async fn results_arrive_as_they_were_written() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    for result in [
        format!(r#"{{"odd":{ODD},"content":[{{"type":"text","text":"","odd":{ODD},"annotations":{ODD}}}]}}"#),
        format!(
            r#"{{"content":[{{"type":"hologram","odd":{ODD}}}],"structuredContent":{ODD},"isError":false}}"#
        ),
        format!(r#"{{"content":[],"isError":true,"_meta":{ODD}}}"#),
        r#"{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png","extra":1.50}]}"#
            .to_owned(),
        r#"{"rows":[1.0],"isError":false}"#.to_owned(),
        r#"{"content":"not a list"}"#.to_owned(),
        r#"{"toolResult":{"old":1e0}}"#.to_owned(),
        r#"{"content":[{"type":"text","text":"half a pair: \ud83d"}]}"#.to_owned(),
        "{}".to_owned(),
    ] {
        let call = bridge.agent.start_call("echo", "{}").await?;
        let asked = tab.expect_call("echo").await?;
        tab.reply(&asked, &result).await?;
        assert_eq!(bridge.agent.wait_response(call).await?.result()?, result);
    }
    Ok(())
}

#[tokio::test]
async fn a_result_on_many_lines_is_one_line_on_stdio() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let call = bridge.agent.start_call("echo", "{}").await?;
    let asked = tab.expect_call("echo").await?;
    tab.reply(&asked, "{\r\n  \"content\": [\n],\n  \"n\":\n 1.0\n}").await?;
    let answer = bridge.agent.wait_response(call).await?;
    let squeezed: String = answer.result()?.split_whitespace().collect();
    assert_eq!(squeezed, r#"{"content":[],"n":1.0}"#);
    Ok(())
}

#[tokio::test]
async fn errors_of_the_page_stay_errors() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    for error in [
        format!(r#"{{"code":-32602,"message":"Invalid arguments for move_cell","data":{ODD},"odd":{ODD}}}"#),
        r#"{"code":-32601,"message":"Method not found"}"#.to_owned(),
        r#"{"code":17,"message":""}"#.to_owned(),
    ] {
        let call = bridge.agent.start_call("move_cell", "{}").await?;
        let asked = tab.expect_call("move_cell").await?;
        tab.reply_error(&asked, &error).await?;
        assert_eq!(bridge.agent.wait_response(call).await?.error()?, error);
    }
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn deep_nesting_is_forwarded() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let arguments = format!(r#"{{"deep":{deep}}}"#);
    let call = bridge.agent.start_call("echo", &arguments).await?;
    let asked = tab.expect_call("echo").await?;
    assert!(asked.params().contains(&arguments), "the arguments are not what was sent");
    let result = format!(r#"{{"content":[],"structuredContent":{arguments}}}"#);
    tab.reply(&asked, &result).await?;
    assert!(bridge.agent.wait_response(call).await?.result()? == result, "the result is not what was sent");
    Ok(())
}

#[tokio::test]
async fn calls_in_flight_are_answered_in_any_order() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let mut started = Vec::new();
    for number in 0..32 {
        let call = bridge.agent.start_call("echo", json!({ "number": number })).await?;
        started.push((call, tab.expect_call("echo").await?));
    }
    for (call, asked) in started.iter().rev() {
        tab.reply(asked, &text_result(&asked.params_value()?["arguments"]["number"].to_string())).await?;
        assert_eq!(bridge.agent.wait_any_response().await?.id, Some(call.to_string()));
    }
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn the_agent_sees_its_own_ids() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    for id in ["\"a \\\"quoted\\\" id\"", "\"1\"", "0", "-7", "9007199254740993"] {
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo"}}}}"#);
        bridge.agent.send_raw(&line).await?;
        let asked = tab.expect_call("echo").await?;
        tab.reply(&asked, "{\"content\":[]}").await?;
        let answer = bridge.agent.wait_any_response().await?;
        assert_eq!((answer.id.as_deref(), answer.result()?), (Some(id), "{\"content\":[]}"));
    }
    Ok(())
}
