//! What our credentials allow, and which extension for live documents a server has. Asks without changing anything.

use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;

use crate::request::Request;
use crate::{Result, Server, path as paths};

/// What our credentials allow on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    pub read: bool,
    pub write: bool,
    /// Whether kernels can be started and used.
    pub execute: bool,
}

/// An extension for documents that several people edit at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveExtension {
    Collaboration,
    ServerDocuments,
}

#[derive(Deserialize)]
struct Me {
    #[serde(default)]
    permissions: Permissions,
}

/// Other keys hold other types: newer servers list the fields that a user may change.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Permissions {
    contents: Vec<String>,
    kernels: Vec<String>,
    sessions: Vec<String>,
}

impl Server {
    /// What our credentials allow. `None` if the server cannot say (before Jupyter Server 2, and Kernel Gateway).
    pub async fn rights(&self) -> Result<Option<Rights>> {
        let asked = json!({ "contents": ["read", "write"], "kernels": ["execute"], "sessions": ["write"] });
        let query: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("permissions", &asked.to_string())
            .finish();
        let subject = "permissions";
        let Some(body) = self.ask_for(&Request::get(format!("api/me?{query}"), subject)).await? else {
            return Ok(None);
        };
        let Me { permissions } = self.parse(&body, subject)?;
        let may = |granted: &[String], right: &str| granted.iter().any(|granted| granted == right);
        Ok(Some(Rights {
            read: may(&permissions.contents, "read"),
            write: may(&permissions.contents, "write"),
            execute: may(&permissions.kernels, "execute") && may(&permissions.sessions, "write"),
        }))
    }

    /// The extension for live documents, if the server has one.
    ///
    /// A method that a route does not have is refused with 405, without effect; a route that does not exist with 404.
    /// jupyter-server-fileid, which other extensions install too, does not make a server-documents server: only that also
    /// runs code by `POST api/kernels/<id>/execute`.
    pub async fn live_extension(&self) -> Result<Option<LiveExtension>> {
        if self.has_route("api/collaboration/session/x.ipynb").await? {
            return Ok(Some(LiveExtension::Collaboration));
        }
        let execute = "api/kernels/00000000-0000-0000-0000-000000000000/execute";
        let is_documents = self.has_route("api/fileid/index").await? && self.has_route(execute).await?;
        Ok(is_documents.then_some(LiveExtension::ServerDocuments))
    }

    /// The address of a notebook in the server's `JupyterLab`, without a token; `None` if the server has none.
    pub async fn lab_address(&self, path: &str) -> Result<Option<String>> {
        let address = format!("{}lab/tree/{}", self.base(), paths::file(path)?);
        Ok(self.has_route("lab").await?.then_some(address))
    }

    async fn has_route(&self, path: &str) -> Result<bool> {
        let request = Request::new(Method::HEAD, path, "extensions").idempotent();
        Ok(self.send(&request).await?.status() == StatusCode::METHOD_NOT_ALLOWED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fake, reply};

    async fn rights(status: u16, body: &'static str) -> Result<Option<Rights>> {
        Fake::new(move |_| reply(status, &[], body)).await.client("").rights().await
    }

    #[tokio::test]
    async fn rights_are_those_that_the_server_grants() {
        let all = r#"{"permissions": {"contents": ["read", "write"], "kernels": ["execute"], "sessions": ["write"],
                     "updatable_fields": ["name"]}, "identity": {}}"#;
        let every = Rights { read: true, write: true, execute: true };
        assert_eq!(rights(200, all).await, Ok(Some(every)));
        let reader = r#"{"permissions": {"contents": ["read"], "kernels": ["execute"]}}"#;
        let few = Rights { read: true, write: false, execute: false };
        assert_eq!(rights(200, reader).await, Ok(Some(few)));
        assert_eq!(rights(404, "").await, Ok(None));
        assert!(rights(500, "").await.is_err());
    }

    #[tokio::test]
    async fn the_lab_of_a_server_has_an_address() {
        for (status, expected) in [(405, Some("lab/tree/a%20b/c.ipynb")), (404, None)] {
            let server = Fake::new(move |_| reply(status, &[], "")).await;
            let client = server.client("");
            let expected = expected.map(|rest| format!("{}{rest}", client.base()));
            assert_eq!(client.lab_address("a b/c.ipynb").await, Ok(expected));
        }
    }

    #[tokio::test]
    async fn the_extension_is_recognised_by_its_routes() {
        for (routes, expected) in [
            (&[][..], None),
            (&["/api/collaboration/session/"][..], Some(LiveExtension::Collaboration)),
            (&["/api/collaboration/session/", "/api/fileid/"], Some(LiveExtension::Collaboration)),
            (&["/api/fileid/"], None),
            (&["/api/fileid/", "/api/kernels/"], Some(LiveExtension::ServerDocuments)),
        ] {
            let server = Fake::new(move |seen| {
                let is_known = routes.iter().any(|route| seen.uri.path().starts_with(route));
                reply(if is_known { 405 } else { 404 }, &[], "")
            });
            let server = server.await;
            assert_eq!(server.client("").live_extension().await, Ok(expected), "{routes:?}");
            assert!(server.seen().iter().all(|seen| seen.method == Method::HEAD));
        }
    }
}
