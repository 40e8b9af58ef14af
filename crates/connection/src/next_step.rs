//! What a person can do about a failed connection.

use std::borrow::Cow;
use std::fmt;

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
    /// Give the certificate of the authority that signed the server's.
    GiveCertificate,
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

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Say(sentence) => f.write_str(sentence),
            Self::GiveAddress => f.write_str("Start a server, or give the address of a running one."),
            Self::GiveToken { obtain } => write!(f, "{obtain} Then give it as this server's token."),
            Self::GivePassword => f.write_str("Give the server's address and password."),
            Self::GiveCertificate => {
                f.write_str("Give the server's certificate (PEM), or that of the authority that signed it.")
            }
        }
    }
}
