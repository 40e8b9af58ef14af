//! Runs other programs, and says in one line which of them failed and how.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs to the end with our own output, and fails unless the program succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    let status = command.status().with_context(|| format!("`{line}` could not be started"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs to the end and returns what the program wrote to its standard output, trimmed.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let line = shown(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("`{line}` could not be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed ({}): {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Where a shell would find `program`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&directories).map(|directory| directory.join(&name)).find(|file| file.is_file())
}

/// Our own `PATH` with `directory` before everything else.
pub(crate) fn path_with(directory: &Path) -> Result<std::ffi::OsString> {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(directory.to_owned()).chain(std::env::split_paths(&inherited));
    std::env::join_paths(all).with_context(|| format!("{} can't be put on PATH", directory.display()))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cargo() -> Command {
        Command::new(env!("CARGO"))
    }

    #[test]
    fn a_failure_names_the_command_and_what_it_said() {
        let error = read(cargo().arg("no-such-subcommand")).unwrap_err().to_string();
        assert!(error.contains("no-such-subcommand` failed"), "{error}");
        assert!(error.contains("no such command"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program-anywhere")).unwrap_err().to_string();
        assert_eq!(error, "`no-such-program-anywhere` could not be started");
        assert_eq!(on_path("no-such-program-anywhere"), None);
    }

    #[test]
    fn the_output_comes_back_trimmed() {
        let version = read(cargo().arg("--version")).unwrap();
        assert!(version.starts_with("cargo ") && !version.ends_with('\n'), "{version}");
    }
}
