//! Requests to the token endpoint and what they bring, without I/O.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use connection::Secret;
use place::{Error, ErrorKind, NextStep};
use serde::Deserialize;
use serde_json::Value;

use crate::scopes::Scopes;
use crate::sign_in::plain_reason;
use crate::{OAuthClient, Result, SignIn};

/// The longest time that a token can be valid for.
const MAX_LIFETIME: u64 = 10 * 365 * 24 * 60 * 60;
/// The lifetime of an access token in seconds, if Google names none, and the longest that is believed.
const ACCESS_LIFETIME: u64 = 10 * 60;
const MAX_ACCESS_LIFETIME: u64 = 24 * 60 * 60;

/// The body of the request that exchanges a code for tokens.
pub(crate) fn exchange(client: &OAuthClient, attempt: &SignIn, code: &Secret) -> String {
    form(&[
        ("grant_type", "authorization_code"),
        ("code", code.expose()),
        ("redirect_uri", &attempt.redirect_uri),
        ("code_verifier", &attempt.verifier),
        ("client_id", &client.id),
        ("client_secret", client.secret.expose()),
    ])
}

/// The body of the request for a new access token.
pub(crate) fn renewal(client: &OAuthClient, refresh: &Secret) -> String {
    form(&[
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.expose()),
        ("client_id", &client.id),
        ("client_secret", client.secret.expose()),
    ])
}

pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// What is exchanged for tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grant {
    Code,
    RefreshToken,
}

/// What requests to the API carry.
#[derive(Debug, Clone)]
pub(crate) struct AccessToken {
    pub(crate) secret: Secret,
    pub(crate) expires: SystemTime,
}

/// What Google has issued.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) access: AccessToken,
    /// `None` if the old one stays valid.
    pub(crate) refresh: Option<Secret>,
    /// When the refresh token expires, if Google names a time.
    pub(crate) expires: Option<SystemTime>,
    /// `None` if they are those that were requested.
    pub(crate) scopes: Option<Scopes>,
    pub(crate) account: Option<String>,
}

#[derive(Deserialize)]
struct Body {
    access_token: Option<String>,
    expires_in: Option<u64>,
    token_type: Option<String>,
    refresh_token: Option<String>,
    refresh_token_expires_in: Option<u64>,
    scope: Option<String>,
    id_token: Option<String>,
}

/// Reads a response. Its body reaches no error.
pub(crate) fn read(grant: Grant, status: u16, body: &[u8], now: SystemTime) -> Result<Tokens> {
    if status != 200 {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        return Err(refusal(grant, status, body["error"].as_str()));
    }
    let malformed = |what| {
        let cause = format!("Google's response has no {what}.");
        Error::new(ErrorKind::RemoteFailure, cause, NextStep::TryAgain)
    };
    let body: Body = serde_json::from_slice(body).map_err(|_| malformed("tokens"))?;
    if !body.token_type.is_some_and(|it| it.eq_ignore_ascii_case("bearer")) {
        return Err(malformed("token of the type Bearer"));
    }
    let secret = body.access_token.and_then(Secret::new).ok_or_else(|| malformed("access token"))?;
    let seconds = body.expires_in.unwrap_or(ACCESS_LIFETIME).min(MAX_ACCESS_LIFETIME);
    let lifetime = body.refresh_token_expires_in.filter(|it| (1..=MAX_LIFETIME).contains(it));
    Ok(Tokens {
        access: AccessToken { secret, expires: now + Duration::from_secs(seconds) },
        refresh: body.refresh_token.and_then(Secret::new),
        expires: lifetime.map(|seconds| now + Duration::from_secs(seconds)),
        scopes: body.scope.as_deref().map(Scopes::parse),
        account: body.id_token.as_deref().and_then(account),
    })
}

fn refusal(grant: Grant, status: u16, error: Option<&str>) -> Error {
    match (status, error) {
        // The redirect is another attempt's.
        (_, Some("invalid_grant" | "redirect_uri_mismatch")) if grant == Grant::Code => Error::new(
            ErrorKind::Unauthorized,
            "Google does not accept the code: it has expired, was used before, or belongs to another attempt.",
            NextStep::SignIn,
        ),
        (_, Some("invalid_grant")) => Error::new(
            ErrorKind::Unauthorized,
            "Google does not accept the login: it has expired, or access was revoked. If the consent screen of the \
             OAuth client is in \"Testing\", a login ends after seven days.",
            NextStep::SignIn,
        ),
        (401, _) | (_, Some("invalid_client" | "unauthorized_client" | "deleted_client")) => Error::new(
            ErrorKind::Unauthorized,
            "Google does not accept the OAuth client: it was deleted, or its secret was replaced.",
            NextStep::CreateClient,
        ),
        (429 | 500.., _) => {
            let cause = format!("Google cannot answer at the moment (status {status}).");
            Error::new(ErrorKind::RemoteFailure, cause, NextStep::TryAgain)
        }
        (_, error) => {
            let reason = plain_reason(error.unwrap_or_default());
            let cause = format!("Google refused the request (status {status}, {reason}).");
            Error::new(ErrorKind::RemoteFailure, cause, NextStep::SignIn)
        }
    }
}

