//! Files that a later start executes: writing one runs code, though not at once.

use place::Place;

/// Folders of environments, whose files Python executes or imports.
const ENVIRONMENTS: [&str; 8] = [
    ".venv",
    "venv",
    "env",
    "site-packages",
    "dist-packages",
    "node_modules",
    "conda-meta",
    "__pypackages__",
];
/// Files that a tool executes, or that name what it executes or installs.
const CONFIGURATIONS: [&str; 18] = [
    "environment.yaml",
    "environment.yml",
    "justfile",
    "kernel.json",
    "makefile",
    "package.json",
    "pip.conf",
    "pip.ini",
    "pipfile",
    "pipfile.lock",
    "pixi.lock",
    "pixi.toml",
    "poetry.lock",
    "pyproject.toml",
    "pyvenv.cfg",
    "setup.cfg",
    "tox.ini",
    "uv.lock",
];
/// Extensions of what Python imports: no list of names would be complete, since a kernel looks beside the notebook first.
const MODULES: [&str; 13] =
    ["dll", "dylib", "egg-link", "ipy", "pth", "py", "pyc", "pyd", "pyo", "pyw", "pyz", "so", "whl"];
/// Extensions of what other programs execute.
const SCRIPTS: [&str; 15] =
    ["bash", "bat", "cjs", "cmd", "com", "exe", "fish", "jl", "js", "mjs", "pl", "ps1", "r", "sh", "zsh"];

/// Why a later start may execute a file at this path, or what it contains; `None` for other files. `path` is the one that links lead to.
pub fn executed_later(path: &str) -> Option<&'static str> {
    let path = path.replace('\\', "/").to_lowercase();
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let (name, folders) = parts.split_last()?;
    let is_folder = |is: &dyn Fn(&str) -> bool| folders.iter().any(|folder| is(folder));
    let is_config = |name: &str| name.starts_with("jupyter_") && name.contains("config.");
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let has = |extensions: &[&str]| extension.is_some_and(|extension| extensions.contains(&extension));
    if is_folder(&|folder| ENVIRONMENTS.contains(&folder)) {
        return Some("it is in an environment");
    }
    if *name == "kernel.json" || is_folder(&|folder| folder == "kernels") {
        return Some("it belongs to a kernelspec");
    }
    if is_folder(&|folder| folder == "startup" || folder.starts_with("profile_")) {
        return Some("IPython executes it when a kernel starts");
    }
    let is_requirements =
        (name.contains("requirements") || name.contains("constraints")) && has(&["in", "txt"]);
    let names_code = CONFIGURATIONS.contains(name) || extension == Some("toml") || is_requirements;
    if names_code || is_config(name) || is_folder(&is_config) {
        return Some("a kernel or a tool executes or installs what it names");
    }
    if parts.iter().any(|part| part.starts_with('.')) {
        return Some("it is hidden, as configurations are");
    }
    // `libx.so.1`
    if has(&MODULES) || name.contains(".so.") {
        return Some("code that imports a module of this name executes it");
    }
    if has(&SCRIPTS) || is_folder(&|folder| matches!(folder, "bin" | "scripts")) {
        return Some("it is a program");
    }
    None
}

/// The same, also by what lies beside it: an environment is known by its files, whatever its folder is called, and a program by its
/// permissions, which a copy leaves as they are.
pub(crate) async fn executed_later_in(place: &dyn Place, path: &str) -> Option<&'static str> {
    let path = place.strip_name(path).unwrap_or(path);
    if let Some(why) = executed_later(path) {
        return Some(why);
    }
    let files = place.files()?;
    if files.is_program(path).await.unwrap_or(false) {
        return Some("it is a program");
    }
    let mut folder = path;
    while !folder.is_empty() {
        folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
        let of = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let is_environment = files.read(&of("pyvenv.cfg")).await.is_ok()
            || files.read(&of("conda-meta/history")).await.is_ok();
        if is_environment {
            return Some("it is in an environment");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::executed_later;

    #[test]
    fn what_a_later_start_executes_is_recognised() {
        for path in [
            ".venv/lib/python3.12/site-packages/x.pth",
            "project/venv/bin/python",
            "lib/site-packages/a/b.py",
            "LIB/Site-Packages/a.py",
            "x.pth",
            "a/X.PTH",
            "sitecustomize.py",
            "sub/usercustomize.py",
            "ipython_config.py",
            ".ipython/profile_default/startup/00.py",
            "profile_default/startup/00.py",
            "conftest.py",
            "tests/conftest.py",
            "pyvenv.cfg",
            "kernel.json",
            "share/jupyter/kernels/x/kernel.json",
            "share/jupyter/kernels/x/run.sh",
            "jupyter_server_config.py",
            "jupyter_notebook_config.json",
            ".bashrc",
            ".github/workflows/x.yml",
            "a/.hidden/b.txt",
            "pyproject.toml",
            "uv.toml",
            "setup.py",
            "node_modules/x/index.js",
            "random.py",
            "importlib.py",
            "IPython/__init__.py",
            "ipykernel.py",
            "json.cpython-312-x86_64-linux-gnu.so",
            "a\\.venv\\x.py",
            "warnings.py",
            "src/model.py",
            "utils.py",
            "numpy/__init__.PY",
            "py312/bin/python",
            "jupyter_server_config.d/x.json",
            "environment.yaml",
            "requirements-dev.txt",
            "uv.lock",
            "Makefile",
            "a.ipy",
            "x.egg-link",
            "tool.exe",
            "dev-requirements.txt",
            "requirements.in",
            "constraints.txt",
            "Pipfile.lock",
            "a.pyz",
            "x.so.1",
            "run.sh",
            "./.venv/x",
        ] {
            assert!(executed_later(path).is_some(), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_not() {
        for path in [
            "",
            "a.ipynb",
            "data/x.csv",
            "environment/x.txt",
            "notes/kernels.md",
            "startup.md",
            "figures/plot.png",
            "jupyter_notes.txt",
            "my.pth.txt",
            "json/data.csv",
            "a..b/c.txt",
            "./a.md",
            "bin.txt",
            "requirements/notes.md",
        ] {
            assert_eq!(executed_later(path), None, "{path}");
        }
    }
}
