//! Every package comes from crates.io or from this repository.

use super::model::{Finding, House, Origin};

const RULE: &str = "origins";

/// Checks every package of the dependency tree.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &house.packages {
        if let Origin::Elsewhere(origin) = &package.origin {
            findings.push(Finding {
                path: "Cargo.lock".to_owned(),
                line: package.line,
                rule: RULE,
                advice: format!(
                    "{} {} comes from {origin}; take a release from crates.io",
                    package.name, package.version
                ),
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::model::Package;
    use super::super::model::samples::{house, places};
    use super::*;

    #[test]
    fn a_git_or_foreign_path_dependency_is_found() {
        let package = |origin, line| Package {
            name: "x".to_owned(),
            version: "1.0.0".to_owned(),
            licence: Some("MIT".to_owned()),
            origin,
            line,
        };
        let mut house = house([]);
        house.packages = vec![package(Origin::CratesIo, 1), package(Origin::Inside, 2)];
        assert_eq!(check(&house), []);
        house.packages.push(package(Origin::Elsewhere("git+https://example.org/x".to_owned()), 3));
        house.packages.push(package(Origin::Elsewhere("path ../x/Cargo.toml".to_owned()), 4));
        assert_eq!(places(&check(&house)), ["Cargo.lock:3", "Cargo.lock:4"]);
    }
}
