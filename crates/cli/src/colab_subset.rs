//! The Colab tab beside the notebook tools: only the two tools that give access to all of its others.
//!
//! The tab's own tools do what the notebook tools do, under other names; listing both would make a model choose
//! between duplicates.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::watch;
use workspace::{Answer, Call, Error, ErrorKind, Relay, Tool};

const LISTED: [&str; 2] = ["open_colab_browser_connection", "call_colab_tool"];

pub(crate) struct ColabSubset(Arc<dyn Relay>);

impl ColabSubset {
    pub(crate) fn new(tab: Arc<dyn Relay>) -> Self {
        Self(tab)
    }
}

impl Relay for ColabSubset {
    fn instructions(&self) -> String {
        "A notebook in Google Colab: use_notebook with \"colab:\" or its URL, then the same tools. call_colab_tool calls \
         what else the tab can do."
            .to_owned()
    }

    fn tools(&self) -> Vec<Tool> {
        let tools = self.0.tools().into_iter();
        tools.filter(|tool| LISTED.contains(&tool.name.as_str())).collect()
    }

    fn group(&self) -> &'static str {
        self.0.group()
    }

    fn reads(&self, tool: &str, params: Option<&RawValue>) -> bool {
        // A call of any other name does nothing: there is no such tool.
        !LISTED.contains(&tool) || self.0.reads(tool, params)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        if LISTED.contains(&call.name.as_str()) {
            return self.0.call(call);
        }
        let cause = format!("There is no tool {:?}.", call.name);
        let hint = "tools/list names the tools; call_colab_tool calls those of a Colab tab.";
        Box::pin(std::future::ready(Err(Error::new(ErrorKind::NotFound, cause, hint))))
    }
}
