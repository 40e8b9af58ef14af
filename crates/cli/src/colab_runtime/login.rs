//! The login that a machine needs.

use std::path::PathBuf;

use colab_machines::{Google, LoginError, OAuthClient, Store};
use place::{Error, ErrorKind, NextStep};

/// A stored login, of a certain OAuth client if one is given.
pub(crate) struct RequiredLogin {
    pub(crate) store: Store,
    pub(crate) google: Google,
    /// The file of the OAuth client.
    pub(crate) client: Option<PathBuf>,
}

impl RequiredLogin {
    /// Fails unless somebody has signed in. An MCP server opens no consent page by itself: nobody may be there to expect it, and
    /// clients wait for a call less long than a consent can take.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let client = self.client.as_deref().map(OAuthClient::read).transpose().map_err(|error| {
            failure(
                error,
                "The person has to start this server with the file of an OAuth client for a desktop app.",
            )
        })?;
        let login = self.store.load(&self.google).map_err(|error| {
            failure(
                error,
                "The person can run `cellbridge colab status` in a terminal, which names the next step.",
            )
        })?;
        let cause = match (login, client) {
            (None, _) => "Nobody is signed in to Colab's API.".to_owned(),
            (Some(login), Some(client)) if login.client.id != client.id => format!(
                "The login to Colab's API belongs to the OAuth client {}, but --client-oauth-config names {}.",
                login.client.id, client.id
            ),
            (Some(_), _) => return Ok(()),
        };
        let next = format!("Ask the person to run this in a terminal, then try again: {}", self.command());
        Err(Error::new(ErrorKind::Unauthorized, cause, next))
    }

    /// For a shell in any folder.
    fn command(&self) -> String {
        let file = self.client.as_deref().map_or("FILE".to_owned(), |file| {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            let file = file.display().to_string();
            if file.contains(' ') { format!("\"{file}\"") } else { file }
        });
        format!("cellbridge colab login --client-oauth-config {file}")
    }
}

fn failure(error: LoginError, next: &'static str) -> Error {
    Error::new(error.kind, error.cause, NextStep::from(next)).with_fault(error.fault)
}