/// The e-mail address in an identity token. Its signature needs no check, because it came from Google itself over TLS (section
/// 3.1.3.7 of `OpenID` Connect Core).
fn account(id_token: &str) -> Option<String> {
    let claims = URL_SAFE_NO_PAD.decode(id_token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Some(rest::safe(claims["email"].as_str()?)).filter(|email| email.len() <= 254)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn identity(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn tokens_scopes_and_the_account_are_read() {
        let body = format!(
            r#"{{"access_token": "ya29.hush", "token_type": "Bearer", "expires_in": 3599, "refresh_token": "1//hush",
            "refresh_token_expires_in": 604799, "scope": "email openid", "id_token": "{}"}}"#,
            identity(r#"{"email": "ada@example.com"}"#)
        );
        let tokens = read(Grant::Code, 200, body.as_bytes(), NOW).unwrap();
        assert_eq!(tokens.access.secret.expose(), "ya29.hush");
        assert_eq!(tokens.access.expires, NOW + Duration::from_secs(3599));
        assert_eq!(tokens.refresh.as_ref().map(Secret::expose), Some("1//hush"));
        assert_eq!(tokens.expires, Some(NOW + Duration::from_secs(604_799)));
        assert_eq!(tokens.scopes, Some(Scopes::parse("openid email")));
        assert_eq!(tokens.account.as_deref(), Some("ada@example.com"));
        assert!(!format!("{tokens:?}").contains("hush"));
    }

    #[test]
    fn a_renewal_may_bring_the_access_token_alone() {
        let tokens =
            read(Grant::Code, 200, br#"{"access_token": "a", "token_type": "bearer"}"#, NOW).unwrap();
        assert!(tokens.refresh.is_none() && tokens.scopes.is_none() && tokens.expires.is_none());
        assert_eq!(tokens.access.expires, NOW + Duration::from_secs(ACCESS_LIFETIME));
        let long = br#"{"access_token": "a", "token_type": "bearer", "expires_in": 18446744073709551615}"#;
        let tokens = read(Grant::RefreshToken, 200, long, NOW).unwrap();
        assert_eq!(tokens.access.expires, NOW + Duration::from_secs(MAX_ACCESS_LIFETIME));
    }

    #[test]
    fn refusals_name_a_cause_and_repeat_no_body() {
        for (status, body, kind, next, said) in [
            (400, r#"{"error": "invalid_grant"}"#, ErrorKind::Unauthorized, NextStep::SignIn, "seven days"),
            (
                401,
                r#"{"error": "invalid_client"}"#,
                ErrorKind::Unauthorized,
                NextStep::CreateClient,
                "deleted",
            ),
            (401, "hush", ErrorKind::Unauthorized, NextStep::CreateClient, "deleted"),
            (400, r#"{"error": "hush hush"}"#, ErrorKind::RemoteFailure, NextStep::SignIn, "unknown_error"),
            (
                400,
                r#"{"error": "invalid_request"}"#,
                ErrorKind::RemoteFailure,
                NextStep::SignIn,
                "invalid_request",
            ),
            (503, "hush", ErrorKind::RemoteFailure, NextStep::TryAgain, "503"),
            (429, "", ErrorKind::RemoteFailure, NextStep::TryAgain, "429"),
            (302, "", ErrorKind::RemoteFailure, NextStep::SignIn, "302"),
            (200, "hush", ErrorKind::RemoteFailure, NextStep::TryAgain, "no tokens"),
            (200, r#"{"access_token": "hush"}"#, ErrorKind::RemoteFailure, NextStep::TryAgain, "Bearer"),
            (
                200,
                r#"{"token_type": "Bearer"}"#,
                ErrorKind::RemoteFailure,
                NextStep::TryAgain,
                "access token",
            ),
        ] {
            let error = read(Grant::RefreshToken, status, body.as_bytes(), NOW).unwrap_err();
            assert_eq!((error.kind, &error.next), (kind, &next), "{status} {body}");
            assert!(error.cause.contains(said) && !error.cause.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_code_that_is_refused_is_no_expired_login() {
        for reason in ["invalid_grant", "redirect_uri_mismatch"] {
            let body = format!(r#"{{"error": "{reason}"}}"#);
            let error = read(Grant::Code, 400, body.as_bytes(), NOW).unwrap_err();
            assert!(error.cause.contains("the code") && error.next == NextStep::SignIn, "{error}");
        }
    }

    #[test]
    fn an_unreadable_identity_is_no_account() {
        for token in ["", "x", "a.b.c", &identity("[]"), &identity("{}")] {
            assert_eq!(account(token), None, "{token}");
        }
    }
}
