//! The access token of the login, in memory.

use std::time::{Duration, SystemTime};

use connection::Secret;
use place::{Error, ErrorKind, NextStep};
use tokio::sync::Mutex;

use crate::tokens::AccessToken;
use crate::{Accepted, Http, Login, Result, Store, login};

/// How long before its end a token is replaced.
pub(crate) const EARLY: Duration = Duration::from_secs(5 * 60);

/// Access to the API with the stored login.
#[derive(Debug)]
pub(crate) struct Access {
    http: Http,
    store: Store,
    /// Held during a renewal, so that concurrent requests share it.
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    token: AccessToken,
    /// What tells its login from one that has replaced it.
    login: (String, SystemTime),
}

impl Access {
    pub(crate) fn new(http: Http, store: Store) -> Self {
        Self { http, store, held: Mutex::default() }
    }

    /// The login, as it is stored now.
    pub(crate) fn login(&self) -> Result<Login> {
        self.store.load(&self.http.google)?.ok_or_else(not_signed_in)
    }

    /// Whether there may be a login.
    pub(crate) fn is_present(&self) -> bool {
        self.store.file().exists()
    }

    /// A token that is valid for some minutes, and another than this one, which Google has refused.
    pub(crate) async fn token(&self, refused: Option<&Secret>) -> Result<Secret> {
        let identity = |login: &Login| (login.client.id.clone(), login.signed_in);
        let now = SystemTime::now();
        let mut held = self.held.lock().await;
        let login = identity(&self.login()?);
        if let Some(Held { token, login: of }) = &*held
            && *of == login
            && now + EARLY < token.expires
            && refused != Some(&token.secret)
        {
            return Ok(token.secret.clone());
        }
        *held = None;
        let (http, store) = (self.http.clone(), self.store.clone());
        // In a task: the answer may replace the refresh token, so it has to be stored even if nobody waits any longer.
        let renewal = tokio::spawn(async move { login::renew(&http, &store, now).await });
        let renewed = renewal.await.map_err(|_| {
            let cause = "Renewing the access to Google was aborted.";
            Error::new(ErrorKind::Internal, cause, NextStep::TryAgain)
        })?;
        let Accepted { login, access: token } = renewed?.ok_or_else(not_signed_in)?;
        let secret = token.secret.clone();
        *held = Some(Held { token, login: identity(&login) });
        Ok(secret)
    }
}

fn not_signed_in() -> Error {
    let cause = "Nobody is signed in to Colab's API.";
    Error::new(ErrorKind::Unauthorized, cause, NextStep::SignIn)
}

#[cfg(test)]
mod tests;
