//! A crate imports only from lower floors, never from its own.

use super::model::{Finding, House, Kind, Member};

const RULE: &str = "floors";

const FLOORS: [(u8, &[&str]); 5] = [
    (1, &["notebook"]),
    (2, &["kernel", "render", "rest", "ydoc"]),
    (3, &["workspace"]),
    (4, &["mcp", "local", "jupyter", "colab", "telemetry"]),
    (5, &["cli", "python"]),
];

/// The fakes stand on no floor: tests on every floor may use them, the program never.
const TESTKIT: &str = "testkit";

/// The floor of a crate of the program.
pub(crate) fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(_, names)| names.contains(&name)).map(|(floor, _)| *floor)
}

/// Checks every dependency between members.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in house.members.iter().filter(|member| member.is_crate() && member.name != TESTKIT) {
        let Some(own) = floor(&member.name) else {
            findings.push(finding(
                member,
                1,
                format!("give the crate {} a floor in xtask/src/tidy/floors.rs", member.name),
            ));
            continue;
        };
        for dependency in member.dependencies.iter().filter(|dependency| dependency.kind != Kind::Dev) {
            if !house.members.iter().any(|other| other.name == dependency.name) {
                continue;
            }
            let name = &dependency.name;
            let advice = if name == TESTKIT {
                format!("move {TESTKIT} to [dev-dependencies]")
            } else {
                match floor(name) {
                    Some(other) if other < own => continue,
                    Some(other) => format!(
                        "{} is on floor {own} and imports only from below; {name} is on floor {other}: let floor 5 wire them together",
                        member.name
                    ),
                    None => format!("{name} is no part of the program; no crate may need it"),
                }
            };
            findings.push(finding(member, dependency.line, advice));
        }
    }
    findings
}

fn finding(member: &Member, line: usize, advice: String) -> Finding {
    Finding { path: member.manifest(), line, rule: RULE, advice }
}

#[cfg(test)]
mod tests {
    use super::super::model::samples::{house, member, places};
    use super::*;

    fn found(members: impl IntoIterator<Item = Member>) -> Vec<String> {
        places(&check(&house(members)))
    }

    #[test]
    fn lower_floors_and_fakes_in_tests_are_fine() {
        let good = [
            member("notebook").needs("serde", Kind::Normal).needs("testkit", Kind::Dev),
            member("workspace").needs("notebook", Kind::Normal),
            member("cli").needs("workspace", Kind::Normal).needs("notebook", Kind::Build),
            member("testkit").needs("workspace", Kind::Normal),
        ];
        assert_eq!(found(good), [""; 0]);
    }

    #[test]
    fn a_place_can_not_import_a_place_nor_the_face() {
        let bad = [
            member("colab").needs("jupyter", Kind::Normal).needs("mcp", Kind::Build),
            member("jupyter"),
            member("mcp"),
        ];
        assert_eq!(found(bad), ["crates/colab/Cargo.toml:1", "crates/colab/Cargo.toml:2"]);
    }

    #[test]
    fn nothing_imports_upwards() {
        assert_eq!(
            found([member("workspace").needs("cli", Kind::Normal), member("cli")]),
            ["crates/workspace/Cargo.toml:1"]
        );
    }

    #[test]
    fn testkit_and_the_tools_stay_out_of_the_program() {
        let mut xtask = member("xtask");
        xtask.folder = "xtask".to_owned();
        let bad = [
            member("cli").needs("testkit", Kind::Normal).needs("xtask", Kind::Normal),
            member("testkit"),
            xtask,
        ];
        assert_eq!(found(bad), ["crates/cli/Cargo.toml:1", "crates/cli/Cargo.toml:2"]);
    }

    #[test]
    fn xtask_may_use_testkit() {
        let mut xtask = member("xtask").needs("testkit", Kind::Normal);
        xtask.folder = "xtask".to_owned();
        assert_eq!(found([xtask, member("testkit")]), [""; 0]);
    }

    #[test]
    fn a_crate_without_a_floor_is_refused() {
        assert_eq!(found([member("attic")]), ["crates/attic/Cargo.toml:1"]);
    }
}
