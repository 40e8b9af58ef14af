//! The face towards agents: the Model Context Protocol over stdio and Streamable HTTP, in both of its eras
//! (2025-11-25 and older with `initialize`; 2026-07-28 without).
//!
//! `rmcp` speaks the protocol. What a relay brings passes through it as raw JSON (`raw`), because its typed
//! model drops what it does not know.

#![expect(deprecated, reason = "logging is deprecated in the 2026-07-28 era and served to older agents")]

mod call;
mod control;
mod elicit;
mod embedded;
mod guard;
mod hangup;
mod http;
mod metrics;
mod next_step;
mod outbox;
mod permissions;
mod prompts;
mod raw;
mod reports;
mod resources;
mod server;
mod session_pool;
mod sse;
mod stdio;
mod subscriptions;
mod tool_call;
mod tools;
mod trace;

pub use embedded::Embedded;
pub use guard::Guard;
pub use http::{HttpError, serve_http};
pub use metrics::{Calls, Metrics};
pub use permissions::{Permissions, Policy};
pub use server::Server;
pub use session_pool::SessionLimits;
pub use stdio::{StdioError, serve_stdio};

#[doc(hidden)]
pub mod fuzz {
    //! What the fuzz targets call.

    use crate::stdio::Decoded;

    /// Reads bytes as one line of an agent on stdio. What is refused is refused in one line of JSON.
    pub fn agent_line(data: &[u8]) {
        if let Decoded::Refused(answer) = crate::stdio::decode(data) {
            assert!(!answer.contains('\n'), "{answer}");
            let answer: Result<serde_json::Value, _> = serde_json::from_str(&answer);
            assert!(answer.is_ok_and(|answer| answer["error"]["code"].is_i64()));
        }
    }
}
