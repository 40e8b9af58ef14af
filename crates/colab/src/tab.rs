//! One tab, as the relay and the place use it.

use std::sync::Arc;
use std::time::Duration;

use notebook::{Json, one_line};
use place::{Answer, Call, Error, ErrorKind, NextStep, NotebookPath};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::bridge::Bridge;
use crate::connect_tool::ConnectTool;
use crate::handshake::ConnectedBy;
use crate::notebook_url::NotebookUrl;
use crate::page::CallFailure;
use crate::tab_connection::TabConnection;
use crate::tools::CONNECT;

/// The maximum number of tools that an error names.
const MAX_NAMES: usize = 50;
/// The time that the page may take to read or edit cells.
const EDIT_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Tab {
    pub(crate) bridge: Arc<Bridge>,
    /// Whether [`CONNECT`] opens it.
    pub(crate) is_first: bool,
    pub(crate) connection: Arc<TabConnection>,
    pub(crate) connect_tool: ConnectTool,
    /// The time that an agent's call may take without an answer or progress; `None` is forever.
    pub(crate) call_timeout: Option<Duration>,
}

impl Tab {
    /// The path of its notebook.
    pub(crate) fn path(&self) -> &NotebookPath {
        &self.connection.path
    }

    /// Passes an agent's call on to the page, with `params` instead of its own.
    pub(crate) async fn forward(&self, tool: &str, params: &RawValue, call: &Call) -> Result<Answer, Error> {
        let Some(page) = self.connection.page() else {
            return Err(self.not_connected(tool));
        };
        if let Some(offered) = page.tools()
            && offered.iter().all(|it| it.name != tool)
        {
            let names: Vec<_> = offered.iter().map(|it| one_line(&it.name)).take(MAX_NAMES).collect();
            let more = if offered.len() > MAX_NAMES { ", and more" } else { "" };
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("The connected Colab tab has no tool {tool:?}."),
                format!("Its tools: {}{more}.", names.join(", ")),
            ));
        }
        let answer = page.call(params, call, self.call_timeout).await.map_err(|failure| match failure {
            CallFailure::NotSent => self.not_connected(tool),
            CallFailure::Disconnected { reason } => Error::new(
                ErrorKind::Disconnected,
                format!(
                    "The Colab tab disconnected before {tool} was answered{}; a cell that it started may still be \
                     running in Colab.",
                    reason.map_or(String::new(), |reason| format!(" ({reason})")),
                ),
                if self.is_first {
                    format!("Call {CONNECT} to connect again, then get_cells to see what has changed.").into()
                } else {
                    self.reopen()
                },
            ),
            CallFailure::TimedOut => Error::new(
                ErrorKind::Timeout,
                format!(
                    "{tool} timed out: no answer and no progress for {} s. A cell that it started may still be \
                     running in Colab.",
                    self.call_timeout.unwrap_or_default().as_secs_f64()
                ),
                "Call get_cells with includeOutputs to see its outputs so far.",
            ),
        })?;
        let (Answer::Result(body) | Answer::Error(body)) = &answer;
        if body.get().starts_with('{') {
            return Ok(answer);
        }
        Err(Error::new(
            ErrorKind::RemoteFailure,
            format!("The Colab tab answered {tool} with something that is neither a result nor an error."),
            "Call get_cells to see what has changed; if this happens again, the person should reload the tab.",
        ))
    }

    /// Calls a tool of the page that reads or edits cells. Returns the object in its result.
    pub(crate) async fn ask(&self, tool: &str, arguments: &Value) -> Result<Json, Error> {
        match timeout(EDIT_TIMEOUT, self.call(tool, arguments)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(CallFailure::NotSent)) => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "The notebook {} is in a Colab tab, and that tab is not connected.{}",
                    self.path(),
                    others(&self.bridge.connected())
                ),
                self.reopen(),
            )),
            Ok(Err(CallFailure::Disconnected { .. } | CallFailure::TimedOut)) => Err(Error::new(
                ErrorKind::Disconnected,
                format!("The Colab tab disconnected before it answered {tool}."),
                NextStep::ReadNotebook,
            )),
            Err(_) => Err(Error::new(
                ErrorKind::Timeout,
                format!("The Colab tab did not answer {tool} within {} s.", EDIT_TIMEOUT.as_secs()),
                "The person should look at the tab: it may show a question, or need a reload.",
            )),
        }
    }

    /// Calls a tool of the page and waits for as long as the page is connected. Returns the object in its result, or why the page refused.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> Result<Result<Json, Error>, CallFailure> {
        let page = self.connection.page().ok_or(CallFailure::NotSent)?;
        let params: Arc<RawValue> = match to_raw_value(&json!({ "name": tool, "arguments": arguments })) {
            Ok(params) => params.into(),
            Err(error) => return Ok(Err(unusable(tool, &error.to_string()))),
        };
        // Nobody reads the reports.
        let (reports, _) = mpsc::channel(1);
        let call = Call { name: tool.to_owned(), params: params.clone(), reports, wants_progress: false };
        Ok(payload(tool, page.call(&params, &call, None).await?))
    }

    pub(crate) fn not_connected(&self, subject: &str) -> Error {
        let connected = self.bridge.connected();
        let cause = if self.is_first && connected.is_empty() {
            format!("{subject} needs a Colab notebook, and no tab is connected.")
        } else {
            format!(
                "{subject} needs the Colab tab {}, which is not connected.{}",
                self.path(),
                others(&connected)
            )
        };
        let next = if self.is_first {
            format!("Call {CONNECT} first: it opens Colab in the person's browser and returns the next step.")
                .into()
        } else {
            self.reopen()
        };
        Error::new(ErrorKind::Unavailable, cause, next)
    }

    /// A notice for an agent if the tab may not show the notebook whose URL was asked for: a page does not say which
    /// it shows.
    pub(crate) fn other_notebook(&self) -> Option<String> {
        other_notebook(self.connection.connected_by()?, &self.connect_tool.url()?)
    }

    pub(crate) fn reopen(&self) -> NextStep {
        NextStep::Reopen { path: self.path().to_string() }
    }
}

