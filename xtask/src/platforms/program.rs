//! The program for Windows, tried from outside as agents use it, with kernels.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::chroot::Chroot;
use super::end_to_end::{EndToEnd, HERE};
use super::target::Target;
use super::wine::Wine;
use super::{SETTINGS, with_standard_library};
use crate::command;
use crate::project::Project;
use crate::test::announce;

/// Deno is one program for Windows, with a Jupyter kernel inside. npm has it.
const DENO: &str = "@deno/win32-x64@2.9.5";
const DENO_FILE: &str = "deno-win32-x64-2.9.5.tgz";

/// Builds the program and plays the tests of `e2e/windows`, and those of a folder that `e2e/windows/left_out.py` does not name.
pub(super) fn try_out(project: &Project, chroot: &Chroot, wine: &Wine<'_>) -> Result<()> {
    announce("building the program for Windows (some minutes at first)");
    let mut cargo = chroot.command("cargo");
    cargo.arg("build").args(SETTINGS);
    cargo.args(["--offline", "--locked", "--package", "cli", "--bin", "cellbridge"]);
    cargo.args(["--target", Target::Windows.triple()]);
    with_standard_library(&mut cargo, Target::Windows);
    command::run(&mut cargo)?;

    let end_to_end = EndToEnd::provide(project, chroot, "e2e")?;
    provide_deno(&end_to_end)?;
    provide_python(project, chroot, &end_to_end)?;
    let built = chroot.build_folder().join(Target::Windows.triple()).join("debug/cellbridge.exe");
    let python = [&*end_to_end.python];
    let program = end_to_end.launcher(&wine.command_in(HERE, &python, &built), "cellbridge")?;
    wine.forget()?;
    // While it runs, no test waits for the services of wine, and none of them belongs to a test.
    let mut services = wine.services(&python).spawn().context("wine does not start")?;
    let variables = [
        ("CELLBRIDGE_WINDOWS_FOLDER", end_to_end.folder.as_os_str()),
        ("CELLBRIDGE_E2E_UNDER_WINE", OsStr::new("1")),
    ];
    let result = end_to_end.play(&program, &["e2e/windows", "e2e/local", "e2e/tools"], &variables);
    services.kill().and_then(|()| services.wait()).context("wine does not end")?;
    result
}

/// Makes an environment of Python as Windows has them. Its interpreter runs that of the tests, which is one for Linux.
fn provide_python(project: &Project, chroot: &Chroot, end_to_end: &EndToEnd<'_>) -> Result<()> {
    let environment = end_to_end.folder.join("venv");
    let scripts = environment.join("Scripts");
    fs::create_dir_all(&scripts)?;
    // The program looks for the files of packages.
    for package in ["ipykernel", "pip"] {
        let package = environment.join("Lib/site-packages").join(package);
        fs::create_dir_all(&package)?;
        fs::write(package.join("__init__.py"), "")?;
    }
    fs::write(environment.join("pyvenv.cfg"), "home = Z:\\\n")?;
    let sources = project.root.join("e2e/windows/python");
    fs::copy(sources.join("python.py"), scripts.join("python.py"))?;
    let mut compiler = chroot.command("x86_64-w64-mingw32-gcc");
    compiler.args(["-O1", "-Wall", "-Werror"]);
    compiler.arg(format!("-DPYTHON=L\"{}\"", end_to_end.tests.python.display()));
    compiler.arg("-o").arg(scripts.join("python.exe")).arg(sources.join("python.c")).arg("-lws2_32");
    command::run(&mut compiler)
}

/// Downloads `deno.exe`.
fn provide_deno(end_to_end: &EndToEnd<'_>) -> Result<()> {
    let folder = &end_to_end.folder;
    if folder.join("deno.exe").is_file() {
        return Ok(());
    }
    announce("downloading Deno for Windows (42 MB)");
    let programs = &end_to_end.tests.programs;
    let mut npm = Command::new(programs.join("npm"));
    npm.args(["pack", "--silent", DENO]).current_dir(folder).stdin(Stdio::null());
    npm.env("PATH", command::path_with(programs)?).env("NODE_USE_SYSTEM_CA", "1");
    command::read(&mut npm)?;
    unpack(&folder.join(DENO_FILE), "deno.exe", folder)
}

/// Takes one file out of a package of npm.
fn unpack(package: &Path, name: &str, folder: &Path) -> Result<()> {
    let file = fs::File::open(package).with_context(|| format!("{} can't be opened", package.display()))?;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()?.ends_with(name) {
            entry.unpack(folder.join(name))?;
            return Ok(());
        }
    }
    anyhow::bail!("{} holds no {name}", package.display())
}
