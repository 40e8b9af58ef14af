//! Login with a password, and the token against cross-site request forgery (XSRF).
//!
//! A login to Jupyter (`jupyter_server/auth/identity.py`):
//!
//! 1. `GET /login` sets the cookie `_xsrf=2|ab`.
//! 2. `POST /login` with the cookie and the form `_xsrf=2|ab&password=…` sets a session cookie and redirects to `/`.
//! 3. Every later request sends both cookies and the header `X-XSRFToken: 2|ab`.

use bytes::Bytes;
use reqwest::cookie::CookieStore as _;
use reqwest::{Method, StatusCode};
use tokio::sync::Mutex;

use crate::address::origin_and_path;
use crate::body::Payload;
use crate::diagnosis;
use crate::server::Request;
use crate::{Credentials, Kind, NextStep, RestError, Result, Secret, Server};

/// Counts logins, so that concurrent requests log in only once after the server has ended the session.
///
/// Example: requests A and B are sent with login 1, and both are refused. A takes the lock, finds `count` 1, logs in and
/// sets it to 2. B then takes the lock, finds 2 instead of its 1, and repeats its request without another login.
#[derive(Default)]
pub(crate) struct Login {
    count: Mutex<u64>,
}

/// The number of the login that a request was sent with.
pub(crate) struct LoginNumber(u64);

impl Server {
    /// Logs in with the password, if there is one and no request has logged in yet.
    pub(crate) async fn ensure_login(&self) -> Result<LoginNumber> {
        let Credentials::Password(password) = &self.inner.credentials else { return Ok(LoginNumber(0)) };
        let mut count = self.inner.login.count.lock().await;
        if *count == 0 {
            self.log_in(password).await?;
            *count = 1;
        }
        Ok(LoginNumber(*count))
    }

    /// Logs in again after a refused request, unless another request has done so. Returns whether to repeat the request.
    pub(crate) async fn login_again(&self, sent_with: &LoginNumber, method: &Method) -> Result<bool> {
        match &self.inner.credentials {
            Credentials::Password(password) => {
                let mut count = self.inner.login.count.lock().await;
                if *count == sent_with.0 {
                    self.log_in(password).await?;
                    *count += 1;
                }
                Ok(true)
            }
            // A server without authentication still requires the XSRF token for changes; its login page sets the cookie.
            Credentials::None if *method != Method::GET && self.xsrf().is_none() => {
                self.visit_login().await?;
                Ok(self.xsrf().is_some())
            }
            Credentials::None | Credentials::Token(_) | Credentials::Forwarded(_) => Ok(false),
        }
    }

    /// The value of the cookie `_xsrf`.
    pub(crate) fn xsrf(&self) -> Option<String> {
        let cookies = self.inner.jar.cookies(&self.inner.base)?;
        let cookies = cookies.to_str().ok()?;
        cookies.split("; ").find_map(|cookie| cookie.strip_prefix("_xsrf=")).map(str::to_owned)
    }

    async fn visit_login(&self) -> Result<reqwest::Response> {
        let request = Request::get("login", "login page");
        self.attempt(&request, self.url("login")?).await
    }

    async fn log_in(&self, password: &Secret) -> Result<()> {
        let page = self.visit_login().await?;
        let xsrf = match (self.xsrf(), self.hub()) {
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
                return Err(diagnosis::not_jupyter(&self.inner.base));
            }
            _ => return Err(self.explain("login page", page).await),
        };
        let fields = [("_xsrf", &*xsrf), ("password", password.expose())];
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut request = Request::new(Method::POST, "login", "login page");
        request.payload = Payload { pieces: vec![Bytes::from(form)], is_form: true };
        let response = self.attempt(&request, self.url("login")?).await?;
        // Jupyter responds to a wrong password with 401, and to the right one with a redirect.
        match response.status() {
            status if status.is_redirection() || status.is_success() => Ok(()),
            status if status.as_u16() == 401 || status.as_u16() == 403 => Err(RestError::new(
                Kind::Unauthorized,
                format!("{} does not accept the password.", origin_and_path(&self.inner.base)),
                "Correct it, or give a token instead.",
            )),
            _ => Err(self.explain("login page", response).await),
        }
    }
}

#[cfg(test)]
mod tests;