fn other_notebook(by: ConnectedBy, asked_for: &NotebookUrl) -> Option<String> {
    let may_be_another = by == ConnectedBy::Line && !asked_for.is_of_new_notebook();
    may_be_another.then(|| {
        format!(
            "The person connected this tab with the line for Colab's own dialog, from the notebook that was open there. \
             It may differ from {asked_for}: compare the cells before you change any."
        )
    })
}

/// Names the tabs that are connected, as the end of a message about one that is not.
fn others(connected: &[NotebookPath]) -> String {
    match connected {
        [] => String::new(),
        [one] => format!(" Another connected tab: {one}."),
        several => format!(" Other connected tabs: {}.", several.join(", ")),
    }
}

/// The object in a result of one of the page's tools. The page puts it into a text block, into `structuredContent`, or both.
///
/// Example: `{"content": [{"type": "text", "text": "{\"newCellId\":\"c1\"}"}]}` holds `{"newCellId": "c1"}`.
fn payload(tool: &str, answer: Answer) -> Result<Json, Error> {
    let result = match answer {
        Answer::Result(result) => Json::from(result),
        Answer::Error(error) => {
            let error = Json::from(error);
            let message = error.member("message").and_then(|message| message.text().map(String::from));
            return Err(refused(tool, &message.unwrap_or_else(|| error.compact())));
        }
    };
    let texts =
        result.member("content").into_iter().flat_map(|content| content.elements().collect::<Vec<_>>());
    let text = texts.filter_map(|block| block.member("text")).find_map(|text| text.text().map(String::from));
    if result.member("isError").is_some_and(|is_error| is_error.as_str() == "true") {
        return Err(refused(tool, &text.unwrap_or_default()));
    }
    if let Some(structured) = result.member("structuredContent").filter(Json::is_object) {
        return Ok(structured);
    }
    let parsed = text.map(|text| Json::parse(text.into()));
    match parsed {
        Some(Ok(payload)) if payload.is_object() => Ok(payload),
        Some(Err(error)) => Err(unusable(tool, &error.to_string())),
        _ => Err(unusable(tool, "its result holds no object")),
    }
}

fn refused(tool: &str, message: &str) -> Error {
    Error::new(
        ErrorKind::RemoteFailure,
        format!("The Colab tab refused {tool}: {message}"),
        NextStep::ReadNotebook,
    )
}

fn unusable(tool: &str, problem: &str) -> Error {
    Error::new(
        ErrorKind::RemoteFailure,
        format!("The Colab tab answered {tool} with something unusable: {problem}."),
        "If this happens again, the person should reload the tab.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tabs_that_are_connected_are_named() {
        let paths = ["colab:", "colab:3"].map(NotebookPath::from);
        assert_eq!(others(&[]), "");
        assert_eq!(others(&paths[..1]), " Another connected tab: colab:.");
        assert_eq!(others(&paths), " Other connected tabs: colab:, colab:3.");
    }

    #[test]
    fn a_notebook_that_was_connected_with_the_line_may_not_be_the_one_asked_for() {
        let url = NotebookUrl::new(Some("https://colab.research.google.com/drive/abc#mcpProxyToken=x"), None)
            .unwrap();
        let notice = other_notebook(ConnectedBy::Line, &url).unwrap();
        assert!(notice.contains("may differ from https://colab.research.google.com/drive/abc: "), "{notice}");
        assert_eq!(other_notebook(ConnectedBy::Url, &url), None);
        // Any notebook will do.
        assert_eq!(other_notebook(ConnectedBy::Line, &NotebookUrl::new(None, Some(1)).unwrap()), None);
    }

    fn of(result: &str) -> Result<String, String> {
        let result = Answer::Result(RawValue::from_string(result.to_owned()).unwrap());
        payload("get_cells", result).map(|json| json.compact()).map_err(|error| error.cause)
    }

    #[test]
    fn the_object_is_found_in_either_part_of_a_result() {
        let text = r#"{"content":[{"type":"text","text":"{\"a\":1.0}"}]}"#;
        let structured = r#"{"content":[],"structuredContent":{"a":1.0}}"#;
        assert_eq!(of(text).unwrap(), r#"{"a":1.0}"#);
        assert_eq!(of(structured).unwrap(), r#"{"a":1.0}"#);
    }

    #[test]
    fn refusals_and_unusable_results_name_the_tool_and_the_reason() {
        let refused =
            r#"{"isError":true,"content":[{"type":"text","text":"No cell was found with ID '0'"}]}"#;
        assert_eq!(
            of(refused).unwrap_err(),
            "The Colab tab refused get_cells: No cell was found with ID '0'"
        );
        for unusable in ["{}", r#"{"content":[{"type":"text","text":"[]"}]}"#, r#"{"content":7}"#, "[]"] {
            assert!(of(unusable).unwrap_err().contains("get_cells with something unusable"), "{unusable}");
        }
        let error = RawValue::from_string(r#"{"code":-32602,"message":"no such tool"}"#.to_owned()).unwrap();
        let refused = payload("get_cells", Answer::Error(error)).unwrap_err();
        assert_eq!(refused.cause, "The Colab tab refused get_cells: no such tool");
    }
}
