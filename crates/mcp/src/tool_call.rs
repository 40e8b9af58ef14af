//! One `tools/call`: from what `rmcp` received to the answer that the agent reads.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use workspace::{Call, Error, ErrorKind};

use crate::elicitation::Form;
use crate::next_step::message;
use crate::permissions::{Access, Group, Permission, Permissions};
use crate::progress::{Audience, MAX_QUEUED_REPORTS};
use crate::relayed::call::RawParams;
use crate::relayed::raw;
use crate::session::{Session, is_new_era};
use crate::telemetry;
use crate::tools::{self, Person, Tool};
use crate::transport::CallStream;

/// What a call came back with.
pub(crate) enum Reply {
    /// The result of one of our tools.
    Own(CallToolResult),
    /// A relay's answer, as the other side wrote it.
    Relayed(workspace::Answer),
}

/// Who calls, as far as a notebook tool is concerned.
#[derive(Default)]
pub(crate) struct Caller<'a> {
    cancelled: CancellationToken,
    person: Option<&'a dyn Person>,
    is_stateless: bool,
    permissions: Permissions,
}

impl Caller<'_> {
    /// A caller without the protocol, of whom only the permissions are known.
    pub(crate) fn with(permissions: Permissions) -> Self {
        Self { permissions, ..Self::default() }
    }
}

impl Session {
    /// Serves a call until it has an answer, or until the agent, its session or its connection ends it.
    pub(crate) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let params = raw_params(&request, &context)?;
        let stream =
            parts.and_then(|parts| parts.extensions.get::<CallStream>()).cloned().unwrap_or_default();
        let (id, name) = (context.id.clone(), request.name.into_owned());
        if name.is_empty() {
            return Err(ErrorData::invalid_params("tools/call needs params with a name", None));
        }
        let token = context.meta.get_progress_token();
        let (reports, reported) = mpsc::channel(MAX_QUEUED_REPORTS);
        let is_new_era = is_new_era(&context);
        // In the 2026-07-28 era a server cannot send requests.
        let person = if is_new_era { None } else { Form::of(&context.peer) };
        let span = telemetry::call_span(self, &name, &context);
        let call = Call { name, params, reports, wants_progress: token.is_some() };
        let caller = Caller {
            cancelled: context.ct.clone(),
            person: person.as_ref().map(|person| person as &dyn Person),
            is_stateless: is_new_era && parts.is_some(),
            permissions: permissions(&context),
        };
        let call = telemetry::traced(span, self.answer(call, caller));
        let level = (!is_new_era).then(|| self.log_level());
        let audience = Audience { peer: &context.peer, token, level };
        // Dropping the call cancels it. An answer that is ready takes precedence over its cancellation.
        let answer = tokio::select! {
            biased;
            answer = audience.follow(call, reported) => response(answer),
            () = self.over.cancelled() => Err(cancelled("the session is over")),
            () = context.ct.cancelled() => Err(cancelled("the agent cancelled the call")),
            () = stream.closed() => Err(cancelled("the agent closed the response stream")),
        };
        stream.answered(|| legacy_message(id, &answer));
        answer
    }

    /// The answer of one of our tools, or of the relay.
    pub(crate) async fn answer(&self, call: Call, caller: Caller<'_>) -> Result<Reply, Error> {
        if let Some(notebooks) = &self.notebooks
            && let Some(tool) = tools::find(&call.name)
        {
            return self.call_tool(notebooks, tool, call, caller).await.map(Reply::Own);
        }
        match &self.relay {
            Some(relay) => {
                let permission = Permission::of_relayed(relay.reads(&call.name, Some(&call.params)));
                let what = format!("This call of {}", call.name);
                let group = Group::Relayed(relay.group());
                self.access(&call.name, caller.permissions).permit(&[group], permission, &what)?;
                relay.call(call).await.map(Reply::Relayed)
            }
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("There is no tool {:?}.", call.name),
                "tools/list names the tools that exist.",
            )),
        }
    }

    fn access<'a>(&'a self, tool: &'a str, permissions: Permissions) -> Access<'a> {
        Access { policy: &self.policy, permissions, tool }
    }

    async fn call_tool(
        &self,
        session: &workspace::Session,
        tool: &Tool,
        call: Call,
        caller: Caller<'_>,
    ) -> Result<CallToolResult, Error> {
        let Call { name, params, reports, wants_progress } = call;
        let Caller { cancelled, person, is_stateless, permissions } = caller;
        let access = self.access(tool.name, permissions);
        access.permit(tool.groups, tool.permission, &name)?;
        if is_stateless {
            session.be_stateless();
        }
        let context =
            tools::Context { session, reports, wants_progress, cancelled, is_stateless, person, access };
        let timing = self.counted.metrics().begin(tool.name);
        let answer = tool.call(&name, &params, &context).await;
        timing.end(answer.as_ref().map_or(true, |answer| answer.is_failure));
        answer.map(tools::Answer::into_result)
    }
}

/// What the user of a request may do.
pub(crate) fn permissions(context: &RequestContext<RoleServer>) -> Permissions {
    let parts = context.extensions.get::<Parts>();
    parts.and_then(|parts| parts.extensions.get()).copied().unwrap_or_default()
}

/// The call's params as the agent wrote them: relayed calls need their text, and our tools accept more than `rmcp` does.
fn raw_params(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Arc<serde_json::value::RawValue>, ErrorData> {
    let from_http = || context.extensions.get::<Parts>()?.extensions.get::<RawParams>();
    match context.extensions.get::<RawParams>().or_else(from_http) {
        Some(RawParams(params)) => Ok(params.clone()),
        None => match to_raw_value(request) {
            Ok(params) => Ok(Arc::from(params)),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        },
    }
}

/// Failures are `isError` results with the next step in them, never protocol errors, which most clients hide from the
/// model.
fn response(answer: Result<Reply, Error>) -> Result<CallToolResponse, ErrorData> {
    match answer {
        Ok(Reply::Own(result)) => Ok(result.into()),
        Ok(Reply::Relayed(workspace::Answer::Result(result))) => {
            let result: Box<str> = result.into();
            Ok(raw::carry(result.into_string()).into())
        }
        Ok(Reply::Relayed(workspace::Answer::Error(error))) => Err(raw::carry_error(&error)),
        Err(error) => Ok(failure(&error).into()),
    }
}

/// The result of a call that failed.
pub(crate) fn failure(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message(error))])
}

/// The whole answer as it is sent to an agent of the older era.
fn legacy_message(id: RequestId, answer: &Result<CallToolResponse, ErrorData>) -> Option<String> {
    let message = match answer {
        Ok(response) => {
            let mut result = ServerResult::from(response.clone());
            result.strip_result_type_for_legacy_peer();
            ServerJsonRpcMessage::response(result, id)
        }
        Err(error) => ServerJsonRpcMessage::error(error.clone(), Some(id)),
    };
    raw::write(message).ok()
}

fn cancelled(reason: &'static str) -> ErrorData {
    ErrorData::internal_error(reason, None)
}
