//! The libraries of charts in the Python environment of a notebook's kernel. Files are read, and nothing is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use environments::{KernelInspection, ProcessEnv};
use html::{Libraries, Library};
use notebook::Notebook;

/// The largest script that is included, in bytes. Plotly's has 5 MB.
const MAX_SCRIPT: u64 = 16 * 1024 * 1024;

const VEGA: &[&str] = &["vega", "vega-lite", "vega-embed"];
/// The files of packages with the scripts, in the order in which they run: the path of a file, in which `NAME` stands for each of the names.
const PLACES: [(Library, &str, &[&str]); 5] = [
    (Library::Plotly, "plotly/package_data/NAME.min.js", &["plotly"]),
    (Library::Bokeh, "bokeh/server/static/js/NAME.min.js", &["bokeh", "bokeh-widgets", "bokeh-tables"]),
    (Library::Vega, "panel/dist/bundled/vegaplot/NAME@*/build/NAME.min.js", VEGA),
    (Library::Vega, "panel/dist/bundled/vegaplot/NAME@*", VEGA),
    (Library::Vega, "altair_viewer/static/NAME.min.js", VEGA),
];
/// What hvPlot and Panel draw with Bokeh needs this script, too.
const PANEL: &str = "panel/dist/panel.min.js";

/// The libraries for a notebook in this file: each from the first environment that has it.
pub fn libraries(file: &Path, notebook: &Notebook, process_env: ProcessEnv) -> Libraries {
    let folder = file.parent().unwrap_or(file);
    // Without time for them, no Python is started.
    let inspection = KernelInspection::new(folder.to_path_buf(), process_env, Duration::ZERO);
    let kernelspec = notebook.kernelspec().map(|spec| spec.name);
    in_folders(&inspection.package_folders(kernelspec.as_deref()))
}

fn in_folders(packages: &[PathBuf]) -> Libraries {
    let mut libraries = Libraries::default();
    for library in Library::ALL {
        let places = PLACES.iter().filter(|(of, ..)| *of == library);
        let scripts = places
            .flat_map(|(_, path, names)| packages.iter().map(move |folder| (folder, path, names)))
            .find_map(|(folder, path, names)| {
                let files = names.iter().map(|name| read(folder, &path.replace("NAME", name)));
                files.collect::<Option<Vec<String>>>()
            });
        if let Some(mut scripts) = scripts {
            let mut panel = packages.iter().filter(|_| library == Library::Bokeh);
            scripts.extend(panel.find_map(|folder| read(folder, PANEL)));
            libraries.insert(library, scripts);
        }
    }
    libraries
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
        write(&two, "plotly/package_data/plotly.min.js", "plotly");
        for (name, version) in [("vega", "6"), ("vega-lite", "6"), ("vega-embed", "7")] {
            let file = format!("panel/dist/bundled/vegaplot/{name}@{version}/build/{name}.min.js");
            write(&one, &file, name);
        }
        // Not whole.
        write(&one, "bokeh/server/static/js/bokeh.min.js", "bokeh");
        let libraries = format!("{:?}", in_folders(&[one, two]));
        assert_eq!(
            libraries,
            "Libraries({Plotly: [\"plotly\"], Vega: [\"vega\", \"vega-lite\", \"vega-embed\"]})"
        );
    }

    #[test]
    fn panels_script_follows_those_of_bokeh() {
        let root = tempfile::tempdir().unwrap();
        for name in ["bokeh", "bokeh-widgets", "bokeh-tables"] {
            write(root.path(), &format!("bokeh/server/static/js/{name}.min.js"), name);
        }
        let scripts = || in_folders(&[root.path().to_owned()]).get(Library::Bokeh).unwrap().len();
        assert_eq!(scripts(), 3);
        write(root.path(), PANEL, "panel");
        assert_eq!(scripts(), 4);
    }

    #[test]
    fn a_kernelspec_names_its_environment() {
        let root = tempfile::tempdir().unwrap();
        let env = root.path().join("env");
        write(&env, "lib/python3.13/site-packages/plotly/package_data/plotly.min.js", "plotly");
        for (name, program) in [("x", env.join("bin/python")), ("y", "python".into())] {
            let text = serde_json::json!({ "argv": [program, "-m"] }).to_string();
            write(root.path(), &format!("kernels/{name}/kernel.json"), &text);
        }
        let path = root.path().to_str().unwrap();
        for (name, is_in_env) in [("x", true), ("y", false), ("z", false), ("../x", false), ("", false)] {
            let process_env =
                ProcessEnv { home: None, ..ProcessEnv::with_variables(&[("JUPYTER_PATH", path)]) };
            let inspection = KernelInspection::new(root.path().join("folder"), process_env, Duration::ZERO);
            let libraries = in_folders(&inspection.package_folders(Some(name)));
            assert_eq!(libraries.get(Library::Plotly).is_some(), is_in_env, "{name}");
        }
    }
}
