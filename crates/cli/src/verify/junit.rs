//! A report in the format of `JUnit`, as CI systems read it
//! (<https://github.com/testmoapp/junitxml>).

use std::fmt::Write as _;

use verify::Verdict;

use super::{Ran, Verified, name};

/// A suite for each notebook, with a test for each cell.
pub(super) fn report(all: &[Verified]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (path, verified) in all {
        let path = escaped(&path.display().to_string());
        match verified {
            Err(cause) => {
                let cause = escaped(cause);
                let _ = write!(
                    xml,
                    "<testsuite name=\"{path}\" tests=\"1\" failures=\"0\" errors=\"1\">\n<testcase classname=\"{path}\" \
                     name=\"notebook\"><error message=\"{cause}\"/></testcase>\n</testsuite>\n"
                );
            }
            Ok(Ran { verification, .. }) => {
                let cells: Vec<String> =
                    verification.cells.iter().map(|cell| test(&path, cell.index, &cell.verdict)).collect();
                let count = |element: &str| cells.iter().filter(|cell| cell.contains(element)).count();
                let _ = write!(
                    xml,
                    "<testsuite name=\"{path}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\">\n{}</testsuite>\n",
                    cells.len(),
                    count("<failure"),
                    count("<error"),
                    count("<skipped"),
                    verification.elapsed.as_secs_f64(),
                    cells.concat()
                );
            }
        }
    }
    xml + "</testsuites>\n"
}

fn test(path: &str, index: usize, verdict: &Verdict) -> String {
    let kind = name(verdict);
    let content = match verdict {
        Verdict::Identical | Verdict::NotCompared | Verdict::NoneSaved => String::new(),
        Verdict::Close { pictures } => {
            format!("<system-out>{pictures} of its pictures differ slightly</system-out>")
        }
        Verdict::Stale { diff, .. }
        | Verdict::NotDeterministic { diff, .. }
        | Verdict::Unexplained { diff } => {
            format!("<failure message=\"{kind}\">{}</failure>", escaped(diff))
        }
        Verdict::Follows => "<failure message=\"follows from another cell\"/>".to_owned(),
        Verdict::Failed { cause, shown } | Verdict::FailsAgain { cause, shown } => {
            format!("<error message=\"{}\">{}</error>", escaped(cause), escaped(shown))
        }
        Verdict::NotRun => "<skipped message=\"a cell before it failed\"/>".to_owned(),
    };
    format!("<testcase classname=\"{path}\" name=\"cell {index}\">{content}</testcase>\n")
}

/// Without what XML does not allow.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::testing::ran;
    use super::*;

    #[test]
    fn each_cell_is_a_test() {
        let all =
            [(PathBuf::from("a.ipynb"), Ok(ran())), (PathBuf::from("b.ipynb"), Err("no kernel".to_owned()))];
        insta::assert_snapshot!(report(&all));
    }
}
