//! What the measurement of a folder needs: the folder, its notebooks, and a home folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::local::growth;
use crate::process::in_home;

/// The notebook in which code runs.
pub(crate) const NOTEBOOK: &str = "runs.ipynb";
/// The same where the kernel has a keeper.
pub(crate) const KEPT_NOTEBOOK: &str = "kept.ipynb";
const BLOCKING_CLIENT: &str = include_str!("blocking_client.py");

/// A folder below the target directory, new for each run.
pub(crate) struct Setup {
    program: String,
    python: PathBuf,
    home: PathBuf,
    /// The name of a notebook of 200 cells.
    pub(crate) read: String,
    /// The name of a notebook of 1000 cells.
    pub(crate) inserted: String,
}

impl Setup {
    /// Writes the notebooks, below the program's folder.
    pub(crate) fn prepare(program: &str, python: &str) -> Result<Self> {
        let home = Path::new(program).with_file_name("bench-local");
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        let setup = Self {
            program: program.to_owned(),
            python: python.into(),
            home,
            read: "two_hundred.ipynb".to_owned(),
            inserted: "thousand.ipynb".to_owned(),
        };
        std::fs::create_dir_all(setup.path(""))?;
        std::fs::write(setup.path(&setup.read), notebook(200).to_string())?;
        std::fs::write(setup.path(&setup.inserted), notebook(1000).to_string())?;
        for cells in growth::SIZES {
            std::fs::write(setup.path(&growth::name(cells)), notebook(cells).to_string())?;
        }
        std::fs::write(setup.home.join("blocking_client.py"), BLOCKING_CLIENT)?;
        Ok(setup)
    }

    /// A file of the folder that is served.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.join("folder").join(name)
    }

    /// The server, with the environment of `python` as the project's. Its kernels end with it.
    pub(crate) fn server(&self) -> Command {
        self.server_that_keeps("off")
    }

    /// The same with a keeper for each kernel, which ends soon if nobody asks it to.
    pub(crate) fn keeping_server(&self) -> Command {
        self.server_that_keeps("1m")
    }

    fn server_that_keeps(&self, kernels: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--no-browser", "--keep-kernels", kernels, "--root"]).arg(self.path(""));
        self.in_own_home(&mut command);
        command
    }

    /// The process of the keeper.
    pub(crate) fn keeper(&self) -> Result<u32> {
        let folders = std::fs::read_dir(self.home.join("state/cellbridge/kernels"))?;
        let mut records = folders.filter_map(|folder| Some(folder.ok()?.path().join("kernel.json")));
        let record: Value = serde_json::from_slice(&std::fs::read(records.next().context("no keeper")?)?)?;
        Ok(u32::try_from(record["process"].as_u64().context("no process")?)?)
    }

    /// Python's client for the running kernel.
    pub(crate) fn blocking_client(&self) -> Result<Command> {
        let entries = std::fs::read_dir(self.home.join("runtime")).context("no kernel has been started")?;
        let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_connection = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let connection = files.find(is_connection).context("the kernel has no connection file")?;
        let mut command = Command::new(&self.python);
        command.arg(self.home.join("blocking_client.py")).arg(connection);
        self.in_own_home(&mut command);
        Ok(command)
    }

    fn in_own_home(&self, command: &mut Command) {
        in_home(command, &self.home);
        if let Some(environment) = self.python.ancestors().nth(2) {
            command.env("VIRTUAL_ENV", environment);
        }
    }
}

/// A typical notebook: text, code, and a few lines of output.
pub(crate) fn notebook(cells: usize) -> Value {
    let cell = |index: usize| {
        let id = format!("cell-{index}");
        if index.is_multiple_of(4) {
            let source =
                format!("## Part {index}\n\nWhat the next cells are about, in a line or two of *text*.");
            return json!({ "cell_type": "markdown", "id": id, "metadata": {}, "source": source });
        }
        let source = format!(
            "values = [number ** 2 for number in range({index})]\nfor value in values[:5]:\n    print(value)"
        );
        let text = "0\n1\n4\n9\n16\n";
        let output = json!({ "output_type": "stream", "name": "stdout", "text": text });
        json!({
            "cell_type": "code", "id": id, "metadata": {}, "source": source,
            "execution_count": index, "outputs": [output],
        })
    };
    let cells: Vec<Value> = (0..cells).map(cell).collect();
    json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells })
}

/// The number of cells on disk.
pub(crate) fn cell_count(path: &Path) -> Result<usize> {
    let notebook: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    Ok(notebook["cells"].as_array().context("no cells")?.len())
}

/// How many lines of the last cell's output are the numbers from 0 on, in order.
pub(crate) fn printed_lines(path: &Path) -> Result<usize> {
    let notebook: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let cell = notebook["cells"].as_array().and_then(|cells| cells.last()).context("no cells")?;
    let texts = cell["outputs"].as_array().into_iter().flatten().map(|output| &output["text"]);
    let lines: String = texts
        .flat_map(|text| match text {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().into_iter().collect::<Vec<_>>(),
        })
        .collect();
    Ok(lines.lines().enumerate().take_while(|(number, line)| number.to_string() == *line).count())
}
