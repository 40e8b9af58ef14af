//! One agent's session: answers what `rmcp` asks.

use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use place::{Error, Relay};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams, CompleteResult,
    ConstString as _, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
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

use crate::elicitation::shows_forms;
use crate::metrics::Counted;
use crate::paused_calls::PausedCalls;
use crate::relayed::raw;
use crate::server::Server;
use crate::subscriptions::Subscriptions;
use crate::tool_call::permissions;
use crate::{instructions, prompts, resources};
use calls::call_order::CallOrder;
use calls::next_step::message;
use calls::permissions::{Access, Group, Permission, Policy};

/// One agent's session (in the 2026-07-28 era over HTTP: one request).
pub(crate) struct Session {
    /// The agent's notebooks, where there is a workspace.
    pub(crate) notebooks: Option<Arc<workspace::Session>>,
    pub(crate) relay: Option<Arc<dyn Relay>>,
    pub(crate) policy: Arc<Policy>,
    lists_all_tools: bool,
    /// The folder of the pages on which the person is asked too.
    pub(crate) pages: Option<PathBuf>,
    pub(crate) paused_calls: Arc<PausedCalls>,
    /// Calls that share no session are in no order.
    pub(crate) order: Arc<CallOrder>,
    pub(crate) counted: Counted,
    /// Cancelled when the session ends; all tasks of the session end with it.
    pub(crate) over: CancellationToken,
    _guard: DropGuard,
    /// The lowest level of the page's log lines that this agent wants.
    log_level: Mutex<LoggingLevel>,
    /// Whether the agent is notified of changes of the tool list.
    is_notified: AtomicBool,
    subscriptions: Subscriptions,
    /// Stands in for a source of tools that is missing.
    unchanging: watch::Sender<u64>,
}

impl Session {
    /// A session of `server` that ends with `ended`.
    pub(crate) fn new(server: &Server, ended: &CancellationToken, counted: Counted) -> Self {
        let over = ended.child_token();
        Self {
            notebooks: server.workspace.clone().map(workspace::Session::new).map(Arc::new),
            relay: server.relay.clone(),
            policy: server.policy.clone(),
            lists_all_tools: server.lists_all_tools,
            pages: server.pages.clone(),
            paused_calls: server.paused_calls.clone(),
            order: Arc::default(),
            counted,
            over: over.clone(),
            _guard: over.drop_guard(),
            log_level: Mutex::new(LoggingLevel::Debug),
            is_notified: AtomicBool::new(false),
            subscriptions: Subscriptions::default(),
            unchanging: watch::Sender::new(0),
        }
    }

    fn instructions(&self) -> String {
        let own = self
            .notebooks
            .as_ref()
            .map(|notebooks| instructions::of_notebooks(&self.policy, &calls::places::described(notebooks)));
        let is_offered = |relay: &&Arc<dyn Relay>| self.policy.offers_group(Group::Relayed(relay.group()));
        let relayed = self.relay.as_ref().filter(is_offered).map(|relay| relay.instructions());
        own.into_iter().chain(relayed).chain(self.policy.notice()).collect::<Vec<_>>().join("\n\n")
    }

    /// The id of the workspace session.
    pub(crate) fn id(&self) -> Option<place::SessionId> {
        self.notebooks.as_deref().map(workspace::Session::id)
    }

    /// The tools that the session has now. `can_ask`: the agent can ask its person.
    pub(crate) fn tools(&self, can_ask: bool) -> Vec<place::Tool> {
        let has_page = || self.pages.as_deref().is_some_and(questions::has_pages);
        let can_consent = can_ask || self.policy.installs_unasked || has_page();
        let own = self.notebooks.iter().flat_map(|notebooks| {
            tools::list(if self.lists_all_tools {
                calls::tool::Capabilities { can_consent, ..calls::tool::Capabilities::ALL }
            } else {
                calls::tool::Capabilities::of(notebooks, can_consent)
            })
        });
        let offered = own.filter(|(tool, _)| tool.is_offered(&self.policy));
        let mut tools: Vec<_> = offered.map(|(_, definition)| definition.clone()).collect();
        if let Some(relay) = &self.relay {
            let is_offered = |tool: &place::Tool| {
                let permission = Permission::of_relayed(relay.reads(&tool.name, None));
                self.policy.offers(&tool.name, &[Group::Relayed(relay.group())], permission)
            };
            tools.extend(relay.tools().into_iter().filter(is_offered));
        }
        tools
    }

