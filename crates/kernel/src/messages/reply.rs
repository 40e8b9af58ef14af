use notebook::{Json, MimeBundle, Output};
use serde_json::json;

use super::content::{self, ExecuteReply};
use super::handler_answer::changes_in_reply;
use crate::Outcome;

/// The name of an error of which the kernel gives none.
pub(crate) const UNNAMED: &str = "Error";

/// An `execute_reply`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    outcome: Outcome,
    /// What the kernel wants to show in a pager (`?name` in Python). It becomes an output.
    pages: Vec<MimeBundle>,
    /// The code wants that the kernel ends, or, if this is `true`, only that nothing else runs.
    pub(crate) exit: Option<bool>,
    /// What the code has changed in memory, if the request asked for it.
    pub(crate) changes: Option<Json>,
    traceback: Vec<String>,
}

impl Reply {
    /// Reads the content of an `execute_reply`. A malformed one still ends the execution.
    pub(crate) fn read(content: &Json) -> Self {
        let reply: ExecuteReply<'_> = content.decode().unwrap_or_else(|error| {
            tracing::warn!(%error, "ignored a malformed reply of the kernel");
            ExecuteReply::default()
        });
        let execution_count = reply.execution_count.0;
        let mut pages = Vec::new();
        let (mut next_input, mut exit) = (None, None);
        for payload in reply.payload.0 {
            match payload.source.0.as_str() {
                "page" => pages.push(content::page(content, payload.data)),
                "set_next_input" => next_input = Some(payload.text.0),
                "ask_exit" => {
                    exit = Some(![json!(null), json!(false), json!(0)].contains(&payload.keepkernel));
                }
                other => tracing::debug!(source = other, "ignored a payload"),
            }
        }
        let outcome = match reply.status.0.as_str() {
            "error" => {
                // IPython writes this where it could not show a result: what went wrong was published only.
                let is_nothing = reply.ename.0 == "NoneType" && reply.evalue.0 == "None";
                let (name, value) = if is_nothing {
                    (UNNAMED.to_owned(), String::new())
                } else {
                    (reply.ename.0, reply.evalue.0)
                };
                Outcome::Error { execution_count, name, value }
            }
            // `abort` was its name before protocol 5.
            "aborted" | "abort" => Outcome::Aborted,
            _ => Outcome::Done { execution_count, next_input },
        };
        let changes = reply.user_expressions.and_then(changes_in_reply);
        Self { outcome, pages, exit, changes, traceback: content::lines(reply.traceback) }
    }

    /// Whether the kernel did not run the code; no `idle` need follow.
    pub(crate) fn is_aborted(&self) -> bool {
        self.outcome == Outcome::Aborted
    }

    /// Whether the code ran to its end.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.outcome, Outcome::Done { .. })
    }

    /// The number in `In[n]`.
    pub(crate) fn execution_count(&self) -> Option<u64> {
        match &self.outcome {
            Outcome::Done { execution_count, .. } | Outcome::Error { execution_count, .. } => {
                *execution_count
            }
            _ => None,
        }
    }

    /// The outputs to add, and the outcome. `may_show_error`: the kernel published no error itself.
    pub(crate) fn into_end(self, may_show_error: bool) -> (Vec<Output>, Outcome) {
        let mut outputs: Vec<_> = self.pages.into_iter().map(Output::Display).collect();
        if let Outcome::Error { name, value, .. } = &self.outcome
            && may_show_error
            // A shell that ends with a status other than 0 has nothing to show.
            && !(name.is_empty() && self.traceback.is_empty())
        {
            let (name, value) = (name.clone(), value.clone());
            outputs.push(Output::Error { name, value, traceback: self.traceback });
        }
        (outputs, self.outcome)
    }
}

impl Default for Reply {
    fn default() -> Self {
        let outcome = Outcome::Done { execution_count: None, next_input: None };
        Self { outcome, pages: Vec::new(), exit: None, changes: None, traceback: Vec::new() }
    }
}
