//! Pages that vanish without closing, as when a laptop sleeps.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::bridge::{Bridge, LIST_CHANGED};

/// The program takes 3 s; the rest is for a busy machine.
const NOTICED: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_silent_page_is_disconnected() -> Result<()> {
    let mut bridge = Bridge::start_with(&["--network-timeout", "3"]).await?;
    // Its socket stays open, and nobody reads it.
    let mut asleep = bridge.tab().await?;
    let call = bridge.agent.start_call("run_code_cell", "{}").await?;
    asleep.expect_call("run_code_cell").await?;
    let begin = Instant::now();
    while bridge.agent.wait_notification(LIST_CHANGED).await.is_err() {
        assert!(begin.elapsed() < NOTICED, "still connected after {:?}", begin.elapsed());
    }
    assert!(begin.elapsed() < NOTICED, "given up after {:?}", begin.elapsed());
    let text = bridge.agent.wait_failure(call).await?;
    assert!(text.contains("may still be running"), "{text}");
    let mut tab = bridge.tab().await?;
    bridge.assert_works(&mut tab).await
}
