//! One `tools/call`: from what `rmcp` received to the answer that the agent reads.

use std::future::{pending, ready};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::request::Parts;
use futures_util::future::BoxFuture;
use place::{Call, Error, ErrorKind, Relay};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CreateTaskResult, ErrorData};
use rmcp::service::{RequestContext, RoleServer};
use runs::Run;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::elicitation::Elicitation;
use crate::paused_calls::{OngoingCall, Round};
use crate::person::Asking;
use crate::progress::{Audience, MAX_QUEUED_REPORTS};
use crate::relayed::call::RawParams;
use crate::reply::{Reply, legacy_message, response};
use crate::request_context::{can_ask, client_name, declares_tasks, is_new_era, permissions};
use crate::session::Session;
use crate::telemetry;
use crate::transport::CallStream;
use calls::answer::Outcome;
use calls::call_order::{Ordering, Turn};
use calls::consent::Consent;
use calls::context::Called;
use calls::permissions::{Access, Group, Permission, Permissions, Policy};
use calls::tool::Tool;

/// Who calls, as far as the answer is concerned.
pub(crate) struct Caller {
    turn: Turn,
    cancelled: CancellationToken,
    person: Asking,
    is_stateless: bool,
    may_be_task: bool,
    permissions: Permissions,
}

impl Caller {
    /// A caller without the protocol, of whom only the permissions are known.
    pub(crate) fn with(permissions: Permissions) -> Self {
        Self {
            turn: Turn::default(),
            cancelled: CancellationToken::new(),
            person: Asking { elicitation: None, pages: None, client: String::new(), reports: None },
            is_stateless: false,
            may_be_task: false,
            permissions,
        }
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
        let view = self.view_call(&request.name, &params, &context).await;
        let (id, name) = (context.id.clone(), request.name.into_owned());
        if name.is_empty() {
            return Err(ErrorData::invalid_params("tools/call needs params with a name", None));
        }
        let _room = self.take_room(1)?;
        let answer = match view {
            Some(answer) => Ok(answer.into()),
            None => match self.resumed_or_new(name, params, &context) {
                Ok(call) => self.round(call, &context, &stream).await,
                Err(error) => response(Err(error)),
            },
        };
        stream.answered(|| legacy_message(id, &answer));
        answer
    }

    /// Waits for the answer of a call, or for a question that the agent has to repeat the call for.
    async fn round(
        &self,
        mut call: OngoingCall,
        context: &RequestContext<RoleServer>,
        stream: &CallStream,
    ) -> Result<CallToolResponse, ErrorData> {
        let token = context.meta.get_progress_token();
        let level = (!is_new_era(context)).then(|| self.log_level());
        let audience = Audience { peer: &context.peer, token, level };
        let is_relayed = self.notebooks.is_none() || tools::find(&call.name).is_none();
        let wait = declares_tasks(context).then_some(self.server.task_wait);
        let outlasting = outlasting(wait, call.turn.clone(), is_relayed);
        // Dropping the call cancels it. An answer that is ready takes precedence over its cancellation.
        let round = tokio::select! {
            biased;
            round = call.round(&audience) => round,
            runs = outlasting => Round::Outlasting(runs),
            () = self.over.cancelled() => return Err(cancelled("the session is over")),
            () = context.ct.cancelled() => {
                call.cancelled.cancel();
                return Err(cancelled("the agent cancelled the call"));
            }
            () = stream.closed() => return Err(cancelled("the agent closed the response stream")),
        };
        match round {
            Round::Over(answer) => response(answer),
            Round::Outlasting(runs) => match self.server.tasks.keep(call, runs) {
                Ok(task) => Ok(CreateTaskResult::new(task).into()),
                Err(error) => response(Err(error)),
            },
            Round::Asked(question) => {
                // The agent learns that the call is not done, and may never repeat it.
                call.turn.finish();
                match self.server.paused_calls.pause(call, question) {
                    Ok(result) => Ok(result.into()),
                    Err(error) => response(Err(error)),
                }
            }
        }
    }

