//! A program for tests, which does what a file beside it says, `<program>.steps`. Tests copy it, because a shell script would not
//! run everywhere.
//!
//! Each line is a step: `out TEXT`, `err TEXT`, `exit CODE`, `wait`, `stop` (as Ctrl+Z does), `note FILE` (appends the id of the
//! process), `child FILE` (starts a process that waits and notices no request to end, and notes its id), `folder`, `variable NAME`
//! and `input` (all of it).
#![expect(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "it is a program")]
#![expect(clippy::disallowed_methods, reason = "it shows its folder and variables")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The only argument of a process that a step `child` has started.
const WAIT: &str = "--wait";

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some(WAIT) {
        stop()?;
        wait();
    }
    let mut steps = std::env::current_exe()?.into_os_string();
    steps.push(".steps");
    for step in fs::read_to_string(steps)?.lines() {
        let (name, value) = step.split_once(' ').unwrap_or((step, ""));
        do_step(name, value)?;
    }
    Ok(())
}

fn do_step(name: &str, value: &str) -> Result<(), Box<dyn Error>> {
    match name {
        "out" => println!("{value}"),
        "err" => eprintln!("{value}"),
        "exit" => std::process::exit(value.parse()?),
        "wait" => wait(),
        "stop" => stop()?,
        "note" => note(value, std::process::id())?,
        "child" => {
            let mut child = Command::new(std::env::current_exe()?);
            child.arg(WAIT).stdin(Stdio::null());
            note(value, child.spawn()?.id())?;
        }
        "folder" => println!("{}", std::env::current_dir()?.display()),
        "variable" => println!("{value}={}", std::env::var(value).unwrap_or_default()),
        "input" => println!("input: {:?}", io::read_to_string(io::stdin())?),
        _ => return Err(format!("unknown step {name}").into()),
    }
    Ok(())
}

fn wait() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

/// At once, so that nobody reads half of a line.
fn note(file: impl AsRef<Path>, process: u32) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(file)?;
    file.write_all(format!("{process}\n").as_bytes())
}

#[cfg(unix)]
fn stop() -> io::Result<()> {
    use rustix::process::{Signal, getpid, kill_process};
    Ok(kill_process(getpid(), Signal::STOP)?)
}

/// There is nothing like it.
#[cfg(not(unix))]
fn stop() -> io::Result<()> {
    wait()
}
