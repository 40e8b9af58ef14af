//! `cellbridge doctor` on machines with planted faults. Real Jupyter servers are in `e2e/jupyter/test_doctor.py`.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use testkit::{Agent, Connection, Tab, silent, within};

use crate::bridge::PROGRAM;

const CHECKS: [&str; 6] = ["kernels", "servers", "colab", "clients", "state", "limits"];

/// A person's machine: a home, a folder to work in, and nothing on `PATH` but what a test puts there.
struct Machine {
    folder: TempDir,
    variables: BTreeMap<&'static str, String>,
}

struct Finding {
    check: String,
    status: String,
    subject: String,
    message: String,
    fix: Option<String>,
}

struct Report {
    code: Option<i32>,
    findings: Vec<Finding>,
}

impl Machine {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name).display().to_string();
        for name in ["home", "root", "tmp", "bin"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let variables = [
            ("HOME", "home"),
            ("PATH", "bin"),
            ("TMPDIR", "tmp"),
            ("XDG_CACHE_HOME", "home/cache"),
            ("XDG_CONFIG_HOME", "home/config"),
            ("XDG_DATA_HOME", "home/data"),
            ("XDG_STATE_HOME", "home/state"),
            // Found before those of the system.
            ("JUPYTER_PATH", "jupyter"),
        ];
        let variables = variables.map(|(name, path)| (name, at(path))).into();
        Ok(Self { folder, variables })
    }

    /// A machine with a kernel, on which nothing is wrong that a test can plant.
    fn with_kernel() -> Result<Self> {
        let machine = Self::new()?;
        machine.environment("root/.venv", true)?;
        Ok(machine)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn set(&mut self, name: &'static str, value: impl Into<String>) -> &mut Self {
        self.variables.insert(name, value.into());
        self
    }

    fn write(&self, path: &str, text: &str, mode: u32) -> Result<PathBuf> {
        let path = self.at(path);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        Ok(path)
    }

    /// A virtual environment.
    fn environment(&self, prefix: &str, has_kernel: bool) -> Result<PathBuf> {
        let python = self.write(&format!("{prefix}/bin/python"), "#!/bin/sh\nexit 1\n", 0o755)?;
        self.write(&format!("{prefix}/pyvenv.cfg"), "home = /usr/bin\n", 0o644)?;
        if has_kernel {
            let package = format!("{prefix}/lib/python3.12/site-packages/ipykernel/__init__.py");
            self.write(&package, "", 0o644)?;
        }
        Ok(python)
    }

    /// The file by which a Jupyter server says that it runs.
    fn server(&self, name: &str, pid: u32, port: u16) -> Result<PathBuf> {
        let text = format!(
            r#"{{"pid": {pid}, "url": "http://127.0.0.1:{port}/", "token": "hush-of-the-file", "root_dir": "/work",
                "password": false}}"#
        );
        self.write(&format!("home/data/jupyter/runtime/{name}"), &text, 0o600)
    }

    fn output(&self, arguments: &[&str]) -> Result<Output> {
        Ok(self.command(PROGRAM).arg("doctor").args(arguments).output()?)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.variables).current_dir(self.at("root"));
        command
    }

    fn report(&self, arguments: &[&str]) -> Result<Report> {
        Report::read(&self.output(&[arguments, &["--json"]].concat())?)
    }
}

impl Report {
    fn read(output: &Output) -> Result<Self> {
        let list: Vec<BTreeMap<String, Value>> =
            serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
        ensure!(output.stderr.is_empty(), "{output:?}");
        let findings = list.into_iter().map(|mut object| {
            let mut take = |key: &str| object.remove(key).with_context(|| format!("no {key}"));
            let text = |value: Value| value.as_str().map(str::to_owned).context("no text");
            let finding = Finding {
                check: text(take("check")?)?,
                status: text(take("status")?)?,
                subject: text(take("subject")?)?,
                message: text(take("message")?)?,
                fix: take("fix")?.as_str().map(str::to_owned),
            };
            ensure!(object.is_empty(), "{object:?}");
            Ok(finding)
        });
        Ok(Self { code: output.status.code(), findings: findings.collect::<Result<_>>()? })
    }

