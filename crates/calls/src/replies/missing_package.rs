//! Which package a run lacks that ended in `ModuleNotFoundError`, and what installs it.

use std::time::Duration;

use notebook::one_line;
use packages::package_of;
use place::{Kernel, RunState};
use runs::{OpenNotebook, Run};
use tokio::time::timeout;
use workspace::Session;

/// How long the kernelspecs of a place may take.
const KERNELSPECS_LIMIT: Duration = Duration::from_secs(3);

/// The line about the package that a run lacks.
pub async fn line(session: &Session, run: &Run, state: &RunState) -> Option<String> {
    let RunState::Error { name, value } = state else { return None };
    let module = missing_module(name, value)?;
    // Other kernels than Python's may have an error of the same name.
    let kernel =
        run.kernel().filter(|kernel| kernel.description().language.eq_ignore_ascii_case("python"))?;
    match absent_kernelspec(session, run, &*kernel).await {
        Some(wanted) => {
            let known = kernel.description();
            Some(in_other_environment(module, &wanted, &known.name, &known.environment))
        }
        None => hint(module),
    }
}

/// The kernelspec that the run's notebook names and nobody has, so that the kernel of another runs in its place.
async fn absent_kernelspec(session: &Session, run: &Run, kernel: &dyn Kernel) -> Option<String> {
    // Code of no cell runs in the kernel of a notebook, too.
    let opened = match run.cell() {
        Some(cell) => session.workspace().open_notebook(cell.path.as_str()),
        None => session.workspace().notebook_of_kernel(kernel.id()),
    }?;
    absent_in(&opened, &kernel.description().name).await
}

/// The kernelspec that the notebook names and nobody has.
async fn absent_in(opened: &OpenNotebook, kernel: &str) -> Option<String> {
    let wanted = opened.document().snapshot().await.ok()?.kernelspec()?.name;
    let is_it = |name: &str| name.eq_ignore_ascii_case(&wanted);
    if is_it("python3") || is_it(kernel) {
        return None;
    }
    let place = opened.place().clone();
    let installed = timeout(KERNELSPECS_LIMIT, place.kernelspecs()).await.ok()?.ok()?;
    (!installed.iter().any(|spec| is_it(&spec.name))).then_some(wanted)
}

/// A line about the packages that a whole notebook lacks.
pub async fn of_notebook(opened: &OpenNotebook, packages: &[String]) -> String {
    let names: Vec<String> = packages.iter().map(|package| format!("{package:?}")).collect();
    let names = names.join(", ");
    let kernel = opened.kernel().map(|kernel| kernel.description().name).unwrap_or_default();
    match absent_in(opened, &kernel).await {
        Some(wanted) => format!(
            "The notebook names the kernelspec {:?}, which is missing: {names} may be in its environment. \
             Ask the person to install that kernelspec.",
            one_line(&wanted)
        ),
        None => format!(
            "Unless they are files of this project, and if the person agrees: add_packages(packages=[{names}]) installs what is \
             missing."
        ),
    }
}

fn in_other_environment(module: &str, wanted: &str, kernel: &str, environment: &str) -> String {
    let wanted = one_line(wanted);
    let environment = if environment.is_empty() { "that kernel's environment" } else { environment };
    format!(
        "The kernel {kernel} runs in place of the notebook's own kernelspec {wanted:?}, whose environment may have {module}. Ask the \
         person to install that kernelspec, or choose a kernel that has the package (use_notebook with kernel_name); add_packages \
         would install into {environment}."
    )
}

/// The module that an error names, if it is one.
fn missing_module<'v>(error: &str, value: &'v str) -> Option<&'v str> {
    if error != "ModuleNotFoundError" {
        return None;
    }
    let module = value.strip_prefix("No module named ")?.split(['\'', '"']).nth(1)?;
    // A name that could be anything else than a module is no name for a command.
    let is_module =
        !module.is_empty() && module.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    is_module.then_some(module)
}

fn hint(module: &str) -> Option<String> {
    let package = package_of(module)?;
    Some(format!(
        "The kernel's environment has no module {module}. Unless it is a file of this project, and if the person agrees: \
         add_packages(packages=[\"{package}\"]) installs the package {package}; if that tool is not offered, \
         execute_code(code=\"%pip install {package}\")."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_a_missing_module_is_named() {
        for (value, package) in [
            ("No module named 'pandas'", Some("pandas")),
            ("No module named 'cv2'", Some("opencv-python")),
            ("No module named 'sklearn.externals'", None),
            ("No module named 'helpers.io'; 'helpers' is not a package", None),
            ("No module named 'x; rm -rf /'", None),
            ("No module named ''", None),
            ("something else", None),
        ] {
            let found = missing_module("ModuleNotFoundError", value).and_then(hint);
            let expected = package.map(|package| format!("%pip install {package}\""));
            assert_eq!(found.is_some(), expected.is_some(), "{value}: {found:?}");
            if let (Some(found), Some(expected)) = (found, expected) {
                assert!(found.contains(&expected), "{found}");
            }
        }
        assert_eq!(missing_module("ImportError", "No module named 'pandas'"), None);
    }

    #[test]
    fn where_another_environment_was_meant_nothing_is_installed() {
        let said = in_other_environment("torch", "my-env", "python3", "/usr");
        assert!(
            said.starts_with("The kernel python3 runs in place of the notebook's own kernelspec \"my-env\""),
            "{said}"
        );
        // The notice of the run says where it is not.
        assert!(!said.contains("not installed here"), "{said}");
        assert!(said.ends_with("add_packages would install into /usr."), "{said}");
    }
}
