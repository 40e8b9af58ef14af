//! What a person can do about a failed connection.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// The action that helps after a failure. Options have other names at the command line than inside Jupyter, so the
/// crate that shows a failure words its step; `Display` words it without such names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// One or two sentences that name no option.
    Say(Cow<'static, str>),
    /// Start a server, or give the address of a running one.
    GiveAddress,
    /// Give the server's token. The sentence says where to get it.
    GiveToken { obtain: Cow<'static, str> },
    /// Give the server's address together with its password.
    GivePassword,
    /// Give the certificate of the authority that signed the server's. A file that was given already does not help.
    GiveCertificate { given: Option<PathBuf> },
}

impl From<&'static str> for NextStep {
    fn from(sentence: &'static str) -> Self {
        Self::Say(sentence.into())
    }
}

impl From<String> for NextStep {
    fn from(sentence: String) -> Self {
        Self::Say(sentence.into())
    }
}

/// A failure in one line: the cause, with one stop, and the next step. What others say can be empty, or end with a stop of its own.
pub fn joined(cause: &str, next: &str) -> String {
    let cause = cause.trim_end();
    let bare = cause.trim_end_matches(['.', ' ']);
    // `…: .` has lost its end; `colab:.` has not.
    let bare = if cause[bare.len()..].starts_with(' ') { bare.trim_end_matches(':') } else { bare };
    let stop = if cause.ends_with('.') { "." } else { "" };
    format!("{bare}{stop} {next}").trim().to_owned()
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Say(sentence) => f.write_str(sentence),
            Self::GiveAddress => f.write_str("Start a server, or give the address of a running one."),
            Self::GiveToken { obtain } => write!(f, "{obtain} Then give it as this server's token."),
            Self::GivePassword => f.write_str("Give the server's address and password."),
            Self::GiveCertificate { given } => {
                if let Some(file) = given {
                    write!(f, "The certificates in {} do not help. ", file.display())?;
                }
                f.write_str("Give the server's certificate (PEM), or that of the authority that signed it.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn a_cause_has_one_stop() {
        for cause in
            ["Refused: no token.", "Refused: no token..", "Refused: no token. .", "Refused: no token: ."]
        {
            assert_eq!(joined(cause, "Try again."), "Refused: no token. Try again.");
        }
        for cause in ["Why?", "Open tabs: colab:."] {
            assert_eq!(joined(cause, "Try again."), format!("{cause} Try again."));
        }
        assert_eq!(joined("It failed.", ""), "It failed.");
    }
}
