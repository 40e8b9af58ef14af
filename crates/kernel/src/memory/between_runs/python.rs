//! Kernels for Python to which the handler cannot be added, such as xeus-python: silent and empty, with an expression that runs what
//! the handler would run. Never the inspection of a debugger, which ends xeus-python.

use std::time::Duration;

use notebook::Json;
use serde_json::{Value, json};

use crate::Client;
use crate::memory::handler::PROGRAM;
use crate::memory::silent::{hex_answer, silent_expression};
use crate::memory::{GRACE, MemoryError, answer};
use crate::messages::Channel;

pub(super) async fn ask(client: &Client, question: &Value, limit: Duration) -> Result<Json, MemoryError> {
    // A JSON string is a literal of Python, too.
    let program = Value::from(PROGRAM);
    let question = Value::from(json!({ "question": question, "seconds": limit.as_secs_f64() }).to_string());
    let expression = format!(
        "(lambda space: (exec({program}, space), space['answered'](globals(), {question}))[1])({{}})"
    );
    let request = silent_expression(expression);
    let reply = client.ask("execute_request", Channel::Shell, request, limit + GRACE).await;
    let bytes = hex_answer(&reply.map_err(MemoryError::between_runs)?).ok_or(MemoryError::Unsupported)?;
    answer(&Json::parse(bytes.into()).map_err(|_| MemoryError::Unsupported)?)
}
