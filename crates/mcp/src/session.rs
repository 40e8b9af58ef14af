//! One agent's session: what it may see, and what ends with it.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::future::OptionFuture;
use parking_lot::Mutex;
use place::Relay;
use rmcp::model::{ErrorData, LoggingLevel};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::watch::{self, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::apps;
use crate::instructions;
use crate::metrics::Counted;
use crate::request_context::permissions;
use crate::resources;
use crate::server::Server;
use crate::subscriptions::Subscriptions;
use calls::call_order::CallOrder;
use calls::next_step::message;
use calls::permissions::{Access, Group, Permission};

/// Maximum number of open calls and subscriptions of a session: many more than agents need, and few enough for any machine.
pub(crate) const MAX_OPEN: usize = 1000;
/// Maximum number of resources that all sessions listen to at once by `subscriptions/listen`.
pub(crate) const MAX_LISTENING: usize = 10 * MAX_OPEN;

/// One agent's session (in the 2026-07-28 era over HTTP: one request).
pub(crate) struct Session {
    /// The agent's notebooks, where there is a workspace.
    pub(crate) notebooks: Option<Arc<workspace::Session>>,
    /// Shared by all sessions.
    pub(crate) server: Server,
    /// Calls that share no session are in no order.
    pub(crate) order: Arc<CallOrder>,
    /// `None` for callers that do not use the protocol.
    _counted: Option<Counted>,
    /// Cancelled when the session ends; all tasks of the session end with it.
    pub(crate) over: CancellationToken,
    _guard: DropGuard,
    /// The lowest level of the page's log lines that this agent wants.
    log_level: Mutex<LoggingLevel>,
    /// Whether the agent is notified of changes of the tool list.
    pub(crate) is_notified: AtomicBool,
    pub(crate) subscriptions: Subscriptions,
    /// For calls and subscriptions.
    room: Arc<Semaphore>,
}

impl Session {
    /// A session of `server` that ends with `ended`.
    pub(crate) fn new(server: &Server, ended: &CancellationToken, counted: Option<Counted>) -> Self {
        let over = ended.child_token();
        Self {
            notebooks: server.workspace.clone().map(workspace::Session::new).map(Arc::new),
            server: server.clone(),
            order: Arc::default(),
            _counted: counted,
            over: over.clone(),
            _guard: over.drop_guard(),
            log_level: Mutex::new(LoggingLevel::Debug),
            is_notified: AtomicBool::new(false),
            subscriptions: Subscriptions::default(),
            room: Arc::new(Semaphore::new(MAX_OPEN)),
        }
    }

    pub(crate) fn instructions(&self) -> String {
        let own = self.notebooks.as_ref().map(|notebooks| {
            instructions::of_notebooks(&self.server.policy, &calls::places::described(notebooks))
        });
        let is_offered =
            |relay: &&Arc<dyn Relay>| self.server.policy.offers_group(Group::Relayed(relay.group()));
        let relayed = self.server.relay.as_ref().filter(is_offered).map(|relay| relay.instructions());
        let paragraphs = own.into_iter().chain(relayed).chain(self.server.policy.notice());
        paragraphs.filter(|paragraph| !paragraph.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// The id of the workspace session.
    pub(crate) fn id(&self) -> Option<place::SessionId> {
        self.notebooks.as_deref().map(workspace::Session::id)
    }

    /// The tools that the session has now. `can_ask`: the agent can ask its person.
    pub(crate) fn tools(&self, can_ask: bool) -> Vec<place::Tool> {
        let has_page = || self.server.pages.as_deref().is_some_and(page::has_pages);
        let can_consent = can_ask || self.server.policy.installs_unasked || has_page();
        let own = self.notebooks.iter().flat_map(|notebooks| {
            let own = calls::tool::Capabilities::of(notebooks, can_consent);
            let others = self.server.lists_all_tools;
            tools::list(calls::tool::Capabilities {
                can_connect: own.can_connect || others,
                can_show: own.can_show || others,
                ..own
            })
        });
        let offered = own.filter(|(tool, _)| tool.is_offered(&self.server.policy));
        let mut tools: Vec<_> = offered.map(|(_, definition)| definition.clone()).collect();
        if let Some(relay) = &self.server.relay {
            let is_offered = |tool: &place::Tool| {
                let permission = Permission::of_relayed(relay.reads(&tool.name, None));
                self.server.policy.offers(&tool.name, &[Group::Relayed(relay.group())], permission)
            };
            tools.extend(relay.tools().into_iter().filter(is_offered));
        }
        tools
    }

    /// The notebooks, if the operator lets agents read them.
    pub(crate) fn offered_notebooks(&self) -> Option<&workspace::Session> {
        self.notebooks.as_deref().filter(|_| self.server.policy.offers_group(Group::Read))
    }

    /// The notebooks for a request of `what`, which reads them. Fails if the agent may not.
    pub(crate) fn readable(
        &self,
        what: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<&workspace::Session>, ErrorData> {
        let Some(notebooks) = &self.notebooks else { return Ok(None) };
        let access = Access { policy: &self.server.policy, permissions: permissions(context), tool: "" };
        access
            .permit_like(resources::shown_by(what), what)
            .map_err(|error| ErrorData::invalid_request(message(&error), None))?;
        Ok(Some(notebooks))
    }

    /// Room for so many calls or subscriptions more, until it is dropped. Fails if there is none.
    pub(crate) fn take_room(&self, count: usize) -> Result<OwnedSemaphorePermit, ErrorData> {
        take(&self.room, count, "A session", MAX_OPEN)
    }

    /// The same for what a request listens to, which in the 2026-07-28 era may be a session of its own.
    pub(crate) fn take_listening_room(&self, count: usize) -> Result<[OwnedSemaphorePermit; 2], ErrorData> {
        Ok([self.take_room(count)?, take(&self.server.listening, count, "A server", MAX_LISTENING)?])
    }

    pub(crate) fn changes(&self) -> Changes {
        let relayed = self.server.relay.as_ref().map(|relay| relay.changes());
        let own = self.notebooks.as_ref().map(|notebooks| notebooks.workspace().places().capabilities());
        Changes { relayed, own }
    }

    pub(crate) fn log_level(&self) -> LoggingLevel {
        *self.log_level.lock()
    }

    pub(crate) fn set_log_level(&self, level: LoggingLevel) {
        *self.log_level.lock() = level;
    }

    /// `has_views`: the agent's client shows views of calls.
    pub(crate) fn list(&self, can_ask: bool, has_views: bool) -> String {
        let tools = self.tools(can_ask);
        let tools = if has_views { apps::with_views(tools) } else { tools };
        let definitions: Vec<&str> = tools.iter().map(|tool| tool.definition.get()).collect();
        format!(r#"{{"tools":[{}]}}"#, definitions.join(","))
    }
}

/// Changes whenever the tools may have changed.
pub(crate) struct Changes {
    relayed: Option<watch::Receiver<u64>>,
    own: Option<watch::Receiver<u64>>,
}

impl Changes {
    /// Fails when there will be no more changes.
    pub(crate) async fn changed(&mut self) -> Result<(), RecvError> {
        let changed = |source: Option<_>| OptionFuture::from(source.map(watch::Receiver::changed));
        tokio::select! {
            Some(changed) = changed(self.relayed.as_mut()) => changed,
            Some(changed) = changed(self.own.as_mut()) => changed,
            else => pending().await,
        }
    }
}

fn take(
    room: &Arc<Semaphore>,
    count: usize,
    owner: &str,
    most: usize,
) -> Result<OwnedSemaphorePermit, ErrorData> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    room.clone().try_acquire_many_owned(count).map_err(|_| {
        let cause = format!(
            "{owner} has at most {most} calls and subscriptions at once. Wait for calls, or unsubscribe."
        );
        ErrorData::invalid_request(cause, None)
    })
}
