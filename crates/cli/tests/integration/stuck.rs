//! A client that no longer reads the output: the program must still end.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use testkit::within;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::bridge::PROGRAM;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}"#;

/// A program with more to say than its standard output holds, of which only the first line was read.
async fn stuck() -> Result<(Child, ChildStdin, BufReader<ChildStdout>)> {
    let mut child = Command::new(PROGRAM)
        .args(["colab", "--no-browser"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    let mut stdout = BufReader::new(child.stdout.take().context("no standard output")?);
    stdin.write_all(format!("{INITIALIZE}\n").as_bytes()).await?;
    within("the first answer", stdout.read_line(&mut String::new())).await??;
    for id in 2..200 {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
        stdin.write_all(line.as_bytes()).await?;
    }
    Ok((child, stdin, stdout))
}

#[tokio::test]
async fn the_end_of_input_ends_a_program_whose_output_is_not_read() -> Result<()> {
    let (mut child, stdin, _stdout) = stuck().await?;
    drop(stdin);
    assert!(within("the end", child.wait()).await??.success());
    Ok(())
}

#[tokio::test]
async fn a_signal_ends_a_program_whose_output_is_not_read() -> Result<()> {
    let (mut child, _stdin, _stdout) = stuck().await?;
    let id = i32::try_from(child.id().context("it has ended")?)?;
    kill_process(Pid::from_raw(id).context("no process id")?, Signal::TERM)?;
    assert!(within("the end", child.wait()).await??.success());
    Ok(())
}

#[tokio::test]
async fn a_closed_output_ends_the_program() -> Result<()> {
    let (mut child, _stdin, stdout) = stuck().await?;
    drop(stdout);
    assert!(within("the end", child.wait()).await??.success());
    Ok(())
}
