//! The Jupyter servers that are measured with an extension, with another, and with none.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use crate::jupyter::server::Server;
use crate::jupyter::setup::READ;
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

/// Starts a server in `home`, with or without its extension, and waits until it answers.
pub(crate) fn start(
    home: PathBuf,
    software: Software<'_>,
    notebooks: Notebooks,
    is_extended: bool,
) -> Result<Server> {
    let rooms = notebooks == Notebooks::InRooms;
    let extensions = json!({
        software.extension: is_extended,
        "jupyter_server_ydoc": rooms,
        "jupyter_server_fileid": rooms || software.needs_file_ids,
    });
    let settings = json!({ "ServerApp": { "jpserver_extensions": extensions } });
    std::fs::create_dir_all(home.join("config"))?;
    std::fs::write(home.join("config/jupyter_server_config.json"), settings.to_string())?;
    let mut command = module(software.python, "jupyterlab");
    match software.site {
        Some(site) => command.env("PYTHONPATH", site),
        None => command.env_remove("PYTHONPATH"),
    };
    Server::start(command, home)
}

/// Lays out what agents read and run.
pub(crate) fn write_notebooks(server: &Server) -> Result<()> {
    std::fs::write(server.path(READ), notebook(200).to_string())?;
    for cells in RUN {
        let mut runs = notebook(cells);
        let cell = &mut runs["cells"][ADDING];
        (cell["source"], cell["outputs"]) = (json!("1+1"), json!([]));
        for agent in [INSIDE, BESIDE] {
            std::fs::write(server.path(&run_name(agent, cells)), runs.to_string())?;
        }
    }
    let large = large().to_string();
    (0..LARGE).try_for_each(|number| std::fs::write(server.path(&large_name(number)), &large))?;
    Ok(())
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
