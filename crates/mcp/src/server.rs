//! What is served to agents, whatever the transport.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use page::{Charts, Hub};
use place::Relay;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use workspace::Workspace;

use crate::input_pages;
use crate::metrics::{Counted, Metrics};
use crate::paused_calls::PausedCalls;
use crate::session::{MAX_LISTENING, Session};
use crate::tasks::Tasks;
use crate::transport::session_pool::SessionLimits;
use calls::permissions::Policy;

/// Shorter than calls wait without tasks, as nobody has to wait.
const TASK_WAIT: Duration = Duration::from_secs(10);

/// What is served to agents, whatever the transport.
#[derive(Clone)]
pub struct Server {
    pub(crate) workspace: Option<Arc<Workspace>>,
    pub(crate) relay: Option<Arc<dyn Relay>>,
    /// The tools and permissions of agents.
    pub policy: Arc<Policy>,
    pub(crate) paused_calls: Arc<PausedCalls>,
    pub(crate) tasks: Arc<Tasks>,
    /// The time after which a call goes on as a task, for agents that declare tasks.
    pub task_wait: Duration,
    /// Counts the calls of agents.
    pub metrics: Arc<Metrics>,
    /// The limits for agents over HTTP.
    pub session_limits: SessionLimits,
    /// Room for subscriptions of the 2026-07-28 era.
    pub(crate) listening: Arc<Semaphore>,
    /// The live page for the person, served over HTTP.
    pub page: Option<Arc<Hub>>,
    /// The libraries for charts in views of calls.
    pub charts: Option<Arc<Charts>>,
    /// Whether all notebook tools are listed: one that no place can serve answers how to get there.
    pub lists_all_tools: bool,
    /// The folder of the pages on which the person is asked too.
    pub(crate) pages: Option<PathBuf>,
}

impl Server {
    /// Serves the tools of `relay`.
    pub fn new(relay: Arc<dyn Relay>) -> Self {
        Self::serving(None, Some(relay))
    }

    /// Serves the notebook tools on `workspace`, and the tools of `relay` too.
    pub fn with_workspace(workspace: Arc<Workspace>, relay: Option<Arc<dyn Relay>>) -> Self {
        Self::serving(Some(workspace), relay)
    }

    fn serving(workspace: Option<Arc<Workspace>>, relay: Option<Arc<dyn Relay>>) -> Self {
        Self {
            workspace,
            relay,
            policy: Arc::default(),
            paused_calls: Arc::default(),
            tasks: Arc::default(),
            task_wait: TASK_WAIT,
            metrics: Arc::default(),
            session_limits: SessionLimits::default(),
            listening: Arc::new(Semaphore::new(MAX_LISTENING)),
            page: None,
            charts: None,
            lists_all_tools: false,
            pages: None,
        }
    }

    /// Asks the person on their pages too, whose sockets are in this folder.
    #[must_use]
    pub fn asking_on_pages(self, folder: Option<PathBuf>) -> Self {
        if let (Some(workspace), Some(folder)) = (&self.workspace, folder.clone()) {
            workspace.runner().ask_for_lines(input_pages::asker(folder));
        }
        Self { pages: folder, ..self }
    }

    /// Whether the tool requires arguments repeated in HTTP headers (SEP-2243), which `rmcp` checks.
    pub(crate) fn has_header_arguments(&self, tool: &str) -> bool {
        let tools = self.relay.as_ref().map(|relay| relay.tools()).unwrap_or_default();
        tools.iter().any(|known| known.name == tool && known.definition.get().contains("x-mcp-header"))
    }

    /// The handler of one agent's session, which ends with `ended`.
    pub(crate) fn session(&self, ended: &CancellationToken) -> Session {
        Session::new(self, ended, Some(Counted::new(self.metrics.clone())))
    }

    /// One handler for all callers that do not use the protocol.
    pub(crate) fn no_session(&self, ended: &CancellationToken) -> Session {
        Session::new(self, ended, None)
    }
}
