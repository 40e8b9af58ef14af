//! Yardsticks: what the program costs beside the least that the same job can cost.
//!
//! A measurement starts as a release build of this very task, because a debug build of the yardstick would
//! flatter the program. The bare servers that it is measured against, and the page that it talks to, are the
//! same executable again, each in a process of its own.

mod colab;
mod duration;
mod extension;
mod extension_agent;
mod extension_ground;
mod extension_memory;
mod extension_status;
mod extension_table;
mod extension_wheel;
mod jupyter;
mod jupyter_floor;
mod jupyter_ground;
mod lines;
mod local;
mod local_ground;
mod local_peers;
mod page;
mod start;
mod websocket;

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::MetadataCommand;

use crate::project::Project;
use crate::provision;

/// Runs what the arguments after `bench` name.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["colab"] => in_release("measure-colab", &[]),
        ["local"] => {
            // Its Python has a kernel, and the client that the program is measured against.
            let environment = provision::environment(&Project::find()?)?;
            in_release("measure-local", &[environment.python.as_os_str()])
        }
        ["jupyter"] => {
            let project = Project::find()?;
            let (server, original) =
                (provision::collaboration_server(&project)?, provision::original(&project)?);
            let program = original.programs.join("jupyter-mcp-server");
            in_release("measure-jupyter", &[server.python.as_os_str(), program.as_os_str()])
        }
        ["extension"] => {
            let project = Project::find()?;
            let (server, original) =
                (provision::collaboration_server(&project)?, provision::original(&project)?);
            let site = extension_wheel::provide(&project)?;
            let more = [server.python.as_os_str(), site.as_os_str(), original.python.as_os_str()];
            in_release("measure-extension", &more)
        }
        // From here on for this executable alone.
        ["measure-colab", program] => colab::measure(program),
        ["measure-local", program, python] => local::measure(program, python),
        ["measure-jupyter", program, python, original] => jupyter::measure(program, python, original),
        ["measure-extension", program, python, site, their_python] => {
            extension::measure(program, python, site, their_python)
        }
        ["floor-stdio"] => lines::echo(),
        ["floor-websocket"] => runtime()?.block_on(websocket::echo()),
        ["page", port, token] => runtime()?.block_on(page::serve(port.parse()?, token)),
        ["--help" | "-h"] => {
            println!(
                "Usage: cargo xtask bench colab|extension|jupyter|local\n\n\
                 colab  start, memory, calls and a large result of `cellbridge colab`\n\
                 extension  the tools at a server's /mcp, beside jupyter-mcp-server's and both programs on stdio\n\
                 jupyter  the tools of `cellbridge jupyter`, beside jupyter-mcp-server on the same server\n\
                 local  start, memory, executions and files of `cellbridge`, beside Python's blocking client"
            );
            Ok(())
        }
        _ => bail!("`cargo xtask bench colab`, `extension`, `jupyter` and `local` are what can be measured"),
    }
}

fn in_release(task: &str, more: &[&OsStr]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--release", "-p", "cli", "-p", "xtask"]).status()?;
    ensure!(built.success(), "the release build failed");
    let release = MetadataCommand::new().no_deps().exec()?.target_directory.join("release");
    let measured = Command::new(release.join("xtask"))
        .args(["bench", task])
        .arg(release.join("cellbridge"))
        .args(more)
        .status();
    ensure!(
        measured.context("the release build of xtask cannot be started")?.success(),
        "the measurement failed"
    );
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
