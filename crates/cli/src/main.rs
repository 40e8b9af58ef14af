//! The `cellbridge` command: reads the command line and wires the crates together.

#![expect(clippy::disallowed_methods, reason = "this crate reads the environment, so that no other has to")]

mod args;
mod colab_login;
mod colab_runtime;
mod colab_subset;
mod command_session;
mod demo;
mod doctor;
mod endpoint;
mod export;
mod history;
mod install;
mod jupyter;
#[cfg(unix)]
mod keep;
mod kernels;
mod logging;
mod pager;
mod process;
mod run;
mod running_server;
mod serve;
#[cfg(test)]
mod tests;
mod verify;
mod view;

use std::process::ExitCode;

use crate::args::{Cli, Command, JupyterArgs, Verb};
use crate::process::problem;
use terminal::note;

fn main() -> ExitCode {
    #[cfg(unix)]
    if let Some(options) = args::Keep::read() {
        return keep::run(&options);
    }
    #[cfg(windows)]
    windows::inherit_standard_handles();
    #[cfg(target_os = "linux")]
    process::close_to_others();
    let cli = Cli::read();
    // One thread: a call passes through several tasks, and waking another thread for each takes longer than its work.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            note(&format!("cellbridge: cannot start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    // For `verify`, 1 and 2 are verdicts, and `run` is like it.
    let failure = if matches!(cli.command, Some(Command::Run(_) | Command::Verify(_))) { 3 } else { 1 };
    let ended = runtime.block_on(async {
        let ended = match cli.command {
            Some(Command::Doctor(options)) => return Box::pin(doctor::run(*options)).await,
            Some(Command::Run(options)) => return Box::pin(run::run(&options)).await,
            Some(Command::Verify(options)) => return Box::pin(verify::run(&options)).await,
            None => Box::pin(serve::every_place(cli.every)).await,
            Some(Command::Colab(options)) => match options.verb {
                Some(verb) => return Ok(Box::pin(colab_login::run(&verb)).await),
                None => Box::pin(serve::colab(*options)).await,
            },
            Some(Command::Jupyter(options)) => {
                let JupyterArgs { verb, start } = *options;
                match verb {
                    None => Box::pin(jupyter::serve(start)).await,
                    Some(Verb::Start(start)) => Box::pin(jupyter::serve(*start)).await,
                    Some(Verb::Connect(options)) => running_server::connect(&options).await,
                    Some(Verb::Stop(running)) => running_server::stop(&running).await,
                }
            }
            Some(Command::Kernels(options)) => kernels::run(options).await,
            Some(Command::History(options)) => history::history(&options).await,
            Some(Command::Diff(options)) => history::diff(&options).await,
            Some(Command::Undo(options)) => history::undo(&options).await,
            Some(Command::Export(options)) => Box::pin(export::run(&options)).await,
            Some(Command::View(options)) => Box::pin(view::run(options)).await,
            Some(Command::Demo(options)) => demo::run(options).await,
            Some(Command::Install(options)) => install::install(&options),
            Some(Command::Uninstall(options)) => install::uninstall(&options),
            Some(Command::Status(options)) => install::status(&options),
        };
        ended.map(|()| ExitCode::SUCCESS)
    });
    // A pending read of a terminal cannot be cancelled, so waiting for it would take until the next key.
    runtime.shutdown_background();
    logging::finish();
    match ended {
        Ok(code) => code,
        Err(error) => {
            note(&format!("cellbridge: {}", problem(&error)));
            ExitCode::from(failure)
        }
    }
}
