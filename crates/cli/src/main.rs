//! The `cellbridge` command: reads the command line and puts the program together.

#![expect(clippy::print_stderr, reason = "talking to people is this crate's part")]

mod args;
mod logging;
mod serve;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let Command::Colab(options) = Cli::parse().command;
    for (is_given, option) in [
        (options.enable_runtime, "--enable-runtime"),
        (options.client_oauth_config.is_some(), "--client-oauth-config"),
    ] {
        if is_given {
            eprintln!(
                "cellbridge: {option}: running code on a Colab runtime without a tab is not built yet. Leave the \
                 option out: the tools of the connected tab work without it."
            );
            return ExitCode::from(2);
        }
    }
    // One thread: every call is a hand-over between tasks, which is quickest without a second one.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("cellbridge: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let served = runtime.block_on(serve::colab(*options));
    // A read of standard input that is under way on a terminal cannot be ended.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cellbridge: {error:#}");
            ExitCode::FAILURE
        }
    }
}
