//! Why a connection file is not used.

use std::fmt;

use place::{Error, ErrorKind, NextStep};

/// Why a connection file is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Unreadable(String),
    Link,
    NoFile,
    #[cfg(unix)]
    OtherUser,
    #[cfg(unix)]
    Writable,
    Malformed,
    /// It names this address.
    Address(String),
    SocketsOfOthers,
    NoKey,
    Signature,
    Encrypted,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable(cause) => return write!(f, "it cannot be read ({cause})"),
            Self::Link => "it is a symbolic link",
            Self::NoFile => "it is not a file",
            #[cfg(unix)]
            Self::OtherUser => "it belongs to another user",
            #[cfg(unix)]
            Self::Writable => "other users can write to it",
            Self::Malformed => "it is not the connection file of a kernel",
            Self::Address(ip) => {
                return write!(f, "it names the address {ip:?}, which is not local to this machine");
            }
            Self::SocketsOfOthers => {
                "its sockets belong to another user, or are not named by an absolute path"
            }
            Self::NoKey => {
                "it has no key, so messages from other users could not be distinguished from the kernel's"
            }
            Self::Signature => "its kernel does not sign with hmac-sha256",
            Self::Encrypted => "its kernel encrypts, which is not supported",
        })
    }
}

impl Refusal {
    /// The failure to join the kernel with this id.
    pub(super) fn error(&self, id: &str) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!("The connection file of kernel {id} is not used: {self}."),
            NextStep::ListKernels,
        )
    }
}
