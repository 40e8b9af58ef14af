//! `install`, `uninstall` and `status`, with a home folder of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use serde_json::Value;
use tempfile::TempDir;

use crate::bridge::PROGRAM;

struct Home(TempDir);

/// What the program printed, and its exit code.
struct Printed {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Home {
    /// A home folder with some clients, and a project in it.
    fn with(folders: &[&str]) -> Result<Self> {
        let home = Self(tempfile::tempdir()?);
        for folder in folders.iter().chain(&["project"]) {
            std::fs::create_dir_all(home.path(folder))?;
        }
        Ok(home)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        Ok(std::fs::write(self.path(path), text)?)
    }

    fn run(&self, arguments: &[&str]) -> Result<Printed> {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Printed> {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env_clear().env("HOME", self.0.path()).env("PATH", "/no/such/folder");
        command.envs(variables.iter().copied()).current_dir(self.path("project")).stdin(Stdio::null());
        let output = command.output()?;
        // The paths of this run differ from those of any other, and not every build is in a folder that shows it.
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.split_inclusive('\n').filter(|line| !line.contains("is in a build folder"));
            let text: String = lines.collect();
            let program = Path::new(PROGRAM).canonicalize().unwrap_or_default().display().to_string();
            let home = self.0.path().canonicalize().unwrap_or_default().display().to_string();
            text.replace(&program, "[PROGRAM]")
                .replace(&home, "[HOME]")
                .replace(&*self.0.path().to_string_lossy(), "[HOME]")
        };
        Ok(Printed { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) })
    }

    fn json(&self, path: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.read(path))?)
    }
}

#[test]
fn it_configures_what_is_found_and_takes_it_back() -> Result<()> {
    let home = Home::with(&[".codex", ".cursor", ".config/Claude"])?;
    home.write(".codex/config.toml", "# mine\nmodel = \"x\"")?;
    let installed = home.run(&["install", "--all"])?;
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    insta::assert_snapshot!(installed.stdout);
    assert!(home.read(".codex/config.toml").contains("[mcp_servers.cellbridge]"));
    assert!(home.path(".cursor/mcp.json").exists());

    let before = home.read(".cursor/mcp.json");
    let again = home.run(&["install", "--all"])?;
    assert!(again.stdout.contains("Cursor: ~/.cursor/mcp.json is up to date"), "{}", again.stdout);
    assert_eq!(home.read(".cursor/mcp.json"), before);

    let removed = home.run(&["uninstall", "--all"])?;
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    insta::assert_snapshot!(removed.stdout);
    assert_eq!(home.read(".codex/config.toml"), "# mine\nmodel = \"x\"");
    assert!(!home.path(".cursor/mcp.json").exists());
    assert_eq!(home.path(".codex").read_dir()?.count(), 1);
    Ok(())
}

