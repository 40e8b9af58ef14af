//! Several agents on HTTP share one page without mixing anything.

use anyhow::Result;
use testkit::{Message, Page, Reply, Session, Tab, text_result};

use crate::bridge::Served;
use crate::http::{serve, tab};
use crate::progress::assert_cancelled;

const CALL: &str = r#"{"name":"echo","arguments":{"of":"AGENT"},"_meta":{"progressToken":1}}"#;

/// The calls of both agents, in the order of `agents`, whichever reached the page first.
async fn asked(tab: &mut Tab, agents: [&str; 2]) -> Result<[Message; 2]> {
    let (one, other) = (tab.expect_call("echo").await?, tab.expect_call("echo").await?);
    let of = |message: &Message| Ok::<_, anyhow::Error>(message.params_value()?["arguments"]["of"].clone());
    let calls = if of(&one)? == agents[0] { [one, other] } else { [other, one] };
    assert_eq!([of(&calls[0])?, of(&calls[1])?], agents);
    Ok(calls)
}

/// Both agents use the same id and the same progress token; each must see its own answer and nothing else.
async fn assert_apart(tab: &mut Tab, calls: [Message; 2], replies: [&mut Reply; 2]) -> Result<()> {
    assert_ne!(calls[0].id, calls[1].id);
    tab.progress(&calls[1], 1, "for the second").await?;
    tab.progress(&calls[0], 1, "for the first").await?;
    tab.reply(&calls[1], &text_result("second")).await?;
    tab.reply(&calls[0], &text_result("first")).await?;
    for (reply, of) in replies.into_iter().zip(["first", "second"]) {
        assert_answered(reply, of).await?;
    }
    Ok(())
}

/// The reply has the progress and the answer of this call, and nothing else.
async fn assert_answered(reply: &mut Reply, of: &str) -> Result<()> {
    let report = reply.notification("notifications/progress").await?.params_value()?;
    let message = format!("for the {of}");
    assert_eq!((&report["message"], &report["progressToken"]), (&message.into(), &1.into()));
    let answer = reply.message().await?;
    let text = &answer.result_value()?["content"][0]["text"];
    assert_eq!((answer.id.as_deref(), text), (Some("1"), &of.into()));
    assert_eq!(reply.event().await?, None);
    Ok(())
}

#[tokio::test]
async fn two_sessions_with_the_same_ids() -> Result<()> {
    let served = Served::start(&[]).await?;
    let mut tab = tab(&served.endpoint()).await?;
    let first = Session::open(&served.endpoint(), "2025-11-25").await?;
    let second = Session::open(&served.endpoint(), "2025-06-18").await?;
    let mut one = first.request("1", "tools/call", &CALL.replace("AGENT", "one")).await?;
    let mut other = second.request("1", "tools/call", &CALL.replace("AGENT", "other")).await?;
    let calls = asked(&mut tab, ["one", "other"]).await?;
    assert_apart(&mut tab, calls, [&mut one, &mut other]).await
}

