//! What a check has found.

use std::fmt::{Display, Formatter, Result};

use serde::Serialize;

/// What a finding is about. The names are an interface: scripts read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    Kernels,
    Servers,
    Colab,
    Clients,
    State,
    Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    /// It works, or works in part.
    Warning,
    /// Something that was asked for cannot work.
    Error,
}

impl Display for Check {
    fn fmt(&self, formatter: &mut Formatter) -> Result {
        self.serialize(formatter)
    }
}

impl Display for Status {
    fn fmt(&self, formatter: &mut Formatter) -> Result {
        self.serialize(formatter)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: Check,
    pub status: Status,
    /// What it is about: a kernelspec, a server's address, a folder.
    pub subject: String,
    /// One sentence or two, on one line.
    pub message: String,
    /// The command that fixes it.
    pub fix: Option<String>,
    #[serde(skip)]
    pub(crate) repair: Option<Repair>,
}

/// What `--fix` may do: nothing that another program or the person has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Let only the owner read or write these files of Cellbridge.
    MakePrivate(Vec<std::path::PathBuf>),
    /// Remove the files of an ended kernel of Cellbridge.
    #[cfg(unix)]
    Remove(Vec<local::Leftover>),
}

impl Check {
    pub(crate) fn ok(self, subject: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding::new(self, Status::Ok, subject, message)
    }

    pub(crate) fn warning(self, subject: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding::new(self, Status::Warning, subject, message)
    }

    pub(crate) fn error(self, subject: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding::new(self, Status::Error, subject, message)
    }
}

impl Finding {
    fn new(check: Check, status: Status, subject: impl Into<String>, message: impl Into<String>) -> Self {
        let (subject, message) = (subject.into(), message.into());
        Self { check, status, subject, message, fix: None, repair: None }
    }

    pub(crate) fn fixed_by(self, command: impl Into<String>) -> Self {
        Self { fix: Some(command.into()), ..self }
    }

    pub(crate) fn repaired_by(self, repair: Repair) -> Self {
        Self { repair: Some(repair), ..self }
    }
}

/// A command line for a shell.
pub(crate) fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    // Fails only for a NUL, which no path has.
    shlex::try_join(words).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A finding as a line, for comparisons.
    pub(crate) fn line(finding: &Finding) -> String {
        let fix = finding.fix.as_ref().map(|fix| format!(" [{fix}]")).unwrap_or_default();
        format!("{} {}: {}{fix}", finding.status, finding.subject, finding.message)
    }

    pub(crate) fn lines(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(line).collect()
    }

    #[test]
    fn commands_are_quoted_for_a_shell() {
        assert_eq!(command(["rm", "/a b/c'd"]), r#"rm "/a b/c'd""#);
    }
}
