//! The person's own OAuth client, from the JSON file that Google's console offers for download.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use connection::Secret;
use place::{Error, ErrorKind, NextStep};
use serde_json::Value;

use crate::Result;

const MAX_BYTES: u64 = 64 * 1024;

/// An OAuth client for a desktop app. The addresses in its file are ignored: they are [`crate::Google`]'s.
#[derive(Clone, PartialEq, Eq)]
pub struct OAuthClient {
    pub id: String,
    pub(crate) secret: Secret,
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OAuthClient({})", self.id)
    }
}

impl OAuthClient {
    /// Reads the file of a client.
    pub fn read(file: &Path) -> Result<Self> {
        Self::parse(&text(file)?).map_err(|problem| unusable(format!("{}: {problem}", file.display())))
    }

    /// Reads the login that `gcloud auth application-default login` has stored: a client and its refresh token.
    pub(crate) fn read_adc(file: &Path) -> Result<(Self, Secret)> {
        let json: Value = serde_json::from_str(&text(file)?).unwrap_or_default();
        let refresh = json["refresh_token"].as_str().and_then(Secret::new);
        match (refresh, Self::of(&json)) {
            (Some(refresh), Ok(client)) if json["type"] == "authorized_user" => Ok((client, refresh)),
            _ => Err(unusable(format!("{} holds no login of a person.", file.display()))),
        }
    }

    /// The error is a sentence, without the text.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let json: Value = serde_json::from_str(text).map_err(|_| "The file is not JSON.")?;
        let Some(client) = json.get("installed") else {
            return Err(match (&json["web"], json["type"].as_str()) {
                (Value::Object(_), _) => {
                    "This is an OAuth client for a web application. A client for a desktop app is required."
                }
                (_, Some("service_account")) => {
                    "This is the key of a service account. An OAuth client for a desktop app is required."
                }
                (_, Some("authorized_user")) => {
                    "This is a login of another program. An OAuth client for a desktop app is required."
                }
                _ => "The file has no OAuth client for a desktop app (\"installed\").",
            });
        };
        Self::of(client)
    }

    fn of(client: &Value) -> Result<Self, &'static str> {
        let text = |name: &str| client[name].as_str().map(str::trim).filter(|it| !it.is_empty());
        let id = text("client_id").ok_or("The client has no client_id.")?;
        let secret = text("client_secret").and_then(Secret::new).ok_or("The client has no client_secret.")?;
        if !id.ends_with(".apps.googleusercontent.com") {
            return Err("The client_id is not one of Google's: it ends in .apps.googleusercontent.com.");
        }
        Ok(Self { id: id.to_owned(), secret })
    }
}

fn text(file: &Path) -> Result<String> {
    let mut text = String::new();
    File::open(file).and_then(|it| it.take(MAX_BYTES).read_to_string(&mut text)).map_err(|error| {
        unusable(format!("The file of the OAuth client cannot be read: {}: {error}.", file.display()))
    })?;
    Ok(text)
}

fn unusable(cause: String) -> Error {
    Error::new(ErrorKind::Unavailable, cause, NextStep::CreateClient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_desktop_client_is_read_and_its_secret_stays_hidden() {
        let text = r#"{"installed": {"client_id": "1-a.apps.googleusercontent.com", "client_secret": "hush",
            "token_uri": "https://example.com/token"}}"#;
        let client = OAuthClient::parse(text).unwrap();
        assert_eq!((client.id.as_str(), client.secret.expose()), ("1-a.apps.googleusercontent.com", "hush"));
        assert!(!format!("{client:?}").contains("hush"));
    }

    #[test]
    fn other_files_are_named() {
        for (text, said) in [
            (r#"{"web": {"client_id": "x", "client_secret": "hush"}}"#, "web application"),
            (r#"{"type": "service_account", "private_key": "hush"}"#, "service account"),
            (r#"{"type": "authorized_user", "refresh_token": "hush"}"#, "another program"),
            (r#"{"installed": {"client_id": "x.apps.googleusercontent.com"}}"#, "no client_secret"),
            (r#"{"installed": {"client_id": "x", "client_secret": "hush"}}"#, "not one of Google's"),
            ("[]", "\"installed\""),
            ("hush", "not JSON"),
        ] {
            let problem = OAuthClient::parse(text).unwrap_err();
            assert!(problem.contains(said) && !problem.contains("hush"), "{text}: {problem}");
        }
    }
}
