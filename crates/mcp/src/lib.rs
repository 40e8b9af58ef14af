//! The Model Context Protocol for agents, over stdio and Streamable HTTP, in both of its eras (2025-11-25 and older with
//! `initialize`; 2026-07-28 without).
//!
//! `rmcp` implements the protocol. Results of relayed calls pass through it as raw JSON (`relayed`), because its types
//! drop unknown fields.

#![expect(deprecated, reason = "logging is deprecated in the 2026-07-28 era and served to older agents")]

mod apps;
mod completion;
mod elicitation;
mod handler;
mod input_pages;
mod instructions;
mod metrics;
mod paused_calls;
mod person;
mod progress;
mod prompts;
mod relayed;
mod reply;
mod request_context;
mod resources;
mod server;
mod session;
mod skill;
mod subscriptions;
mod task_requests;
mod tasks;
mod telemetry;
mod tool_call;
mod transport;

pub use metrics::{Calls, Metrics};
pub use server::Server;
pub use transport::embedded::{Embedded, PageFiles, SocketSession};
pub use transport::http::{serve_http, serve_page};
pub use transport::http_auth::HttpAuth;
pub use transport::session_pool::SessionLimits;
pub use transport::stdio::{StdioError, serve_stdio};

#[doc(hidden)]
pub mod fuzz {
    //! Entry points of the fuzz targets.

    use crate::transport::stdio::Decoded;

    /// Reads bytes as one line of an agent on stdio. A refusal is one line of JSON.
    pub fn agent_line(data: &[u8]) {
        if let Decoded::Refused(answer) = crate::transport::stdio::decode(data) {
            assert!(!answer.contains('\n'), "{answer}");
            let answer: Result<serde_json::Value, _> = serde_json::from_str(&answer);
            assert!(answer.is_ok_and(|answer| answer["error"]["code"].is_i64()));
        }
    }
}
