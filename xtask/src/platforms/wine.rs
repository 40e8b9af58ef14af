//! Runs Windows programs, as far as wine is Windows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::chroot::Chroot;
use super::target::Target;
use super::{SETTINGS, with_standard_library};
use crate::command;
use crate::test::announce;

const PACKAGES: [&str; 2] = ["wine", "wine64"];

/// Wine in the chroot, which has its own drive `C:`.
pub(super) struct Wine<'c> {
    chroot: &'c Chroot,
    prefix: PathBuf,
}

impl<'c> Wine<'c> {
    pub(super) fn provide(chroot: &'c Chroot) -> Result<Self> {
        chroot.install("usr/bin/wine", &PACKAGES)?;
        fs::create_dir_all(chroot.cache.join("home"))?;
        Ok(Self { chroot, prefix: chroot.cache.join("wine") })
    }

    /// A program for Windows, in `folder`, which sees further folders of this machine.
    pub(super) fn command_in(&self, folder: &str, further: &[&Path], program: &Path) -> Command {
        let mut command = self.chroot.command_in(folder, further, "wine");
        self.configure(command.arg(program));
        command
    }

    /// A process that keeps the services of wine running. They open the files of all programs, so they see `further` folders too.
    pub(super) fn services(&self, further: &[&Path]) -> Command {
        // By its path; otherwise wine starts it by another program, which is the one that would be ended.
        let ping = Path::new(r"C:\windows\system32\ping.exe");
        let mut command = self.command_in("/", further, ping);
        command.args(["-n", "100000", "127.0.0.1"]).stdout(Stdio::null());
        command
    }

    /// Removes what our programs have written for their user. Tests have the same paths each time, and would find the histories of
    /// their last notebooks.
    pub(super) fn forget(&self) -> Result<()> {
        for user in fs::read_dir(self.prefix.join("drive_c/users")).into_iter().flatten() {
            let folder = user?.path().join("AppData/Local/cellbridge");
            if folder.exists() {
                let cannot = || format!("{} can't be removed", folder.display());
                fs::remove_dir_all(&folder).with_context(cannot)?;
            }
        }
        Ok(())
    }

    /// Runs the tests of a crate. Those that need Unix are not compiled.
    pub(super) fn test(&self, package: &str) -> Result<()> {
        announce(&format!("running the tests of {package} under wine"));
        let cargo = |command: &str, what: &str| {
            let mut cargo = self.chroot.command("cargo");
            cargo.arg(command).args(SETTINGS);
            cargo.args(["--offline", "--locked", "--package", package, what]);
            cargo.args(["--target", Target::Windows.triple()]);
            with_standard_library(&mut cargo, Target::Windows);
            cargo
        };
        // Tests start programs that are examples, which are not built with `--lib`.
        command::run(&mut cargo("build", "--examples"))?;
        let mut cargo = cargo("test", "--lib");
        cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine");
        command::run(self.configure(&mut cargo))
    }

    fn configure<'k>(&self, command: &'k mut Command) -> &'k mut Command {
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        // Otherwise it complains on standard error.
        command.env("XDG_RUNTIME_DIR", self.chroot.cache.join("home"));
        // Neither .NET nor a browser is needed, and wine would ask to download them.
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml=d")
    }
}
