//! Versions of dependencies stand in the root manifest and nowhere else.

use super::model::{Finding, House};

const RULE: &str = "inheritance";

/// Checks every dependency line of every member.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &house.members {
        for dependency in member.dependencies.iter().filter(|dependency| !dependency.inherited) {
            findings.push(Finding {
                path: member.manifest(),
                line: dependency.line,
                rule: RULE,
                advice: format!(
                    "name {0} in [workspace.dependencies] of the root manifest and write {0}.workspace = true here",
                    dependency.name
                ),
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::model::Kind;
    use super::super::model::samples::{house, member, places};
    use super::*;

    #[test]
    fn an_own_version_is_found_and_an_inherited_one_is_fine() {
        let mut bad = member("cli").needs("clap", Kind::Normal).needs("insta", Kind::Dev);
        assert_eq!(check(&house([member("mcp").needs("rmcp", Kind::Normal)])), []);
        bad.dependencies[1].inherited = false;
        assert_eq!(places(&check(&house([bad]))), ["crates/cli/Cargo.toml:2"]);
    }
}