#[test]
fn options_reach_the_entry() -> Result<()> {
    let home = Home::with(&[])?;
    let options = [
        "install",
        "cursor",
        "--read-only",
        "--jupyter",
        "http://h:8888/lab?token=s3cret",
        "--",
        "--max-images",
        "2",
    ];
    let installed = home.run(&options)?;
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let entry = &home.json(".cursor/mcp.json")?["mcpServers"]["cellbridge"];
    let arguments =
        entry["args"].as_array().map(|it| it.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    let expected = ["--read-only", "--jupyter-url", "http://h:8888/", "--max-images", "2", "--root"];
    assert_eq!(arguments.unwrap_or_default()[..6], expected);
    assert_eq!(entry["env"]["JUPYTER_TOKEN"], "${env:JUPYTER_TOKEN}");
    assert!(!home.read(".cursor/mcp.json").contains("s3cret"));
    Ok(())
}

#[test]
fn a_colab_server_takes_no_folder() -> Result<()> {
    let home = Home::with(&[])?;
    assert_eq!(home.run(&["install", "cursor", "--colab"])?.code, Some(0));
    assert_eq!(
        home.json(".cursor/mcp.json")?["mcpServers"]["cellbridge"]["args"],
        serde_json::json!(["colab"])
    );
    Ok(())
}

#[test]
fn a_server_that_is_running_is_named_without_its_token() -> Result<()> {
    let home = Home::with(&[])?;
    let url = "http://127.0.0.1:4040/mcp?token=s3cret#token=s3cret";
    let installed = home.run(&["install", "claude-code", "codex", "--project", "--http", url])?;
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    insta::assert_snapshot!(format!(
        "{}\n{}\n{}",
        installed.stdout,
        home.read("project/.mcp.json"),
        home.read("project/.codex/config.toml")
    ));
    // The same server over WebSocket.
    let again = home.run(&["install", "claude-code", "--project", "--ws", "ws://127.0.0.1:4040/mcp"])?;
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let written: serde_json::Value = serde_json::from_str(&home.read("project/.mcp.json"))?;
    let entry = &written["mcpServers"]["cellbridge"];
    assert_eq!((&entry["type"], &entry["url"]), (&"ws".into(), &"ws://127.0.0.1:4040/mcp".into()));
    assert_eq!(entry["headers"]["Authorization"], "Bearer ${CELLBRIDGE_TOKEN}");
    Ok(())
}

#[test]
fn a_dry_run_shows_a_diff_and_writes_nothing() -> Result<()> {
    let home = Home::with(&[".codex"])?;
    home.write(".codex/config.toml", "# mine\n[mcp_servers.other.env]\nKEY = \"s3cret\"\n")?;
    let shown = home.run(&["install", "codex", "cursor", "--dry-run"])?;
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    insta::assert_snapshot!(shown.stdout);
    assert!(!home.read(".codex/config.toml").contains("cellbridge"));
    assert!(!home.path(".cursor").exists());
    assert!(!home.path(".local").exists());
    Ok(())
}

#[test]
fn blocks_to_paste_are_printed() -> Result<()> {
    let home = Home::with(&[])?;
    let printed = home.run(&["install", "zed", "--print", "--project"])?;
    insta::assert_snapshot!(printed.stdout);
    assert!(!home.path("project/.zed").exists());
    Ok(())
}

#[test]
fn without_a_terminal_nobody_is_asked() -> Result<()> {
    let home = Home::with(&[".codex"])?;
    for verb in ["install", "uninstall"] {
        let refused = home.run(&[verb])?;
        if verb == "install" {
            assert_eq!(refused.code, Some(2), "{}", refused.stderr);
            insta::assert_snapshot!(refused.stderr);
            home.run(&["install", "codex"])?;
        } else {
            assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        }
    }
    Ok(())
}

#[test]
fn a_broken_configuration_is_left_alone_and_the_block_is_shown() -> Result<()> {
    let home = Home::with(&[".cursor", ".codex"])?;
    home.write(".cursor/mcp.json", "{ \"mcpServers\": [")?;
    let refused = home.run(&["install", "--all"])?;
    assert_eq!(refused.code, Some(1));
    insta::assert_snapshot!(format!("{}{}", refused.stdout, refused.stderr));
    assert_eq!(home.read(".cursor/mcp.json"), "{ \"mcpServers\": [");
    Ok(())
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_written() -> Result<()> {
    let home = Home::with(&[])?;
    for (arguments, named) in [
        (&["install", "cursor", "--", "--no-such-option"][..], "--no-such-option"),
        (&["install", "cursor", "--", "--jupyter-token", "x"], "JUPYTER_TOKEN"),
        (&["install", "cursor", "--", "--token=x"], "CELLBRIDGE_TOKEN"),
        (&["install", "cursor", "--", "--runtime-token", "x"], "RUNTIME_TOKEN"),
        (&["install", "cursor", "--", "--document-password=x"], "DOCUMENT_PASSWORD"),
        (&["install", "cursor", "--", "--jupyter-url", "http://h/?token=secret@"], "JUPYTER_TOKEN"),
        (&["install", "cursor", "--", "jupyter", "h:8888/lab?token=secret@"], "JUPYTER_TOKEN"),
        (&["install", "cursor", "--http", "http://h/mcp?key=secret@"], "remove its parameter \"key\""),
        (&["install", "cursor", "--http", "ftp://h"], "--http"),
        (&["install", "cursor", "--http", "http://me:secret@h/mcp"], "password"),
        (&["install", "claude-desktop", "--project"], "no configuration in a project's folder"),
        (&["install", "claude-desktop", "--http", "http://h/mcp", "--no-token"], "no servers over HTTP"),
        (&["install", "cursor", "--ws", "ws://h/mcp"], "no servers over WebSocket"),
        (&["install", "copilot", "--http", "http://h/mcp"], "cannot refer to a token"),
        (&["install", "--all"], "no client was found"),
    ] {
        let refused = home.run(arguments)?;
        let printed = format!("{}{}", refused.stdout, refused.stderr);
        assert_eq!(refused.code, Some(1), "{arguments:?}: {printed}");
        assert!(printed.contains(named) && !printed.contains("secret@"), "{arguments:?}: {printed}");
    }
    for arguments in [&["install", "emacs"][..], &["install", "cursor", "--all"], &["install", "--no-token"]]
    {
        assert_eq!(home.run(arguments)?.code, Some(2), "{arguments:?}");
    }
    assert!(!home.path(".cursor").exists());
    Ok(())
}

#[test]
fn variables_of_clients_and_names_as_people_write_them() -> Result<()> {
    let home = Home::with(&["other"])?;
    let folder = home.path("other").display().to_string();
    let installed = home.run_with(&["install", "Claude Code"], &[("CLAUDE_CONFIG_DIR", &folder)])?;
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    assert!(home.path("other/.claude.json").exists());
    assert!(!home.path(".claude.json").exists());
    Ok(())
}

#[test]
fn status_says_what_is_found_and_what_clients_start() -> Result<()> {
    let home = Home::with(&[".codex", ".cursor", ".kiro/settings"])?;
    home.run(&["install", "codex", "goose"])?;
    home.run(&["install", "cursor", "--project"])?;
    home.write(
        ".kiro/settings/mcp.json",
        "{\"mcpServers\": {\"cellbridge\": {\"command\": \"/no/such/program\", \"disabled\": true}}}",
    )?;
    home.write(".cursor/mcp.json", "{")?;
    insta::assert_snapshot!(home.run(&["status"])?.stdout);

    let listed: Value = serde_json::from_str(&home.run(&["status", "--json"])?.stdout)?;
    let of = |id: &str| {
        listed.as_array().into_iter().flatten().find(|it| it["id"] == id).cloned().unwrap_or_default()
    };
    assert_eq!(of("codex")["user"]["command_exists"], true);
    assert_eq!(of("kiro")["user"]["command_exists"], false);
    assert_eq!(of("cursor")["project"]["configured"], true);
    assert!(of("cursor")["user"]["error"].is_string());
    assert_eq!(of("zed")["detected"], false);
    Ok(())
}
