//! Which package has a module.

/// Modules, each with a package that is named unlike it. Of a module with a point the first part is there, as several packages share it.
const PACKAGES: &str = include_str!("modules.txt");

/// Modules that no package of this name has: parts of Python, and names that many packages share.
const WITHOUT_PACKAGE: &[&str] = &["asynchat", "asyncore", "azure", "google", "imp", "smtpd", "tkinter"];

fn known(module: &str) -> Option<&'static str> {
    PACKAGES.lines().find_map(|line| line.strip_prefix(module)?.strip_prefix(' '))
}

/// The package of a module that cannot be imported, as the package index names it; `None` if no package has it, or many.
pub fn package_of(module: &str) -> Option<String> {
    if !is_module(module) {
        return None;
    }
    if let Some(package) = known(module) {
        return Some(package.to_owned());
    }
    if let Some(service) = module.strip_prefix("google.cloud.").filter(|service| !service.contains('.')) {
        return Some(format!("google-cloud-{}", service.replace('_', "-")));
    }
    // Python names the first part that is missing: of `a.b`, `a` is installed, in a version without `b`.
    let is_package = !module.contains('.') && !module.starts_with('_') && !WITHOUT_PACKAGE.contains(&module);
    is_package.then(|| module.to_owned())
}

/// The package that is meant by a name that somebody gives to an installer: that of the module of this name, if it is called
/// otherwise, as `cv2`. A package of the module's name is another one, or none.
pub(crate) fn package_meant(name: &str) -> &str {
    // SnapPy, the one about knots, is as well known.
    known(name).filter(|_| name != "snappy").unwrap_or(name)
}

/// A name that could be anything else than a module is no name for a command.
fn is_module(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_lead_to_their_packages() {
        for (module, package) in [
            ("pandas", Some("pandas")),
            ("cv2", Some("opencv-python")),
            ("ruamel", Some("ruamel.yaml")),
            ("google.protobuf", Some("protobuf")),
            ("google.cloud.secret_manager", Some("google-cloud-secret-manager")),
            ("sklearn.externals", None),
            ("google", None),
            ("tkinter", None),
            ("_sqlite3", None),
            ("a b", None),
            ("x; rm -rf /", None),
            ("", None),
        ] {
            assert_eq!(package_of(module).as_deref(), package, "{module}");
        }
    }

    #[test]
    fn the_name_of_a_module_stands_for_its_package() {
        for (name, package) in [
            ("cv2", "opencv-python"),
            ("sklearn", "scikit-learn"),
            ("yaml", "PyYAML"),
            ("PIL", "Pillow"),
            ("bs4", "beautifulsoup4"),
            ("dotenv", "python-dotenv"),
            ("pandas", "pandas"),
            ("docx", "python-docx"),
            ("snappy", "snappy"),
        ] {
            assert_eq!(package_meant(name), package);
        }
    }
}
