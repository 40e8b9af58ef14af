//! The modules that a notebook imports, and which of them its environment lacks.

use std::collections::BTreeSet;

use packages::package_of;
use syntax::imported_modules;

/// The packages whose parts come from many others: of their modules, the second part is looked for, too.
const SHARED: [&str; 4] = ["google", "azure", "mpl_toolkits", "ruamel"];

/// A module that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingModule {
    pub module: String,
    /// The package that has it, as the package index names it.
    pub package: Option<String>,
}

/// The modules that cells of Python import, also in their functions, where nothing catches that one is missing.
pub(crate) fn imported<'s>(sources: impl Iterator<Item = &'s str>) -> BTreeSet<String> {
    sources.flat_map(imported_modules).map(|module| looked_for(&module)).collect()
}

fn looked_for(module: &str) -> String {
    let parts: Vec<&str> = module.split('.').collect();
    let is_shared = parts.len() > 1 && SHARED.contains(&parts[0]);
    let length = match &parts[..] {
        ["google", "cloud", _, ..] => 3,
        _ if is_shared => 2,
        _ => 1,
    };
    parts[..length].join(".")
}

/// Code that prints those of the modules that cannot be found, a line each. It imports none but the parents of parts.
pub(crate) fn question(modules: &BTreeSet<String>) -> String {
    let names: Vec<String> = modules.iter().map(|module| format!("{module:?}")).collect();
    format!(
        "def _missing():\n    from importlib.util import find_spec\n    for name in [{}]:\n        try:\n            found = \
         find_spec(name)\n        except Exception:\n            found = None\n        if found is None:\n            \
         print(name)\n_missing()",
        names.join(", ")
    )
}

/// What the code has printed.
pub(crate) fn missing(printed: &str, modules: &BTreeSet<String>) -> Vec<MissingModule> {
    let lines: BTreeSet<&str> = printed.lines().map(str::trim).collect();
    let missing = modules.iter().filter(|module| lines.contains(module.as_str()));
    missing.map(|module| MissingModule { module: module.clone(), package: package_of(module) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_count_where_nothing_catches_that_they_are_missing() {
        let sources = [
            "import os, cv2 as cv\nimport a.b.c\nfrom sklearn.linear_model import (\n    Ridge,\n)\nfrom . import x",
            "try:\n    import optional\nexcept ImportError:\n    pass",
            "text = \"\"\"\nimport nothing\n\"\"\"",
            "%%bash\nimport x",
            "from google.cloud.storage import Client\nimport yaml  # comment",
            "def load():\n    import pyarrow.parquet as pq\n    try:\n        import fast\n    except ImportError:\n        fast = None",
            "class A:\n    def m(self):\n        from scipy import stats",
            "if on_colab:\n    import colab_only",
            "%%time\nimport timed",
        ];
        let found: Vec<String> = imported(sources.into_iter()).into_iter().collect();
        assert_eq!(
            found,
            ["a", "cv2", "google.cloud.storage", "os", "pyarrow", "scipy", "sklearn", "timed", "yaml"]
        );
    }

    #[test]
    fn missing_modules_are_named_with_their_packages() {
        let modules = ["cv2", "os", "sklearn"].map(str::to_owned).into();
        let found = missing("warning\ncv2\nsklearn\n", &modules);
        let named: Vec<_> = found.iter().map(|it| (it.module.as_str(), it.package.as_deref())).collect();
        assert_eq!(named, [("cv2", Some("opencv-python")), ("sklearn", Some("scikit-learn"))]);
        assert!(question(&modules).contains("[\"cv2\", \"os\", \"sklearn\"]"));
    }
}
