//! Pages that send what no page should, and what the protocol allows them to ask.

use anyhow::Result;
use serde_json::Value;
use testkit::{Options, Tab, text_result};

use crate::bridge::{Bridge, LIST_CHANGED};

#[tokio::test]
async fn frames_that_are_not_json_rpc_are_dropped() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    for text in [
        "",
        "garbage",
        "[]",
        "{}",
        "null",
        "42",
        "\u{0}",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
    ] {
        tab.send_text(text.to_owned()).await?;
        bridge.assert_works(&mut tab).await?;
    }
    for bytes in [&b""[..], b"\xff\xfe{}", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xc3\"}", b"\0\0\0"] {
        tab.send_binary(bytes.to_vec()).await?;
        bridge.assert_works(&mut tab).await?;
    }
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn unexpected_answers_are_ignored() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let call = bridge.agent.start_call("echo", "{}").await?;
    let asked = tab.expect_call("echo").await?;
    let id = asked.need_id()?.to_owned();
    for other in ["0", "999999", "-1", "1.5", "\"x\"", "18446744073709551616", &format!("\"{id}\"")] {
        if other != id {
            tab.send_text(format!(r#"{{"jsonrpc":"2.0","id":{other},"result":{{"content":[]}}}}"#)).await?;
        }
    }
    tab.send_text(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#.to_owned()).await?;
    tab.reply(&asked, r#"{"content":[],"mine":true}"#).await?;
    tab.reply(&asked, r#"{"content":[],"twice":true}"#).await?;
    assert_eq!(bridge.agent.wait_response(call).await?.result()?, r#"{"content":[],"mine":true}"#);
    bridge.assert_works(&mut tab).await?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn requests_of_the_page_are_answered_under_its_ids() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    tab.send_text(r#"{"jsonrpc":"2.0","id":"p-1","method":"ping"}"#.to_owned()).await?;
    let pong = tab.receive().await?;
    assert_eq!((pong.id.as_deref(), pong.result()?), (Some("\"p-1\""), "{}"));

    tab.send_text(r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"roots/list"}"#.to_owned())
        .await?;
    let roots = tab.receive().await?;
    assert_eq!(roots.id.as_deref(), Some("12345678901234567890123"));
    assert!(roots.result_value()?["roots"].is_array(), "{}", roots.text);

    tab.send_text(r#"{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{}}"#.to_owned())
        .await?;
    let refused = tab.receive().await?;
    let error: Value = serde_json::from_str(refused.error()?)?;
    assert_eq!((refused.id.as_deref(), &error["code"]), (Some("3"), &Value::from(-32601)));
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn unknown_notifications_are_ignored() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    tab.notify("notifications/of/tomorrow", r#"{"a":[1]}"#).await?;
    tab.notify("notifications/progress", r#"{"progressToken":"nobody's","progress":1}"#).await?;
    tab.notify("notifications/progress", r#"{"progressToken":[],"progress":"x"}"#).await?;
    tab.notify("notifications/cancelled", r#"{"requestId":77}"#).await?;
    bridge.assert_works(&mut tab).await?;
    bridge.agent.assert_quiet().await
}

#[tokio::test]
async fn a_page_may_use_binary_frames() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab =
        Tab::connect_with(&bridge.connection, &Options { binary: true, ..Options::default() }).await?;
    tab.open().await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn a_message_may_come_in_many_frames() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let call = bridge.agent.start_call("echo", "{}").await?;
    let asked = tab.expect_call("echo").await?;
    let result = text_result("in pieces: äöü 🐢");
    // Three bytes a frame cuts characters in two.
    tab.send_fragmented(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, asked.need_id()?), 3)
        .await?;
    assert_eq!(bridge.agent.wait_response(call).await?.result()?, result);
    Ok(())
}

#[tokio::test]
async fn an_invalid_websocket_frame_ends_only_that_page() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    tab.send_raw(&[0xff; 64]).await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    let mut tab = bridge.tab().await?;
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn a_page_that_asks_without_reading_the_answers_is_dropped() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let ping = r#"{"jsonrpc":"2.0","id":"a-rather-long-name-for-a-request","method":"ping"}"#;
    // Ends with an error as soon as the program has dropped the page; until then the answers pile up unread.
    for _ in 0..1_000_000 {
        if tab.send_text(ping.to_owned()).await.is_err() {
            break;
        }
    }
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    drop(tab);
    let mut next = bridge.tab().await?;
    bridge.assert_works(&mut next).await
}

#[tokio::test]
async fn an_answer_that_is_not_an_object_ends_the_call() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    for answer in
        [r#""result":null"#, r#""error":null"#, r#""result":[]"#, r#""error":"oh""#, r#""result":5"#]
    {
        let call = bridge.agent.start_call("run_code_cell", "{}").await?;
        let id = tab.expect_call("run_code_cell").await?.need_id()?.to_owned();
        tab.send_text(format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)).await?;
        let text = bridge.agent.wait_failure(call).await?;
        assert!(text.contains("run_code_cell"), "{answer}: {text}");
    }
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn ten_thousand_tools_are_listed_and_more_are_cut() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = Tab::connect(&bridge.connection).await?;
    let tools: Vec<String> = (0..20_000).map(|number| format!(r#"{{"name":"t{number}"}}"#)).collect();
    tab.open_with("2025-11-25", &format!("[{}]", tools.join(","))).await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    let list = bridge.agent.request("tools/list", "{}").await?;
    assert_eq!(list["tools"].as_array().map(Vec::len), Some(10_009));
    Ok(())
}
