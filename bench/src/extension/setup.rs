//! The Jupyter servers that are measured with an extension, with another, and with none.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::jupyter::rest::{Rest, TOKEN};
use crate::jupyter::setup::{READ, in_home};
use crate::local::setup::notebook;

/// The cells of the notebooks in which agents run one.
pub(crate) const RUN: [usize; 2] = [20, 200];
/// Whose they are: an agent's at `/mcp`, or one's with a program of its own.
pub(crate) const INSIDE: &str = "inside";
pub(crate) const BESIDE: &str = "beside";
/// The cell of them that adds one and one.
pub(crate) const ADDING: usize = 1;
/// How often the large notebook is there: each time it is read, it is another file.
pub(crate) const LARGE: usize = 3;
const START: Duration = Duration::from_secs(60);
const END: Duration = Duration::from_secs(20);
/// Runs a module that the system ends with this process, however this ends.
const MODULE: &str = "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(1, 15); del sys.argv[0]; \
                      runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)";

/// What a server is made of.
#[derive(Clone, Copy)]
pub(crate) struct Software<'a> {
    pub(crate) python: &'a Path,
    /// A folder of further packages.
    pub(crate) site: Option<&'a Path>,
    /// The extension that agents speak to.
    pub(crate) extension: &'a str,
    /// Whether the extension fails on a server that keeps no numbers of files.
    pub(crate) needs_file_ids: bool,
}

/// How a server keeps notebooks.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Notebooks {
    InFiles,
    /// With jupyter-collaboration.
    InRooms,
}

/// A server in a home of its own. It ends with this.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    home: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server ends its kernels when it is asked to end; killed, it would leave them.
        let id = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        if let Some(id) = id {
            let _ = kill_process(id, Signal::TERM);
        }
        let begin = Instant::now();
        while begin.elapsed() < END && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts a server in `home`, with or without its extension, and waits until it answers.
    pub(crate) fn start(
        home: PathBuf,
        software: Software<'_>,
        notebooks: Notebooks,
        is_extended: bool,
    ) -> Result<Self> {
        let rooms = notebooks == Notebooks::InRooms;
        let extensions = json!({
            software.extension: is_extended,
            "jupyter_server_ydoc": rooms,
            "jupyter_server_fileid": rooms || software.needs_file_ids,
        });
        let settings = json!({ "ServerApp": { "jpserver_extensions": extensions } });
        std::fs::create_dir_all(home.join("config"))?;
        std::fs::create_dir_all(home.join("root"))?;
        std::fs::write(home.join("config/jupyter_server_config.json"), settings.to_string())?;

        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut command = module(software.python, "jupyterlab");
        command.args(["--no-browser", "--allow-root", "--ServerApp.port_retries=0"]);
        command.arg(format!("--ServerApp.port={port}")).arg(format!("--IdentityProvider.token={TOKEN}"));
        command.arg(format!("--ServerApp.root_dir={}", home.join("root").display()));
        in_home(&mut command, &home);
        match software.site {
            Some(site) => command.env("PYTHONPATH", site),
            None => command.env_remove("PYTHONPATH"),
        };
        // jupyter-collaboration keeps a database where its server runs.
        command.current_dir(&home);
        let log = std::fs::File::create(home.join("server.log"))?;
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        let mut server = Self { process, port, home };
        let begin = Instant::now();
        while Rest::new(port).and_then(|mut rest| rest.get("/api")).is_err() {
            let log = server.home.join("server.log");
            let is_there = server.process.try_wait()?.is_none() && begin.elapsed() < START;
            ensure!(is_there, "the Jupyter server does not start; see {}", log.display());
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Lays out what agents read and run.
    pub(crate) fn write_notebooks(&self) -> Result<()> {
        std::fs::write(self.path(READ), notebook(200).to_string())?;
        for cells in RUN {
            let mut runs = notebook(cells);
            let cell = &mut runs["cells"][ADDING];
            (cell["source"], cell["outputs"]) = (json!("1+1"), json!([]));
            for agent in [INSIDE, BESIDE] {
                std::fs::write(self.path(&run_name(agent, cells)), runs.to_string())?;
            }
        }
        let large = large().to_string();
        (0..LARGE).try_for_each(|number| std::fs::write(self.path(&large_name(number)), &large))?;
        Ok(())
    }

    /// The program of an agent of this server.
    pub(crate) fn beside(&self, mut program: Command) -> Command {
        program.args(["--transport", "stdio", "--jupyter-token", TOKEN, "--jupyter-url"]);
        program.arg(format!("http://127.0.0.1:{}", self.port)).current_dir(&self.home);
        in_home(&mut program, &self.home);
        program
    }

    /// A file of the server.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.join("root").join(name)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

/// A Python module as a program.
pub(crate) fn module(python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command.args(["-c", MODULE, name]);
    command
}

/// The notebook in which an agent runs cells.
pub(crate) fn run_name(agent: &str, cells: usize) -> String {
    format!("{agent}{cells}.ipynb")
}

/// A name of the large notebook.
pub(crate) fn large_name(number: usize) -> String {
    format!("large{number}.ipynb")
}

/// 50 MB, as notebooks come to it: by pictures.
fn large() -> Value {
    const CELLS: usize = 200;
    let picture = "iVBORw0KGgo+".repeat(50_000_000 / CELLS / 12);
    let mut notebook = notebook(CELLS);
    for cell in notebook["cells"].as_array_mut().into_iter().flatten() {
        if cell["cell_type"] == "code" {
            // Three cells of four have outputs.
            let picture = format!("{picture}{}", &picture[..picture.len() / 3]);
            let data = json!({ "image/png": picture, "text/plain": "<Figure size 640x480 with 1 Axes>" });
            cell["outputs"] = json!([{ "output_type": "display_data", "metadata": {}, "data": data }]);
        }
    }
    notebook
}
