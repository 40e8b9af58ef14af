//! The production lines of each crate, and those with words that the project avoids. A file limits each number: to raise one is a decision,
//! for which the commit gives the reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Finding, wording};

/// Folders and files below `src` that are no production.
const TESTS: [&str; 4] = ["tests", "testing", "testkit", "examples"];

/// A number of each crate that may not grow.
struct Budget {
    /// A crate and its number in each line. A crate that is missing has 0.
    file: &'static str,
    rule: &'static str,
    /// Counts in the production lines of a file.
    count: fn(&[&str]) -> usize,
    advice: &'static str,
}

const BUDGETS: [Budget; 2] = [
    Budget {
        file: "xtask/lines.txt",
        rule: "budget of lines",
        count: |lines| lines.len(),
        advice: "remove some, or raise the number and say why in the commit",
    },
    Budget {
        file: "xtask/wording.txt",
        rule: "wording",
        count: wording::count,
        advice: "open comments with a noun, not with What, How, Where, Which, Who or Why, nor with Whether unless \
                 before a bool; name bindings after what they hold, not found, given, known, shown or told",
    },
];

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for budget in &BUDGETS {
        let file = budget.file;
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let numbers = text.lines().filter_map(|line| line.split_once(' '));
        let numbers: BTreeMap<&str, usize> =
            numbers.map(|(name, number)| Ok((name, number.trim().parse()?))).collect::<Result<_>>()?;
        for folder in fs::read_dir(root.join("crates"))? {
            let folder = folder?.path();
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if TESTS.contains(&&*name) {
                continue;
            }
            let number = count_below(&folder.join("src"), budget.count)?;
            let allowed = numbers.get(&*name).copied().unwrap_or_default();
            let advice = match number.cmp(&allowed) {
                std::cmp::Ordering::Equal => continue,
                std::cmp::Ordering::Less => "lower the number",
                std::cmp::Ordering::Greater => budget.advice,
            };
            let advice = format!("{number} lines, {allowed} allowed: {advice}");
            findings.push(Finding::new(format!("{file}: {name}"), budget.rule, advice));
        }
    }
    Ok(findings)
}

fn count_below(folder: &Path, count: fn(&[&str]) -> usize) -> Result<usize> {
    let mut sum = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if TESTS.contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            sum += count_below(&path, count)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sum += count(&production(&fs::read_to_string(&path)?));
        }
    }
    Ok(sum)
}

/// The lines of a file without what is only compiled for tests.
fn production(source: &str) -> Vec<&str> {
    let (mut kept, mut lines) = (Vec::new(), source.lines());
    while let Some(line) = lines.next() {
        let is_test = ["#[cfg(test)]", "#[cfg(all(test"].iter().any(|it| line.trim_start().starts_with(it));
        if !is_test {
            kept.push(line);
            continue;
        }
        let indent = indent(line);
        for line in lines.by_ref().filter(|line| indent == self::indent(line)) {
            let line = line.trim_start();
            // Clippy lets nothing follow a module of tests. Its texts may look like the end of an item.
            if line.starts_with("mod ") && line.ends_with('{') {
                return kept;
            }
            if line.ends_with([';', ',', '}']) || line.starts_with('}') {
                break;
            }
        }
    }
    kept
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
        assert_eq!(production(source), ["use a;", "", "fn b() {}"]);
        let source = "#[cfg(all(test, unix))]\n#[expect(x)]\nfn a(\n    b: C,\n) {\n    b();\n}\n";
        assert_eq!(production(source), [""; 0]);
    }
}
