//! Signing in, renewing and signing out: requests to Google, and what is stored.

use std::path::Path;
use std::time::SystemTime;

use connection::Secret;
use place::{Error, ErrorKind, Fault, NextStep};

use crate::api::{Request, SUBSCRIPTION};
use crate::requests::call;
use crate::scopes::Scopes;
use crate::store::{Login, Store};
use crate::tokens::{self, AccessToken, Grant, Tokens};
use crate::{Http, OAuthClient, Result, SignIn};

/// How a login ended.
#[derive(Debug)]
pub enum Revocation {
    /// There was none.
    NoLogin,
    /// Google has revoked it.
    Revoked,
    /// Google knew it no longer.
    AlreadyInvalid,
    /// It was removed from this machine, and may still be valid.
    RemovedOnly(Error),
}

/// A login that Google has just accepted.
#[derive(Debug)]
pub struct Accepted {
    pub login: Login,
    pub(crate) access: AccessToken,
}

impl Accepted {
    /// Makes one request to the API, which shows whether the person can use it.
    pub async fn check_api(&self, http: &Http) -> Result<()> {
        let answer = call(http, &Request::get(SUBSCRIPTION), &self.access.secret).await;
        answer.map(drop).map_err(|failure| failure.of_check())
    }
}

/// Exchanges the code for a login, and stores it. A login without access to machines is not stored, and replaces none.
pub async fn sign_in(
    http: &Http,
    store: &Store,
    client: OAuthClient,
    attempt: &SignIn,
    code: &Secret,
    now: SystemTime,
) -> Result<Accepted> {
    let tokens = http.tokens(Grant::Code, tokens::exchange(&client, attempt, code), now).await?;
    accept(http, store, client, tokens, now).await
}

/// Takes over the login that gcloud has stored in this file.
pub async fn sign_in_with_adc(http: &Http, store: &Store, file: &Path, now: SystemTime) -> Result<Accepted> {
    let (client, refresh) = OAuthClient::read_adc(file)?;
    let mut tokens = http.tokens(Grant::RefreshToken, tokens::renewal(&client, &refresh), now).await?;
    tokens.refresh.get_or_insert(refresh);
    accept(http, store, client, tokens, now).await
}

async fn accept(
    http: &Http,
    store: &Store,
    client: OAuthClient,
    tokens: Tokens,
    now: SystemTime,
) -> Result<Accepted> {
    let scopes = tokens.scopes.unwrap_or_else(Scopes::requested);
    if !scopes.allow_machines() {
        return Err(Error::new(
            ErrorKind::Forbidden,
            "You are not signed in: Google has not granted access to Colab machines, because its checkbox was not \
             selected.",
            NextStep::GrantAccess,
        )
        .with_fault(Fault::Person));
    }
    let refresh = tokens.refresh.ok_or_else(|| {
        let cause = "Google has returned no refresh token, so the login would end within an hour.";
        Error::new(ErrorKind::RemoteFailure, cause, NextStep::SignIn)
    })?;
    let (account, expires) = (tokens.account, tokens.expires);
    let login = Login { client, refresh, scopes, account, signed_in: now, expires };
    let _lock = store.lock().await?;
    store.save(&login, &http.google)?;
    Ok(Accepted { login, access: tokens.access })
}

/// Gets a new access token, and stores the refresh token that replaces the old one. `None` if nobody is signed in.
pub async fn renew(http: &Http, store: &Store, now: SystemTime) -> Result<Option<Accepted>> {
    // Without a login, no folder is created for the lock.
    if store.load(&http.google)?.is_none() {
        return Ok(None);
    }
    let _lock = store.lock().await?;
    let Some(mut login) = store.load(&http.google)? else { return Ok(None) };
    let form = tokens::renewal(&login.client, &login.refresh);
    let tokens = http.tokens(Grant::RefreshToken, form, now).await?;
    let before = login.clone();
    login.scopes = tokens.scopes.unwrap_or(login.scopes);
    login.account = tokens.account.or(login.account);
    login.refresh = tokens.refresh.unwrap_or(login.refresh);
    login.expires = tokens.expires.or(login.expires);
    if login != before {
        store.save(&login, &http.google)?;
    }
    Ok(Some(Accepted { login, access: tokens.access }))
}

/// Revokes the login and removes it from this machine, whatever Google answers.
pub async fn revoke(http: &Http, store: &Store) -> Result<Revocation> {
    if !store.file().exists() {
        return Ok(Revocation::NoLogin);
    }
    let _lock = store.lock().await?;
    let revocation = match store.load(&http.google) {
        Ok(None) => Revocation::NoLogin,
        Err(error) => Revocation::RemovedOnly(error),
        Ok(Some(login)) => {
            let form = tokens::form(&[("token", login.refresh.expose())]);
            match http.post(&http.google.revocation, form).await {
                Ok((200, _)) => Revocation::Revoked,
                // `invalid_token`
                Ok((400, _)) => Revocation::AlreadyInvalid,
                Ok((status, _)) => Revocation::RemovedOnly(Error::new(
                    ErrorKind::RemoteFailure,
                    format!("Google did not revoke the login (status {status})."),
                    NextStep::TryAgain,
                )),
                Err(error) => Revocation::RemovedOnly(error),
            }
        }
    };
    store.remove()?;
    Ok(revocation)
}
