//! A folder as a place: notebook files on disk, and kernels as processes of this machine.
//!
//! [`Folder`] implements [`place::Place`]. Nothing here reads the environment of this process: the caller passes
//! it in as [`ProcessEnv`].

mod copy;
mod environment;
mod files;
mod folder;
mod foreign;
mod held;
mod kernel_env;
mod kernelspec;
mod launch;
mod listing;
mod nearest;
mod output_capture;
mod process_env;
mod real_path;
mod replacement;
mod root;
mod stamp;
mod store;
mod temporary;
mod variables;

pub use environment::{
    ActivatedEnvironment, BrokenKernelspec, EnvironmentState, FoundEnvironment, FoundKernelspec,
    KernelInspection, ManagedState, NextKernel,
};
pub use files::{check_replaceable, replace_file};
pub use folder::Folder;
pub use foreign::{ForeignKernelInfo, RefusedFile, foreign_kernels, is_foreign_kernel};
pub use kernel_env::PackagedClient;
pub use launch::KernelKeeping;
#[cfg(unix)]
pub use launch::{Leftover, keep_from_stdin, leftovers};
pub use process_env::ProcessEnv;
pub use root::lies_in;
pub use variables::Variables;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Puts a program there, folders included, that does the steps. `examples/test_program.rs` says which there are. Returns its
    /// path, which has another ending on Windows.
    pub(crate) fn program(path: &Path, steps: &[&str]) -> PathBuf {
        let tests = std::env::current_exe().unwrap();
        let name = format!("test_program{}", std::env::consts::EXE_SUFFIX);
        // Cargo builds examples with tests, in a folder beside theirs.
        let built = tests.ancestors().nth(2).unwrap().join("examples").join(name);
        let mut program = path.as_os_str().to_owned();
        program.push(std::env::consts::EXE_SUFFIX);
        let program = PathBuf::from(program);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut list = program.clone().into_os_string();
        list.push(".steps");
        fs::write(list, steps.join("\n")).unwrap();
        // A copy: some tests write other programs to the same path.
        if !program.exists() {
            fs::copy(&built, &program).unwrap();
        }
        program
    }

    /// Whether the tests run under wine, which cannot say where files deeper than 260 characters are.
    pub(crate) fn is_wine() -> bool {
        #[expect(clippy::disallowed_methods, reason = "wine says so in the environment")]
        let prefix = std::env::var_os("WINEPREFIX");
        cfg!(windows) && prefix.is_some()
    }

    /// Writes an executable shell script, folders included.
    #[cfg(unix)]
    pub(crate) fn script(path: &Path, body: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
