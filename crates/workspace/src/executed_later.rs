//! Files that a later start executes: writing one runs code, though not at once.

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
const CONFIGURATIONS: [&str; 17] = [
    "environment.yaml",
    "environment.yml",
    "justfile",
    "kernel.json",
    "makefile",
    "package.json",
    "pip.conf",
    "pip.ini",
    "pipfile",
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
const MODULES: [&str; 11] =
    ["dll", "dylib", "egg-link", "ipy", "pth", "py", "pyc", "pyd", "pyo", "pyw", "so"];
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
    let is_requirements = name.starts_with("requirements") && extension == Some("txt");
    let names_code = CONFIGURATIONS.contains(name) || extension == Some("toml") || is_requirements;
    if names_code || is_config(name) || is_folder(&is_config) {
        return Some("a kernel or a tool executes or installs what it names");
    }
    if parts.iter().any(|part| part.starts_with('.')) {
        return Some("it is hidden, as configurations are");
    }
    if has(&MODULES) {
        return Some("code that imports a module of this name executes it");
    }
    if has(&SCRIPTS) || is_folder(&|folder| matches!(folder, "bin" | "scripts")) {
        return Some("it is a program");
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
