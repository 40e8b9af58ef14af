//! What the files of a Python say about it, without starting it.

use std::fs;
use std::path::{Path, PathBuf};

use files::canonicalize;

use crate::ProcessEnv;
use crate::python::{InterpreterInfo, Packages, Version};
use crate::venv::Environment;

/// What can be said of a Python that must not be started; `None` if its files do not tell which one it is.
pub(super) fn info(interpreter: &Path, process_env: &ProcessEnv) -> Option<InterpreterInfo> {
    let interpreter = behind_pyenv(interpreter, process_env).unwrap_or_else(|| interpreter.to_path_buf());
    if let Some(environment) = Environment::of(&interpreter) {
        let (version, has_kernel) = (environment.version()?, environment.runs_kernel(process_env));
        return Some(InterpreterInfo { executable: interpreter, version, has_kernel });
    }
    let real = canonicalize(&interpreter).ok().filter(|real| !is_script(real))?;
    let name = real.file_name()?.to_str()?.to_owned();
    let folder = real.parent()?;
    let prefix = if cfg!(windows) { folder } else { folder.parent()? };
    let version = Version::of_name(&name).or_else(|| Packages::version_below(prefix))?;
    let has_kernel = Packages::below(prefix, Some(version)).contain("ipykernel")
        || Packages::of_user(process_env, Some(version)).contain("ipykernel");
    name.starts_with("python").then_some(InterpreterInfo { executable: interpreter, version, has_kernel })
}

/// The Python that pyenv starts for one of its wrappers.
fn behind_pyenv(wrapper: &Path, process_env: &ProcessEnv) -> Option<PathBuf> {
    let folder = wrapper.parent().filter(|folder| folder.ends_with("shims"))?.parent()?;
    let named = process_env.get("PYENV_VERSION").and_then(|name| name.to_str()).map(str::to_owned);
    let names = named.or_else(|| fs::read_to_string(folder.join("version")).ok())?;
    let name = names.lines().next()?.split(':').next()?.trim();
    let python = folder.join("versions").join(name).join("bin").join(wrapper.file_name()?);
    python.is_file().then_some(python)
}

/// Whether a program is a script, which may start anything.
fn is_script(program: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; 2];
    fs::File::open(program).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::super::venv::tests::PACKAGES;
    use super::*;

    fn make(path: &Path, content: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn install(packages: &Path) {
        make(&packages.join("ipykernel/__init__.py"), "");
    }

    #[test]
    fn a_python_is_described_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let process_env = ProcessEnv { home: Some(at("home")), ..ProcessEnv::default() };
        make(&at("opt/bin/python3.12"), "\x7fELF");
        std::os::unix::fs::symlink("python3.12", at("opt/bin/python3")).unwrap();
        let found = || info(&at("opt/bin/python3"), &process_env).unwrap();
        assert_eq!((found().version, found().has_kernel), (Version(3, 12), false));
        install(&at("opt/lib/python3.11/site-packages"));
        assert!(!found().has_kernel, "it has another version");
        install(&at("opt").join(PACKAGES));
        assert!(found().has_kernel);
        make(&at("bin/python3"), "#!/bin/sh\nexec other");
        assert_eq!(info(&at("bin/python3"), &process_env), None);
        make(&at("bin/tool"), "\x7fELF");
        assert_eq!(info(&at("bin/tool"), &process_env), None);
    }

    #[test]
    fn what_debian_and_the_user_install_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let process_env = ProcessEnv { home: Some(at("home")), ..ProcessEnv::default() };
        make(&at("usr/bin/python3.12"), "\x7fELF");
        for packages in [
            "usr/lib/python3/dist-packages",
            "usr/local/lib/python3.12/dist-packages",
            "home/.local/lib/python3.12/site-packages",
        ] {
            let has_kernel = || info(&at("usr/bin/python3.12"), &process_env).unwrap().has_kernel;
            assert!(!has_kernel());
            install(&at(packages));
            assert!(has_kernel(), "{packages}");
            fs::remove_dir_all(at(packages)).unwrap();
        }
    }

    #[test]
    fn the_python_behind_a_wrapper_of_pyenv_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        make(&at("shims/python3"), "#!/bin/sh\nexec pyenv");
        make(&at("version"), "3.13.1\n3.12.0\n");
        make(&at("versions/3.13.1/bin/python3"), "\x7fELF");
        install(&at("versions/3.13.1/lib/python3.13/site-packages"));
        let found = info(&at("shims/python3"), &ProcessEnv::default()).unwrap();
        assert_eq!((found.version, found.has_kernel), (Version(3, 13), true));
        assert_eq!(found.executable, at("versions/3.13.1/bin/python3"));
    }
}
