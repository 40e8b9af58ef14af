//! The command line: what it accepts and what it refuses.

use std::net::TcpListener;

use anyhow::{Context as _, Result};
use testkit::{Agent, Connection, Program};

use crate::bridge::PROGRAM;

/// Runs the program to its end, and returns its exit code and standard error.
async fn run(arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let mut program = Program::start(PROGRAM, arguments, &[])?;
    let code = program.wait_exit().await.with_context(|| format!("{arguments:?}"))?.code();
    Ok((code, program.whole_stderr().await?))
}

fn printed(arguments: &[&str]) -> Result<String> {
    let output = std::process::Command::new(PROGRAM).args(arguments).env("COLUMNS", "100").output()?;
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// What it says is compared with `docs/settings.md`.
#[test]
fn every_command_has_help() -> Result<()> {
    for command in [
        "",
        "colab",
        "doctor",
        "jupyter",
        "jupyter connect",
        "jupyter stop",
        "install",
        "uninstall",
        "status",
    ] {
        let arguments: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        assert!(printed(&arguments)?.contains("Usage: cellbridge"), "{command}");
    }
    Ok(())
}

#[test]
fn version() -> Result<()> {
    assert_eq!(printed(&["--version"])?, format!("cellbridge {}\n", env!("CARGO_PKG_VERSION")));
    Ok(())
}

#[tokio::test]
async fn bad_options_are_named() -> Result<()> {
    for (arguments, named) in [
        (&["colab", "--no-such-option"][..], "--no-such-option"),
        (&["colab", "--transport", "pigeon"], "streamable-http"),
        (&["colab", "--port", "65536"], "--port"),
        (&["colab", "--tab-port", "x"], "--tab-port"),
        (&["colab", "--connect-timeout=-1"], "--connect-timeout"),
        (&["colab", "--connect-timeout", "NaN"], "--connect-timeout"),
        (&["colab", "--call-timeout", "soon"], "--call-timeout"),
        (&["colab", "--log-level", "loud"], "--log-level"),
        (&["colab", "--log", "folder", "--log-file", "file"], "--log-file"),
        (&["colab", "extra"], "extra"),
        (&["doctor", "extra"], "extra"),
        (&["doctor", "--tab-port", "x"], "--tab-port"),
    ] {
        let (code, stderr) = run(arguments).await?;
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(named), "{arguments:?}: {stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn options_that_cannot_be_served_are_named() -> Result<()> {
    for (arguments, named) in [
        (&["colab", "--token", "", "--transport", "streamable-http"][..], "--token"),
        (&["colab", "--token", "t", "--no-token", "--transport", "streamable-http"], "--no-token"),
        (&["colab", "--host", "no such host", "--transport", "streamable-http"], "no such host"),
        (&["colab", "--port", "1234", "--tab-port", "1235"], "--tab-port"),
    ] {
        let (code, stderr) = run(arguments).await?;
        assert_eq!(code, Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(named), "{arguments:?}: {stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn options_of_the_original_are_accepted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder_name = folder.path().to_string_lossy();
    for options in [&["--enable-proxy"][..], &["-p", "-c", "missing.json"]] {
        let arguments = [&["colab", "--no-browser", "--log", &folder_name], options].concat();
        let mut agent = Agent::start(PROGRAM, &arguments)?;
        agent.initialize("2025-11-25").await?;
        Connection::ask(&mut agent).await?;
    }
    assert!(folder.path().read_dir()?.next().is_some(), "nothing was logged");
    Ok(())
}

#[tokio::test]
async fn a_port_in_use_is_named_with_a_next_step() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port().to_string();
    for arguments in [
        &["colab", "--no-browser", "--port", &port][..],
        &["colab", "--no-browser", "--tab-port", &port],
        &["colab", "--no-browser", "--transport", "streamable-http", "--port", &port],
        &["colab", "--no-browser", "--transport", "streamable-http", "--port", "0", "--tab-port", &port],
    ] {
        let (code, stderr) = run(arguments).await?;
        assert_eq!(code, Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(&port) && stderr.contains("another port"), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn a_chosen_tab_port_is_used() -> Result<()> {
    let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    for option in ["--port", "--tab-port"] {
        let mut agent = Agent::start(PROGRAM, &["colab", "--no-browser", option, &free.to_string()])?;
        agent.initialize("2025-11-25").await?;
        assert_eq!(Connection::ask(&mut agent).await?.port, free, "{option}");
        agent.close_stdin();
        agent.wait_exit().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_an_error() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("no/such/folder/cellbridge.log");
    let (code, stderr) = run(&["colab", "--log-file", &file.to_string_lossy()]).await?;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("cellbridge.log"), "{stderr}");
    Ok(())
}
