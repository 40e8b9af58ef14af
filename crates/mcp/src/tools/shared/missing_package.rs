//! Which package a run lacks that ended in `ModuleNotFoundError`, and what installs it.

use workspace::{Run, RunState};

/// Packages that are named unlike their modules. Of a module with a point the first part is there, as several packages share it.
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
    ("discord", "discord.py"),
    ("distutils", "setuptools"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("faiss", "faiss-cpu"),
    ("fitz", "PyMuPDF"),
    ("ffmpeg", "ffmpeg-python"),
    ("gi", "PyGObject"),
    ("git", "GitPython"),
    ("google.auth", "google-auth"),
    ("google.genai", "google-genai"),
    ("google.generativeai", "google-generativeai"),
    ("google.protobuf", "protobuf"),
    ("imblearn", "imbalanced-learn"),
    ("jose", "python-jose"),
    ("jwt", "PyJWT"),
    ("magic", "python-magic"),
    ("mpl_toolkits", "matplotlib"),
    ("mpl_toolkits.basemap", "basemap"),
    ("nacl", "PyNaCl"),
    ("osgeo", "GDAL"),
    ("pkg_resources", "setuptools"),
    ("pptx", "python-pptx"),
    ("psycopg2", "psycopg2-binary"),
    ("pywt", "PyWavelets"),
    ("ruamel", "ruamel.yaml"),
    ("ruamel.yaml", "ruamel.yaml"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("skopt", "scikit-optimize"),
    ("slugify", "python-slugify"),
    ("snappy", "python-snappy"),
    ("umap", "umap-learn"),
    ("usb", "pyusb"),
    ("websocket", "websocket-client"),
    ("win32com", "pywin32"),
    ("yaml", "PyYAML"),
    ("zmq", "pyzmq"),
];

/// Modules that no package of this name has: parts of Python, and names that many packages share.
const WITHOUT_PACKAGE: &[&str] = &["asynchat", "asyncore", "azure", "google", "imp", "smtpd", "tkinter"];

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
    // A name that could be anything else than a module is no name for a command.
    if module.is_empty() || !module.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
        return None;
    }
    let package = package_of(module)?;
    Some(format!(
        "The kernel's environment has no module {module}. Unless it is a file of this project, and if the person agrees: \
         add_packages(packages=[\"{package}\"]) installs the package {package}; where that tool is not offered, \
         execute_code(code=\"%pip install {package}\")."
    ))
}

fn package_of(module: &str) -> Option<String> {
    if let Some((_, package)) = PACKAGES.iter().find(|(known, _)| *known == module) {
        return Some((*package).to_owned());
    }
    if let Some(service) = module.strip_prefix("google.cloud.").filter(|service| !service.contains('.')) {
        return Some(format!("google-cloud-{}", service.replace('_', "-")));
    }
    // Python names the first part that is missing: of `a.b`, `a` is installed, in a version without `b`.
    let is_package = !module.contains('.') && !module.starts_with('_') && !WITHOUT_PACKAGE.contains(&module);
    is_package.then(|| module.to_owned())
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn the_package_of_a_missing_module_is_named() {
        for (value, package) in [
            ("No module named 'pandas'", Some("pandas")),
            ("No module named 'sklearn'", Some("scikit-learn")),
            ("No module named 'cv2'", Some("opencv-python")),
            ("No module named 'ruamel'", Some("ruamel.yaml")),
            ("No module named 'google.protobuf'", Some("protobuf")),
            ("No module named 'google.cloud.secret_manager'", Some("google-cloud-secret-manager")),
            ("No module named 'sklearn.externals'", None),
            ("No module named 'helpers.io'; 'helpers' is not a package", None),
            ("No module named 'google'", None),
            ("No module named 'google.research'", None),
            ("No module named 'google.cloud'", None),
            ("No module named 'tkinter'", None),
            ("No module named '_sqlite3'", None),
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
