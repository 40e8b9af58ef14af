//! The libraries of charts in the Python environment of a notebook's kernel. Files are read, and nothing is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use environments::{KernelInspection, ProcessEnv};
use html::{Libraries, Library};
use notebook::Notebook;
use serde_json::Value;

/// The largest script that is included, in bytes. Plotly's has 5 MB.
const MAX_SCRIPT: u64 = 16 * 1024 * 1024;

/// Where packages keep the scripts, in the order in which they run: each place has the names of its files, as `PREFIX*SUFFIX`.
const PLACES: [(Library, &[&str]); 6] = [
    (Library::Plotly, &["plotly/package_data/plotly.min.js"]),
    // What hvPlot and Panel draw needs Panel's script, too.
    (
        Library::Bokeh,
        &[
            "bokeh/server/static/js/bokeh.min.js",
            "bokeh/server/static/js/bokeh-widgets.min.js",
            "bokeh/server/static/js/bokeh-tables.min.js",
            "panel/dist/panel.min.js",
        ],
    ),
    (
        Library::Bokeh,
        &[
            "bokeh/server/static/js/bokeh.min.js",
            "bokeh/server/static/js/bokeh-widgets.min.js",
            "bokeh/server/static/js/bokeh-tables.min.js",
        ],
    ),
    (
        Library::Vega,
        &[
            "panel/dist/bundled/vegaplot/vega@*/build/vega.min.js",
            "panel/dist/bundled/vegaplot/vega-lite@*/build/vega-lite.min.js",
            "panel/dist/bundled/vegaplot/vega-embed@*/build/vega-embed.min.js",
        ],
    ),
    (
        Library::Vega,
        &[
            "panel/dist/bundled/vegaplot/vega@*",
            "panel/dist/bundled/vegaplot/vega-lite@*",
            "panel/dist/bundled/vegaplot/vega-embed@*",
        ],
    ),
    (
        Library::Vega,
        &[
            "altair_viewer/static/vega.min.js",
            "altair_viewer/static/vega-lite.min.js",
            "altair_viewer/static/vega-embed.min.js",
        ],
    ),
];

/// The libraries for a notebook in this file: each from the first environment that has it.
pub fn libraries(file: &Path, notebook: &Notebook, process_env: ProcessEnv) -> Libraries {
    let folder = file.parent().unwrap_or(file);
    in_prefixes(&prefixes(folder, notebook, process_env))
}

fn in_prefixes(prefixes: &[PathBuf]) -> Libraries {
    let mut libraries = Libraries::default();
    let packages: Vec<PathBuf> = prefixes.iter().flat_map(|prefix| package_folders(prefix)).collect();
    for library in Library::ALL {
        let places = PLACES.iter().filter(|(of, _)| *of == library);
        let scripts = places
            .flat_map(|(_, files)| packages.iter().map(move |folder| (folder, files)))
            .find_map(|(folder, files)| {
                files.iter().map(|file| read(folder, file)).collect::<Option<Vec<String>>>()
            });
        if let Some(scripts) = scripts {
            libraries.insert(library, scripts);
        }
    }
    libraries
}

/// The environments in which the notebook's kernel may be, the most likely first.
fn prefixes(folder: &Path, notebook: &Notebook, process_env: ProcessEnv) -> Vec<PathBuf> {
    let mut data_folders = data_folders(&process_env);
    // Without time for them, no Python is started.
    let inspection = KernelInspection::new(folder.to_path_buf(), process_env, Duration::ZERO);
    let mut found: Vec<PathBuf> = inspection.environments().into_iter().map(|it| it.prefix).collect();
    found.extend(inspection.activated().into_iter().map(|it| it.prefix));
    found.extend(inspection.on_path().map(|it| it.prefix));
    data_folders.extend(found.iter().map(|prefix| prefix.join("share/jupyter")));
    data_folders.extend(["/usr/local/share/jupyter", "/usr/share/jupyter"].map(PathBuf::from));
    let kernelspec = notebook.kernelspec().and_then(|spec| prefix_of_kernelspec(&spec.name, &data_folders));
    kernelspec.into_iter().chain(found).collect()
}

