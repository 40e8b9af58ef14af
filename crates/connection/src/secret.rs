//! Tokens and passwords, of servers and of our own listeners.

use std::fmt;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

/// A token or a password. Its `Debug` form does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// `None` if `secret` is empty.
    pub fn new(secret: impl Into<String>) -> Option<Self> {
        Some(secret.into()).filter(|secret| !secret.is_empty()).map(Self)
    }

    /// Generates a token of 16 random bytes, written as 22 characters of URL-safe base64.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Compares the whole of `candidate`, in a time that does not depend on where the two differ.
    pub fn matches(&self, candidate: &str) -> bool {
        self.0.as_bytes().ct_eq(candidate.as_bytes()).into()
    }

    /// The secret itself, for the one place that sends or shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_tokens_have_22_url_safe_characters_and_differ() {
        let (one, other) = (Secret::generate().unwrap(), Secret::generate().unwrap());
        assert_eq!(one.expose().len(), 22);
        assert!(one.expose().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        assert_ne!(one.expose(), other.expose());
    }

    #[test]
    fn only_the_whole_secret_matches() {
        let secret = Secret::new("secret").unwrap();
        assert!(secret.matches("secret"));
        for wrong in ["", "secre", "secrets", "Secret", " secret"] {
            assert!(!secret.matches(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn debug_hides_the_secret() {
        assert_eq!(format!("{:?}", Secret::new("hush")), "Some(Secret(hidden))");
        assert!(Secret::new("").is_none());
    }
}
