//! Kernels without the handler. Between two runs they can be asked for a list, each kind in its own way; during a run any question
//! would wait for it, or be seen by it.

use std::time::Duration;

use notebook::Json;
use serde_json::Value;

use super::{GRACE, MemoryError};
use crate::{Client, Status};

mod bash;
mod julia;
mod list;
mod python;
mod r;
mod secrets;

impl Client {
    /// Asks a kernel without the handler.
    pub(super) async fn ask_between_runs(
        &self,
        question: &Value,
        limit: Duration,
    ) -> Result<Json, MemoryError> {
        let language = self.language();
        if !matches!(language.as_str(), "python" | "bash" | "julia" | "R") {
            return Err(MemoryError::Unsupported);
        }
        if *self.status.borrow() != Status::Idle {
            return Err(MemoryError::OnlyBetweenRuns);
        }
        if language == "python" {
            return python::ask(self, question, limit).await;
        }
        let Some(given) = question.get("list") else { return Err(MemoryError::OnlyList) };
        let waited = limit + GRACE;
        let rows = match language.as_str() {
            "bash" => bash::rows(self, waited).await,
            "julia" => julia::rows(self, waited).await,
            _ => r::rows(self, waited).await,
        };
        Ok(Json::from_value(&list::listed(rows?, given)))
    }
}
