//! Secrets that open a listener.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes: {0}")]
pub struct NoRandomness(getrandom::Error);

/// A secret that its holder must show. Its `Debug` form does not tell it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Makes a token of 16 random bytes, written as 22 characters of URL-safe base64.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(NoRandomness)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Takes a secret chosen by a person. `None` if it is empty.
    pub fn chosen(secret: impl Into<String>) -> Option<Self> {
        Some(secret.into()).filter(|secret| !secret.is_empty()).map(Self)
    }

    /// Compares the whole of `candidate`, in a time that does not depend on where the two differ.
    pub fn matches(&self, candidate: &str) -> bool {
        self.0.as_bytes().ct_eq(candidate.as_bytes()).into()
    }

    /// The secret itself, for the one place where it has to be shown or written.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_tokens_have_22_url_safe_characters_and_differ() {
        let (one, other) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert_eq!(one.expose().len(), 22);
        assert!(one.expose().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        assert_ne!(one.expose(), other.expose());
    }

    #[test]
    fn only_the_whole_secret_matches() {
        let token = Token::chosen("secret").unwrap();
        assert!(token.matches("secret"));
        for wrong in ["", "secre", "secrets", "Secret", " secret"] {
            assert!(!token.matches(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn debug_does_not_tell_the_secret() {
        assert_eq!(format!("{:?}", Token::chosen("hush")), "Some(Token(hidden))");
        assert!(Token::chosen("").is_none());
    }
}
