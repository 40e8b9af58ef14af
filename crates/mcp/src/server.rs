//! One agent's view of the server: what `rmcp` asks, answered from the relay.

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams, CompleteResult,
    ConstString as _, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams, PromptsCapability,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourcesCapability, ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::value::RawValue;
use tokio::sync::watch::{self, error::RecvError};
use tokio_util::sync::{CancellationToken, DropGuard};
use workspace::{Error, Relay, Workspace};

use crate::metrics::{Counted, Metrics};
use crate::next_step::message;
use crate::permissions::Policy;
use crate::session_pool::SessionLimits;
use crate::subscriptions::Subscriptions;
use crate::{prompts, raw, resources, tools};

/// What is served to agents, whatever the transport.
#[derive(Clone)]
pub struct Server {
    workspace: Option<Arc<Workspace>>,
    relay: Option<Arc<dyn Relay>>,
    policy: Arc<Policy>,
    metrics: Arc<Metrics>,
    session_limits: SessionLimits,
}

impl Server {
    /// Serves the tools of `relay`.
    pub fn new(relay: Arc<dyn Relay>) -> Self {
        Self::serving(None, Some(relay))
    }

    /// Serves the notebook tools on `workspace`, and those of `relay` beside them.
    pub fn with_workspace(workspace: Arc<Workspace>, relay: Option<Arc<dyn Relay>>) -> Self {
        Self::serving(Some(workspace), relay)
    }

    fn serving(workspace: Option<Arc<Workspace>>, relay: Option<Arc<dyn Relay>>) -> Self {
        let session_limits = SessionLimits::default();
        Self { workspace, relay, policy: Arc::default(), metrics: Arc::default(), session_limits }
    }

    /// Offers no more of the notebook tools than `policy` does.
    #[must_use]
    pub fn offering(self, policy: Policy) -> Self {
        Self { policy: Arc::new(policy), ..self }
    }

    /// Counts what agents do in `metrics`.
    #[must_use]
    pub fn counting(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// Bounds the sessions of agents over HTTP.
    #[must_use]
    pub fn with_session_limits(self, session_limits: SessionLimits) -> Self {
        Self { session_limits, ..self }
    }

    pub(crate) fn session_limits(&self) -> SessionLimits {
        self.session_limits
    }

    /// Whether the tool wants arguments repeated in HTTP headers (SEP-2243), which `rmcp` checks.
    pub(crate) fn has_header_arguments(&self, tool: &str) -> bool {
        let tools = self.relay.as_ref().map(|relay| relay.tools()).unwrap_or_default();
        tools.iter().any(|known| known.name == tool && known.definition.get().contains("x-mcp-header"))
    }

    /// The notebooks that are served.
    pub(crate) fn workspace(&self) -> Option<&Arc<Workspace>> {
        self.workspace.as_ref()
    }

    /// The handler of one agent's session; `ended` tells it that the agent has gone.
    pub(crate) fn session(&self, ended: &CancellationToken) -> Session {
        self.desk(ended, Counted::new(self.metrics.clone()))
    }

    /// The same for those who speak without the protocol, all together.
    pub(crate) fn no_session(&self, ended: &CancellationToken) -> Session {
        self.desk(ended, Counted::no_session(self.metrics.clone()))
    }

    fn desk(&self, ended: &CancellationToken, counted: Counted) -> Session {
        let over = ended.child_token();
        let log_level = Mutex::new(LoggingLevel::Debug);
        Session {
            desk: self.workspace.clone().map(workspace::Session::new),
            relay: self.relay.clone(),
            policy: self.policy.clone(),
            counted,
            over: over.clone(),
            _guard: over.drop_guard(),
            log_level,
            is_notified: AtomicBool::new(false),
            subscriptions: Subscriptions::default(),
            still: watch::Sender::new(0),
        }
    }
}

/// What a model should know before it uses the notebook tools.
const INSTRUCTIONS: &str = "\
Open a notebook with use_notebook, or give its path as notebook_name. Address cells by cell_id: indices move. \
A run that outlasts its timeout goes on; get_run finds it and pages through long outputs. \
Edits are refused if the cell has changed since you read it; the refusal shows the new source.";

/// One agent's session (in the 2026-07-28 era over HTTP: one request).
pub(crate) struct Session {
    /// The agent's notebooks, where there is a workspace.
    pub(crate) desk: Option<workspace::Session>,
    pub(crate) relay: Option<Arc<dyn Relay>>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) counted: Counted,
    /// Cancelled when the session is over, so that nothing that serves it outlives it.
    pub(crate) over: CancellationToken,
    _guard: DropGuard,
    /// The least level of the page's log lines that this agent wants.
    log_level: Mutex<LoggingLevel>,
    /// Whether list changes are being told already.
    is_notified: AtomicBool,
    /// What the agent wants to be told of, by address.
    subscriptions: Subscriptions,
    /// Never moves: for a source of tools that is not there.
    still: watch::Sender<u64>,
}

