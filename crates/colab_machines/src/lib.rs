//! Colab machines without a tab. So far the sign-in: Google's OAuth for installed programs, with a client of the person's own.
//!
//! `sign_in`, `tokens`, `scopes` and `expiry` are without I/O and clock; `listener`, `http` and `store` do the I/O, and `login`
//! connects them. Only the refresh token is written down; access tokens stay in memory.

mod client;
mod error;
mod expiry;
mod google;
mod http;
mod listener;
mod login;
mod scopes;
mod sign_in;
mod store;
mod tokens;

pub use client::OAuthClient;
pub use error::{LoginError, Next, Result};
pub use expiry::Expiry;
pub use google::Google;
pub use http::Http;
pub use listener::Listener;
pub use login::{Revocation, refresh, revoke, sign_in};
pub use scopes::Scopes;
pub use sign_in::{Answer, SignIn};
pub use store::{Login, Store};
