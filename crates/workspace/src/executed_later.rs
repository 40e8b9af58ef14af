//! Files that a later start executes: whoever writes one runs code, though not at once.

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
/// Files that Python, Jupyter or their tools execute, or that name what they execute.
const STARTUP: [&str; 17] = [
    "sitecustomize.py",
    "usercustomize.py",
    "ipython_config.py",
    "ipython_kernel_config.py",
    "conftest.py",
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "uv.toml",
    "tox.ini",
    "noxfile.py",
    "pyvenv.cfg",
    "kernel.json",
    "pip.conf",
    "pip.ini",
    "environment.yml",
    "pixi.toml",
];
/// Modules that a kernel imports when it starts, or with nearly any code: a file of that name beside a notebook comes before them.
const IMPORTED: [&str; 34] = [
    "IPython",
    "_pydev_bundle",
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "builtins",
    "code",
    "codecs",
    "collections",
    "comm",
    "contextlib",
    "copy",
    "dataclasses",
    "debugpy",
    "enum",
    "functools",
    "importlib",
    "inspect",
    "io",
    "ipykernel",
    "jupyter_client",
    "json",
    "logging",
    "os",
    "pathlib",
    "random",
    "re",
    "site",
    "sys",
    "threading",
    "traitlets",
    "types",
    "typing",
];

/// Why a later start may execute a file at this path, or what it contains; `None` for other files. `path` is the one that links lead to.
pub fn executed_later(path: &str) -> Option<&'static str> {
    let path = path.replace('\\', "/");
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let (name, folders) = parts.split_last()?;
    let lower = name.to_lowercase();
    let is_folder = |is: &dyn Fn(&str) -> bool| folders.iter().any(|folder| is(&folder.to_lowercase()));
    if is_folder(&|folder| ENVIRONMENTS.contains(&folder)) {
        return Some("it is in an environment");
    }
    if lower == "kernel.json" || is_folder(&|folder| folder == "kernels") {
        return Some("it belongs to a kernelspec");
    }
    if is_folder(&|folder| folder == "startup") || is_folder(&|folder| folder.starts_with("profile_")) {
        return Some("IPython executes it when a kernel starts");
    }
    let is_config = lower.starts_with("jupyter_") && lower.contains("config.");
    if has_extension(&lower, "pth") || STARTUP.contains(&&*lower) || is_config {
        return Some("a kernel or a tool executes it when it starts, or what it names");
    }
    if parts.iter().any(|part| part.starts_with('.')) {
        return Some("it is hidden, as configurations are");
    }
    let module = [".py", ".pyc", ".so", ".pyd"].iter().find_map(|end| lower.strip_suffix(end));
    let module = module.map(|module| module.split('.').next().unwrap_or(module));
    let package = folders.iter().map(|folder| folder.to_lowercase());
    let shadows = |name: &str| IMPORTED.iter().any(|module| module.to_lowercase() == name);
    if module.is_some_and(shadows) || (module.is_some() && package.clone().any(|folder| shadows(&folder))) {
        return Some("kernels import it in place of a module of the same name");
    }
    None
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found == extension)
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
            "src/model.py",
            "env.py",
            "environment/x.txt",
            "notes/kernels.md",
            "startup.md",
            "figures/plot.png",
            "jupyter_notes.txt",
            "my.pth.txt",
            "json/data.csv",
            "a..b/c.py",
            "./a.py",
            "utils.py",
        ] {
            assert_eq!(executed_later(path), None, "{path}");
        }
    }
}
