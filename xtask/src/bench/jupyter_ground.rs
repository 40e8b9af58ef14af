//! Where the measurement of a Jupyter server takes place: the server, its notebooks, and the two programs.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::jupyter_floor::Rest;
use super::local_ground::notebook;

/// The notebook of 200 cells.
pub(crate) const READ: &str = "two_hundred.ipynb";
/// The folders of the tree, with notebooks in each.
pub(crate) const FOLDERS: usize = 10;
const NOTEBOOKS: usize = 20;
/// What every server here asks its clients for.
pub(crate) const TOKEN: &str = "bench-token-for-loopback";
const START: Duration = Duration::from_secs(60);

/// A server with jupyter-collaboration, in a home of its own. It ends with this.
pub(crate) struct Ground {
    server: Child,
    pub(crate) port: u16,
    home: PathBuf,
    program: String,
    original: String,
}

impl Drop for Ground {
    fn drop(&mut self) {
        // The server ends its kernels when it is asked to end; killed, it would leave them.
        let id = i32::try_from(self.server.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.server.wait();
    }
}

impl Ground {
    /// Lays everything out beside the program and starts the server.
    pub(crate) fn prepare(program: &str, python: &str, original: &str) -> Result<Self> {
        let home = std::path::absolute(program)?.with_file_name("bench-jupyter");
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        let root = home.join("root");
        std::fs::create_dir_all(&root)?;
        std::fs::write(root.join(READ), notebook(200).to_string())?;
        std::fs::write(root.join("theirs.ipynb"), notebook(200).to_string())?;
        std::fs::write(root.join("ours.ipynb"), notebook(200).to_string())?;
        std::fs::write(root.join("floor.ipynb"), notebook(200).to_string())?;
        for folder in 0..FOLDERS {
            let folder = root.join(format!("tree/folder{folder}"));
            std::fs::create_dir_all(&folder)?;
            for index in 0..NOTEBOOKS {
                std::fs::write(folder.join(format!("n{index}.ipynb")), notebook(3).to_string())?;
            }
        }
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut command = Command::new(std::path::absolute(python)?);
        command.args(["-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port_retries=0"]);
        command.arg(format!("--ServerApp.port={port}")).arg(format!("--IdentityProvider.token={TOKEN}"));
        command.arg(format!("--ServerApp.root_dir={}", root.display()));
        in_home(&mut command, &home);
        // jupyter-collaboration keeps a database where its server runs.
        command.current_dir(&home);
        let log = std::fs::File::create(home.join("server.log"))?;
        let server = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        let ground = Self { server, port, home, program: program.to_owned(), original: original.to_owned() };
        let begin = Instant::now();
        while Rest::new(port).and_then(|mut rest| rest.get("/api")).is_err() {
            if begin.elapsed() > START {
                bail!("the Jupyter server does not start; see server.log in {}", ground.home.display());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(ground)
    }

    /// Our program.
    pub(crate) fn ours(&self) -> Command {
        self.told(Command::new(&self.program), &["jupyter"])
    }

    /// The original, told not to start a kernel before it answers; that is when it starts soonest.
    pub(crate) fn theirs(&self, starts_kernel: bool) -> Command {
        let mut command = self.told(Command::new(&self.original), &[]);
        command.args(["--start-new-code-sandbox", if starts_kernel { "true" } else { "false" }]);
        command
    }

    fn told(&self, mut command: Command, first: &[&str]) -> Command {
        command.args(first).args(["--transport", "stdio", "--jupyter-token", TOKEN, "--jupyter-url"]);
        command.arg(format!("http://127.0.0.1:{}", self.port));
        in_home(&mut command, &self.home);
        command
    }

    /// A file of the server.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.join("root").join(name)
    }
}

/// The token that the server wants.
pub(crate) fn authorization() -> String {
    format!("token {TOKEN}")
}

/// What the person has set up for Jupyter plays no part.
pub(crate) fn in_home(command: &mut Command, home: &Path) {
    for (name, folder) in [
        ("HOME", "home"),
        ("IPYTHONDIR", "ipython"),
        ("JUPYTER_CONFIG_DIR", "config"),
        ("JUPYTER_DATA_DIR", "data"),
        ("JUPYTER_RUNTIME_DIR", "runtime"),
    ] {
        command.env(name, home.join(folder));
    }
    command.env_remove("JUPYTER_PATH");
}

/// The id of a kernel that runs.
pub(crate) fn some_kernel(rest: &mut Rest) -> Result<String> {
    let kernels: serde_json::Value = serde_json::from_slice(&rest.get("/api/kernels")?)?;
    Ok(kernels[0]["id"].as_str().context("no kernel runs")?.to_owned())
}
