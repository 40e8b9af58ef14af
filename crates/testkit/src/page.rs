//! A Colab page that answers by itself, from closures.

use std::collections::HashMap;

use anyhow::Result;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{Message, Tab};

/// Definitions of Colab's seven notebook tools and of `echo`, which no real page has; short, and unlike the
/// program's own.
pub const SEVEN_AND_ECHO: &str = concat!(
    r#"[{"name":"add_code_cell","description":"page","inputSchema":{"type":"object"}},"#,
    r#"{"name":"add_text_cell","description":"page","inputSchema":{"type":"object"}},"#,
    r#"{"name":"delete_cell","description":"page","inputSchema":{"type":"object"}},"#,
    r#"{"name":"get_cells","description":"page","inputSchema":{"type":"object"}},"#,
    r#"{"name":"move_cell","description":"page","inputSchema":{"type":"object"}},"#,
    r#"{"name":"run_code_cell","description":"page","inputSchema":{"type":"object"}},"#,
    r#"{"name":"update_cell","description":"page","inputSchema":{"type":"object"}},"#,
    r#"{"name":"echo","description":"page","inputSchema":{"type":"object"}}]"#
);

type Handler = Box<dyn FnMut(&Value) -> String + Send>;

/// What a page offers and how it answers.
pub struct Page {
    handlers: HashMap<&'static str, Handler>,
}

/// A result with one text block.
pub fn text_result(text: &str) -> String {
    json!({ "content": [{ "type": "text", "text": text }] }).to_string()
}

impl Default for Page {
    /// A page whose seven tools answer as Colab's do on an empty notebook, and whose `echo` returns its arguments.
    fn default() -> Self {
        let mut page = Self { handlers: HashMap::new() };
        for tool in ["add_code_cell", "add_text_cell"] {
            page = page.on(tool, |_| text_result(r#"{"newCellId":"c1"}"#));
        }
        for tool in ["delete_cell", "move_cell", "update_cell"] {
            page = page.on(tool, |_| text_result("{}"));
        }
        page.on("get_cells", |_| text_result(r#"{"cells":[]}"#))
            .on("run_code_cell", |_| text_result(r#"{"outputs":[]}"#))
            .on("echo", |arguments| text_result(&arguments.to_string()))
    }
}

impl Page {
    /// Answers calls of `tool` with the result, as JSON text, that `handler` makes of the arguments.
    #[must_use]
    pub fn on(mut self, tool: &'static str, handler: impl FnMut(&Value) -> String + Send + 'static) -> Self {
        self.handlers.insert(tool, Box::new(handler));
        self
    }

    fn answer(&mut self, request: &Message) -> Result<String> {
        let id = request.need_id()?;
        let params = request.params_value()?;
        let body = match request.method.as_deref() {
            Some("tools/list") => format!(r#""result":{{"tools":{SEVEN_AND_ECHO}}}"#),
            Some("ping") => r#""result":{}"#.to_owned(),
            Some("tools/call") => match self.handlers.get_mut(params["name"].as_str().unwrap_or_default()) {
                Some(handler) => format!(r#""result":{}"#, handler(&params["arguments"])),
                None => r#""error":{"code":-32602,"message":"no such tool"}"#.to_owned(),
            },
            _ => r#""error":{"code":-32601,"message":"no such method"}"#.to_owned(),
        };
        Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#))
    }
}

/// A page in a task of its own; the tab is dropped with it.
pub struct Serving {
    task: JoinHandle<()>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Tab {
    /// Plays the opening, then answers by itself.
    pub async fn serve(mut self, mut page: Page) -> Result<Serving> {
        self.open().await?;
        let task = tokio::spawn(async move {
            loop {
                // An idle page may wait longer than the timeout of a test.
                let Ok(message) = self.receive_without_timeout().await else { return };
                if message.id.is_none() || message.method.is_none() {
                    continue;
                }
                let Ok(answer) = page.answer(&message) else { return };
                if self.send(answer).await.is_err() {
                    return;
                }
            }
        });
        Ok(Serving { task })
    }
}
