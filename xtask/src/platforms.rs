//! `cargo xtask platforms`: compiles the program for systems that this machine is not.
//!
//! Rust's own servers are not needed: a chroot of Debian has a compiler with its sources, from which Cargo builds the standard
//! library of any target. Packages come from Debian, crates.io and `PyPI`.

mod chroot;
mod program;
mod requirements;
mod sources;
mod target;
mod wine;
mod zig;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use self::chroot::Chroot;
use self::target::Target;
use self::wine::Wine;
use crate::command;
use crate::project::Project;
use crate::test::announce;

/// The crates with code for Windows.
const TESTED_UNDER_WINE: [&str; 2] = ["windows", "local"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The system to compile for
    #[arg(value_enum)]
    system: System,
    /// Also run tests for Windows under wine, and the program with a kernel for Windows
    #[arg(long)]
    run: bool,
    /// Where the toolchain and what it builds are kept; below the target folder if this is left out
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum System {
    /// Windows on x86-64, with the libraries of MinGW
    Windows,
    /// macOS on Apple silicon
    Macos,
    /// Linux on 64-bit ARM
    Arm64,
    All,
}

impl System {
    fn targets(self) -> &'static [Target] {
        match self {
            Self::Windows => &[Target::Windows],
            Self::Macos => &[Target::Macos],
            Self::Arm64 => &[Target::Arm64],
            Self::All => &[Target::Windows, Target::Macos, Target::Arm64],
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let project = Project::find()?;
    let cache = options.cache.clone().unwrap_or_else(|| project.target.join("platforms"));
    std::fs::create_dir_all(&cache)?;
    let cache = cache.canonicalize()?;
    requirements::check(&cache)?;
    let chroot = Chroot::provide(&project, cache)?;
    announce("fetching the crates of the program and of the standard library");
    sources::fetch(&project, &chroot)?;
    for target in options.system.targets() {
        check(&project, &chroot, *target)?;
    }
    if options.run && options.system.targets().contains(&Target::Windows) {
        let wine = Wine::provide(&chroot)?;
        for package in TESTED_UNDER_WINE {
            wine.test(package)?;
        }
        program::try_out(&project, &chroot, &wine)?;
    }
    announce("done");
    Ok(())
}

/// Compiles everything that is shipped, without linking it. A warning in a crate of the workspace is an error.
fn check(project: &Project, chroot: &Chroot, target: Target) -> Result<()> {
    announce(&format!("checking for {} (some minutes at first)", target.triple()));
    let mut cargo = if target.needs_zig() { zig::cargo(project, chroot)? } else { chroot.command("cargo") };
    cargo.args(["check", "--offline", "--locked", "--keep-going", "--package", "cli", "--bins"]);
    cargo.args(["--target", target.triple()]);
    with_standard_library(&mut cargo, target);
    // Not RUSTFLAGS, which would be for the standard library, too.
    cargo.env("CARGO_BUILD_WARNINGS", "deny");
    command::run(&mut cargo)
}

/// Adds what builds the standard library, where no package has it.
fn with_standard_library(cargo: &mut Command, target: Target) {
    if !target.has_standard_library() {
        cargo.args(["-Z", "build-std=std,panic_abort"]);
    }
}
