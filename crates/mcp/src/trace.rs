//! A call as a span, for whoever traces it: names and numbers, never arguments or what a tool answers.
//!
//! Names are those of <https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md>.

use axum::http::HeaderMap;
use axum::http::request::Parts;
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{SpanContext, TraceContextExt as _};
use opentelemetry::{Context, global};
use opentelemetry_http::HeaderExtractor;
use rmcp::model::{JsonObject, RequestId};
use rmcp::service::{RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use workspace::{Answer, Error, TRACED};

use crate::server::{Session, is_new_era};
use crate::tools;

/// What is kept of the id that an agent gives its request.
const LONGEST_ID: usize = 100;

/// The span of a call that has just come in, over the protocol.
pub(crate) fn of(session: &Session, tool: &str, context: &RequestContext<RoleServer>) -> Span {
    let parts = context.extensions.get::<Parts>();
    let span = begun(session, tool, parts.map(|parts| &parts.headers), Some(&context.meta.0.0));
    if !span.is_disabled() {
        let id = match &context.id {
            RequestId::Number(id) => id.to_string(),
            RequestId::String(id) => id.chars().take(LONGEST_ID).collect(),
        };
        span.record("jsonrpc.request.id", id);
        if let Some(version) = context.protocol_version() {
            span.record("mcp.protocol.version", version.as_str());
        }
        // Our number of it: whoever knows the one that travels can speak in it.
        let is_one = parts.is_none() || !is_new_era(context);
        if let Some(number) = session.number().filter(|_| is_one) {
            span.record("mcp.session.id", number.to_string());
        }
    }
    span
}

/// The span of a call that has just come in, without the protocol.
pub(crate) fn of_plain(session: &Session, tool: &str, headers: &HeaderMap) -> Span {
    begun(session, tool, Some(headers), None)
}

fn begun(session: &Session, tool: &str, headers: Option<&HeaderMap>, meta: Option<&JsonObject>) -> Span {
    let span = tracing::info_span!(
        target: TRACED,
        parent: None,
        "tools/call",
        "otel.name" = Empty,
        "otel.kind" = "server",
        "mcp.method.name" = "tools/call",
        "mcp.protocol.version" = Empty,
        "mcp.session.id" = Empty,
        "jsonrpc.request.id" = Empty,
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = Empty,
        "network.transport" = if headers.is_some() { "tcp" } else { "pipe" },
        "error.type" = Empty,
        "cellbridge.error.kind" = Empty,
        "cellbridge.error.fault" = Empty,
        "otel.status_code" = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    // What is no tool may be anything.
    if let Some(name) = known(session, tool) {
        span.record("gen_ai.tool.name", &*name);
        span.record("otel.name", format!("tools/call {name}"));
    }
    // What the agent says of its call counts more than what its HTTP client says of the request.
    let told = meta.map(|meta| remote(&Meta(meta))).filter(SpanContext::is_valid);
    let of_request = headers.map(|headers| remote(&HeaderExtractor(headers))).filter(SpanContext::is_valid);
    let (parent, beside) = match (told, of_request) {
        (Some(told), beside) => (Some(told), beside),
        (None, of_request) => (of_request, None),
    };
    if let Some(parent) = parent {
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
    if let Some(beside) = beside {
        span.add_link(beside);
    }
    span
}

fn known(session: &Session, tool: &str) -> Option<String> {
    if session.desk.is_some()
        && let Some(today) = tools::today(tool)
    {
        return Some(today.to_owned());
    }
    let relayed = session.relay.as_ref()?.tools();
    relayed.iter().any(|relayed| relayed.name == tool).then(|| tool.to_owned())
}

/// The span at the other end, if it tells of one.
fn remote(told: &dyn Extractor) -> SpanContext {
    let context =
        global::get_text_map_propagator(|propagator| propagator.extract_with_context(&Context::new(), told));
    context.span().span_context().clone()
}

/// `_meta`, where SEP-414 has the names that HTTP has.
struct Meta<'a>(&'a JsonObject);

impl Extractor for Meta<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

/// Serves a call within its span, and writes down how it ends.
pub(crate) async fn traced(
    span: Span,
    call: impl Future<Output = Result<Answer, Error>>,
) -> Result<Answer, Error> {
    if span.is_disabled() {
        return call.await;
    }
    let open = Open(span);
    let answer = call.instrument(open.0.clone()).await;
    open.end(&answer);
    answer
}

/// A call that is under way; one that is dropped before its end was taken back, or its agent has gone.
struct Open(Span);

impl Open {
    fn end(mut self, answer: &Result<Answer, Error>) {
        let span = std::mem::replace(&mut self.0, Span::none());
        let error = match answer {
            Ok(Answer::Result(result)) => is_error(result).then(|| "tool_error".to_owned()),
            Ok(Answer::Error(error)) => Some(code(error)),
            Err(error) => {
                span.record("cellbridge.error.kind", error.kind.name());
                span.record("cellbridge.error.fault", error.fault.name());
                Some("tool_error".to_owned())
            }
        };
        if let Some(error) = error {
            failed(&span, &error);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        failed(&self.0, "cancelled");
    }
}

fn failed(span: &Span, error: &str) {
    span.record("error.type", error);
    span.record("otel.status_code", "ERROR");
}

fn is_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        #[serde(default)]
        is_error: bool,
    }
    serde_json::from_str::<Head>(result.get()).is_ok_and(|head| head.is_error)
}

/// The code of a JSON-RPC error.
fn code(error: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Coded {
        code: i32,
    }
    serde_json::from_str(error.get()).map_or_else(|_| "_OTHER".to_owned(), |Coded { code }| code.to_string())
}
