//! Answers what `rmcp` asks of a session.

use std::sync::atomic::Ordering;

use calls::next_step::message;
use futures_util::future::join_all;
use place::Error;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ConstString as _, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult, GetTaskParams,
    GetTaskResult, InitializeRequestParams, InitializeResult, JsonObject, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListSkillsResult, ListToolsResult,
    PaginatedRequestParams, PromptsCapability, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourcesCapability, SKILLS_EXTENSION_ID, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, TASKS_EXTENSION_ID, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};

use crate::relayed::raw;
use crate::request_context::{can_ask, is_new_era, name_of};
use crate::session::{MAX_OPEN, Session};
use crate::subscriptions::notify;
use crate::{apps, completion, instructions, prompts, resources, skill};

/// The methods that are served.
const METHODS: &str = "completion/complete initialize logging/setLevel ping prompts/get prompts/list resources/list \
    resources/read resources/subscribe resources/templates/list resources/unsubscribe server/discover skills/get \
    skills/list subscriptions/listen tasks/cancel tasks/get tasks/update tools/call tools/list";

/// Those that the 2026-07-28 era has no longer.
const OLDER_METHODS: [&str; 4] =
    ["initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

impl Session {
    /// The notebooks for a list request. Without them it is not declared: an empty list for older agents, some of which do not look at
    /// the capabilities; an unknown method in the 2026-07-28 era, as its specification requires.
    fn declared(
        &self,
        context: &RequestContext<RoleServer>,
        method: &'static str,
    ) -> Result<Option<&workspace::Session>, ErrorData> {
        match self.offered_notebooks() {
            None if is_new_era(context) => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)),
            offered => Ok(offered),
        }
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
            let mut resources = ResourcesCapability::default();
            resources.subscribe = Some(true);
            capabilities.resources = Some(resources);
        }
        let mut extensions = vec![TASKS_EXTENSION_ID];
        if self.offered_notebooks().is_some() {
            capabilities.completions = Some(JsonObject::new());
            // Its text is a resource.
            extensions.push(SKILLS_EXTENSION_ID);
        }
        let extensions = extensions.into_iter().map(|id| (id.to_owned(), JsonObject::new()));
        capabilities.extensions = Some(extensions.collect());
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
            notebooks.introduce(name_of(&request.client_info));
        }
        let mut result = self.negotiate_initialize(&request)?;
        // Tasks and the skill are of the other era.
        result.capabilities.extensions = None;
        // Only this era pushes the page's log to agents.
        result.capabilities.logging = Some(JsonObject::default());
        if self.offered_notebooks().is_some() && apps::are_shown_by(&request.capabilities) {
            apps::advertise(&mut result.capabilities);
        }
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        if self.has_views(&context) {
            apps::advertise(&mut info.capabilities);
        }
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.set_log_level(request.level);
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(raw::carry_list(self.list(can_ask(&context), self.has_views(&context))))
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

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.task(&request.task_id, &context).await?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.answer_task(&request.task_id, &request.input_responses, &context).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.cancel_task(&request.task_id, &context).await
    }

    /// `rmcp` reads a request with wrong params as one that it does not know.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, .. } = request;
        let is_gone = is_new_era(&context) && OLDER_METHODS.contains(&&*method);
        if is_gone || METHODS.split(' ').all(|served| served != method) {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        Err(ErrorData::invalid_params(format!("the params of {method} cannot be read"), None))
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
        // `rmcp` compares each with each, so none of too many: the listening fails.
        let requested = requested.resource_subscriptions.as_deref().filter(|uris| uris.len() < MAX_OPEN);
        let uris = requested.into_iter().flatten().filter(|uri| resources::is_watchable(uri));
        let uris: Vec<_> = self.offered_notebooks().map(|_| uris.cloned().collect()).unwrap_or_default();
        accepted.resource_subscriptions = Some(uris).filter(|uris| !uris.is_empty());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let resources = context.requested().resource_subscriptions.as_ref();
        let _room = self.take_listening_room(1 + resources.map_or(0, Vec::len))?;
        let mut watched = Vec::new();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let Some(notebooks) = self.readable(uri, context.request_context())? else { continue };
            match resources::changes(notebooks, uri).await {
                Ok(changes) => watched.extend(changes.map(|changes| (uri, changes))),
                // The others are watched all the same.
                Err(error) => tracing::debug!(%error, uri, "a resource cannot be watched"),
            }
        }
        let sink = context.sink();
        let resources = watched.into_iter().map(|(uri, changes)| {
            let (sink, uri) = (sink.clone(), uri.clone());
            notify(changes, move || {
                let (sink, uri) = (sink.clone(), uri.clone());
                async move { sink.notify_resource_updated(uri).await.is_ok() }
            })
        });
        let mut changes = self.changes();
        let tools = async {
            while changes.changed().await.is_ok() && sink.notify_tool_list_changed().await.is_ok() {}
        };
        tokio::select! {
            () = context.cancelled() => {}
            () = self.over.cancelled() => {}
            () = async { _ = tokio::join!(tools, join_all(resources)) } => {}
        }
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if self.declared(&context, CompleteRequestMethod::VALUE)?.is_some()
            && let Some(notebooks) = self.readable("completion/complete", &context)?
        {
            return Ok(completion::complete(notebooks, &request).await);
        }
        Ok(CompleteResult::default())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let declared = self.declared(&context, ListPromptsRequestMethod::VALUE)?;
        Ok(declared.map(|_| prompts::list()).unwrap_or_default())
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
        let declared = self.declared(&context, ListResourcesRequestMethod::VALUE)?;
        Ok(declared.map(resources::list).unwrap_or_default())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let declared = self.declared(&context, ListResourceTemplatesRequestMethod::VALUE)?;
        let listed = declared.map(|_| ListResourceTemplatesResult::with_all_items(resources::templates()));
        Ok(listed.unwrap_or_default())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        let Some(notebooks) = self.readable(uri, &context)? else { return Err(no_resource(uri)) };
        if let Some(file) = skill::read(uri) {
            return Ok(ReadResourceResult::new(vec![file]).into());
        }
        if let Some(view) = apps::read(uri).filter(|_| self.has_views(&context)) {
            return Ok(view.into());
        }
        let contents =
            resources::read(notebooks, uri).await.map_err(|error| missing_resource(uri, &error))?;
        let contents = contents.ok_or_else(|| no_resource(uri))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_skills(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        Ok(skill::list())
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        skill::get(&request.uri).ok_or_else(|| unknown("skill", &request.uri))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri;
        let room = self.take_room(1)?;
        let Some(notebooks) = self.readable(&uri, &context)? else { return Err(no_resource(&uri)) };
        let changes =
            resources::changes(notebooks, &uri).await.map_err(|error| missing_resource(&uri, &error))?;
        let changes = changes.ok_or_else(|| no_resource(&uri))?;
        self.subscriptions.begin(uri, changes, context.peer, self.over.child_token(), room);
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
