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
    pub(crate) policy: Arc<Policy>,
    pub(crate) paused_calls: Arc<PausedCalls>,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) task_wait: Duration,
    metrics: Arc<Metrics>,
    session_limits: SessionLimits,
    /// Room for subscriptions of the 2026-07-28 era.
    pub(crate) listening: Arc<Semaphore>,
    /// The live page for the person, served over HTTP.
    pub(crate) page: Option<Arc<Hub>>,
    /// The libraries for charts in views of calls.
    pub(crate) charts: Option<Arc<Charts>>,
    /// Whether all notebook tools are listed, also those that no place can serve now.
    pub(crate) lists_all_tools: bool,
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
        let session_limits = SessionLimits::default();
        Self {
            workspace,
            relay,
            policy: Arc::default(),
            paused_calls: Arc::default(),
            tasks: Arc::default(),
            task_wait: TASK_WAIT,
            metrics: Arc::default(),
            session_limits,
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

    /// Offers only what `policy` offers.
    #[must_use]
    pub fn offering(self, policy: Policy) -> Self {
        Self { policy: Arc::new(policy), ..self }
    }

    /// How long a call waits before it goes on as a task, for agents that declare tasks.
    #[must_use]
    pub fn with_task_wait(self, task_wait: Duration) -> Self {
        Self { task_wait, ..self }
    }

    /// Lists all notebook tools from the start: one that no place can serve answers how to get there.
    #[must_use]
    pub fn listing_all_tools(self) -> Self {
        Self { lists_all_tools: true, ..self }
    }

    /// Serves the live page over HTTP, too.
    #[must_use]
    pub fn with_page(self, page: Arc<Hub>) -> Self {
        Self { page: Some(page), ..self }
    }

    /// Draws charts in views of calls, too.
    #[must_use]
    pub fn with_charts(self, charts: Charts) -> Self {
        Self { charts: Some(Arc::new(charts)), ..self }
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

    /// Whether the tool requires arguments repeated in HTTP headers (SEP-2243), which `rmcp` checks.
    pub(crate) fn has_header_arguments(&self, tool: &str) -> bool {
        let tools = self.relay.as_ref().map(|relay| relay.tools()).unwrap_or_default();
        tools.iter().any(|known| known.name == tool && known.definition.get().contains("x-mcp-header"))
    }

    /// The notebooks that are served.
    pub(crate) fn workspace(&self) -> Option<&Arc<Workspace>> {
        self.workspace.as_ref()
    }

    /// The handler of one agent's session, which ends with `ended`.
    pub(crate) fn session(&self, ended: &CancellationToken) -> Session {
        Session::new(self, ended, Counted::new(self.metrics.clone()))
    }

    /// One handler for all callers that do not use the protocol.
    pub(crate) fn no_session(&self, ended: &CancellationToken) -> Session {
        Session::new(self, ended, Counted::no_session(self.metrics.clone()))
    }
}
