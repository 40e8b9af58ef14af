//! One `tools/call`: from what `rmcp` hands over to the answer that the agent reads.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use workspace::{Answer, Call, Error, ErrorKind};

use crate::call::RawParams;
use crate::elicit::Form;
use crate::hangup::Hangup;
use crate::next_step::message;
use crate::permissions::Permissions;
use crate::raw;
use crate::reports::{Audience, WAITING_REPORTS};
use crate::server::{Session, is_new_era};
use crate::tools::{self, Person};
use crate::trace;

impl Session {
    /// Serves a call to its end, or until the agent, its session or its connection ends it.
    pub(crate) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let from_http = parts.and_then(|parts| parts.extensions.get::<RawParams>());
        let params = match context.extensions.get::<RawParams>().or(from_http) {
            Some(RawParams(params)) => params.clone(),
            None => Arc::from(to_raw_value(&request).map_err(internal)?),
        };
        let hangup = parts.and_then(|parts| parts.extensions.get::<Hangup>()).cloned().unwrap_or_default();
        let (id, name) = (context.id.clone(), request.name.into_owned());
        if name.is_empty() {
            return Err(ErrorData::invalid_params("tools/call needs params with a name", None));
        }
        let token = context.meta.get_progress_token();
        let (reports, reported) = mpsc::channel(WAITING_REPORTS);
        let is_new_era = is_new_era(&context);
        // The 2026-07-28 era knows no requests of a server.
        let person = if is_new_era { None } else { Form::of(&context.peer) };
        let span = trace::of(self, &name, &context);
        let call = Call { name, params, reports, wants_progress: token.is_some() };
        let asking = Asking {
            cancelled: context.ct.clone(),
            person: person.as_ref().map(|person| person as &dyn Person),
            is_stateless: is_new_era && parts.is_some(),
            may: parts.and_then(|parts| parts.extensions.get()).copied().unwrap_or_default(),
        };
        let call = trace::traced(span, self.answer(call, asking));
        let level = (!is_new_era).then(|| self.log_level());
        let audience = Audience { peer: &context.peer, token, level };
        // Dropping the call cancels it; an answer that is there already is worth more than any of the others.
        let answer = tokio::select! {
            biased;
            answer = audience.follow(call, reported) => reply(answer),
            () = self.over.cancelled() => Err(gone("the session is over")),
            () = context.ct.cancelled() => Err(gone("the agent cancelled the call")),
            () = hangup.token().cancelled_owned() => Err(gone("the agent closed the response stream")),
        };
        hangup.answered(|| as_message(id, &answer));
        answer
    }

    pub(crate) async fn answer(&self, call: Call, asking: Asking<'_>) -> Result<Answer, Error> {
        if let Some(session) = self.desk.as_ref().filter(|_| tools::serves(&call.name)) {
            let Call { name, params, reports, wants_progress } = call;
            let Asking { cancelled, person, is_stateless, may } = asking;
            self.policy.check(&name)?;
            let may = may.under(&self.policy);
            may.check(&name)?;
            if is_stateless {
                session.be_stateless();
            }
            let context =
                tools::Context { session, reports, wants_progress, cancelled, is_stateless, person, may };
            let timing = self.counted.metrics().begin(&name);
            let answer = tools::call(&name, &params, &context).await;
            timing.end(answer.as_ref().map_or(true, |answer| answer.is_error));
            return answer.and_then(tools::Answer::into_result);
        }
        match &self.relay {
            Some(relay) => relay.call(call).await,
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("There is no tool {:?}.", call.name),
                "tools/list names those that there are.",
            )),
        }
    }
}

/// Who asks, as far as a notebook tool is concerned.
#[derive(Default)]
pub(crate) struct Asking<'a> {
    cancelled: CancellationToken,
    person: Option<&'a dyn Person>,
    is_stateless: bool,
    may: Permissions,
}

impl Asking<'_> {
    /// Somebody without the protocol, of whom only the rights are known.
    pub(crate) fn with(may: Permissions) -> Self {
        Self { may, ..Self::default() }
    }
}

/// A result for a model to read: failures are `isError` results with the next step in them, never protocol
/// errors, which most clients hide from the model.
fn reply(answer: Result<Answer, Error>) -> Result<CallToolResponse, ErrorData> {
    match answer {
        Ok(Answer::Result(result)) => {
            let result: Box<str> = result.into();
            Ok(raw::carry(result.into_string()).into())
        }
        Ok(Answer::Error(error)) => Err(raw::carry_error(&error)),
        Err(error) => Ok(CallToolResult::error(vec![ContentBlock::text(message(&error))]).into()),
    }
}

/// The whole answer as an agent of the older era is sent it.
fn as_message(id: RequestId, answer: &Result<CallToolResponse, ErrorData>) -> Option<String> {
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

fn gone(reason: &'static str) -> ErrorData {
    ErrorData::internal_error(reason, None)
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
