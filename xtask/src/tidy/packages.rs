//! Every package comes from crates.io or this repository, under a licence that suits a program under MIT or Apache-2.0.
//!
//! cargo-deny checks the same, but a fresh machine would compile it for minutes.

use cargo_metadata::{Metadata, Package};
use spdx::{Expression, LicenseReq, ParseMode};

use super::Finding;

const LICENCES: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "NCSA",
    "Unicode-3.0",
    // Its older text, for the names of characters.
    "Unicode-DFS-2016",
    // For data: root certificates.
    "CDLA-Permissive-2.0",
    "Unlicense",
    "Zlib",
];

/// Exceptions that only add permissions.
const EXCEPTIONS: [&str; 1] = ["LLVM-exception"];

pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let root = metadata.workspace_root.as_str();
    let check = |package: &Package| {
        let finding = |rule, problem| {
            let advice = format!("{} {}: {problem}; use another crate", package.name, package.version);
            Finding::new("Cargo.lock", rule, advice)
        };
        let source = package.source.as_ref().map(|source| source.repr.as_str());
        let origin = origin_problem(source, package.manifest_path.as_str(), root);
        let licence = licence_problem(package.license.as_deref());
        [
            origin.map(|problem| finding("origins", problem)),
            licence.map(|problem| finding("licences", problem)),
        ]
    };
    metadata.packages.iter().flat_map(check).flatten().collect()
}

fn origin_problem(source: Option<&str>, manifest: &str, root: &str) -> Option<String> {
    match source {
        None if manifest.starts_with(root) => None,
        None => Some(format!("comes from the folder of {manifest}")),
        Some("registry+https://github.com/rust-lang/crates.io-index") => None,
        Some(source) => Some(format!("comes from {source}")),
    }
}

fn licence_problem(licence: Option<&str>) -> Option<String> {
    let Some(text) = licence else { return Some("names no licence".to_owned()) };
    // Old crates write `MIT/Apache-2.0` for a choice.
    let mode = ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    match Expression::parse_mode(text, mode) {
        Err(error) => Some(format!("its licence {text:?} is not an SPDX expression ({})", error.reason)),
        Ok(expression) if expression.evaluate(is_allowed) => None,
        Ok(_) => Some(format!("its licence {text:?} is not on the list in xtask/src/tidy/packages.rs")),
    }
}

fn is_allowed(requirement: &LicenseReq) -> bool {
    let Some(licence) = requirement.license.id() else { return false };
    let exception = requirement.addition.as_ref().map(ToString::to_string);
    LICENCES.contains(&licence.name) && exception.is_none_or(|name| EXCEPTIONS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissive_licences_are_fine() {
        for text in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert_eq!(licence_problem(Some(text)), None, "{text}");
        }
    }

    #[test]
    fn other_licences_are_found() {
        for text in [
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "MPL-2.0",
            "Apache-2.0 WITH Classpath-exception-2.0",
            "LicenseRef-Own",
            "Proprietary",
            "",
        ] {
            assert!(licence_problem(Some(text)).is_some(), "{text}");
        }
        assert_eq!(licence_problem(None).as_deref(), Some("names no licence"));
    }

    #[test]
    fn packages_from_elsewhere_are_found() {
        let problem = |source, manifest| origin_problem(source, manifest, "/project");
        assert_eq!(problem(None, "/project/crates/x/Cargo.toml"), None);
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        assert_eq!(problem(Some(registry), "/home/.cargo/x/Cargo.toml"), None);
        assert!(problem(Some("git+https://example.org/x"), "/home/.cargo/x/Cargo.toml").is_some());
        assert!(problem(None, "/elsewhere/Cargo.toml").is_some());
    }
}
