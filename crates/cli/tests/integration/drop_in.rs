//! `cellbridge jupyter` in place of `jupyter-mcp-server`: each of its options and variables works, or is refused by name.

use anyhow::Result;
use testkit::{Program, Signal};

use crate::bridge::{PROGRAM, Served};

/// Runs the program to its end, and returns its exit code and standard error.
async fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Result<(Option<i32>, String)> {
    let mut program = Program::start(PROGRAM, &[&["jupyter"], arguments].concat(), variables)?;
    let code = program.wait_exit().await?.code();
    Ok((code, program.whole_stderr().await?))
}

#[tokio::test]
async fn options_that_cannot_work_are_refused_in_one_line() -> Result<()> {
    for (arguments, named) in [
        (&["--allowed-jupyter-mcp-tools", "notebook_run-all-cells"][..], "--allowed-jupyter-mcp-tools"),
        (&["--open-notebook-in-ui", "True"], "--open-notebook-in-ui"),
        (&["--document-provider", "datalayer"], "--document-provider"),
        (&["--sandbox-variant", "modal"], "--sandbox-variant"),
        (&["--sandbox-gpu", "T4"], "--sandbox-gpu"),
        (&["start", "--sandbox-environment", "x"], "--sandbox-environment"),
    ] {
        let (code, stderr) = run(arguments, &[]).await?;
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(named), "{arguments:?}: {stderr}");
        assert_eq!(stderr.matches('\n').count(), 1, "{stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn variables_that_cannot_work_are_refused_in_one_line() -> Result<()> {
    for (name, value) in [
        ("ALLOWED_JUPYTER_MCP_TOOLS", "notebook_run-all-cells"),
        ("OPEN_NOTEBOOK_IN_UI", "1"),
        ("SANDBOX_GPU", "T4"),
        ("JUPYTER_MCP_AUDIT_SINK_CLASS", "audit:Sink"),
        ("JUPYTER_MCP_CORS_ORIGINS", "https://example.org"),
        ("JUPYTER_MCP_EXECUTE_VIA_HTTP", "true"),
        ("JUPYTER_MCP_EXTENSIONS", "spaces"),
        ("JUPYTER_MCP_PUBLISHER_CLASS", "publish:Publisher"),
        ("JUPYTER_MCP_RESOURCE_GATE_CLASS", "gate:Gate"),
        ("JUPYTER_MCP_STATEFUL", "false"),
        ("JUPYTER_MCP_TASK_STORE_CLASS", "store:Store"),
        ("JUPYTER_MCP_TOKEN_VERIFIER_CLASS", "verify:Verifier"),
        ("JUPYTER_MCP_WATCH_NOTEBOOKS", "false"),
    ] {
        let (code, stderr) = run(&[], &[(name, value)]).await?;
        assert_eq!(code, Some(2), "{name}: {stderr}");
        assert!(stderr.contains(name), "{name}: {stderr}");
        assert_eq!(stderr.matches('\n').count(), 1, "{stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn unknown_capabilities_and_turning_one_off_are_refused() -> Result<()> {
    for (arguments, variables, named) in [
        (&["--capability", "kernel.autorestart"][..], &[][..], "the only capability is kernel.auto-restart"),
        (&["--capability", "kernel.auto-restart=off"], &[], "cannot be turned off"),
        (&[], &[("JUPYTER_MCP_CAPABILITIES", "kernel.auto-restart,x")], "the only capability"),
    ] {
        let (code, stderr) = run(arguments, variables).await?;
        assert_eq!(code, Some(2), "{arguments:?} {variables:?}: {stderr}");
        assert!(stderr.contains(named), "{stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn settings_that_ask_for_what_happens_anyway_are_accepted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let spans = folder.path().join("spans.jsonl");
    let variables = [
        ("JUPYTER_MCP_CAPABILITIES", "kernel.auto-restart,"),
        ("JUPYTER_MCP_STATEFUL", "true"),
        ("JUPYTER_MCP_WATCH_NOTEBOOKS", "on"),
        ("JUPYTER_MCP_EXECUTE_VIA_HTTP", "0"),
        ("JUPYTER_MCP_CORS_ORIGINS", ""),
        ("ALLOWED_JUPYTER_MCP_TOOLS", "None"),
        ("OPEN_NOTEBOOK_IN_UI", "False"),
        ("SANDBOX_VARIANT", "jupyter_server"),
        ("JUPYTER_MCP_OTEL_FILE", &spans.to_string_lossy()),
    ];
    let arguments = ["jupyter", "--capability", "kernel.auto-restart", "--jupyterlab", "True"];
    let mut agent = testkit::Agent::start_with(PROGRAM, &arguments, &variables)?;
    agent.initialize("2025-11-25").await?;
    assert!(spans.is_file(), "JUPYTER_MCP_OTEL_FILE names no file that spans go to");
    Ok(())
}

#[tokio::test]
async fn a_running_server_is_connected_and_stopped() -> Result<()> {
    let server = Served::start_with(&["jupyter", "--token", "secret"]).await?;
    let url = server.sibling("");
    let at = ["--jupyter-mcp-server-url", &url];

    let (code, stderr) = run(&[&["stop"], &at[..]].concat(), &[]).await?;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("--mcp-token"), "{stderr}");

    let (code, stderr) = run(&[&["stop", "--mcp-token", "secret"], &at[..]].concat(), &[]).await?;
    assert_eq!(code, Some(0), "{stderr}");

    // The error of the server is printed.
    let variables =
        [("MCP_TOKEN", "secret"), ("JUPYTER_MCP_SERVER_URL", &url), ("JUPYTER_URL", "http://127.0.0.1:1")];
    let (code, stderr) = run(&["connect"], &variables).await?;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("http://127.0.0.1:1"), "{stderr}");

    let (code, stderr) = run(&["connect", "--mcp-token", "secret"], &[]).await?;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("--jupyter-url"), "{stderr}");
    Ok(())
}

#[tokio::test]
async fn connect_and_stop_name_a_server_that_is_not_there() -> Result<()> {
    for verb in [&["stop"][..], &["connect", "--jupyter-url", "http://127.0.0.1:1"]] {
        let arguments = [verb, &["--jupyter-mcp-server-url", "http://127.0.0.1:1/"]].concat();
        let (code, stderr) = run(&arguments, &[]).await?;
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("--jupyter-mcp-server-url"), "{stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn the_verb_start_may_be_left_out() -> Result<()> {
    for verb in [&[][..], &["start"]] {
        let arguments = [&["jupyter"], verb, &["--transport", "streamable-http", "--port", "0"]].concat();
        let mut program = Program::start(PROGRAM, &arguments, &[])?;
        program.wait_stderr("MCP endpoint").await?;
        program.signal(Signal::TERM)?;
        assert_eq!(program.wait_exit().await?.code(), Some(0), "{verb:?}");
    }
    Ok(())
}
