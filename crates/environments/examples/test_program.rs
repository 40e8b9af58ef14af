//! A program for tests, which does what a file beside it says, `<program>.steps`. Tests copy it, because a shell script would not
//! run everywhere.
//!
//! Each line is a step: `out TEXT`, `err TEXT`, `exit CODE`, `wait`, `stop` (as Ctrl+Z does), `note FILE` (appends the id of the
//! process), `child FILE` (starts a process that waits and notices no request to end, and notes its id), `folder`, `variable NAME`,
//! `input` (all of it), `make FILE` (an empty one, folders included) and `argument FILE` (appends the first argument). `for WORD STEP`
//! does a step if the first argument is the word, `if FILE STEP` if there is the file.
#![expect(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "it is a program")]
#![expect(clippy::disallowed_methods, reason = "it shows its folder and variables")]

use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The only argument of a process that a step `child` has started.
const WAIT: &str = "--wait";

fn main() -> Result<(), Box<dyn Error>> {
    if first_argument() == WAIT {
        stop()?;
        wait();
    }
    let mut steps = std::env::current_exe()?.into_os_string();
    steps.push(".steps");
    fs::read_to_string(steps)?.lines().try_for_each(do_step)
}

fn first_argument() -> String {
    std::env::args().nth(1).unwrap_or_default()
}

fn do_step(step: &str) -> Result<(), Box<dyn Error>> {
    let (name, value) = step.split_once(' ').unwrap_or((step, ""));
    match name {
        "out" => println!("{value}"),
        "err" => eprintln!("{value}"),
        "exit" => std::process::exit(value.parse()?),
        "wait" => wait(),
        "stop" => stop()?,
        "note" => note(value, std::process::id())?,
        "argument" => note(value, first_argument())?,
        "make" => {
            let file = Path::new(value);
            fs::create_dir_all(file.parent().ok_or("no folder")?)?;
            File::create(file)?;
        }
        "for" | "if" => {
            let (condition, step) = value.split_once(' ').ok_or("no step")?;
            let holds =
                if name == "for" { first_argument() == condition } else { Path::new(condition).exists() };
            if holds {
                do_step(step)?;
            }
        }
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
fn note(file: impl AsRef<Path>, what: impl Display) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(file)?;
    file.write_all(format!("{what}\n").as_bytes())
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
