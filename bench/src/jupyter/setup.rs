//! What the measurement of a Jupyter server needs: the server, its notebooks, and the two programs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::rest::Rest;
use super::server::Server;
use crate::local::growth;
use crate::local::setup::notebook;

/// The notebook of 200 cells.
pub(crate) const READ: &str = "two_hundred.ipynb";
/// The folders of the tree, with notebooks in each.
pub(crate) const FOLDERS: usize = 10;
const NOTEBOOKS: usize = 20;

/// A server with jupyter-collaboration, and the programs beside it.
pub(crate) struct Setup {
    pub(crate) server: Server,
    program: PathBuf,
    original: PathBuf,
}

impl Setup {
    /// Writes the notebooks, below the program's folder, and starts the server.
    pub(crate) fn prepare(program: &str, python: &str, original: &str) -> Result<Self> {
        // The servers and the programs run in the home folder.
        let (program, original) = (std::path::absolute(program)?, std::path::absolute(original)?);
        let home = program.with_file_name("bench-jupyter");
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
        let mut command = Command::new(std::path::absolute(python)?);
        command.args(["-m", "jupyterlab"]);
        let server = Server::start(command, home)?;
        Ok(Self { server, program, original })
    }

    /// Our program.
    pub(crate) fn ours(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("jupyter");
        self.server.beside(command)
    }

    /// The original. It starts fastest if it starts no kernel before it answers.
    pub(crate) fn theirs(&self, starts_kernel: bool) -> Command {
        let mut command = self.server.beside(Command::new(&self.original));
        command.args(["--start-new-code-sandbox", if starts_kernel { "true" } else { "false" }]);
        command
    }
}

/// The id of any running kernel.
pub(crate) fn any_kernel(rest: &mut Rest) -> Result<String> {
    let kernels: serde_json::Value = serde_json::from_slice(&rest.get("/api/kernels")?)?;
    Ok(kernels[0]["id"].as_str().context("no kernel runs")?.to_owned())
}
