//! `cargo xtask platforms`: compiles the program for systems that this machine is not.
//!
//! Rust's own servers are not needed: a chroot of Debian has a compiler with its sources, from which Cargo builds the standard
//! library of any target. Packages come from Debian, crates.io and `PyPI`.

mod chroot;
mod emulator;
mod end_to_end;
mod musl;
mod program;
mod requirements;
mod sources;
mod target;
mod wine;
pub(crate) mod zig;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

pub(crate) use self::chroot::Chroot;
use self::target::Target;
use self::wine::Wine;
use crate::command;
use crate::project::Project;
use crate::test::announce;

/// Settings of what is built here: it is compiled for three systems, and run for a few minutes at most.
const SETTINGS: [&str; 4] =
    ["--config", "profile.dev.debug=false", "--config", "profile.dev.package.\"*\".opt-level=0"];

/// The crates with code for Windows, and those that lock files or write them in place.
const TESTED_UNDER_WINE: [&str; 6] = ["windows", "files", "environments", "local", "operations", "jupyter"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The system to compile for
    #[arg(value_enum)]
    system: System,
    /// Also run tests and the program: for Windows under wine, for ARM under qemu, with musl as it is
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
    /// Linux without the system's C library, for example Alpine
    Musl,
    All,
}

impl System {
    fn targets(self) -> &'static [Target] {
        match self {
            Self::Windows => &[Target::Windows],
            Self::Macos => &[Target::Macos],
            Self::Arm64 => &[Target::Arm64],
            Self::Musl => &[Target::Musl],
            Self::All => &[Target::Windows, Target::Macos, Target::Arm64, Target::Musl],
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let project = Project::find()?;
    let chroot = toolchain(&project, options.cache.as_deref())?;
    for target in options.system.targets() {
        check(&project, &chroot, *target)?;
    }
    let runs = |target| options.run && options.system.targets().contains(&target);
    if runs(Target::Musl) {
        musl::try_out(&project, &chroot)?;
    }
    if runs(Target::Arm64) {
        emulator::try_out(&project, &chroot)?;
    }
    if runs(Target::Windows) {
        let wine = Wine::provide(&chroot)?;
        for package in TESTED_UNDER_WINE {
            wine.test(package)?;
        }
        program::try_out(&project, &chroot, &wine)?;
    }
    announce("done");
    Ok(())
}

/// The chroot with all that compiling needs, in `cache`, or else below the target folder.
pub(crate) fn toolchain(project: &Project, cache: Option<&Path>) -> Result<Chroot> {
    let cache = cache.map_or_else(|| project.target.join("platforms"), Path::to_path_buf);
    std::fs::create_dir_all(&cache)?;
    let cache = cache.canonicalize()?;
    requirements::check(&cache)?;
    let chroot = Chroot::provide(project, cache)?;
    announce("fetching the crates of the program and of the standard library");
    sources::fetch(project, &chroot)?;
    Ok(chroot)
}

/// Compiles the program and, where there is one, the native module of the wheel, without linking them. A warning in a crate of the
/// workspace is an error.
fn check(project: &Project, chroot: &Chroot, target: Target) -> Result<()> {
    announce(&format!("checking for {} (some minutes at first)", target.triple()));
    let mut cargo = if target.needs_zig() { zig::cargo(project, chroot)? } else { chroot.command("cargo") };
    cargo.arg("check").args(SETTINGS);
    cargo.args(["--offline", "--locked", "--keep-going"]).args(target.chosen());
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