    fn lines(&self) -> String {
        let line = |it: &Finding| format!("{} {} {}: {}\n", it.check, it.status, it.subject, it.message);
        self.findings.iter().map(line).collect()
    }

    /// The one finding of this status whose subject or message holds `part`.
    fn find(&self, check: &str, status: &str, part: &str) -> Result<&Finding> {
        let holds = |it: &&Finding| {
            it.check == check
                && it.status == status
                && (it.subject.contains(part) || it.message.contains(part))
        };
        let found: Vec<&Finding> = self.findings.iter().filter(holds).collect();
        ensure!(found.len() == 1, "{check} {status} {part:?} in\n{}", self.lines());
        Ok(found[0])
    }

    fn fix(&self, check: &str, status: &str, part: &str) -> Result<&str> {
        self.find(check, status, part)?.fix.as_deref().with_context(|| format!("no fix in\n{}", self.lines()))
    }
}

/// Runs a fix as a person does, with the programs of the system.
fn obey(fix: &str) -> Result<()> {
    ensure!(Command::new("sh").args(["-c", fix]).status()?.success(), "{fix}");
    Ok(())
}

fn make_old(path: &Path) -> Result<()> {
    let earlier = SystemTime::now() - Duration::from_secs(3600);
    Ok(fs::File::open(path)?.set_modified(earlier)?)
}

/// The id of a process that has ended.
fn ended_pid() -> Result<u32> {
    let mut child = Command::new("true").spawn()?;
    child.wait()?;
    Ok(child.id())
}

fn mode(path: &Path) -> Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o777)
}

#[test]
fn an_empty_home_without_python_is_looked_at_and_left_empty() -> Result<()> {
    let machine = Machine::new()?;
    let report = machine.report(&[])?;
    // The system may have kernels of other languages.
    let next = report.findings.iter().find(|it| it.subject == "new notebook").context("no next kernel")?;
    assert!(next.message.contains("neither uv nor a Python"), "{}", report.lines());
    assert_eq!(report.code, Some(i32::from(next.status == "error")), "{}", report.lines());
    for check in CHECKS {
        assert!(report.findings.iter().any(|it| it.check == check), "{check} in\n{}", report.lines());
    }
    assert!(report.findings.iter().all(|it| !it.message.contains('\n')));
    for folder in ["home", "root", "tmp"] {
        assert_eq!(machine.at(folder).read_dir()?.count(), 0, "{folder} is not empty");
    }
    Ok(())
}

