//! The command that starts this program tomorrow as well.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clients::Machine;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const NAME: &str = "cellbridge";

/// A program with its first arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StableCommand {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    /// What the person should know about it.
    pub(crate) note: Option<String>,
}

/// Where a running program comes from.
#[derive(Debug, PartialEq, Eq)]
enum Origin {
    /// Downloaded by `uvx`, which removes it at will.
    UvCache,
    /// Downloaded by `pipx run`, which removes it after some days.
    PipxCache,
    Build,
    Installed,
}

/// The command for a program that runs as `running`. In a project's file, which others use too, a bare name is better
/// than a path of this machine.
pub(crate) fn stable_command(running: &Path, machine: &Machine, is_project: bool) -> StableCommand {
    let file = dunce::canonicalize(running).unwrap_or_else(|_| running.to_owned());
    let runner = |program: &str, arguments: &[&str]| {
        let found = if is_project { None } else { machine.find_program(program) };
        StableCommand {
            program: found.map_or_else(|| program.to_owned(), |path| path.display().to_string()),
            arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
            note: None,
        }
    };
    match origin(&file, machine) {
        Origin::UvCache => return runner("uvx", &[&format!("{NAME}@{VERSION}")]),
        Origin::PipxCache => return runner("pipx", &["run", "--spec", &format!("{NAME}=={VERSION}"), NAME]),
        Origin::Build | Origin::Installed => {}
    }
    // A link on PATH survives updates of what it leads to.
    let on_path =
        machine.find_program(NAME).filter(|path| dunce::canonicalize(path).is_ok_and(|it| it == file));
    let program = match (&on_path, is_project) {
        (Some(_), true) => NAME.to_owned(),
        (Some(path), false) => path.display().to_string(),
        (None, _) => file.display().to_string(),
    };
    let note = if origin(&file, machine) == Origin::Build && on_path.is_none() {
        Some(format!("{program} is in a build folder. Once it is removed, clients no longer find it."))
    } else if is_project && on_path.is_none() {
        Some(format!(
            "{program} is a path of this machine. With {NAME} on PATH, the project's file names no path."
        ))
    } else {
        None
    };
    StableCommand { program, arguments: Vec::new(), note }
}

fn origin(file: &Path, machine: &Machine) -> Origin {
    let variable = |name: &str| {
        let folder = machine.variable(name).map(PathBuf::from)?;
        Some(dunce::canonicalize(&folder).unwrap_or(folder))
    };
    let parts: Vec<_> = file.iter().map(OsStr::to_string_lossy).collect();
    let has = |names: &[&str]| parts.windows(names.len()).any(|window| window.iter().eq(names));
    // Folders of uv's cache carry the version of their format: `archive-v0`.
    let is_uv = parts.iter().any(|it| it.starts_with("archive-v") || it.starts_with("environments-v"))
        && parts.iter().any(|it| it == "uv");
    if is_uv || variable("UV_CACHE_DIR").is_some_and(|folder| file.starts_with(folder)) {
        return Origin::UvCache;
    }
    if has(&["pipx", ".cache"])
        || has(&[".cache", "pipx"])
        || has(&["Caches", "pipx"])
        || has(&["pipx", "Cache"])
    {
        return Origin::PipxCache;
    }
    let is_build = ["debug", "release", "dist"].iter().any(|profile| has(&["target", profile]));
    if is_build { Origin::Build } else { Origin::Installed }
}

#[cfg(test)]
mod tests {
    use clients::System;

    use super::*;

    fn machine(variables: &[(&str, &Path)]) -> Machine {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
        Machine { system: System::Linux, home: "/home/ada".into(), variables }
    }

    fn command(running: &str) -> StableCommand {
        stable_command(Path::new(running), &machine(&[]), false)
    }

    #[test]
    fn a_program_in_a_cache_is_started_by_what_fills_the_cache() {
        for path in [
            "/home/ada/.cache/uv/archive-v0/Xy12/bin/cellbridge",
            "/Users/ada/Library/Caches/uv/environments-v2/x/bin/cellbridge",
        ] {
            let found = command(path);
            assert_eq!(
                (found.program.as_str(), found.arguments),
                ("uvx", vec![format!("cellbridge@{VERSION}")])
            );
        }
        let pipx = command("/home/ada/.local/pipx/.cache/12ab/bin/cellbridge");
        assert_eq!(pipx.program, "pipx");
        assert_eq!(pipx.arguments[3], "cellbridge");
    }

    #[test]
    fn an_installed_program_is_named_by_its_path() {
        for path in ["/opt/cellbridge", "/home/ada/.local/share/uv/tools/cellbridge/bin/cellbridge"] {
            assert_eq!(
                command(path),
                StableCommand { program: path.to_owned(), arguments: vec![], note: None }
            );
        }
    }

    #[test]
    fn a_build_is_named_with_a_warning() {
        let found = command("/src/cellbridge/target/release/cellbridge");
        assert_eq!(found.program, "/src/cellbridge/target/release/cellbridge");
        assert!(found.note.unwrap().contains("build folder"));
    }

    #[test]
    #[cfg(unix)]
    fn a_link_on_path_is_preferred_and_a_project_names_no_path() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (bin, real) = (root.join("bin"), root.join("Cellar/0.1.0/cellbridge"));
        std::fs::create_dir_all(real.parent().unwrap()).unwrap();
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(&real, bin.join("cellbridge")).unwrap();
        let machine = machine(&[("PATH", &bin)]);
        let linked = stable_command(&real, &machine, false);
        assert_eq!(linked.program, bin.join("cellbridge").display().to_string());
        assert_eq!(stable_command(&real, &machine, true).program, "cellbridge");
        // Another program of that name is not ours.
        std::fs::write(root.join("other"), "").unwrap();
        let other = stable_command(&root.join("other"), &machine, true);
        assert!(other.program.ends_with("other") && other.note.is_some());
    }
}
