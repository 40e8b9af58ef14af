//! Files that a later start executes: writing one runs code, though not at once.
//!
//! No list of such files would be complete. So the formats are listed that nothing executes or follows, and every other file counts as
//! executed.

use place::Place;

/// Extensions of tables, pictures, sound, films and notebooks that no program executes. Texts are none: an agent may follow one, and a
/// tool may execute the examples in it. Nor are formats of arrays and models, which may hold pickles.
const DATA: [&str; 51] = [
    "arrow", "avi", "avro", "bam", "bed", "bmp", "csv", "dbf", "dcm", "dta", "fa", "fasta", "fastq",
    "feather", "fits", "flac", "fq", "geojson", "gff", "gif", "ico", "ipynb", "jpeg", "jpg", "jsonl", "las",
    "laz", "mov", "mp3", "mp4", "ndjson", "nii", "ogg", "orc", "parquet", "png", "psv", "sas7bdat", "sav",
    "shp", "shx", "tab", "tif", "tiff", "tsv", "vcf", "wav", "webm", "webp", "xlsx", "xpt",
];
/// Extensions after that of the content, as in `x.csv.gz`.
const COMPRESSED: [&str; 4] = [".bz2", ".gz", ".xz", ".zst"];
/// Folders of environments, whose files Python executes or imports.
const ENVIRONMENTS: [&str; 7] =
    ["venv", "env", "site-packages", "dist-packages", "node_modules", "conda-meta", "__pypackages__"];

/// The reason why a later start may execute a file at this path, or its contents; `None` for data and notebooks. `path` is the one that
/// links lead to.
pub fn executed_later(path: &str) -> Option<&'static str> {
    let path = path.replace('\\', "/").to_lowercase();
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let (name, folders) = parts.split_last()?;
    let is_of_package = |folder: &str| folder.ends_with(".dist-info") || folder.ends_with(".egg-info");
    if folders
        .iter()
        .any(|folder| ENVIRONMENTS.contains(&folder.trim_start_matches('.')) || is_of_package(folder))
    {
        return Some("it is in an environment");
    }
    if parts.iter().any(|part| part.starts_with('.')) {
        return Some("it is hidden, as configurations are");
    }
    let name = COMPRESSED.iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(name);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if DATA.contains(&extension) { None } else { Some("it may be code, a configuration or instructions") }
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
            // Python and IPython.
            ".venv/lib/python3.12/site-packages/x.pth",
            "project/venv/bin/python",
            "lib/site-packages/a/b.py",
            "LIB/Site-Packages/notes.txt",
            "pkg-1.0.dist-info/entry_points.txt",
            "a/X.PTH",
            "sitecustomize.py",
            "sub/usercustomize.py",
            "ipython_config.py",
            "profile_default/startup/00.py",
            "conftest.py",
            "noxfile.py",
            "numpy.py",
            "numpy/__init__.PY",
            "json.cpython-312-x86_64-linux-gnu.so",
            "a\\.venv\\x.py",
            "a.ipy",
            "x.egg-link",
            "a.pyz",
            "x.so.1",
            "numpy.zip",
            "model.pkl",
            "model.joblib",
            "model.pt",
            // Jupyter.
            "share/jupyter/kernels/x/kernel.json",
            "share/jupyter/kernels/x/run.sh",
            "jupyter_server_config.py",
            "jupyter_notebook_config.json",
            "jupyter_server_config.d/x.json",
            // Installers and builds.
            "pyvenv.cfg",
            "pyproject.toml",
            "uv.toml",
            "setup.py",
            "setup.cfg",
            "tox.ini",
            "environment.yaml",
            "requirements-dev.txt",
            "dev-requirements.txt",
            "requirements.in",
            "constraints.txt",
            "apt.txt",
            "uv.lock",
            "Pipfile",
            "Makefile",
            "CMakeLists.txt",
            "justfile",
            "Snakefile",
            "Dockerfile",
            "docker-compose.yml",
            "package.json",
            "build.gradle",
            "pom.xml",
            // Shells, editors, agents and other programs.
            ".bashrc",
            ".envrc",
            ".git/hooks/pre-commit",
            ".vscode/tasks.json",
            ".github/workflows/x.yml",
            "a/.hidden/b.txt",
            "CLAUDE.md",
            "docs/AGENTS.md",
            "x.code-workspace",
            "run.sh",
            "tool.exe",
            "x.desktop",
            "x.service",
            "analysis.R",
            "index.html",
            "picture.svg",
            "book.xlsm",
            "data.csv.py",
            "data.csv ",
            "data.csv.",
            "data.csv:stream",
            // Texts with examples, requirements or instructions, whatever they are called.
            "test_x.txt",
            "deps.txt",
            "notes/kernels.md",
            "README.rst",
            "run.log",
            // Arrays, databases and models.
            "model.bin",
            "model.h5",
            "a.hdf5",
            "a.npy",
            "a.npz.gz",
            "a.sqlite",
            "a.docx",
            "postBuild",
        ] {
            assert!(executed_later(path).is_some(), "{path}");
        }
    }

    #[test]
    fn data_and_notebooks_are_not() {
        for path in [
            "",
            "a.ipynb",
            "data/x.CSV",
            "data/x.csv.gz",
            "figures/plot.png",
            "a..b/c.csv",
            "environment/x.csv",
            "my.pth.csv",
            "./a.png",
            "results.parquet",
            "packages.csv",
        ] {
            assert_eq!(executed_later(path), None, "{path}");
        }
    }
}
