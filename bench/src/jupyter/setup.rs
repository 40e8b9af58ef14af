//! What the measurement of a Jupyter server needs: the server, its notebooks, and the two programs.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::rest::{Rest, TOKEN};
use crate::local::growth;
use crate::local::setup::notebook;

/// The notebook of 200 cells.
pub(crate) const READ: &str = "two_hundred.ipynb";
/// The folders of the tree, with notebooks in each.
pub(crate) const FOLDERS: usize = 10;
const NOTEBOOKS: usize = 20;
const START: Duration = Duration::from_secs(60);

/// A server with jupyter-collaboration and a home folder for it. Dropping this ends it.
pub(crate) struct Setup {
    server: Child,
    pub(crate) port: u16,
    home: PathBuf,
    program: String,
    original: String,
}

impl Drop for Setup {
    fn drop(&mut self) {
        // Terminated, the server ends its kernels; killed, it would leave them running.
        let id = i32::try_from(self.server.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.server.wait();
    }
}

impl Setup {
    /// Writes the notebooks, below the program's folder, and starts the server.
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
        std::fs::write(root.join("baseline.ipynb"), notebook(200).to_string())?;
        for cells in growth::SIZES {
            std::fs::write(root.join(growth::name(cells)), notebook(cells).to_string())?;
        }
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
        let setup = Self { server, port, home, program: program.to_owned(), original: original.to_owned() };
        let begin = Instant::now();
        while Rest::new(port).and_then(|mut rest| rest.get("/api")).is_err() {
            if begin.elapsed() > START {
                bail!("the Jupyter server does not start; see server.log in {}", setup.home.display());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(setup)
    }

    /// Our program.
    pub(crate) fn ours(&self) -> Command {
        self.with_server(Command::new(&self.program), &["jupyter"])
    }

    /// The original. It starts fastest if it starts no kernel before it answers.
    pub(crate) fn theirs(&self, starts_kernel: bool) -> Command {
        let mut command = self.with_server(Command::new(&self.original), &[]);
        command.args(["--start-new-code-sandbox", if starts_kernel { "true" } else { "false" }]);
        command
    }

    fn with_server(&self, mut command: Command, first: &[&str]) -> Command {
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

/// Keeps the user's own Jupyter settings out of the measurement.
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

/// The id of any running kernel.
pub(crate) fn any_kernel(rest: &mut Rest) -> Result<String> {
    let kernels: serde_json::Value = serde_json::from_slice(&rest.get("/api/kernels")?)?;
    Ok(kernels[0]["id"].as_str().context("no kernel runs")?.to_owned())
}