    /// A new call, or the one that the agent repeats with the reply of its person.
    fn resumed_or_new(
        &self,
        name: String,
        params: Arc<RawValue>,
        context: &RequestContext<RoleServer>,
    ) -> Result<OngoingCall, Error> {
        let (is_new_era, permissions) = (is_new_era(context), permissions(context));
        if is_new_era && let Some(call) = self.server.paused_calls.resume(&name, &params, permissions)? {
            return Ok(call);
        }
        let (asking, questions) = mpsc::channel(1);
        let elicitation = can_ask(context).then(|| {
            if is_new_era { Elicitation::NextRound(asking) } else { Elicitation::Peer(context.peer.clone()) }
        });
        let (reports, reported) = mpsc::channel(MAX_QUEUED_REPORTS);
        let may_be_task = declares_tasks(context);
        let wants_progress = may_be_task || context.meta.get_progress_token().is_some();
        let person = Asking {
            elicitation,
            pages: self.server.pages.clone(),
            client: client_name(context),
            reports: wants_progress.then(|| reports.clone()),
        };
        let cancelled = CancellationToken::new();
        let turn = self.order.arrive(tools::find(&name).map_or(Ordering::Unordered, Tool::ordering));
        let caller = Caller {
            turn: turn.clone(),
            cancelled: cancelled.clone(),
            person,
            is_stateless: is_new_era && context.extensions.get::<Parts>().is_some(),
            may_be_task,
            permissions,
        };
        let span = telemetry::call_span(self, &name, context);
        let call = Call { name: name.clone(), params: params.clone(), reports, wants_progress };
        let work = Box::pin(telemetry::traced(self, &name, span, self.answer(call, caller)));
        Ok(OngoingCall { name, params, permissions, turn, work, reports: reported, questions, cancelled })
    }

    /// The answer of one of our tools, or of the relay. It may outlive this session, which is one request over HTTP in
    /// the 2026-07-28 era.
    pub(crate) fn answer(&self, call: Call, caller: Caller) -> BoxFuture<'static, Result<Reply, Error>> {
        let policy = self.server.policy.clone();
        if let Some(notebooks) = &self.notebooks
            && let Some(tool) = tools::find(&call.name)
        {
            let session = notebooks.clone();
            return Box::pin(
                async move { answer_of(&session, &policy, tool, call, caller).await.map(Reply::of) },
            );
        }
        match self.server.relay.clone() {
            Some(relay) => Box::pin(async move { call_relay(&*relay, &policy, call, caller).await }),
            None => Box::pin(ready(Err(Error::new(
                ErrorKind::NotFound,
                format!("There is no tool {:?}.", call.name),
                "tools/list names the tools that exist.",
            )))),
        }
    }
}

/// Waits until the call has taken so long that it becomes a task, with these runs; for ever if it must not, or has none. One
/// that is passed on has none.
async fn outlasting(wait: Option<Duration>, turn: Turn, is_relayed: bool) -> Vec<Arc<Run>> {
    match wait {
        Some(wait) => sleep(wait).await,
        None => pending().await,
    }
    if is_relayed { Vec::new() } else { turn.runs().await }
}

/// The answer of one of our tools.
pub(crate) async fn answer_of(
    session: &workspace::Session,
    policy: &Policy,
    tool: &'static Tool,
    call: Call,
    caller: Caller,
) -> Outcome {
    let Call { name, params, reports, wants_progress } = call;
    let Caller { turn, cancelled, person, is_stateless, may_be_task, permissions } = caller;
    let access = Access { policy, permissions, tool: tool.name };
    let consent =
        Consent::of(access, tool.groups, tool.permission, &name, person.for_consent())?.holding(&turn);
    if is_stateless {
        session.be_stateless();
    }
    turn.wait().await;
    let context = calls::context::Context {
        session,
        turn: &turn,
        reports,
        wants_progress,
        steps: AtomicU32::new(0),
        cancelled,
        is_stateless,
        may_be_task,
        person: person.through_agent(),
        called: Called::read(tool, &name, &params)?,
        consent,
        opened: OnceLock::new(),
    };
    tool.call(&context).await
}

async fn call_relay(relay: &dyn Relay, policy: &Policy, call: Call, caller: Caller) -> Result<Reply, Error> {
    let permission = Permission::of_relayed(relay.reads(&call.name, Some(&call.params)));
    let access = Access { policy, permissions: caller.permissions, tool: &call.name };
    let groups = [Group::Relayed(relay.group())];
    let what = format!("This call of {}", call.name);
    let consent = Consent::of(access, &groups, permission, &what, caller.person.for_consent())?;
    let preview = async { Ok(calls::preview::preview_of_relayed(relay, &call.name, &call.params)) };
    consent.permit(&groups, permission, &call.name, preview).await?;
    relay.call(call).await.map(Reply::Relayed)
}

/// The call's params as the agent wrote them: relayed calls need their text, and our tools accept more than `rmcp` does.
fn raw_params(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Arc<RawValue>, ErrorData> {
    let from_http = || context.extensions.get::<Parts>()?.extensions.get::<RawParams>();
    match context.extensions.get::<RawParams>().or_else(from_http) {
        Some(RawParams(params)) => Ok(params.clone()),
        None => match to_raw_value(request) {
            Ok(params) => Ok(Arc::from(params)),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        },
    }
}

fn cancelled(reason: &'static str) -> ErrorData {
    ErrorData::internal_error(reason, None)
}
