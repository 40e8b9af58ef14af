//! Builds the program and the benchmarks as they are shipped, and provides the environments that they compare with.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result};
use clap::ValueEnum;

use crate::dist::Workshop;
use crate::project::Project;
use crate::{command, provision, startup};

/// The profile of what is shipped.
const PROFILE: &str = "dist";

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Subject {
    /// Calls, and bytes that a model writes and reads, of ten tasks, beside jupyter-mcp-server, and of two days; `--days` counts
    /// these alone, `--beside PROGRAM` with another build, too
    Calls,
    /// Start, memory, calls and a large result of `cellbridge colab`
    Colab,
    /// The tools at a Jupyter server's /mcp, beside jupyter-mcp-server's and both programs on stdio
    Extension,
    /// From nothing to a first answered tool call by uvx, beside jupyter-mcp-server; wants what `cargo xtask dist` makes
    FirstCall,
    /// What the record of changes costs edits, and how long a long history takes to be read
    History,
    /// Whether marks of stale cells, their reruns and verifications are right, on notebooks that come with packages
    Judgement,
    /// The tools of `cellbridge jupyter`, beside jupyter-mcp-server on the same server
    Jupyter,
    /// Start, memory, executions and files of `cellbridge`, beside Python's blocking client
    Local,
    /// Questions about the memory of a kernel, beside other ways to ask it, in a folder and on a Jupyter server
    State,
    /// What `cellbridge verify` adds to the time of the cells, beside `jupyter execute`
    Verify,
    /// The first paint of large notebooks on the page of `cellbridge view`, and the memory of the process that serves it
    View,
}

pub(crate) fn run(subject: Subject, options: &[String]) -> Result<()> {
    let project = Project::find()?;
    match subject {
        Subject::Calls => count_calls(&project, options),
        Subject::FirstCall => first_call(&project),
        Subject::History => compare_records(&project),
        Subject::Judgement => judge(&project, options),
        Subject::State => ask_about_memory(&project),
        Subject::Verify => rerun_notebooks(&project),
        Subject::View => open_notebooks(&project),
        Subject::Colab => measure(&project, "colab", &[]),
        Subject::Local => {
            let environment = provision::environment(&project)?;
            measure(&project, "local", &[environment.python.as_os_str()])
        }
        Subject::Jupyter => {
            let server = provision::collaboration_server(&project)?;
            let original = provision::original(&project)?.programs.join("jupyter-mcp-server");
            measure(&project, "jupyter", &[server.python.as_os_str(), original.as_os_str()])
        }
        Subject::Extension => {
            let server = provision::collaboration_server(&project)?;
            let original = provision::original(&project)?;
            let package = install_package(&project)?;
            let arguments = [server.python.as_os_str(), package.as_os_str(), original.python.as_os_str()];
            measure(&project, "extension", &arguments)
        }
    }
}

/// The program as it is shipped.
fn shipped(project: &Project, further: &[&str]) -> Result<PathBuf> {
    let mut build = project.cargo();
    build.args(["build", "--locked", "--profile", PROFILE, "--package", "cli"]).args(further);
    startup::order(project, &mut build)?;
    command::run(&mut build)?;
    Ok(project.target.join(PROFILE).join("cellbridge"))
}

fn measure(project: &Project, subject: &str, arguments: &[&OsStr]) -> Result<()> {
    let program = shipped(project, &["--package", "bench"])?;
    let mut bench = project.command(program.with_file_name("bench"));
    command::run(bench.arg(subject).arg(program).args(arguments))
}

/// Counts instead of measuring times, so the program is built as the tests build it.
fn count_calls(project: &Project, options: &[String]) -> Result<()> {
    let environment = provision::environment(project)?;
    let server = provision::collaboration_server(project)?;
    let original = provision::original(project)?.programs.join("jupyter-mcp-server");
    project.build(&["--bin", "cellbridge"])?;
    let mut bench = environment.module(project, "bench.calls")?;
    bench
        .args([project.built("cellbridge"), original])
        .args(options)
        .env("CELLBRIDGE_E2E_JUPYTER_RTC", server.python);
    command::run(&mut bench)
}

/// The same program records in one folder and not in the other.
fn compare_records(project: &Project) -> Result<()> {
    let environment = provision::environment(project)?;
    let mut bench = environment.module(project, "bench.history")?;
    command::run(bench.arg(shipped(project, &[])?))
}

/// Asks kernels through Python's own client, too, so that it is Python.
fn ask_about_memory(project: &Project) -> Result<()> {
    let environment = provision::environment(project)?;
    let server = provision::collaboration_server(project)?;
    let mut bench = environment.module(project, "bench.state")?;
    bench.arg(shipped(project, &[])?).env("CELLBRIDGE_E2E_JUPYTER_RTC", server.python);
    command::run(&mut bench)
}

/// The environment has the packages that the notebooks use; what is downloaded and reported stays below the target folder.
fn judge(project: &Project, options: &[String]) -> Result<()> {
    let environment = provision::judgement(project)?;
    let folder = project.target.join("judgement");
    let mut bench = environment.module(project, "bench.judgement")?;
    bench.arg(shipped(project, &[])?);
    bench.args([folder.join("cache"), folder.join("report.json")]).args(options);
    command::run(&mut bench)
}

/// `jupyter execute` comes with a Jupyter server, whose Python then runs all cells.
fn rerun_notebooks(project: &Project) -> Result<()> {
    let environment = provision::environment(project)?;
    let server = provision::collaboration_server(project)?;
    let mut bench = environment.module(project, "bench.verify")?;
    bench.arg(shipped(project, &[])?).env("CELLBRIDGE_E2E_JUPYTER_RTC", server.python);
    command::run(&mut bench)
}

/// In Chromium, as a person opens them.
fn open_notebooks(project: &Project) -> Result<()> {
    let environment = provision::environment(project)?;
    let chromium = provision::chromium()?;
    let mut bench = environment.module(project, "bench.view")?;
    bench.arg(shipped(project, &[])?).env("CELLBRIDGE_CHROMIUM", chromium);
    command::run(&mut bench)
}

/// Runs our finished wheel and the original as a person does who has only uv.
fn first_call(project: &Project) -> Result<()> {
    let environment = provision::environment(project)?;
    let server = provision::collaboration_server(project)?;
    let workshop = Workshop::find()?;
    let mut bench = environment.module(project, "bench.first_call")?;
    bench.arg(workshop.uv()).arg(workshop.wheel()?).env("CELLBRIDGE_E2E_JUPYTER_RTC", server.python);
    command::run(&mut bench)
}

/// Builds the Python package and installs it into a folder of its own: the servers' environments hold the tests' debug
/// build.
fn install_package(project: &Project) -> Result<PathBuf> {
    let tests = provision::environment(project)?;
    let folder = project.target.join("bench-wheel");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("{} can't be removed", folder.display()))?;
    }
    let options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--target"];
    command::run(
        project
            .command(&tests.python)
            .args(["-m", "pip", "install"])
            .args(options)
            .args([folder.as_os_str(), OsStr::new(".")])
            .env("PATH", command::path_with(&tests.programs)?)
            .env("CARGO_TARGET_DIR", &project.target)
            .env("CELLBRIDGE_PROFILE", PROFILE)
            .stdin(Stdio::null()),
    )?;
    Ok(folder)
}
