//! The `cellbridge` command: reads the command line and puts the program together.

#![expect(clippy::print_stderr, reason = "talking to people is this crate's part")]

mod args;
mod beside;
mod demo;
mod jupyter;
mod jupyter_args;
mod logging;
mod serve;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    // Clients' configurations say "nothing" with an empty variable.
    let command = Cli::command()
        .mut_args(jupyter_args::heed_variable)
        .mut_subcommands(|command| command.mut_args(jupyter_args::heed_variable));
    let cli = Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    if let Some(Command::Colab(options)) = &cli.command
        && let Some(option) = not_built(options)
    {
        eprintln!(
            "cellbridge: {option}: running code on a Colab runtime without a tab is not built yet. Leave the option out: \
             the tools of the connected tab work without it."
        );
        return ExitCode::from(2);
    }
    // One thread: every call is a hand-over between tasks, which is quickest without a second one.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("cellbridge: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(async {
        match cli.command {
            None => serve::every_place(cli.every).await,
            Some(Command::Colab(options)) => serve::colab(*options).await,
            Some(Command::Jupyter(options)) => Box::pin(jupyter::serve(*options)).await,
            Some(Command::Demo(options)) => demo::run(options).await,
        }
    });
    // A read of standard input that is under way on a terminal cannot be ended.
    runtime.shutdown_background();
    // Whatever was under way has ended by now, and told so.
    logging::finish();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cellbridge: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The option that is given and not built, if any.
fn not_built(options: &args::Colab) -> Option<&'static str> {
    let options = [
        (options.enable_runtime, "--enable-runtime"),
        (options.client_oauth_config.is_some(), "--client-oauth-config"),
    ];
    options.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
}
