//! The trait of a place that brings its own tools and answers calls with JSON of its own.
//!
//! Everything crosses this trait as raw JSON text: a relay must not lose a field, a number's digits or a
//! content type that this program has never heard of.

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

/// How far a call has come, in the units of whoever reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows with every report.
    pub progress: f64,
    /// What `progress` will be at the end, where known.
    pub total: Option<f64>,
    /// A line for people.
    pub message: Option<String>,
}

/// What a call tells before its answer.
#[derive(Debug)]
pub enum Report {
    /// How far it is.
    Progress(Progress),
    /// The `params` of a `notifications/message` (a line of the other side's log), as they came.
    Log(Box<RawValue>),
}

/// One `tools/call` of an agent.
#[derive(Debug)]
pub struct Call {
    /// The tool's name.
    pub name: String,
    /// The request's whole `params` object as the agent wrote it, `name` included.
    pub params: Arc<RawValue>,
    /// Where reports go. Those that find the channel full are dropped.
    pub reports: mpsc::Sender<Report>,
    /// Whether the agent asked for progress; if not, no [`Report::Progress`] is sent.
    pub wants_progress: bool,
}

/// What came back for a call, as the other side wrote it.
#[derive(Debug)]
pub enum Answer {
    /// The `result` object.
    Result(Box<RawValue>),
    /// The JSON-RPC `error` object.
    Error(Box<RawValue>),
}

/// A place that brings tools of its own.
pub trait Relay: Send + Sync + 'static {
    /// What a model should know before it uses the tools; a short paragraph.
    fn instructions(&self) -> String;

    /// The tools as they stand at this moment, in the order in which they are listed. Never waits.
    fn tools(&self) -> Vec<Tool>;

    /// A counter that moves whenever [`Relay::tools`] may answer differently.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Runs one call to its end. Dropping the future cancels the call.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>>;
}
