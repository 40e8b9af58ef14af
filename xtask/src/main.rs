//! The project's tasks. `cargo xtask test` is the one test command, the same here and in continuous integration.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a task reads the environment and reports to the person who started it"
)]

mod agent;
mod bench;
mod clients;
mod command;
mod dist;
mod docs;
mod e2e;
mod fuzz;
mod linked;
mod nextest;
mod platforms;
mod project;
mod provision;
mod site;
mod soak;
mod startup;
mod test;
mod tidy;
mod tool;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Formatting, clippy, tidy, unit and integration tests, then the end-to-end tests
    Test {
        /// Leave out the end-to-end tests
        #[arg(long)]
        fast: bool,
    },
    /// The end-to-end tests alone
    E2e {
        /// Arguments for pytest
        #[arg(last = true)]
        pytest: Vec<String>,
    },
    /// Shows what the models of Codex and Claude Code are shown of our replies
    Clients,
    /// Writes the generated parts of docs/, and checks all links
    Docs,
    /// Builds the site of docs/ below the target folder
    Site,
    /// The rules of the workspace: which crate may import which, licences, manifests
    Tidy,
    /// Runs the fuzz targets
    Fuzz {
        /// One target; without it, each in turn
        target: Option<String>,
        /// How long each target runs
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
    /// Runs a test for a time, instead of once
    Soak {
        subject: soak::Subject,
        /// How long it goes on
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
        /// Repeats a run whose test has printed this seed
        #[arg(long)]
        seed: Option<u32>,
    },
    /// Makes the packages that this machine can make
    Dist(dist::Options),
    /// Compiles the program for systems that this machine is not
    Platforms(platforms::Options),
    /// Finds the functions that a start uses, which the linker puts next to each other; wants valgrind
    Startup,
    /// Measures the program beside those that it replaces
    Bench {
        subject: bench::Subject,
        /// Options of `judgement`: `--only NAME`, `--edits COUNT`, `--parts run,plant,chosen,random`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Test { fast } => test::run(fast),
        Task::E2e { pytest } => e2e::run(&pytest, &[]),
        Task::Clients => clients::run(),
        Task::Docs => docs::write(),
        Task::Site => site::run(),
        Task::Tidy => tidy::run(),
        Task::Fuzz { target, seconds } => fuzz::run(target.as_deref(), seconds),
        Task::Soak { subject, seconds, seed } => soak::run(subject, seconds, seed),
        Task::Dist(options) => dist::run(&options),
        Task::Platforms(options) => platforms::run(&options),
        Task::Startup => startup::run(),
        Task::Bench { subject, options } => bench::run(subject, &options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
