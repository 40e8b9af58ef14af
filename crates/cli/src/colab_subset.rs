//! The Colab tab beside the notebook tools: only the two tools that give access to all of its others.
//!
//! The tab's own tools do what the notebook tools do, under other names; listing both would make a model choose
//! between duplicates.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use place::{Answer, Call, Error, ErrorKind, Relay, Tool};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Their names; what they do here, where other tools edit and run the notebook; and words by which clients find them.
const LISTED: [(&str, &str, &str); 2] = [
    (
        "open_colab_browser_connection",
        "Connect to a Google Colab tab: opens it in the browser, where the person has to accept. Returns false with the reason if \
         none connects in time.",
        "open Colab, connect to Google Colab, GPU runtime in the browser, GPU or TPU machine without a browser",
    ),
    (
        "call_colab_tool",
        "Call a tool of the Colab tab that is not listed here; the error for an unknown name lists the existing ones.",
        "other tools of the Google Colab page",
    ),
];

fn is_listed(name: &str) -> bool {
    LISTED.iter().any(|(listed, ..)| *listed == name)
}

/// The tool as it is listed here, with a shorter description.
fn listed(tool: Tool) -> Option<Tool> {
    let (_, description, words) = LISTED.iter().find(|(name, ..)| *name == tool.name)?;
    let mut definition: Value = serde_json::from_str(tool.definition.get()).ok()?;
    definition["description"] = json!(description);
    definition["_meta"] = json!({ "anthropic/searchHint": words });
    Some(Tool { definition: Arc::from(to_raw_value(&definition).ok()?), ..tool })
}

pub(crate) struct ColabSubset(Arc<dyn Relay>);

impl ColabSubset {
    pub(crate) fn new(tab: Arc<dyn Relay>) -> Self {
        Self(tab)
    }
}

impl Relay for ColabSubset {
    fn instructions(&self) -> String {
        // The tools say what they are for, and a tab that is there is one of the places.
        String::new()
    }

    fn tools(&self) -> Vec<Tool> {
        self.0.tools().into_iter().filter_map(listed).collect()
    }

    fn group(&self) -> &'static str {
        self.0.group()
    }

    fn reads(&self, tool: &str, params: Option<&RawValue>) -> bool {
        // A call of any other name does nothing: there is no such tool.
        !is_listed(tool) || self.0.reads(tool, params)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        if is_listed(&call.name) {
            return self.0.call(call);
        }
        let cause = format!("There is no tool {:?}.", call.name);
        let hint = "tools/list names the tools; call_colab_tool calls those of a Colab tab.";
        Box::pin(std::future::ready(Err(Error::new(ErrorKind::NotFound, cause, hint))))
    }
}