    /// The notebooks, if the operator lets agents read them.
    fn offered_notebooks(&self) -> Option<&workspace::Session> {
        self.notebooks.as_deref().filter(|_| self.policy.offers_group(Group::Read))
    }

    /// The notebooks for a request of `what`, which reads them. Fails if the agent may not.
    fn readable(
        &self,
        what: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<&workspace::Session>, ErrorData> {
        let Some(notebooks) = &self.notebooks else { return Ok(None) };
        let access = Access { policy: &self.policy, permissions: permissions(context), tool: "" };
        access
            .check(&[Group::Read], Permission::Read, what)
            .map_err(|error| ErrorData::invalid_request(message(&error), None))?;
        Ok(Some(notebooks))
    }

    fn changes(&self) -> Changes {
        let unchanging = || self.unchanging.subscribe();
        Changes {
            relayed: self.relay.as_ref().map_or_else(unchanging, |relay| relay.changes()),
            own: self
                .notebooks
                .as_ref()
                .map_or_else(unchanging, |notebooks| notebooks.workspace().capabilities()),
        }
    }

    pub(crate) fn log_level(&self) -> LoggingLevel {
        *self.log_level.lock()
    }

    fn list(&self, can_ask: bool) -> String {
        let tools = self.tools(can_ask);
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

/// Changes whenever the tools may have changed.
struct Changes {
    relayed: watch::Receiver<u64>,
    own: watch::Receiver<u64>,
}

impl Changes {
    /// Fails when there will be no more changes.
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

/// Whether the agent can ask its person.
pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| shows_forms(&capabilities))
}

/// The name of the agent's client, as it says; empty if it says none.
pub(crate) fn client_name(context: &RequestContext<RoleServer>) -> String {
    let info = context.client_info();
    info.map(|client| client.title.clone().unwrap_or_else(|| client.name.clone())).unwrap_or_default()
}

/// The answer to a list request for something that is not declared: an empty list for older agents, some of which do not
/// look at the capabilities; an unknown method in the 2026-07-28 era, as its specification requires.
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
        if self.offered_notebooks().is_some() {
            capabilities.prompts = Some(PromptsCapability::default());
            capabilities.resources = Some(ResourcesCapability::default());
        }
        ServerConfig::new(capabilities)
            .with_server_info(instructions::server_info())
            .with_instructions(self.instructions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        if let Some(notebooks) = &self.notebooks {
            let client = &request.client_info;
            notebooks.introduce(client.title.clone().unwrap_or_else(|| client.name.clone()));
        }
        let mut result = self.negotiate_initialize(&request)?;
        // Only this era pushes the page's log and changes of resources to agents.
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
        *self.log_level.lock() = request.level;
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(raw::carry_list(self.list(can_ask(&context))))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.tools(true);
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
        match self.offered_notebooks() {
            Some(_) => Ok(prompts::list()),
            None => undeclared(&context, ListPromptsResult::default(), ListPromptsRequestMethod::VALUE),
        }
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = &request.name;
        let Some(notebooks) = self.readable(name, &context)? else { return Err(unknown("prompt", name)) };
        let prompt = prompts::get(notebooks, name, request.arguments.as_ref()).await.map_err(|error| {
            // A model never reads why a prompt failed.
            ErrorData::invalid_params(message(&error), None)
        })?;
        prompt.map(Into::into).ok_or_else(|| unknown("prompt", name))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match self.offered_notebooks() {
            Some(notebooks) => Ok(resources::list(notebooks)),
            None => undeclared(&context, ListResourcesResult::default(), ListResourcesRequestMethod::VALUE),
        }
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        match self.offered_notebooks() {
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
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        let Some(notebooks) = self.readable(uri, &context)? else { return Err(no_resource(uri)) };
        let contents =
            resources::read(notebooks, uri).await.map_err(|error| missing_resource(uri, &error))?;
        let contents = contents.ok_or_else(|| no_resource(uri))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri;
        let Some(notebooks) = self.readable(&uri, &context)? else { return Err(no_resource(&uri)) };
        let changes =
            resources::changes(notebooks, &uri).await.map_err(|error| missing_resource(&uri, &error))?;
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
