//! Colab machines without a tab: Google's Colab API (v1beta), with an OAuth client of the person's own.
//!
//! - The sign-in: `sign_in`, `tokens`, `scopes` and `expiry` are without I/O and clock; `listener`, `http` and `store` do the I/O,
//!   and `login` connects them. Only the refresh token is written down; `access` keeps the access token in memory.
//! - The API: `api`, `refusal`, `failure` and `offers` are without I/O; `requests` sends and repeats.
//! - The machines: `ledger` records those that we start, `start` is one start, `running` has their places and ends them, `issuer` renews
//!   the tokens of their proxies, and `machines` is what tools see.

mod access;
mod api;
mod client;
mod expiry;
mod failure;
mod google;
mod http;
mod issuer;
mod ledger;
mod listener;
mod login;
mod machines;
mod offers;
mod refusal;
mod requests;
mod running;
mod scopes;
mod sign_in;
mod start;
mod store;
#[cfg(test)]
mod testing;
mod tokens;

pub use client::OAuthClient;
pub use expiry::Expiry;
pub use google::Google;
pub use http::Http;
pub use ledger::recorded;
pub use listener::Listener;
pub use login::{Accepted, Revocation, renew, revoke, sign_in, sign_in_with_adc};
pub use machines::ColabMachines;
pub use scopes::Scopes;
pub use sign_in::{Answer, SignIn};
pub use store::{Login, Store};

/// The errors contain no token, code or secret.
pub type Result<T, E = place::Error> = std::result::Result<T, E>;
