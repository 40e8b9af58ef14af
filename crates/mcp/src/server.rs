//! One agent's view of the server: what `rmcp` asks, answered from the relay.

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ConstString as _, ContentBlock, ErrorCode, ErrorData, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams, ProtocolVersion, RequestId,
    ServerCapabilities, ServerConfig, ServerJsonRpcMessage, ServerResult, SetLevelRequestParams,
    SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use workspace::{Answer, Call, Error, Relay};

use crate::call::RawParams;
use crate::hangup::Hangup;
use crate::raw;
use crate::reports::{Audience, WAITING_REPORTS};

/// What is served to agents, whatever the transport.
#[derive(Clone)]
pub struct Server {
    relay: Arc<dyn Relay>,
}

impl Server {
    /// Serves the tools of `relay`.
    pub fn new(relay: Arc<dyn Relay>) -> Self {
        Self { relay }
    }

    /// Whether the tool wants arguments repeated in HTTP headers (SEP-2243), which `rmcp` checks.
    pub(crate) fn has_header_arguments(&self, tool: &str) -> bool {
        let tools = self.relay.tools();
        tools.iter().any(|known| known.name == tool && known.definition.get().contains("x-mcp-header"))
    }

    /// The handler of one agent's session; `ended` tells it that the agent has gone.
    pub(crate) fn session(&self, ended: &CancellationToken) -> Session {
        let over = ended.child_token();
        let log_level = Mutex::new(LoggingLevel::Debug);
        Session {
            relay: self.relay.clone(),
            over: over.clone(),
            _guard: over.drop_guard(),
            log_level,
            is_notified: AtomicBool::new(false),
        }
    }
}

/// One agent's session (in the 2026-07-28 era over HTTP: one request).
pub(crate) struct Session {
    relay: Arc<dyn Relay>,
    /// Cancelled when the session is over, so that nothing that serves it outlives it.
    over: CancellationToken,
    _guard: DropGuard,
    /// The least level of the page's log lines that this agent wants.
    log_level: Mutex<LoggingLevel>,
    /// Whether list changes are being told already.
    is_notified: AtomicBool,
}

impl Session {
    async fn call(
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
        let call = self.relay.call(Call { name, params, reports, wants_progress: token.is_some() });
        let level = (!is_new_era(&context)).then(|| self.log_level());
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

    fn log_level(&self) -> LoggingLevel {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self) -> String {
        let tools = self.relay.tools();
        let definitions: Vec<&RawValue> = tools.iter().map(|tool| &*tool.definition).collect();
        let length: usize = definitions.iter().map(|definition| definition.get().len() + 1).sum();
        let mut list = String::with_capacity(length + 16);
        list.push_str(r#"{"tools":["#);
        for (index, definition) in definitions.iter().enumerate() {
            if index > 0 {
                list.push(',');
            }
            list.push_str(definition.get());
        }
        list.push_str("]}");
        list
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
        Err(error) => Ok(CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into()),
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

fn is_new_era(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Lists of what is not declared: empty for older agents, some of which ask without looking at the
/// capabilities; an unknown method for the 2026-07-28 era, as its specification wants it.
fn undeclared<T>(
    context: &RequestContext<RoleServer>,
    empty: T,
    method: &'static str,
) -> Result<T, ErrorData> {
    if is_new_era(context) {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    } else {
        Ok(empty)
    }
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        let mut tools = rmcp::model::ToolsCapability::default();
        tools.list_changed = Some(true);
        capabilities.tools = Some(tools);
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("cellbridge", env!("CARGO_PKG_VERSION")).with_title("Cellbridge"),
            )
            .with_instructions(self.relay.instructions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // Only this era has the page's log pushed to agents.
        result.capabilities.logging = Some(JsonObject::default());
        Ok(result)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = request.level;
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(raw::carry_list(self.list()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.relay.tools();
        let tool = tools.iter().find(|tool| tool.name == name)?;
        serde_json::from_str(tool.definition.get()).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.is_notified.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut changes = self.relay.changes();
        let over = self.over.clone();
        // Ends with the session.
        tokio::spawn(over.run_until_cancelled_owned(async move {
            while changes.changed().await.is_ok() {
                if context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        }));
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::default();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.relay.changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.over.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn complete(
        &self,
        _: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CompleteResult, ErrorData>> + Send + '_ {
        ready(undeclared(&context, CompleteResult::default(), CompleteRequestMethod::VALUE))
    }

    fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListPromptsResult, ErrorData>> + Send + '_ {
        ready(undeclared(&context, ListPromptsResult::default(), ListPromptsRequestMethod::VALUE))
    }

    fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorData>> + Send + '_ {
        ready(undeclared(&context, ListResourcesResult::default(), ListResourcesRequestMethod::VALUE))
    }

    fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, ErrorData>> + Send + '_ {
        ready(undeclared(
            &context,
            ListResourceTemplatesResult::default(),
            ListResourceTemplatesRequestMethod::VALUE,
        ))
    }
}