impl Session {
    fn instructions(&self) -> String {
        let own = self
            .desk
            .as_ref()
            .map(|desk| format!("Notebooks of {}.\n{INSTRUCTIONS}", desk.place().description()));
        let relayed = self.relay.as_ref().map(|relay| relay.instructions());
        own.into_iter().chain(relayed).collect::<Vec<_>>().join("\n\n")
    }

    /// Which session it is of those that have notebooks.
    pub(crate) fn number(&self) -> Option<workspace::SessionId> {
        self.desk.as_ref().map(workspace::Session::id)
    }

    /// The tools as they stand at this moment.
    pub(crate) fn tools(&self) -> Vec<workspace::Tool> {
        let own = self.desk.iter().flat_map(|desk| tools::list(tools::Abilities::of(desk)));
        let mut tools: Vec<_> = own.filter(|tool| self.policy.offers(&tool.name)).cloned().collect();
        tools.extend(self.relay.iter().flat_map(|relay| relay.tools()));
        tools
    }

    fn changes(&self) -> Changes {
        let still = || self.still.subscribe();
        Changes {
            relayed: self.relay.as_ref().map_or_else(still, |relay| relay.changes()),
            own: self.desk.as_ref().map_or_else(still, |desk| desk.workspace().capabilities()),
        }
    }

    pub(crate) fn log_level(&self) -> LoggingLevel {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self) -> String {
        let tools = self.tools();
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

/// Moves whenever the tools may be others.
struct Changes {
    relayed: watch::Receiver<u64>,
    own: watch::Receiver<u64>,
}

impl Changes {
    /// Fails when nothing will change any more.
    async fn changed(&mut self) -> Result<(), RecvError> {
        tokio::select! {
            changed = self.relayed.changed() => changed,
            changed = self.own.changed() => changed,
        }
    }
}

pub(crate) fn is_new_era(context: &RequestContext<RoleServer>) -> bool {
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
        if self.desk.is_some() {
            capabilities.prompts = Some(PromptsCapability::default());
            capabilities.resources = Some(ResourcesCapability::default());
        }
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("cellbridge", env!("CARGO_PKG_VERSION")).with_title("Cellbridge"),
            )
            .with_instructions(self.instructions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        if let Some(desk) = &self.desk {
            let client = &request.client_info;
            desk.introduce(client.title.clone().unwrap_or_else(|| client.name.clone()));
        }
        let mut result = self.negotiate_initialize(&request)?;
        // Only this era has the page's log and changes of resources pushed to agents.
        result.capabilities.logging = Some(JsonObject::default());
        if let Some(resources) = &mut result.capabilities.resources {
            resources.subscribe = Some(true);
        }
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
        let tools = self.tools();
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
        let mut changes = self.changes();
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
        let mut changes = self.changes();
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

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        match &self.desk {
            Some(_) => Ok(prompts::list()),
            None => undeclared(&context, ListPromptsResult::default(), ListPromptsRequestMethod::VALUE),
        }
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = &request.name;
        let Some(desk) = &self.desk else { return Err(unknown("prompt", name)) };
        let prompt = prompts::get(desk, name, request.arguments.as_ref()).await.map_err(|error| {
            // Prompts have no way to fail that a model reads.
            ErrorData::invalid_params(message(&error), None)
        })?;
        prompt.map(Into::into).ok_or_else(|| unknown("prompt", name))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match &self.desk {
            Some(desk) => Ok(resources::list(desk)),
            None => undeclared(&context, ListResourcesResult::default(), ListResourcesRequestMethod::VALUE),
        }
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        match &self.desk {
            Some(_) => Ok(ListResourceTemplatesResult::with_all_items(resources::templates())),
            None => undeclared(
                &context,
                ListResourceTemplatesResult::default(),
                ListResourceTemplatesRequestMethod::VALUE,
            ),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        let Some(desk) = &self.desk else { return Err(no_resource(uri)) };
        let contents = resources::read(desk, uri).await.map_err(|error| missing_resource(uri, &error))?;
        let contents = contents.ok_or_else(|| no_resource(uri))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri;
        let Some(desk) = &self.desk else { return Err(no_resource(&uri)) };
        let changes = resources::changes(desk, &uri).await.map_err(|error| missing_resource(&uri, &error))?;
        let changes = changes.ok_or_else(|| no_resource(&uri))?;
        self.subscriptions.begin(uri, changes, context.peer, self.over.child_token());
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.end(&request.uri);
        Ok(())
    }
}

fn missing_resource(uri: &str, error: &Error) -> ErrorData {
    ErrorData::resource_not_found(message(error), Some(serde_json::json!({ "uri": uri })))
}

fn unknown(what: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no {what} {name:?}"), None)
}

fn no_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("there is no such resource", Some(serde_json::json!({ "uri": uri })))
}
