//! The production lines of each crate, which a file limits: to raise a number is a decision, for which the commit gives the reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Finding;

/// A crate and its number in each line.
const FILE: &str = "xtask/lines.txt";
const RULE: &str = "budget of lines";
/// Folders and files below `src` that are no production.
const TESTS: [&str; 4] = ["tests", "testing", "testkit", "examples"];

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let text = fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    let budgets = text.lines().filter_map(|line| line.split_once(' '));
    let budgets: BTreeMap<&str, usize> =
        budgets.map(|(name, lines)| Ok((name, lines.trim().parse()?))).collect::<Result<_>>()?;
    let mut findings = Vec::new();
    for folder in fs::read_dir(root.join("crates"))? {
        let folder = folder?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if TESTS.contains(&&*name) {
            continue;
        }
        let lines = lines_below(&folder.join("src"))?;
        let budget = budgets.get(&*name).copied().unwrap_or_default();
        let advice = match lines.cmp(&budget) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Less => format!("{lines} lines, {budget} allowed: lower the number"),
            std::cmp::Ordering::Greater => {
                format!(
                    "{lines} lines, {budget} allowed: remove some, or raise the number and say why in the commit"
                )
            }
        };
        findings.push(Finding::new(format!("{FILE}: {name}"), RULE, advice));
    }
    Ok(findings)
}

fn lines_below(folder: &Path) -> Result<usize> {
    let mut lines = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if TESTS.contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            lines += lines_below(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            lines += production(&fs::read_to_string(&path)?);
        }
    }
    Ok(lines)
}

/// The lines of a file without what is only compiled for tests.
fn production(source: &str) -> usize {
    let (mut count, mut lines) = (0, source.lines());
    while let Some(line) = lines.next() {
        let is_test = ["#[cfg(test)]", "#[cfg(all(test"].iter().any(|it| line.trim_start().starts_with(it));
        if !is_test {
            count += 1;
            continue;
        }
        let indent = indent(line);
        for line in lines.by_ref().filter(|line| indent == self::indent(line)) {
            let line = line.trim_start();
            // Clippy lets nothing follow a module of tests. Its texts may look like the end of an item.
            if line.starts_with("mod ") && line.ends_with('{') {
                return count;
            }
            if line.ends_with([';', ',', '}']) || line.starts_with('}') {
                break;
            }
        }
    }
    count
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_for_tests_do_not_count() {
        let source =
            "use a;\n\n#[cfg(test)]\nmod tests;\nfn b() {}\n#[cfg(test)]\nmod more {\n    use super::*;\n}\n";
        assert_eq!(production(source), 3);
        assert_eq!(
            production("#[cfg(all(test, unix))]\n#[expect(x)]\nfn a(\n    b: C,\n) {\n    b();\n}\n"),
            0
        );
    }
}
