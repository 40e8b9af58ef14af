//! What a response means that is not a success. Asks the Hub where the server's own response is ambiguous.

use futures_util::future::BoxFuture;
use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode};

use crate::auth::login::visit_login;
use crate::body;
use crate::diagnosis::{self, FailedRequest};
use crate::hub::address::HubServer;
use crate::request::Request;
use crate::sender::Sender;
use crate::{Credentials, Kind, NextStep, RestError};

/// Explains a response that is not a success.
pub(crate) fn explain<'s>(
    sender: &'s Sender,
    subject: &'s str,
    response: Response,
) -> BoxFuture<'s, RestError> {
    Box::pin(async move {
        let status = response.status();
        let location =
            response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = sender.read_failure(response).await;
        if let Some(proxy) = sender.options.proxy(&sender.base)
            && matches!(status.as_u16(), 407 | 502..=504)
            && !diagnosis::is_json(&body)
        {
            return diagnosis::beyond_proxy(
                Kind::Unreachable,
                proxy,
                &format!("status {status}"),
                &sender.base,
            );
        }
        let error = diagnosis::of_response(&FailedRequest {
            base: &sender.base,
            credentials: &sender.credentials,
            subject,
            status,
            location: location.as_deref(),
            body: &body,
        });
        if error.kind == Kind::Unauthorized { explain_denial(sender, error).await } else { error }
    })
}

/// Asks the Hub whether a refused token is unknown or lacks a scope, since the server responds 403 to both.
///
/// For `https://h/user/ada/`, `GET https://h/hub/api/user` responds 200 to a token that the Hub knows: then the token
/// lacks the scope `access:servers!user=ada`. It responds 403 to an unknown or expired token.
async fn explain_denial(sender: &Sender, denial: RestError) -> RestError {
    let is_with_token = matches!(sender.credentials, Credentials::Token(_));
    let Some(hub) = HubServer::of(&sender.base) else {
        let is_asked = is_with_token || matches!(sender.credentials, Credentials::None);
        return if is_asked && has_password_only(sender).await {
            let cause = format!("{} This server has a password.", denial.cause);
            RestError { cause, next: NextStep::GivePassword, ..denial }
        } else {
            denial
        };
    };
    if !is_with_token {
        return denial;
    }
    let request = Request::get("hub/api/user", "owner of the token");
    let Ok(url) = hub.url(&request.path) else { return denial };
    match sender.attempt(&request, url).await.map(|response| response.status()) {
        Ok(status) if status.is_success() => RestError::new(
            Kind::Forbidden,
            format!(
                "The token is valid, but its scopes do not allow {} to be used.",
                hub.title().replacen('T', "t", 1)
            ),
            NextStep::GiveToken { obtain: hub.make_token().into() },
        ),
        Ok(StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED) => RestError::new(
            Kind::Unauthorized,
            format!("The Hub at {} does not know the token; it may have expired.", hub.origin()),
            NextStep::GiveToken { obtain: hub.make_token().into() },
        ),
        _ => denial,
    }
}

/// Whether the server's login page (`login.html` of Jupyter Server) takes a password and no token.
async fn has_password_only(sender: &Sender) -> bool {
    let Ok(page) = visit_login(sender).await else { return false };
    let page = sender.read_body(page, body::MAX_FAILURE_BYTES).await.unwrap_or_default();
    let page = String::from_utf8_lossy(&page);
    page.contains("Password:") && !page.contains("or token:")
}
