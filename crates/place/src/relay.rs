//! The trait of a page whose own tools we pass on.
//!
//! Everything crosses this trait as raw JSON text, so that no unknown field, unknown content type or digit of a number
//! is lost.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::Error;

/// One tool as it is listed to agents.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The name, unique within one list.
    pub name: String,
    /// The whole definition (a JSON object in the form of MCP's `Tool`), passed on unchanged.
    pub definition: Arc<RawValue>,
}

/// The progress of a call, in the sender's units.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows with every report.
    pub progress: f64,
    /// The value of `progress` at the end, if known.
    pub total: Option<f64>,
    /// One line of text.
    pub message: Option<String>,
}

/// A notification that belongs to a call and comes before its result.
#[derive(Debug)]
pub enum Report {
    Progress(Progress),
    /// The unchanged `params` of a `notifications/message`: one line of the page's log.
    Log(Box<RawValue>),
}

/// One `tools/call` of an agent.
#[derive(Debug)]
pub struct Call {
    pub name: String,
    /// The request's whole `params` object as the agent wrote it, `name` included.
    pub params: Arc<RawValue>,
    /// Receives reports. A report is dropped if the channel is full.
    pub reports: mpsc::Sender<Report>,
    /// Whether the agent asked for progress. If not, no [`Report::Progress`] is sent.
    pub wants_progress: bool,
}

/// The page's reply to a call, unchanged.
#[derive(Debug)]
pub enum Answer {
    /// The `result` object.
    Result(Box<RawValue>),
    /// The JSON-RPC `error` object.
    Error(Box<RawValue>),
}

/// A page whose own tools we pass on.
pub trait Relay: Send + Sync + 'static {
    /// A short paragraph for the model about how to use the tools.
    fn instructions(&self) -> String;

    /// The current tools, in the order in which they are listed. Never waits.
    fn tools(&self) -> Vec<Tool>;

    /// The name of its tools as a group, in the operator's settings.
    fn group(&self) -> &'static str;

    /// Whether a call of this tool with these `params` is known to change and run nothing; without `params`, whether any
    /// call of it is.
    fn reads(&self, _tool: &str, _params: Option<&RawValue>) -> bool {
        false
    }

    /// A counter that changes whenever the result of [`Relay::tools`] may have changed.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Makes one call. Dropping the future cancels it.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>>;
}
