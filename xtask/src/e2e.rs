//! The end-to-end tests: the built binary against real browsers and real clients, driven by pytest.

use std::path::Path;

use anyhow::Result;

use crate::project::Project;
use crate::test::announce;
use crate::{command, provision};

/// Builds the program, provides what the tests need and runs pytest with `arguments`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let project = Project::find()?;

    announce("building the program (cargo build)");
    command::run(project.cargo().args(["build", "--locked", "--package", "cli", "--bin", "cellbridge"]))?;

    announce("provisioning (Python, Node and the browser for the end-to-end tests)");
    let parts = provision::all(&project)?;

    announce("end-to-end tests (pytest)");
    let program = format!("cellbridge{}", std::env::consts::EXE_SUFFIX);
    let mut pytest = project.command(&parts.python);
    pytest.args(["-m", "pytest", "-o"]);
    // Neither pytest nor Python leaves anything in the source tree.
    pytest.arg(format!("cache_dir={}", project.target.join("e2e/pytest_cache").display()));
    if !names_a_test(&project.root, arguments) {
        pytest.arg("e2e");
    }
    command::run(
        pytest
            .args(arguments)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PATH", command::path_with(&parts.programs)?)
            .env("CELLBRIDGE_BIN", project.target.join("debug").join(program))
            .env("CELLBRIDGE_CHROMIUM", &parts.chromium)
            .env("CELLBRIDGE_E2E_NODE_MODULES", &parts.node_modules)
            .env("CELLBRIDGE_E2E_JUPYTER_PLAIN", &parts.servers.plain)
            .env("CELLBRIDGE_E2E_JUPYTER_RTC", &parts.servers.collaboration)
            .env("CELLBRIDGE_E2E_JUPYTER_JSD", &parts.servers.documents)
            .env("CELLBRIDGE_E2E_WHEEL", &parts.wheel)
            .env("CELLBRIDGE_E2E_ARTIFACTS", project.target.join("e2e/artifacts")),
    )
}

/// Whether the person chose files or single tests (`e2e/test_x.py::test_y`) instead of the whole folder.
fn names_a_test(root: &Path, arguments: &[String]) -> bool {
    arguments.iter().any(|argument| {
        let file = argument.split("::").next().unwrap_or_default();
        !file.is_empty() && !file.starts_with('-') && root.join(file).exists()
    })
}

#[cfg(test)]
mod tests {
    use super::names_a_test;

    #[test]
    fn a_chosen_test_replaces_the_folder_and_an_option_does_not() -> anyhow::Result<()> {
        let root = tempfile::tempdir()?;
        std::fs::create_dir(root.path().join("e2e"))?;
        std::fs::write(root.path().join("e2e/test_x.py"), "")?;
        let named = |argument: &str| names_a_test(root.path(), &["-x".to_owned(), argument.to_owned()]);
        assert!(named("e2e/test_x.py"));
        assert!(named("e2e/test_x.py::test_y"));
        assert!(!named("-k"));
        assert!(!named("test_y"));
        assert!(!named("e2e/test_gone.py"));
        Ok(())
    }
}