#[test]
fn without_errors_the_exit_status_is_zero_and_the_text_ends_with_a_summary() -> Result<()> {
    let machine = Machine::with_kernel()?;
    let output = machine.output(&[])?;
    let text = String::from_utf8(output.stdout)?;
    assert_eq!(output.status.code(), Some(0), "{text}");
    let python = machine.at("root/.venv/bin/python").canonicalize()?;
    assert!(text.contains(&format!("which is {}", python.display())), "{text}");
    assert!(text.lines().last().is_some_and(|line| line.starts_with("no errors, ")), "{text}");
    Ok(())
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error() -> Result<()> {
    let machine = Machine::with_kernel()?;
    let report = machine.report(&["--root", "no/such/folder"])?;
    report.find("kernels", "error", "no/such/folder cannot be opened")?;
    assert_eq!(report.code, Some(1));
    Ok(())
}

#[test]
fn kernels_that_are_not_used_say_why() -> Result<()> {
    let machine = Machine::new()?;
    machine.environment("root/.venv", false)?;
    let broken = machine.environment("root/venv", true)?;
    fs::remove_file(&broken)?;
    symlink("/no/such/python", &broken)?;
    machine.write("bin/python3", "#!/bin/sh\necho '3.12 0'\necho /opt/python\n", 0o755)?;
    let spec = |argv: &str| format!(r#"{{"argv": {argv}, "display_name": "K", "language": "python"}}"#);
    machine.write("jupyter/kernels/gone/kernel.json", &spec(r#"["/no/such/kernel"]"#), 0o644)?;
    let bare = spec(r#"["python3", "-m", "ipykernel_launcher"]"#);
    machine.write("jupyter/kernels/bare/kernel.json", &bare, 0o644)?;
    machine.write("jupyter/kernels/torn/kernel.json", "{", 0o644)?;
    let report = machine.report(&[])?;
    let root = machine.at("root").canonicalize()?;
    let install = |python: &Path| format!("{} -m pip install ipykernel", python.display());
    let fix = report.fix("kernels", "warning", "root/.venv")?;
    assert_eq!(fix, install(&root.join(".venv/bin/python")));
    assert!(report.fix("kernels", "warning", "root/venv")?.contains("venv --clear"));
    assert_eq!(report.fix("kernels", "warning", "kernelspec bare")?, install(&machine.at("bin/python3")));
    assert_eq!(report.fix("kernels", "warning", "kernelspec gone")?, "jupyter kernelspec remove gone");
    report.find("kernels", "warning", "torn/kernel.json")?;
    Ok(())
}

#[test]
fn an_activated_environment_that_clients_hide_is_found_and_the_fix_works() -> Result<()> {
    let mut machine = Machine::new()?;
    let python = machine.environment("active", true)?;
    let prefix = machine.at("active").display().to_string();
    machine.set("VIRTUAL_ENV", prefix.clone());
    let report = machine.report(&[])?;
    report.find("kernels", "ok", &format!("which is {}.", python.display()))?;
    let fix = report.fix("kernels", "warning", "Clients that do not pass on")?.to_owned();
    obey(&fix)?;
    let report = machine.report(&[])?;
    assert!(!report.lines().contains("Clients that do not pass on"), "{}", report.lines());
    // The same without the variable, as a client starts the server.
    machine.variables.remove("VIRTUAL_ENV");
    machine.report(&[])?.find("kernels", "ok", "root/.venv/bin/python.")?;
    Ok(())
}

#[test]
fn an_activated_environment_without_a_kernel_says_what_to_install() -> Result<()> {
    let mut machine = Machine::with_kernel()?;
    let python = machine.environment("active", false)?;
    machine.set("VIRTUAL_ENV", machine.at("active").display().to_string());
    machine.set("CONDA_PREFIX", machine.at("gone").display().to_string());
    let report = machine.report(&[])?;
    let fix = report.fix("kernels", "warning", "VIRTUAL_ENV")?;
    assert_eq!(fix, format!("{} -m pip install ipykernel", python.display()));
    report.find("kernels", "warning", "CONDA_PREFIX")?;
    assert_eq!(report.code, Some(0), "warnings are no errors");
    Ok(())
}

#[test]
fn servers_that_cannot_be_used_are_named_and_no_token_is_printed() -> Result<()> {
    let mut machine = Machine::with_kernel()?;
    let stale = machine.server("jpserver-1.json", ended_pid()?, 1)?;
    // Its port is free again.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    machine.server("jpserver-2.json", std::process::id(), port)?;
    // It accepts connections and stays silent.
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let file = machine.server("jpserver-3.json", std::process::id(), silent.local_addr()?.port())?;
    let report = machine.report(&[])?;
    report.find("servers", "warning", &format!("127.0.0.1:{port}/"))?;
    let late = report.find("servers", "warning", &format!("{}/", silent.local_addr()?))?;
    assert!(late.message.contains("did not answer"), "{}", late.message);
    assert_eq!(report.fix("servers", "warning", "jpserver-1.json")?, format!("rm {}", stale.display()));
    assert_eq!(report.code, Some(0), "{}", report.lines());

    fs::remove_file(file)?;
    machine.set("JUPYTER_TOKEN", "hush-of-the-variable");
    for arguments in [&["--jupyter-url", &format!("http://127.0.0.1:{port}/?token=hush-of-the-url")][..], &[]]
    {
        for json in [&["--json"][..], &[]] {
            let output = machine.output(&[arguments, json].concat())?;
            let text = format!("{output:?}");
            assert!(!text.contains("hush"), "{text}");
            assert_eq!(output.status.code(), Some(i32::from(!arguments.is_empty())), "{text}");
        }
    }
    let report = machine.report(&["--jupyter-url", "ftp://x"])?;
    report.find("servers", "error", "--jupyter-url")?;
    Ok(())
}

#[test]
fn a_taken_port_and_a_missing_browser_are_named() -> Result<()> {
    let mut machine = Machine::with_kernel()?;
    machine.set("BROWSER", "no-such-browser %s");
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port().to_string();
    let report = machine.report(&["--tab-port", &port])?;
    report.find("colab", "error", &format!("port {port} on 127.0.0.1 is in use"))?;
    report.find("colab", "warning", "no-such-browser")?;
    assert_eq!(report.code, Some(1));
    machine.write("bin/my-browser", "#!/bin/sh\n", 0o755)?;
    machine.set("BROWSER", "my-browser %s");
    let report = machine.report(&[])?;
    report.find("colab", "ok", "bin/my-browser opens it")?;
    report.find("colab", "ok", "A port can be opened on 127.0.0.1")?;
    Ok(())
}

#[tokio::test]
async fn the_last_attempt_to_connect_a_tab_is_told() -> Result<()> {
    let machine = Machine::with_kernel()?;
    machine.report(&[])?.find("colab", "ok", "No browser has tried to connect yet")?;
    let state = machine.at("home/state").display().to_string();
    let variables = [("XDG_STATE_HOME", state.as_str())];
    let mut agent = Agent::start_with(PROGRAM, &["colab", "--no-browser"], &variables)?;
    agent.initialize("2025-11-25").await?;
    let connection = Connection::ask(&mut agent).await?;
    let until_found = |status: &'static str, part: &'static str| {
        let machine = &machine;
        within(part, async move {
            // The program writes it as soon as it can.
            while machine.report(&[])?.find("colab", status, part).is_err() {
                tokio::task::yield_now().await;
            }
            anyhow::Ok(())
        })
    };
    drop(silent(connection.port).await?);
    until_found("warning", "closed the connection without sending anything").await??;
    let foreign = Connection { token: "another".to_owned(), ..connection.clone() };
    assert!(Tab::connect(&foreign).await.is_err());
    until_found("warning", "Just now: A browser was refused: ").await??;
    let _tab = Tab::connect(&connection).await?;
    until_found("ok", "Just now: A tab connected.").await??;
    let file = machine.at("home/state/cellbridge/colab-attempt.json");
    assert_eq!(mode(&file)?, 0o600);
    assert!(!fs::read_to_string(&file)?.contains(&connection.token));
    // What cannot be read is as good as nothing.
    fs::write(&file, "{")?;
    machine.report(&[])?.find("colab", "ok", "No browser has tried to connect yet")?;
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_machine_without_a_display_opens_no_browser() -> Result<()> {
    let mut machine = Machine::with_kernel()?;
    machine.write("bin/xdg-open", "#!/bin/sh\n", 0o755)?;
    machine.report(&[])?.find("colab", "warning", "There is no display (DISPLAY")?;
    machine.set("SSH_CONNECTION", "::1 1 ::1 22");
    machine.report(&[])?.find("colab", "warning", "ssh -L")?;
    machine.set("DISPLAY", ":0");
    machine.report(&[])?.find("colab", "ok", "xdg-open opens it")?;
    machine.report(&["--no-browser"])?.find("colab", "ok", "No browser is opened")?;
    Ok(())
}

#[test]
fn state_that_others_can_read_is_fixed() -> Result<()> {
    let machine = Machine::with_kernel()?;
    let open = machine.write("home/state/cellbridge/record.json", "{}", 0o644)?;
    machine.write("home/data/cellbridge/python/lib/x.py", "x", 0o644)?;
    let report = machine.report(&[])?;
    let fix = report.fix("state", "warning", "record.json")?;
    assert_eq!(fix, format!("chmod go-rwx {}", open.display()));
    assert_eq!(mode(&open)?, 0o644, "without --fix nothing changes");
    report.find("state", "ok", "data")?;
    let fixed = machine.report(&["--fix"])?;
    assert!(fixed.find("state", "ok", "record.json")?.message.starts_with("Fixed"));
    assert_eq!(mode(&open)?, 0o600);
    assert!(!machine.report(&[])?.lines().contains("record.json"));
    Ok(())
}

#[test]
fn keys_of_jupyter_that_others_can_read_are_named_and_left_alone() -> Result<()> {
    let machine = Machine::with_kernel()?;
    let file = machine.write("home/data/jupyter/runtime/kernel-1.json", r#"{"key": "k"}"#, 0o644)?;
    fs::set_permissions(file.parent().context("no folder")?, fs::Permissions::from_mode(0o755))?;
    let report = machine.report(&["--fix"])?;
    let fix = report.fix("state", "warning", "kernel-1.json")?;
    assert_eq!(mode(&file)?, 0o644);
    obey(fix)?;
    assert_eq!(mode(&file)?, 0o600);
    Ok(())
}

#[test]
fn what_ended_kernels_left_behind_is_removed_by_fix_and_nothing_else() -> Result<()> {
    let machine = Machine::with_kernel()?;
    let connection = |id: &str, ip: &Path| -> Result<PathBuf> {
        let text = format!(
            r#"{{"transport": "ipc", "ip": "{}", "shell_port": 1, "iopub_port": 2, "stdin_port": 3,
                "control_port": 4, "hb_port": 5, "key": "k", "signature_scheme": "hmac-sha256"}}"#,
            ip.display()
        );
        let path = machine.write(&format!("home/data/jupyter/runtime/kernel-{id}.json"), &text, 0o600)?;
        make_old(&path)?;
        Ok(path)
    };
    let sockets = |name: &str| -> Result<(PathBuf, UnixListener)> {
        let folder = machine.at("tmp").join(name);
        fs::create_dir(&folder)?;
        let listener = UnixListener::bind(folder.join("k-1"))?;
        make_old(&folder)?;
        Ok((folder, listener))
    };
    let (dead, _) = sockets("cellbridge-dead")?;
    let (alive, _listener) = sockets("cellbridge-alive")?;
    let files = [connection("dead", &dead.join("k"))?, connection("alive", &alive.join("k"))?];
    let theirs = connection("theirs", Path::new("/no/such/other/k"))?;
    machine.report(&[])?.find("state", "warning", "kernel-dead.json and 1 more")?;
    assert!(dead.exists());
    machine.report(&["--fix"])?.find("state", "ok", "kernel-dead.json and 1 more")?;
    assert!(!dead.exists() && !files[0].exists());
    assert!(alive.exists() && files[1].exists() && theirs.exists());
    Ok(())
}

#[test]
fn clients_are_asked_for_what_they_start() -> Result<()> {
    let machine = Machine::with_kernel()?;
    let entry = |command: &str| format!(r#"{{"mcpServers": {{"cellbridge": {{"command": {command:?}}}}}}}"#);
    machine.write(
        "home/.codex/config.toml",
        &format!("[mcp_servers.cellbridge]\ncommand = {PROGRAM:?}\nargs = [\"--no-browser\"]\n"),
        0o600,
    )?;
    machine.write("home/.cursor/mcp.json", &entry("/no/such/cellbridge"), 0o600)?;
    let failing =
        machine.write("bin/failing", "#!/bin/sh\necho 'the disk is on fire' >&2\nexit 3\n", 0o755)?;
    machine.write("home/.kiro/settings/mcp.json", &entry(&failing.display().to_string()), 0o600)?;
    machine.write("home/.gemini/settings.json", "{ not JSON", 0o600)?;
    machine.write(
        "home/.copilot/mcp-config.json",
        r#"{"mcpServers": {"cellbridge": {"type": "http", "url": "http://127.0.0.1:9/mcp?token=hush"}}}"#,
        0o644,
    )?;
    let report = machine.report(&[])?;
    let version = env!("CARGO_PKG_VERSION");
    report.find("clients", "ok", &format!("It starts cellbridge {version}, which answers"))?;
    assert_eq!(report.fix("clients", "error", "Cursor")?, "cellbridge install cursor");
    assert!(report.find("clients", "error", "Kiro")?.message.contains("the disk is on fire"));
    report.find("clients", "warning", "Gemini")?;
    report.find("clients", "error", "server that does not answer")?;
    let exposed = machine.at("home/.copilot/mcp-config.json");
    assert_eq!(
        report.fix("clients", "warning", "has a token in")?,
        format!("chmod go-rwx {}", exposed.display())
    );
    assert!(!format!("{:?}", machine.output(&[])?).contains("hush"));
    assert_eq!(report.code, Some(1));
    Ok(())
}

#[test]
fn a_command_that_came_with_the_folder_is_not_started() -> Result<()> {
    let machine = Machine::with_kernel()?;
    let evil = machine.write("root/evil", "#!/bin/sh\n: > \"$HOME/was-started\"\n", 0o755)?;
    let text =
        format!(r#"{{"mcpServers": {{"cellbridge": {{"command": {:?}}}}}}}"#, evil.display().to_string());
    machine.write("root/.cursor/mcp.json", &text, 0o600)?;
    machine.report(&[])?.find("clients", "warning", "Cursor (this folder)")?;
    assert!(!machine.at("home/was-started").exists());
    machine.write("home/.cursor/mcp.json", &text, 0o600)?;
    machine.report(&[])?.find("clients", "warning", "which is in this folder")?;
    assert!(!machine.at("home/was-started").exists(), "also the person's own entry leads into the folder");
    Ok(())
}

#[test]
fn a_command_of_the_person_reads_and_imports_nothing_of_the_folder() -> Result<()> {
    let mut machine = Machine::with_kernel()?;
    // As `python -m`, `npx` and `uvx` do, it takes what is in its working directory or on its path.
    let script = "#!/bin/sh\n[ -f ./trap ] && . ./trap\nhelper\necho \"$PYTHONPATH in $PWD\" >&2\nexit 3\n";
    let server = machine.write("bin/server", script, 0o755)?;
    let trap = format!(": > {:?}\n", machine.at("home/was-started"));
    machine.write("root/trap", &trap, 0o644)?;
    machine.write("root/bin/helper", &format!("#!/bin/sh\n{trap}"), 0o755)?;
    let root = machine.at("root").display().to_string();
    machine.set("PATH", format!("{root}/bin:.:{}", machine.at("bin").display()));
    machine.set("PYTHONPATH", root);
    let text = |arguments: &str| {
        format!(r#"{{"mcpServers": {{"cellbridge": {{"command": {server:?}, "args": [{arguments}]}}}}}}"#)
    };
    machine.write("home/.cursor/mcp.json", &text(""), 0o600)?;
    let finding = machine.report(&[])?;
    let message = &finding.find("clients", "error", "did not answer initialize")?.message;
    assert!(message.ends_with("initialize: in /."), "{message}");
    machine.write("home/.cursor/mcp.json", &text(&format!("{:?}", machine.at("root/trap"))), 0o600)?;
    machine.report(&[])?.find("clients", "warning", "has a file of it as an argument")?;
    assert!(!machine.at("home/was-started").exists());
    Ok(())
}

#[test]
fn variables_of_a_package_that_kernels_do_not_inherit_are_named() -> Result<()> {
    let mut machine = Machine::with_kernel()?;
    machine.set("SNAP", "/snap/code/1").set("PYTHONHOME", "/snap/code/1/usr");
    let report = machine.report(&[])?;
    let message = &report.find("kernels", "ok", "This process runs in a snap (/snap/code/1)")?.message;
    assert!(message.contains("PYTHONHOME") && message.ends_with("--kernel-env PYTHONHOME."), "{message}");
    Ok(())
}

#[test]
fn limits_that_hurt_are_named() -> Result<()> {
    let mut machine = Machine::with_kernel()?;
    let script = format!("ulimit -n 48; exec {PROGRAM} doctor --json");
    let output = machine.command("/bin/sh").args(["-c", &script]).output()?;
    let report = Report::read(&output)?;
    report.find("limits", "error", "may open only 48 files")?;
    assert_eq!(report.code, Some(1));

    let file = machine.write("file", "", 0o600)?;
    machine.set("TMPDIR", file.display().to_string());
    let gone = machine.at("gone").display().to_string();
    machine.set("XDG_RUNTIME_DIR", format!("{gone}/run"));
    machine.set("HOME", gone);
    let report = machine.report(&[])?;
    report.find("limits", "error", "temporary folder")?;
    report.find("limits", "warning", "gone/run does not exist")?;
    report.find("limits", "error", "gone does not exist")?;
    machine.set("XDG_DATA_HOME", file.display().to_string());
    let report = machine.report(&[])?;
    report.find("limits", "error", "runtime folder")?;
    report.find("limits", "warning", "data folder")?;
    Ok(())
}

/// The sample shows a machine with these faults.
#[test]
fn the_documentation_shows_what_the_program_prints() -> Result<()> {
    let mut machine = Machine::new()?;
    // As most people have it.
    machine.variables.retain(|name, _| ["HOME", "PATH", "TMPDIR"].contains(name));
    machine.environment("root/.venv", false)?;
    let python = machine.environment("home/miniforge", true)?;
    let spec = |program: &str| {
        let argv = [program, "-m", "ipykernel_launcher", "-f", "{connection_file}"];
        format!(r#"{{"argv": {argv:?}, "display_name": "K", "language": "python"}}"#)
    };
    machine.write(
        "home/.local/share/jupyter/kernels/python3/kernel.json",
        &spec(&python.display().to_string()),
        0o644,
    )?;
    machine.write(
        "home/.local/share/jupyter/kernels/old-project/kernel.json",
        &spec("/opt/old/bin/python"),
        0o644,
    )?;
    let server = format!(r#"{{"pid": {}, "url": "http://127.0.0.1:8888/"}}"#, ended_pid()?);
    machine.write("home/.local/share/jupyter/runtime/jpserver-4711.json", &server, 0o600)?;
    machine.write("bin/firefox", "#!/bin/sh\n", 0o755)?;
    machine.set("BROWSER", "firefox");
    machine.write(
        "home/.codex/config.toml",
        &format!("[mcp_servers.cellbridge]\ncommand = {PROGRAM:?}\n"),
        0o600,
    )?;
    let entry = r#"{"mcpServers": {"cellbridge": {"command": "/opt/cellbridge/bin/cellbridge"}}}"#;
    machine.write("home/.cursor/mcp.json", entry, 0o600)?;
    machine.write("home/.local/state/cellbridge/notes.json", "{}", 0o640)?;
    let script = format!("ulimit -Sn 256; exec {PROGRAM} doctor");
    let output = machine.command("/bin/sh").args(["-c", &script]).output()?;
    let mut printed = String::from_utf8(output.stdout)?.replace(env!("CARGO_PKG_VERSION"), "0.1.0");
    for (folder, shown) in [("home", "/home/ada"), ("root", "/home/ada/project"), ("bin", "/usr/bin")] {
        // The program names the folder without links.
        let folder = machine.at(folder);
        for path in [folder.canonicalize()?, folder] {
            printed = printed.replace(&path.display().to_string(), shown);
        }
    }
    let printed: Vec<&str> = printed.lines().collect();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let page = fs::read_to_string(path)?;
    let sample =
        page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).context("no sample")?;
    assert!(sample.lines().count() > 15, "{sample}");
    for line in sample.lines() {
        // The rest depends on the machine.
        assert!(
            line == "…" || line.starts_with("1 error, ") || printed.contains(&line),
            "{line:?} in\n{}",
            printed.join("\n")
        );
    }
    Ok(())
}
