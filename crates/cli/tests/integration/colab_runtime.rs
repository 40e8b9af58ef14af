//! `cellbridge colab --enable-runtime`, as far as it can be seen without a login.

use anyhow::Result;
use serde_json::{Value, json};
use testkit::Agent;

use crate::bridge::PROGRAM;

const TOOL: &str = "runtime_execute_code";

/// An agent of the program, and the answer to `initialize`.
async fn start(options: &[&str], state: &str) -> Result<(Agent, Value)> {
    let arguments = [&["colab", "--no-browser"], options].concat();
    let mut agent = Agent::start_with(PROGRAM, &arguments, &[("XDG_STATE_HOME", state)])?;
    let initialized = agent.initialize("2025-11-25").await?;
    Ok((agent, initialized))
}

async fn tools(agent: &mut Agent) -> Result<Vec<Value>> {
    let listed = agent.request("tools/list", "{}").await?;
    Ok(listed["tools"].as_array().cloned().unwrap_or_default())
}

#[tokio::test]
async fn the_tool_is_added_only_with_the_option() -> Result<()> {
    let (mut without, before) = start(&[], "/dev/null").await?;
    let expected = tools(&mut without).await?;
    let refused = without.call_tool_expecting_failure(TOOL, json!({ "code": "1" })).await?;
    for option in ["--enable-runtime", "-r"] {
        let (mut agent, initialized) = start(&[option], "/dev/null").await?;
        let listed = tools(&mut agent).await?;
        let (last, others) = listed.split_last().unwrap();
        assert_eq!(others, expected);
        assert_eq!(last["name"], TOOL);
        assert_eq!(last["inputSchema"]["required"], json!(["code"]));
        let instructions = initialized["instructions"].as_str().unwrap();
        assert!(instructions.starts_with(before["instructions"].as_str().unwrap()), "{instructions}");
    }
    assert!(refused.contains(TOOL) && !before.to_string().contains(TOOL), "{refused}");
    Ok(())
}

#[tokio::test]
async fn without_a_login_the_answer_names_the_command() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (state, file) = (folder.path().join("state"), folder.path().join("my client.json"));
    let client = json!({ "client_id": "1.apps.googleusercontent.com", "client_secret": "hush" });
    std::fs::write(&file, json!({ "installed": client }).to_string())?;
    let (state_name, file_name) = (state.to_string_lossy(), file.to_string_lossy());
    let command = "cellbridge colab login --client-oauth-config";
    for (options, expected) in [
        (&["-r"][..], "`cellbridge colab login`".to_owned()),
        (&["-r", "-c", &file_name], format!("{command} \"{file_name}\"")),
        (&["-r", "-c", "missing.json"], "missing.json".to_owned()),
    ] {
        let (mut agent, _) = start(options, &state_name).await?;
        let refused = agent.call_tool_expecting_failure(TOOL, json!({ "code": "1" })).await?;
        assert!(refused.contains(&expected) && !refused.contains("hush"), "{options:?}: {refused}");
        agent.close_stdin();
        assert!(agent.wait_exit().await?.success());
        assert!(!state.join("cellbridge/colab").exists(), "{options:?}");
    }
    Ok(())
}

#[tokio::test]
async fn it_counts_as_code_that_runs() -> Result<()> {
    let (mut agent, _) = start(&["-r", "--read-only"], "/dev/null").await?;
    assert!(tools(&mut agent).await?.iter().all(|tool| tool["name"] != TOOL));
    let refused = agent.call_tool_expecting_failure(TOOL, json!({ "code": "1" })).await?;
    assert!(refused.contains("not offered"), "{refused}");

    let (mut agent, _) = start(&["-r", "--ask", "run"], "/dev/null").await?;
    let refused = agent.call_tool_expecting_failure(TOOL, json!({ "code": "1" })).await?;
    assert!(refused.contains("ask"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn a_call_without_code_is_refused() -> Result<()> {
    let (mut agent, _) = start(&["-r"], "/dev/null").await?;
    for arguments in [json!({}), json!({ "code": 1 })] {
        let refused = agent.call_tool_expecting_failure(TOOL, arguments).await?;
        assert!(refused.contains("\"code\""), "{refused}");
    }
    Ok(())
}
