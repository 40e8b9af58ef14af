//! Measures the program against the least that the same job can cost, and against the programs that it replaces.
//!
//! `cargo xtask bench` builds this and the program in the `dist` profile, provides the Python environments, and runs it.
//! The bare servers for comparison and the Colab page are this executable again, each in a process of its own.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a tool takes arguments and prints results"
)]

mod colab;
mod extension;
mod jupyter;
mod line_client;
mod local;
mod process;
mod reply;
mod statistics;
mod websocket_echo;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["colab", program] => colab::measure(program),
        ["local", program, python] => local::measure(program, python),
        ["jupyter", program, python, original] => jupyter::measure(program, python, original),
        ["extension", program, python, site, original_python] => {
            extension::measure(program, python, site, original_python)
        }
        // Started by `colab`.
        ["echo-lines"] => line_client::echo(),
        ["echo-websocket"] => runtime()?.block_on(websocket_echo::echo()),
        ["page", port, token] => runtime()?.block_on(colab::page::serve(port.parse()?, token)),
        _ => bail!("run `cargo xtask bench --help` instead"),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
