//! Tokens appear where they must and nowhere else.

use anyhow::{Context as _, Result};
use testkit::{Agent, Connection, Endpoint, Program, Session, Signal, Tab, Upgrade, exchange};

use crate::bridge::PROGRAM;
use crate::http::tab;

const TRACE: [&str; 2] = ["--log-level", "trace"];

#[tokio::test]
async fn no_token_in_the_log_of_a_program_on_stdio() -> Result<()> {
    for to_file in [false, true] {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("cellbridge.log");
        let file_name = file.to_str().context("not UTF-8")?;
        let mut arguments = ["colab", "--no-browser"].to_vec();
        arguments.extend(TRACE);
        if to_file {
            arguments.extend(["--log-file", file_name]);
        }
        let mut agent = Agent::start(PROGRAM, &arguments)?;
        agent.initialize("2025-11-25").await?;
        let connection = Connection::ask(&mut agent).await?;
        for request in [
            Upgrade::good(&format!("/?zz=access_token={}", connection.token)),
            Upgrade::good(&format!("/{}", connection.token)),
            Upgrade::good("/").with("Authorization", &connection.token),
            Upgrade::good("/").with("Authorization", &format!("Basic {}", connection.token)),
            Upgrade::good("/").with("Authorization", &format!("Bearer {}x", connection.token)),
            Upgrade::good(&format!("/?access_token={}", connection.token)).with("Origin", &connection.token),
        ] {
            exchange([127, 0, 0, 1].into(), connection.port, &request.bytes()).await?;
        }
        let mut tab = Tab::connect(&connection).await?;
        tab.open().await?;
        tab.send_text(format!("garbage {}", connection.token)).await?;
        agent.call_tool_expecting_failure("no_such_tool", "{}").await?;
        agent.close_stdin();
        tab.wait_close().await?;
        agent.wait_exit().await?;
        let stderr = agent.program().whole_stderr().await?;
        let log = if to_file { std::fs::read_to_string(&file)? } else { stderr.clone() };
        assert!(log.lines().count() > 3, "there is nothing to look at: {log:?}");
        assert!(!log.contains(&connection.token), "{log}");
        assert!(!stderr.contains(&connection.token), "{stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn no_token_in_the_log_of_a_program_on_http() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder_name = folder.path().to_str().context("not UTF-8")?;
    let fixed = ["colab", "--no-browser", "--transport", "streamable-http", "--port", "0"];
    let rest = ["--token", "sesame-of-the-test", "--log", folder_name];
    let mut program = Program::start(PROGRAM, &[&fixed[..], &TRACE, &rest].concat(), &[])?;
    let line = program.wait_stderr("MCP endpoint").await?;
    let url = line.rsplit(' ').next().context("no URL")?;
    let endpoint = Endpoint::new(url).with_bearer("sesame-of-the-test");
    let mut tab = tab(&endpoint).await?;
    Session::open(&Endpoint::new(format!("{url}?token=sesame-of-the-test")), "2025-06-18").await?;
    assert_eq!(Endpoint::new(format!("{url}?token=sesame-of-the-tes")).post("{}", &[]).await?.status(), 401);
    program.signal(Signal::TERM)?;
    tab.wait_close().await?;
    program.wait_exit().await?;
    let mut log = program.whole_stderr().await?;
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path())? {
        log.push_str(&std::fs::read_to_string(entry?.path())?);
        files += 1;
    }
    assert!(files > 0 && log.lines().count() > 3, "there is nothing to look at: {log:?}");
    assert!(!log.contains("sesame-of-the-tes"), "{log}");
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_log_files() -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("cellbridge.log");
    let mut agent =
        Agent::start(PROGRAM, &["colab", "--no-browser", "--log-file", file.to_str().context("not UTF-8")?])?;
    agent.initialize("2025-11-25").await?;
    assert_eq!(std::fs::metadata(&file)?.permissions().mode() & 0o077, 0);
    Ok(())
}

/// As code in a kernel, which is another process of the same user.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_other_process_reads_the_secrets_in_the_environment() -> Result<()> {
    // Also where the tests run as root: without capabilities, as one of its processes in a container.
    let plain =
        if rustix::process::geteuid().is_root() { ["setpriv", "--bounding-set=-all"] } else { ["env", "--"] };
    let fixed = ["colab", "--no-browser", "--transport", "streamable-http", "--port", "0"];
    let mut server = Program::start(
        plain[0],
        &[&[plain[1], PROGRAM], &fixed[..]].concat(),
        &[("JUPYTER_TOKEN", "sesame")],
    )?;
    server.wait_stderr("MCP endpoint").await?;
    let waiting = "echo started >&2; read line";
    let mut other = Program::start(plain[0], &[plain[1], "sh", "-c", waiting], &[])?;
    other.wait_stderr("started").await?;
    for (process, is_readable) in [(&other, true), (&server, false)] {
        let file = format!("/proc/{}/environ", process.id().context("no process")?);
        let read = std::process::Command::new(plain[0]).args([plain[1], "cat", &file]).output()?;
        assert_eq!(!read.stdout.is_empty(), is_readable, "{}", String::from_utf8_lossy(&read.stderr));
    }
    Ok(())
}
