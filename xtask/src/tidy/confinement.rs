//! What belongs in one crate stays there, and the lowest crates know neither tokio nor files nor sockets.

use super::model::{Finding, House, Kind};
use super::paths;

const RULE: &str = "confinement";

/// A third-party crate and the one member that may name it.
const CONFINED: [(&str, &str); 2] = [("rmcp", "mcp"), ("pyo3", "python")];

/// The members that are arithmetic on documents and nothing else.
const PURE: [&str; 3] = ["notebook", "render", "ydoc"];

/// Checks dependencies and, in the pure crates, paths.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &house.members {
        let pure = PURE.contains(&member.name.as_str());
        for dependency in &member.dependencies {
            let name = dependency.name.as_str();
            let confined = CONFINED.iter().find(|(foreign, home)| *foreign == name && *home != member.name);
            let advice = if let Some((foreign, home)) = confined {
                format!("{foreign} appears in {home} alone; let {home} offer what {} needs", member.name)
            } else if pure && name == "tokio" && dependency.kind != Kind::Dev {
                format!("{} knows no tokio; do the waiting on a higher floor", member.name)
            } else {
                continue;
            };
            findings.push(Finding { path: member.manifest(), line: dependency.line, rule: RULE, advice });
        }
        for source in member.sources.iter().filter(|_| pure) {
            for path in paths::named(&source.code) {
                for module in ["fs", "net"] {
                    if path.begins_with(&["std", module]) {
                        let advice =
                            format!("{} knows no std::{module}; take bytes as an argument", member.name);
                        findings.push(Finding {
                            path: source.path.clone(),
                            line: path.line,
                            rule: RULE,
                            advice,
                        });
                    }
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::model::samples::{house, member, places};
    use super::*;

    #[test]
    fn each_in_its_home_is_fine() {
        let good = [
            member("mcp")
                .needs("rmcp", Kind::Normal)
                .needs("tokio", Kind::Normal)
                .with_source("use std::fs;"),
            member("python").needs("pyo3", Kind::Normal),
            member("notebook").needs("serde_json", Kind::Normal).needs("tokio", Kind::Dev),
            member("render")
                .with_source("// std::fs\nuse std::fmt;\n#[cfg(test)]\nmod tests { use std::fs; }"),
        ];
        assert_eq!(check(&house(good)), []);
    }

    #[test]
    fn rmcp_and_pyo3_outside_their_homes_are_found_even_in_tests() {
        let bad = [
            member("colab").needs("rmcp", Kind::Dev),
            member("cli").needs("serde", Kind::Normal).needs("pyo3", Kind::Normal),
        ];
        assert_eq!(places(&check(&house(bad))), ["crates/colab/Cargo.toml:1", "crates/cli/Cargo.toml:2"]);
    }

    #[test]
    fn tokio_files_and_sockets_in_the_pure_crates_are_found() {
        let bad = [
            member("notebook").needs("tokio", Kind::Normal),
            member("render").with_source(
                "use std::{\n    fmt,\n    fs::{self, File},\n};\nfn f() { ::std::net::lookup() }",
            ),
        ];
        let expected = [
            "crates/notebook/Cargo.toml:1",
            "crates/render/src/lib.rs:3",
            "crates/render/src/lib.rs:3",
            "crates/render/src/lib.rs:5",
        ];
        assert_eq!(places(&check(&house(bad))), expected);
    }
}
