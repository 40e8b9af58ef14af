//! Every member is kept alike: named as its folder, unpublished, under the workspace's lints.

use super::model::{Finding, House};

const RULE: &str = "members";

/// Checks every member's manifest.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &house.members {
        let mut say = |advice: String| {
            findings.push(Finding { path: member.manifest(), line: 1, rule: RULE, advice });
        };
        let folder = member.folder.rsplit('/').next().unwrap_or_default();
        if folder != member.name {
            say(format!("the crate {} stands in the folder {folder}; give both one name", member.name));
        }
        if member.publishable {
            say("write publish.workspace = true under [package]".to_owned());
        }
        if !member.lints_inherited {
            say("write workspace = true under [lints]".to_owned());
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::model::Member;
    use super::super::model::samples::{house, member};
    use super::*;

    fn advice(change: impl Fn(&mut Member)) -> Vec<String> {
        let mut changed = member("colab");
        change(&mut changed);
        check(&house([changed])).into_iter().map(|finding| finding.advice).collect()
    }

    #[test]
    fn a_well_kept_member_is_fine() {
        assert_eq!(advice(|_| {}), [""; 0]);
        assert_eq!(advice(|member| (member.name, member.folder) = ("xtask".into(), "xtask".into())), [""; 0]);
    }

    #[test]
    fn each_neglect_is_found() {
        assert_eq!(
            advice(|member| member.publishable = true),
            ["write publish.workspace = true under [package]"]
        );
        assert_eq!(advice(|member| member.lints_inherited = false), ["write workspace = true under [lints]"]);
        let misnamed = advice(|member| member.folder = "crates/cellbridge-colab".to_owned());
        assert_eq!(misnamed, ["the crate colab stands in the folder cellbridge-colab; give both one name"]);
    }
}
