//! Which package a run lacks that ended in `ModuleNotFoundError`, and what installs it.

use workspace::{Run, RunState};

/// Packages that are named unlike their modules.
const PACKAGES: &[(&str, &str)] = &[
    ("Bio", "biopython"),
    ("Crypto", "pycryptodome"),
    ("OpenSSL", "pyOpenSSL"),
    ("PIL", "Pillow"),
    ("attr", "attrs"),
    ("bs4", "beautifulsoup4"),
    ("community", "python-louvain"),
    ("cv2", "opencv-python"),
    ("dateutil", "python-dateutil"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("faiss", "faiss-cpu"),
    ("fitz", "PyMuPDF"),
    ("git", "GitPython"),
    ("igraph", "igraph"),
    ("jwt", "PyJWT"),
    ("magic", "python-magic"),
    ("mpl_toolkits", "matplotlib"),
    ("osgeo", "GDAL"),
    ("pptx", "python-pptx"),
    ("psycopg2", "psycopg2-binary"),
    ("pydantic_settings", "pydantic-settings"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("snappy", "python-snappy"),
    ("umap", "umap-learn"),
    ("usb", "pyusb"),
    ("websocket", "websocket-client"),
    ("yaml", "PyYAML"),
    ("zmq", "pyzmq"),
];

/// The line about the package that a run lacks.
pub(super) fn line(run: &Run, state: &RunState) -> Option<String> {
    let RunState::Error { name, value } = state else { return None };
    // Other kernels than Python's may have an error of the same name.
    run.kernel().filter(|kernel| kernel.description().language.eq_ignore_ascii_case("python"))?;
    hint(name, value)
}

fn hint(error: &str, value: &str) -> Option<String> {
    if error != "ModuleNotFoundError" {
        return None;
    }
    let module = value.strip_prefix("No module named ")?.split(['\'', '"']).nth(1)?;
    let top = module.split('.').next()?;
    // A name that could be anything else than a module is no name for a command.
    if top.is_empty() || !top.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let package = PACKAGES.iter().find(|(module, _)| *module == top).map_or(top, |(_, package)| package);
    Some(format!(
        "The kernel's environment has no module {top}. Unless it is a file of this project, and if the person agrees: \
         add_packages(packages=[\"{package}\"]) installs the package {package}; where that tool is not offered, \
         execute_code(code=\"%pip install {package}\")."
    ))
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn the_package_of_a_missing_module_is_named() {
        for (value, package) in [
            ("No module named 'pandas'", Some("pandas")),
            ("No module named 'sklearn.linear_model'", Some("scikit-learn")),
            ("No module named 'cv2'", Some("opencv-python")),
            ("No module named 'a b'", None),
            ("No module named 'x; rm -rf /'", None),
            ("No module named ''", None),
            ("something else", None),
        ] {
            let found = hint("ModuleNotFoundError", value);
            let expected = package.map(|package| format!("%pip install {package}\""));
            assert_eq!(found.is_some(), expected.is_some(), "{value}: {found:?}");
            if let (Some(found), Some(expected)) = (found, expected) {
                assert!(found.contains(&expected), "{found}");
            }
        }
        assert_eq!(hint("ImportError", "No module named 'pandas'"), None);
    }
}