/// Where the person's kernelspecs are.
fn data_folders(process_env: &ProcessEnv) -> Vec<PathBuf> {
    let home = process_env.home.clone().unwrap_or_default();
    let own = [".local/share/jupyter", "Library/Jupyter", "AppData/Roaming/jupyter"];
    let named = process_env.paths("JUPYTER_PATH").into_iter();
    named.chain(own.iter().map(|folder| home.join(folder))).collect()
}

/// The environment of the interpreter that a kernelspec starts.
fn prefix_of_kernelspec(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    // A name, not a path.
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let mut texts = folders
        .iter()
        .filter(|_| is_name)
        .map(|folder| folder.join("kernels").join(name).join("kernel.json"));
    let specification: Value = texts.find_map(|file| serde_json::from_slice(&fs::read(file).ok()?).ok())?;
    let program = Path::new(specification["argv"][0].as_str()?);
    let prefix = program.parent()?.parent().filter(|_| program.is_absolute())?;
    Some(prefix.to_path_buf())
}

/// The folders in which an environment has its packages.
fn package_folders(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = vec![prefix.join("Lib/site-packages")];
    for library in ["lib", "local/lib"] {
        let versions = fs::read_dir(prefix.join(library)).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path()).collect();
        versions.retain(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"))
        });
        versions.sort();
        folders.extend(
            versions
                .iter()
                .rev()
                .flat_map(|version| ["site-packages", "dist-packages"].map(|it| version.join(it))),
        );
    }
    folders
}

/// The text of a file, of whose path one part may hold `*`.
fn read(folder: &Path, path: &str) -> Option<String> {
    let mut file = folder.to_path_buf();
    for part in path.split('/') {
        file = match part.split_once('*') {
            None => file.join(part),
            Some((start, end)) => {
                let mut entries: Vec<_> =
                    fs::read_dir(&file).ok()?.flatten().map(|entry| entry.file_name()).collect();
                entries.retain(|name| {
                    name.to_string_lossy().starts_with(start) && name.to_string_lossy().ends_with(end)
                });
                entries.sort();
                file.join(entries.last()?)
            }
        };
    }
    let is_readable = fs::metadata(&file).is_ok_and(|about| about.is_file() && about.len() <= MAX_SCRIPT);
    is_readable.then(|| fs::read_to_string(&file).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn libraries_are_found_in_the_first_environment_that_has_them() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("one"), root.path().join("two"));
        let packages = "lib/python3.13/site-packages";
        write(&two, &format!("{packages}/plotly/package_data/plotly.min.js"), "plotly");
        for (name, version) in [("vega", "6"), ("vega-lite", "6"), ("vega-embed", "7")] {
            let file = format!("{packages}/panel/dist/bundled/vegaplot/{name}@{version}/build/{name}.min.js");
            write(&one, &file, name);
        }
        // Not whole.
        write(&one, &format!("{packages}/bokeh/server/static/js/bokeh.min.js"), "bokeh");
        let libraries = format!("{:?}", in_prefixes(&[one, two]));
        assert_eq!(
            libraries,
            "Libraries({Plotly: [\"plotly\"], Vega: [\"vega\", \"vega-lite\", \"vega-embed\"]})"
        );
    }

    #[test]
    fn a_kernelspec_names_its_environment() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "kernels/x/kernel.json", "{\"argv\": [\"/opt/env/bin/python\", \"-m\"]}");
        write(root.path(), "kernels/y/kernel.json", "{\"argv\": [\"python\"]}");
        let folders = [root.path().to_path_buf()];
        assert_eq!(prefix_of_kernelspec("x", &folders), Some("/opt/env".into()));
        for name in ["y", "z", "../x", ""] {
            assert_eq!(prefix_of_kernelspec(name, &folders), None, "{name}");
        }
    }
}