#[tokio::test]
async fn two_agents_without_sessions_and_with_the_same_ids() -> Result<()> {
    let served = Served::start(&[]).await?;
    let endpoint = served.endpoint();
    let mut tab = tab(&endpoint).await?;
    let call = |agent: &str| format!(r#""name":"echo","arguments":{{"of":"{agent}"}}"#);
    let (one, other) = (call("one"), call("other"));
    let token = r#","progressToken":1"#;
    let both = async {
        // An answer's head may come only with its first event.
        tokio::try_join!(
            endpoint.post_modern(1, "tools/call", &one, token),
            endpoint.post_modern(1, "tools/call", &other, token)
        )
    };
    let page = async {
        let calls = asked(&mut tab, ["one", "other"]).await?;
        for (call, message) in calls.iter().zip(["for the first", "for the second"]) {
            tab.progress(call, 1, message).await?;
        }
        for (call, text) in calls.iter().zip(["first", "second"]).rev() {
            tab.reply(call, &text_result(text)).await?;
        }
        anyhow::Ok(())
    };
    let ((one, other), ()) = tokio::try_join!(both, page)?;
    for (mut reply, of) in [(one, "first"), (other, "second")] {
        assert_answered(&mut reply, of).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_closed_stream_cancels_that_agents_call_once() -> Result<()> {
    let served = Served::start(&[]).await?;
    let endpoint = served.endpoint();
    let mut tab = tab(&endpoint).await?;
    let staying = Session::open(&endpoint, "2025-11-25").await?;
    let mut stays = staying.request("1", "tools/call", &CALL.replace("AGENT", "stays")).await?;
    let kept = tab.expect_call("echo").await?;

    let params = r#""name":"run_code_cell","arguments":{}"#;
    let leaving = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { endpoint.post_modern(1, "tools/call", params, "").await?.message().await }
    });
    let abandoned = tab.expect_call("run_code_cell").await?;
    leaving.abort();
    assert_cancelled(&mut tab, &abandoned).await?;
    tab.reply(&abandoned, &text_result("too late")).await?;

    tab.reply(&kept, &text_result("kept")).await?;
    assert_eq!(stays.message().await?.result()?, text_result("kept"));
    // Nothing more about the abandoned call may come before this one.
    let mut last = staying.request("2", "tools/call", r#"{"name":"get_cells","arguments":{}}"#).await?;
    let asked = tab.expect_call("get_cells").await?;
    tab.reply(&asked, &text_result("[]")).await?;
    assert_eq!(last.message().await?.id.as_deref(), Some("2"));
    Ok(())
}

#[tokio::test]
async fn an_agent_with_a_session_may_come_back_for_its_stream() -> Result<()> {
    let served = Served::start(&[]).await?;
    let endpoint = served.endpoint();
    let mut tab = tab(&endpoint).await?;
    let session = Session::open(&endpoint, "2025-11-25").await?;
    let other = Session::open(&endpoint, "2025-11-25").await?;
    let mut stream = session.request("1", "tools/call", &CALL.replace("AGENT", "one")).await?;
    let first = stream.event_id().await?;
    let asked = tab.expect_call("echo").await?;
    drop(stream);
    let mut resumed = session.resume(&first).await?;
    tab.reply(&asked, &text_result("kept")).await?;
    assert_eq!(resumed.message().await?.result()?, text_result("kept"));

    let mut stream = session.request("3", "tools/call", &CALL.replace("AGENT", "one")).await?;
    let first = stream.event_id().await?;
    let asked = tab.expect_call("echo").await?;
    drop(stream);
    // The program has noticed by the time it has answered another agent a few times.
    for id in 0..50 {
        other.call(&id.to_string(), "ping", "{}").await?;
    }
    tab.reply(&asked, r#"{"content":[],"kept":1.0}"#).await?;
    other.call("50", "ping", "{}").await?;
    let late = session.resume(&first).await?.message().await?;
    assert_eq!((late.id.as_deref(), late.result()?), (Some("3"), r#"{"content":[],"kept":1.0}"#));

    let mut stream = session.request("2", "tools/call", &CALL.replace("AGENT", "one")).await?;
    let first = stream.event_id().await?;
    let abandoned = tab.expect_call("echo").await?;
    drop(stream);
    drop(session.resume(&first).await?);
    assert_cancelled(&mut tab, &abandoned).await
}

#[tokio::test]
async fn a_cancelled_notice_in_a_session_reaches_the_page() -> Result<()> {
    let served = Served::start(&[]).await?;
    let mut tab = tab(&served.endpoint()).await?;
    let session = Session::open(&served.endpoint(), "2025-11-25").await?;
    let _stream = session.request("\"c\"", "tools/call", &CALL.replace("AGENT", "one")).await?;
    let asked = tab.expect_call("echo").await?;
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#;
    assert_eq!(session.post(notice).await?.status(), 202);
    assert_cancelled(&mut tab, &asked).await
}

#[tokio::test]
async fn many_calls_of_many_agents_keep_their_answers() -> Result<()> {
    let served = Served::start(&[]).await?;
    let _page = serve(&served.endpoint(), Page::default()).await?;
    let mut agents = tokio::task::JoinSet::new();
    for agent in 0..8 {
        let endpoint = served.endpoint();
        agents.spawn(async move {
            let session = Session::open(&endpoint, "2025-11-25").await?;
            for call in 0..20 {
                let arguments = format!(r#"{{"agent":{agent},"call":{call}}}"#);
                let params = format!(r#"{{"name":"echo","arguments":{arguments}}}"#);
                let answer = session.call(&call.to_string(), "tools/call", &params).await?;
                assert_eq!(answer["content"][0]["text"], arguments);
            }
            anyhow::Ok(())
        });
    }
    while let Some(agent) = agents.join_next().await {
        agent??;
    }
    Ok(())
}
