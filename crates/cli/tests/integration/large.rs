//! Messages of 64 MiB, where the original program hangs above 1 MiB.

use anyhow::Result;
use testkit::{Session, text_result};

use crate::bridge::{Bridge, Served};
use crate::http::{assert_crosses, tab};

const LARGE: usize = 64 << 20;

#[tokio::test]
async fn a_large_result_arrives_whole() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let result = text_result(&"0123456789abcdef".repeat(LARGE / 16));
    let call = bridge.agent.start_call("echo", "{}").await?;
    let asked = tab.expect_call("echo").await?;
    tab.reply(&asked, &result).await?;
    // Not assert_eq: a failure would print both.
    assert!(bridge.agent.wait_response(call).await?.result()? == result, "not what was sent");
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn a_large_message_may_come_in_frames_of_any_size() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let result = text_result(&"é🐢".repeat(LARGE / 6));
    for size in [1 << 16, 20 << 20] {
        let call = bridge.agent.start_call("echo", "{}").await?;
        let asked = tab.expect_call("echo").await?;
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, asked.need_id()?);
        tab.send_fragmented(frame, size).await?;
        assert!(bridge.agent.wait_response(call).await?.result()? == result, "not what was sent");
    }
    Ok(())
}

#[tokio::test]
async fn a_large_argument_arrives_whole() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let arguments = format!(r#"{{"content":"{}"}}"#, "0123456789abcdef".repeat((8 << 20) / 16));
    let call = bridge.agent.start_call("update_cell", &arguments).await?;
    let asked = tab.expect_call("update_cell").await?;
    assert!(asked.params().contains(&arguments), "not what was sent");
    tab.reply(&asked, "{}").await?;
    bridge.agent.wait_response(call).await?.result()?;
    Ok(())
}

#[tokio::test]
async fn large_arguments_and_results_cross_http() -> Result<()> {
    let served = Served::start(&[]).await?;
    let mut tab = tab(&served.endpoint()).await?;
    let session = Session::open(&served.endpoint(), "2025-11-25").await?;
    let arguments = format!(r#"{{"content":"{}"}}"#, "0123456789abcdef".repeat((8 << 20) / 16));
    let result = text_result(&"0123456789abcdef".repeat(LARGE / 16));
    assert_crosses(&session, &mut tab, ("update_cell", &arguments), &result).await
}

#[tokio::test]
async fn a_page_that_sends_beyond_the_limit_is_lost_and_the_next_one_is_not() -> Result<()> {
    let mut bridge = Bridge::start().await?;
    let mut tab = bridge.tab().await?;
    let call = bridge.agent.start_call("run_code_cell", "{}").await?;
    tab.expect_call("run_code_cell").await?;
    // A frame's head that announces 1 TiB; nothing may be allocated for it.
    tab.send_raw(&[0x81, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4]).await?;
    let text = bridge.agent.wait_failure(call).await?;
    assert!(text.contains("run_code_cell"), "{text}");
    bridge.agent.wait_notification(crate::bridge::LIST_CHANGED).await?;
    let mut tab = bridge.tab().await?;
    bridge.assert_works(&mut tab).await
}
