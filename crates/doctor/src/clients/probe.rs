//! Starts a configured server as a client does, and asks it who it is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

/// How long a server may take to end once its input has.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest answer, and the longest explanation on standard error, in bytes.
const MAX_ANSWER: u64 = 1 << 20;
const MAX_EXPLANATION: u64 = 16 << 10;

/// Who answered `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerInfo {
    pub(super) name: String,
    pub(super) version: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProbeError {
    NotStarted(String),
    Silent,
    /// It ended, or wrote something else; with the last line on its standard error.
    NoAnswer(String),
}

/// Where servers are started: not in the folder that agents work in, from which Python and others would import or read what is there.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub(super) folder: PathBuf,
    pub(super) variables: Vec<(OsString, OsString)>,
}

/// Waits `timeout` for the answer, and little longer for the server's end.
pub(super) async fn initialize(
    program: PathBuf,
    arguments: Vec<String>,
    surroundings: &Surroundings,
    timeout: Duration,
) -> Result<ServerInfo, ProbeError> {
    let mut server =
        start(program, arguments, surroundings).map_err(|error| ProbeError::NotStarted(error.to_string()))?;
    let asked = tokio::time::timeout(timeout, ask(&mut server)).await;
    end(&mut server).await;
    match asked {
        Ok(Some(info)) => Ok(info),
        Ok(None) => Err(ProbeError::NoAnswer(explanation(&mut server).await)),
        Err(_) => Err(ProbeError::Silent),
    }
}

fn start(program: PathBuf, arguments: Vec<String>, surroundings: &Surroundings) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&surroundings.folder)
        .env_clear()
        .envs(surroundings.variables.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // What the command starts ends with it.
    #[cfg(unix)]
    command.process_group(0);
    command.spawn()
}

/// `None` if the server's first line is no answer.
async fn ask(server: &mut Child) -> Option<ServerInfo> {
    let request = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "cellbridge doctor", "version": env!("CARGO_PKG_VERSION") },
        },
    });
    let stdin = server.stdin.as_mut()?;
    // Fails if it has ended; its standard error then says why.
    let _ = stdin.write_all(format!("{request}\n").as_bytes()).await;
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut()?.take(MAX_ANSWER)).read_line(&mut line).await.ok()?;
    let answer: Value = serde_json::from_str(&line).ok()?;
    let text = |key: &str| answer["result"]["serverInfo"][key].as_str().map(str::to_owned);
    Some(ServerInfo { name: text("name")?, version: text("version").unwrap_or_default() })
}

/// Ends a server by its input, as clients do; kills it and what it started if it does not.
async fn end(server: &mut Child) {
    #[cfg(unix)]
    let group = server.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?));
    drop(server.stdin.take());
    let _ = tokio::time::timeout(END_TIMEOUT, server.wait()).await;
    #[cfg(unix)]
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = server.start_kill();
    let _ = tokio::time::timeout(END_TIMEOUT, server.wait()).await;
}

async fn explanation(server: &mut Child) -> String {
    let Some(stderr) = server.stderr.as_mut() else { return String::new() };
    let mut text = Vec::new();
    let _ = tokio::time::timeout(END_TIMEOUT, stderr.take(MAX_EXPLANATION).read_to_end(&mut text)).await;
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> (PathBuf, Vec<String>) {
        ("/bin/sh".into(), vec!["-c".to_owned(), script.to_owned()])
    }

    #[expect(clippy::disallowed_methods, reason = "the shell of a test needs this process's variables")]
    fn surroundings() -> Surroundings {
        Surroundings { folder: "/".into(), variables: std::env::vars_os().collect() }
    }

    async fn answer_of(script: &str) -> Result<ServerInfo, ProbeError> {
        let (program, arguments) = shell(script);
        initialize(program, arguments, &surroundings(), LONG).await
    }

    #[tokio::test]
    async fn a_server_is_asked_who_it_is() {
        let script = r#"read -r line; case $line in *initialize*)
            echo '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"cellbridge","version":"1.2"}}}';; esac; cat"#;
        let info = ServerInfo { name: "cellbridge".into(), version: "1.2".into() };
        assert_eq!(answer_of(script).await, Ok(info));
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_says_why() {
        let failed = "echo first >&2; echo 'error: no such option' >&2; echo >&2; exit 2";
        assert_eq!(answer_of(failed).await, Err(ProbeError::NoAnswer("error: no such option".into())));
        assert_eq!(answer_of("echo hello").await, Err(ProbeError::NoAnswer(String::new())));
        let missing = initialize("/no/such/program".into(), Vec::new(), &surroundings(), LONG).await;
        assert!(matches!(missing, Err(ProbeError::NotStarted(_))), "{missing:?}");
    }

    #[tokio::test]
    async fn a_silent_server_is_given_up() {
        let (program, arguments) = shell("cat > /dev/null");
        let asked = initialize(program, arguments, &surroundings(), Duration::from_millis(50)).await;
        assert_eq!(asked, Err(ProbeError::Silent));
    }

    #[tokio::test]
    async fn what_a_server_has_started_ends_with_it() {
        let (program, arguments) = shell("sleep 1000 & wait");
        let mut server = start(program, arguments, &surroundings()).unwrap();
        end(&mut server).await;
        // Its standard output ends when nobody has it open any longer.
        let mut rest = Vec::new();
        let read = server.stdout.as_mut().unwrap().read_to_end(&mut rest);
        assert!(tokio::time::timeout(LONG, read).await.is_ok());
    }
}
