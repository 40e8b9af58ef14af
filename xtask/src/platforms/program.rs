//! The program for Windows, tried from outside as agents use it, with a kernel for Windows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::chroot::Chroot;
use super::target::Target;
use super::wine::Wine;
use super::with_standard_library;
use crate::project::Project;
use crate::provision::Environment;
use crate::test::announce;
use crate::{command, provision};

/// Deno is one program for Windows, with a Jupyter kernel inside. npm has it.
const DENO: &str = "@deno/win32-x64@2.9.5";
const DENO_FILE: &str = "deno-win32-x64-2.9.5.tgz";

/// Builds the program and plays the tests of `e2e/windows`.
pub(super) fn try_out(project: &Project, chroot: &Chroot, wine: &Wine<'_>) -> Result<()> {
    announce("building the program for Windows (20 minutes at first)");
    let mut cargo = chroot.command("cargo");
    cargo.args(["build", "--offline", "--locked", "--package", "cli", "--bin", "cellbridge"]);
    cargo.args(["--target", Target::Windows.triple()]);
    with_standard_library(&mut cargo, Target::Windows);
    command::run(&mut cargo)?;

    let tests = provision::environment(project)?;
    let folder = chroot.cache.join("e2e");
    provide_kernel(&tests, &folder)?;
    let built = chroot.build_folder().join(Target::Windows.triple()).join("debug/cellbridge.exe");
    let launcher = write_launcher(wine, &folder, &built)?;
    announce("end-to-end tests under wine (pytest)");
    let mut pytest = tests.module(project, "pytest")?;
    pytest.arg("-o").arg(format!("cache_dir={}", folder.join("pytest_cache").display())).arg("e2e/windows");
    command::run(pytest.env("CELLBRIDGE_BIN", launcher).env("CELLBRIDGE_WINDOWS_FOLDER", &folder))
}

/// Puts `deno.exe` into `folder`.
fn provide_kernel(tests: &Environment, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    if folder.join("deno.exe").is_file() {
        return Ok(());
    }
    announce("downloading Deno for Windows (42 MB)");
    let mut npm = Command::new(tests.programs.join("npm"));
    npm.args(["pack", "--silent", DENO]).current_dir(folder).stdin(Stdio::null());
    npm.env("PATH", command::path_with(&tests.programs)?).env("NODE_USE_SYSTEM_CA", "1");
    command::read(&mut npm)?;
    let packed = folder.join(DENO_FILE);
    let file = fs::File::open(&packed).with_context(|| format!("{} can't be opened", packed.display()))?;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()?.ends_with("deno.exe") {
            entry.unpack(folder.join("deno.exe"))?;
            return Ok(());
        }
    }
    anyhow::bail!("{} holds no deno.exe", packed.display())
}

/// A script that is the program to whoever starts it on this machine.
fn write_launcher(wine: &Wine<'_>, folder: &Path, program: &Path) -> Result<PathBuf> {
    let command = wine.command(program);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    let mut script = "#!/bin/sh\n".to_owned();
    for (name, value) in command.get_envs() {
        let value = quoted(&value.unwrap_or_default().to_string_lossy());
        script.push_str(&format!("export {}={value}\n", name.to_string_lossy()));
    }
    script.push_str(&format!("exec {} \"$@\"\n", words.join(" ")));
    let launcher = folder.join("cellbridge");
    fs::write(&launcher, script)?;
    command::run(Command::new("chmod").arg("755").arg(&launcher))?;
    Ok(launcher)
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_stay_words_of_the_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
