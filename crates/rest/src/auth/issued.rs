//! Tokens that are replaced from time to time, for a server behind a proxy.

use std::fmt;

use futures_util::future::BoxFuture;

use crate::{Result, Secret};

/// Issues the tokens of one server behind a proxy, which knows no other login.
pub trait TokenIssuer: fmt::Debug + Send + Sync {
    /// The header that carries the token, in lower case.
    fn header(&self) -> &'static str;

    /// The header that names this program to the proxy, and its value.
    fn client(&self) -> (&'static str, &'static str);

    /// A token that is valid for at least some minutes.
    fn token(&self) -> BoxFuture<'_, Result<Secret>>;

    /// A token after the proxy has refused this one, which may be the same if the issuer still stands by it: the server may be
    /// starting. Fails with [`Kind::Gone`](crate::Kind::Gone) if the server has ended.
    fn renewed<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret>>;
}
