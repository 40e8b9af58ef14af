//! Findings as text for a person.

use std::fmt::Write as _;

use rest::Secret;

use super::finding::{Finding, Status};

/// Each finding on a line, below the name of its check; the command that fixes it on the next.
pub(crate) fn text(title: &str, findings: &[Finding]) -> String {
    let mut text = format!("{title}\n");
    let mut check = None;
    for finding in findings {
        if check.replace(finding.check) != Some(finding.check) {
            let _ = write!(text, "\n{}\n", finding.check);
        }
        let _ = writeln!(text, "  {:<8} {}: {}", finding.status, finding.subject, finding.message);
        if let Some(fix) = &finding.fix {
            let _ = writeln!(text, "           fix: {fix}");
        }
    }
    text + "\n" + &summary(findings)
}

/// Replaces secrets, and what would move a terminal's cursor: names of kernelspecs and folders come from others.
pub(crate) fn clean(finding: Finding, secrets: &[Secret]) -> Finding {
    let clean = |text: String| {
        let hidden = secrets.iter().fold(text, |text, secret| text.replace(secret.expose(), "(hidden)"));
        hidden.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    Finding {
        subject: clean(finding.subject),
        message: clean(finding.message),
        fix: finding.fix.map(clean),
        ..finding
    }
}

fn summary(findings: &[Finding]) -> String {
    let count = |status: Status| findings.iter().filter(|finding| finding.status == status).count();
    let of = |number: usize, what: &str| match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    format!("{}, {}.", of(count(Status::Error), "error"), of(count(Status::Warning), "warning"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Check;

    fn findings() -> Vec<Finding> {
        vec![
            Check::Kernels.ok("new notebook", "python3"),
            Check::Kernels.warning("kernelspec r", "gone").fixed_by("rm r"),
            Check::Limits.error("HOME", "it does not exist"),
        ]
    }

    #[test]
    fn text_groups_findings_by_check() {
        insta::assert_snapshot!(text("cellbridge 1.2.3, folder /work", &findings()));
        assert!(text("", &[]).ends_with("no errors, no warnings."));
    }

    #[test]
    fn json_is_a_list_with_five_keys() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&findings()).unwrap());
    }

    #[test]
    fn no_secret_and_no_control_character_is_left() {
        let secret = Secret::new("hush").unwrap();
        let finding = Check::Servers.ok("http://h/?token=hush", "a\x1b[31mb\nc hush").fixed_by("x hush");
        let cleaned = clean(finding, &[secret]);
        assert_eq!(cleaned.subject, "http://h/?token=(hidden)");
        assert_eq!(cleaned.message, "a [31mb c (hidden)");
        assert_eq!(cleaned.fix.as_deref(), Some("x (hidden)"));
    }
}
