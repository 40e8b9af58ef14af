//! Every package may be used under terms that suit a program under MIT or Apache-2.0.

use spdx::{Expression, LicenseReq, ParseMode};

use super::model::{Finding, House, Package};

const RULE: &str = "licences";

const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "NCSA",
    "Unicode-3.0",
    // For data: root certificates.
    "CDLA-Permissive-2.0",
    "Unlicense",
    "Zlib",
];

/// Exceptions that only add permissions.
const ALLOWED_EXCEPTIONS: [&str; 1] = ["LLVM-exception"];

/// Checks every package of the dependency tree.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let finding = |package: &Package| {
        let problem = problem(package.licence.as_deref())?;
        Some(Finding {
            path: "Cargo.lock".to_owned(),
            line: package.line,
            rule: RULE,
            advice: format!(
                "{} {}: {problem}; use another crate, or discuss it and extend xtask/src/tidy/licences.rs",
                package.name, package.version
            ),
        })
    };
    house.packages.iter().filter_map(finding).collect()
}

/// What is wrong with a package's `license` field.
fn problem(licence: Option<&str>) -> Option<String> {
    let Some(text) = licence else { return Some("names no licence".to_owned()) };
    // Old crates write `MIT/Apache-2.0` for a choice.
    let mode = ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    match Expression::parse_mode(text, mode) {
        Err(error) => Some(format!("its licence {text:?} is no SPDX expression ({})", error.reason)),
        Ok(expression) if expression.evaluate(is_allowed) => None,
        Ok(_) => Some(format!("its licence {text:?} is not on the list")),
    }
}

fn is_allowed(requirement: &LicenseReq) -> bool {
    let Some(licence) = requirement.license.id() else { return false };
    let exception = requirement.addition.as_ref().map(ToString::to_string);
    ALLOWED.contains(&licence.name)
        && exception.is_none_or(|name| ALLOWED_EXCEPTIONS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::model::Origin;
    use super::super::model::samples::house;
    use super::*;

    #[test]
    fn permissive_expressions_are_fine() {
        for text in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT OR Apache-2.0) AND NCSA",
        ] {
            assert_eq!(problem(Some(text)), None, "{text}");
        }
    }

    #[test]
    fn other_terms_are_found() {
        for text in [
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "MPL-2.0",
            "AGPL-3.0-or-later OR SSPL-1.0",
            "Apache-2.0 WITH Classpath-exception-2.0",
            "LicenseRef-Own",
            "Proprietary",
            "",
        ] {
            assert!(problem(Some(text)).is_some(), "{text}");
        }
        assert_eq!(problem(None).as_deref(), Some("names no licence"));
    }

    #[test]
    fn a_finding_points_into_the_lock() {
        let mut house = house([]);
        let package = |name: &str, licence: &str, line| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: Some(licence.to_owned()),
            origin: Origin::CratesIo,
            line,
        };
        house.packages = vec![package("good", "MIT", 3), package("bad", "GPL-2.0-only", 7)];
        let findings = check(&house);
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].to_string().starts_with("Cargo.lock:7: licences: bad 1.0.0: "),
            "{}",
            findings[0]
        );
    }
}
