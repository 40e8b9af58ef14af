//! The skill names only tools and parameters that exist.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use super::Finding;
use crate::project::Project;

const RULE: &str = "skill";
const SKILL: &str = "crates/mcp/src/skills/working-in-notebooks/SKILL.md";
/// Generated from what the program lists; the test command checks it.
const REFERENCE: &str = "docs/tools.md";

pub(super) fn check(project: &Project) -> Result<Vec<Finding>> {
    let read = |file: &str| {
        std::fs::read_to_string(project.root.join(file)).with_context(|| format!("{file} can't be read"))
    };
    let (reference, skill) = (read(REFERENCE)?, read(SKILL)?);
    Ok(unknown(&skill, &known(&reference)))
}

/// The tools, which are headings, and their parameters, which start the rows of tables.
fn known(reference: &str) -> BTreeSet<&str> {
    let names = reference.lines().filter_map(|line| {
        let rest = line.strip_prefix("### `").or_else(|| line.strip_prefix("| `"))?;
        rest.split('`').next()
    });
    names.collect()
}

/// Names in code spans that are in the form of a tool or a parameter and are neither.
fn unknown(skill: &str, known: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, number) in skill.lines().zip(1..) {
        for span in line.split('`').skip(1).step_by(2) {
            if name(span).is_some_and(|name| !known.contains(name)) {
                let advice = format!("{span} is no tool and no parameter of {REFERENCE}");
                findings.push(Finding::new(format!("{SKILL}:{number}"), RULE, advice));
            }
        }
    }
    findings
}

/// The name in `name`, or in `name: value`; a path such as `local:` or code such as `input()` has none.
fn name(span: &str) -> Option<&str> {
    let name = span.split_once(": ").map_or(span, |(name, _)| name);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_in_the_reference_is_found() {
        let known = known("### `read_cell`\n\n| `output` | integer |\n| [`other`](#other) |\n");
        let lines = |skill| unknown(skill, &known).into_iter().map(|it| it.location).collect::<Vec<_>>();
        assert_eq!(lines("`read_cell` with `output: 1`, `local:`, `.ipynb`, `head()`, `\"x\"`"), [""; 0]);
        assert_eq!(lines("ok\n`show_cell`"), [format!("{SKILL}:2")]);
        assert_eq!(lines("`read_cell` with `limit: 1`"), [format!("{SKILL}:1")]);
        assert_eq!(lines("`other`"), [format!("{SKILL}:1")]);
    }
}
