//! Login with a password, and the token against cross-site request forgery (XSRF).
//!
//! A login to Jupyter (`jupyter_server/auth/identity.py`):
//!
//! 1. `GET /login` sets the cookie `_xsrf=2|ab`.
//! 2. `POST /login` with the cookie and the form `_xsrf=2|ab&password=…` sets a session cookie and redirects to `/`.
//! 3. Every later request sends both cookies and the header `X-XSRFToken: 2|ab`.

use bytes::Bytes;
use reqwest::{Method, StatusCode};
use tokio::sync::Mutex;

use crate::address::origin_and_path;
use crate::auth::denial::explain;
use crate::body::Payload;
use crate::diagnosis;
use crate::hub::address::HubServer;
use crate::request::Request;
use crate::sender::Sender;
use crate::{Credentials, Kind, NextStep, RestError, Result, Secret, TokenIssuer};

/// Counts logins, so that concurrent requests log in only once after the server has ended the session.
///
/// Example: requests A and B are sent with login 1, and both are refused. A takes the lock, finds `count` 1, logs in and
/// sets it to 2. B then takes the lock, finds 2 instead of its 1, and repeats its request without another login.
#[derive(Default)]
pub(crate) struct Login {
    count: Mutex<u64>,
}

/// What a request was sent with.
pub(crate) enum SentWith {
    /// The number of the login; 0 without one.
    Login(u64),
    /// A token of the issuer.
    Issued(Secret),
}

impl Login {
    /// Logs in with the password, if there is one and no request has logged in yet, or gets a token from its issuer.
    pub(crate) async fn ensure(&self, sender: &Sender) -> Result<SentWith> {
        match &sender.credentials {
            Credentials::Password(password) => {
                let mut count = self.count.lock().await;
                if *count == 0 {
                    log_in(sender, password).await?;
                    *count = 1;
                }
                Ok(SentWith::Login(*count))
            }
            Credentials::Issued(issuer) => {
                let token = issuer.token().await?;
                sender.use_issued(&token);
                Ok(SentWith::Issued(token))
            }
            Credentials::None | Credentials::Token(_) | Credentials::Forwarded(_) => Ok(SentWith::Login(0)),
        }
    }

    /// Logs in again after a refused request, unless another request has done so. Returns whether to repeat the request.
    pub(crate) async fn again(&self, sender: &Sender, sent_with: &SentWith, method: &Method) -> Result<bool> {
        match (&sender.credentials, sent_with) {
            (Credentials::Password(password), SentWith::Login(number)) => {
                let mut count = self.count.lock().await;
                if *count == *number {
                    log_in(sender, password).await?;
                    *count += 1;
                }
                Ok(true)
            }
            (Credentials::Issued(issuer), SentWith::Issued(refused)) => {
                renew(sender, &**issuer, refused).await
            }
            // A server without authentication still requires the XSRF token for changes; its login page sets the cookie.
            (Credentials::None, _) if *method != Method::GET && sender.xsrf().is_none() => {
                visit_login(sender).await?;
                Ok(sender.xsrf().is_some())
            }
            _ => Ok(false),
        }
    }
}

/// Replaces a token that the proxy refuses. The proxy refuses with the status of a missing file, so the server is asked for
/// something that it always has.
async fn renew(sender: &Sender, issuer: &dyn TokenIssuer, refused: &Secret) -> Result<bool> {
    if sender.issued().as_ref() != Some(refused) {
        return Ok(true);
    }
    let request = Request::get("api", "version");
    if sender.attempt(&request, sender.url("api")?).await?.status().is_success() {
        return Ok(false);
    }
    let token = issuer.renewed(refused).await?;
    if token == *refused {
        return Err(diagnosis::starting(&sender.base));
    }
    sender.use_issued(&token);
    Ok(true)
}

pub(crate) async fn visit_login(sender: &Sender) -> Result<reqwest::Response> {
    let request = Request::get("login", "login page");
    sender.attempt(&request, sender.url("login")?).await
}

async fn log_in(sender: &Sender, password: &Secret) -> Result<()> {
    let page = visit_login(sender).await?;
    let xsrf = match (sender.xsrf(), HubServer::of(&sender.base)) {
        (Some(xsrf), _) if !page.status().is_client_error() && !page.status().is_server_error() => xsrf,
        // Behind a Hub, the password belongs to the Hub's login page. It is not sent there.
        (_, Some(hub)) if !page.status().is_server_error() => {
            return Err(RestError::new(
                Kind::Unauthorized,
                format!("{} does not support a login with a password.", hub.title()),
                NextStep::GiveToken { obtain: hub.make_token().into() },
            ));
        }
        (None, None) if page.status().is_success() || page.status() == StatusCode::NOT_FOUND => {
            return Err(diagnosis::not_jupyter(&sender.base));
        }
        _ => return Err(explain(sender, "login page", page).await),
    };
    let fields = [("_xsrf", &*xsrf), ("password", password.expose())];
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let mut request = Request::new(Method::POST, "login", "login page");
    request.payload = Payload { pieces: vec![Bytes::from(form)], is_form: true };
    let response = sender.attempt(&request, sender.url("login")?).await?;
    // Jupyter responds to a wrong password with 401, and to the right one with a redirect.
    match response.status() {
        status if status.is_redirection() || status.is_success() => Ok(()),
        status if status.as_u16() == 401 || status.as_u16() == 403 => Err(RestError::new(
            Kind::Unauthorized,
            format!("{} does not accept the password.", origin_and_path(&sender.base)),
            "Correct it, or give a token instead.",
        )),
        _ => Err(explain(sender, "login page", response).await),
    }
}

#[cfg(test)]
mod tests;
