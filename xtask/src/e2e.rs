//! The end-to-end tests: the built binary against real browsers and real clients, driven by pytest.

use std::ffi::OsString;
use std::path::Path;
use std::thread::available_parallelism;

use anyhow::Result;

use crate::project::Project;
use crate::provision::{self, Environments};
use crate::{command, test};

/// Worker processes per core: for each second that a test works, it waits one and a half for a kernel, a server or a browser.
const WORKERS_PER_CORE: usize = 3;
/// Each worker has Jupyter servers of its own, so memory sets a limit.
const MOST_WORKERS: usize = 12;

/// Builds the program, provides what the tests need and runs pytest with `arguments` and `variables`.
pub(crate) fn run(arguments: &[String], variables: &[(&str, String)]) -> Result<()> {
    let project = Project::find()?;
    test::announce("provisioning (Python, Node and the browser for the end-to-end tests)");
    let environments = provision::environments(&project)?;
    run_in(&project, environments, arguments, variables)
}

/// Builds the programs and the native module as the integration tests are built, and runs pytest with `arguments` and `variables`.
pub(crate) fn run_in(
    project: &Project,
    environments: Environments,
    arguments: &[String],
    variables: &[(&str, String)],
) -> Result<()> {
    test::announce("building the programs and the Python module (cargo build)");
    project.build(&["--lib", "--bins", "--examples"])?;
    let program = project.built("cellbridge");
    provision::package(project, &environments, &program)?;
    test::announce("end-to-end tests (pytest)");
    let folder = project.target.join("e2e");
    let Environments { tests, node_modules, chromium, plain, collaboration, documents, uv } = environments;
    let mut pytest = tests.module(project, "pytest")?;
    pytest.arg("-o");
    // pytest leaves nothing in the source tree.
    pytest.arg(format!("cache_dir={}", folder.join("pytest_cache").display()));
    if !names_a_test(&project.root, arguments) {
        pytest.arg("e2e");
    }
    if arguments.is_empty() {
        pytest.args(parallel(available_parallelism().map_or(1, Into::into)));
    }
    command::run(
        pytest
            .args(arguments)
            .env("CELLBRIDGE_BIN", program)
            .env("CELLBRIDGE_E2E_TOUCH", project.built("examples/touch"))
            .env("CELLBRIDGE_CHROMIUM", chromium)
            .env("CELLBRIDGE_E2E_NODE_MODULES", node_modules)
            .env("CELLBRIDGE_E2E_JUPYTER_PLAIN", plain.python)
            .env("CELLBRIDGE_E2E_JUPYTER_RTC", collaboration.python)
            .env("CELLBRIDGE_E2E_JUPYTER_JSD", documents.python)
            .env("CELLBRIDGE_E2E_UV", uv.programs.join("uv"))
            .env("CELLBRIDGE_E2E_ARTIFACTS", folder.join("artifacts"))
            // Kernels that the program installs are downloaded once.
            .env("PIP_CACHE_DIR", folder.join("cache/pip"))
            .env("UV_CACHE_DIR", folder.join("cache/uv"))
            .envs(variables.iter().map(|(name, value)| (name, value))),
    )
}

/// The options of pytest-xdist for the whole suite on a machine with `cores`.
fn parallel(cores: usize) -> [OsString; 4] {
    let workers = (cores * WORKERS_PER_CORE).min(MOST_WORKERS);
    ["-n".into(), workers.to_string().into(), "--dist".into(), "loadgroup".into()]
}

/// Whether the person chose files or single tests (`e2e/local/test_x.py::test_y`) instead of the whole folder.
fn names_a_test(root: &Path, arguments: &[String]) -> bool {
    arguments.iter().any(|argument| {
        let file = argument.split("::").next().unwrap_or_default();
        !file.is_empty() && !file.starts_with('-') && root.join(file).exists()
    })
}

#[cfg(test)]
mod tests {
    use super::{names_a_test, parallel};

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

    #[test]
    fn workers_outnumber_the_cores_up_to_a_limit() {
        assert_eq!(parallel(2)[1], "6");
        assert_eq!(parallel(64)[1], "12");
    }
}
