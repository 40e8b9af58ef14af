//! Calls as spans: names and numbers, never arguments or answers.
//!
//! Names are those of <https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md>.

use std::sync::Arc;
use std::time::Instant;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{SpanContext, TraceContextExt as _};
use opentelemetry::{Context, global};
use opentelemetry_http::HeaderExtractor;
use place::{Answer, Error};
use rmcp::model::{JsonObject, RequestId};
use rmcp::service::{RequestContext, RoleServer};
use runs::TRACED;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::metrics::Metrics;
use crate::relayed::raw;
use crate::reply::Reply;
use crate::request_context::is_new_era;
use crate::session::Session;

/// How much of the name of an unknown tool is logged, in characters.
const MAX_TOOL: usize = 100;
/// How much of a request's id is kept, in characters.
const MAX_ID: usize = 100;

/// The span of a call that arrived over the protocol.
pub(crate) fn call_span(session: &Session, tool: &str, context: &RequestContext<RoleServer>) -> Span {
    let parts = context.extensions.get::<Parts>();
    let span = new_span(session, tool, parts.map(|parts| &parts.headers), Some(&context.meta.0.0));
    if !span.is_disabled() {
        let id = match &context.id {
            RequestId::Number(id) => id.to_string(),
            RequestId::String(id) => id.chars().take(MAX_ID).collect(),
        };
        span.record("jsonrpc.request.id", id);
        if let Some(version) = context.protocol_version() {
            span.record("mcp.protocol.version", version.as_str());
        }
        // Our number, not the session id of the protocol: that is a secret.
        let is_one = parts.is_none() || !is_new_era(context);
        if let Some(number) = session.id().filter(|_| is_one) {
            span.record("mcp.session.id", number.to_string());
        }
    }
    span
}

/// The span of a call that arrived without the protocol.
pub(crate) fn plain_call_span(session: &Session, tool: &str, headers: &HeaderMap) -> Span {
    new_span(session, tool, Some(headers), None)
}

fn new_span(session: &Session, tool: &str, headers: Option<&HeaderMap>, meta: Option<&JsonObject>) -> Span {
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
    // The name of an unknown tool may hold anything.
    if let Some(name) = known(session, tool) {
        span.record("gen_ai.tool.name", &*name);
        span.record("otel.name", format!("tools/call {name}"));
    }
    // The agent's own context takes precedence over that of its HTTP client.
    let of_call = meta.map(|meta| remote(&Meta(meta))).filter(SpanContext::is_valid);
    let of_request = headers.map(|headers| remote(&HeaderExtractor(headers))).filter(SpanContext::is_valid);
    let (parent, link) = match (of_call, of_request) {
        (Some(parent), link) => (Some(parent), link),
        (None, of_request) => (of_request, None),
    };
    if let Some(parent) = parent {
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
    if let Some(link) = link {
        span.add_link(link);
    }
    span
}

fn known(session: &Session, tool: &str) -> Option<String> {
    if session.notebooks.is_some()
        && let Some(tool) = tools::find(tool)
    {
        return Some(tool.name.to_owned());
    }
    let relayed = session.server.relay.as_ref()?.tools();
    relayed.iter().any(|relayed| relayed.name == tool).then(|| tool.to_owned())
}

/// The span of the caller, if it sent one.
fn remote(carrier: &dyn Extractor) -> SpanContext {
    let context = global::get_text_map_propagator(|propagator| {
        propagator.extract_with_context(&Context::new(), carrier)
    });
    context.span().span_context().clone()
}

/// `_meta`, where SEP-414 uses the names of the HTTP headers.
struct Meta<'a>(&'a JsonObject);

impl Extractor for Meta<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

/// Serves a call of the tool within its span, and counts, records and logs how it ends.
pub(crate) fn traced<F: Future<Output = Result<Reply, Error>>>(
    session: &Session,
    tool: &str,
    span: Span,
    call: F,
) -> impl Future<Output = Result<Reply, Error>> + use<F> {
    let own = session.notebooks.as_ref().and_then(|_| tools::find(tool)).map(|tool| tool.name);
    let open = Open {
        metrics: session.server.metrics.clone(),
        own,
        tool: tool.chars().take(MAX_TOOL).collect(),
        began: Instant::now(),
        span,
        ended: false,
    };
    async move {
        let answer = call.instrument(open.span.clone()).await;
        open.end(&answer);
        answer
    }
}

/// A call in progress. If it is dropped before its end, it was cancelled or its agent disconnected.
struct Open {
    metrics: Arc<Metrics>,
    /// The name, if it is one of our tools.
    own: Option<&'static str>,
    tool: String,
    began: Instant,
    span: Span,
    ended: bool,
}

impl Open {
    fn end(mut self, answer: &Result<Reply, Error>) {
        self.ended = true;
        let span = &self.span;
        let error = match answer {
            Ok(Reply::Own(result) | Reply::Ongoing(result)) => {
                (result.is_error == Some(true)).then(|| "tool_error".to_owned())
            }
            Ok(Reply::Relayed(Answer::Result(result))) => is_error(result).then(|| "tool_error".to_owned()),
            Ok(Reply::Relayed(Answer::Error(error))) => {
                Some(raw::error_code(error).map_or_else(|| "_OTHER".to_owned(), |code| code.to_string()))
            }
            Err(error) => {
                span.record("cellbridge.error.kind", error.kind.name());
                span.record("cellbridge.error.fault", error.fault.name());
                Some("tool_error".to_owned())
            }
        };
        if let Some(error) = &error {
            failed(span, error);
        }
        let reason = answer.as_ref().err().map(tracing::field::display);
        let source = answer.as_ref().err().and_then(|error| error.source.as_ref()).map(tracing::field::debug);
        let failed = error.is_some();
        self.count(Some(failed));
        tracing::debug!(tool = ?self.tool, seconds = self.seconds(), failed, reason, source, "a call ended");
    }

    fn count(&self, has_failed: Option<bool>) {
        if let Some(own) = self.own {
            self.metrics.count(own, has_failed, self.began.elapsed());
        }
    }

    fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.ended {
            failed(&self.span, "cancelled");
            self.count(None);
            tracing::debug!(tool = ?self.tool, seconds = self.seconds(), "a call was cancelled");
        }
    }
}

fn failed(span: &Span, error: &str) {
    span.record("error.type", error);
    span.record("otel.status_code", "ERROR");
}

pub(crate) fn is_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        #[serde(default)]
        is_error: bool,
    }
    serde_json::from_str::<Head>(result.get()).is_ok_and(|head| head.is_error)
}
