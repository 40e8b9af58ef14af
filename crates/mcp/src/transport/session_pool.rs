//! The sessions of agents over HTTP: how many there may be, and how long one may be idle.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

/// What bounds the sessions of agents over HTTP. A client whose session has ended gets 404 and starts a new one; runs
/// and notebooks do not depend on sessions.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>
#[derive(Debug, Clone, Copy)]
pub struct SessionLimits {
    /// How long a session without a request or an open stream is kept.
    pub idle_timeout: Duration,
    /// How many there may be. The one that has been idle longest makes room for a new one.
    pub max_sessions: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        // An agent may think, or its person sleep, for hours. Each session takes about 150 kB.
        Self { idle_timeout: Duration::from_secs(4 * 3600), max_sessions: 256 }
    }
}

/// A `LocalSessionManager` within limits.
pub(crate) struct SessionPool {
    inner: Arc<LocalSessionManager>,
    limits: SessionLimits,
    sessions: Sessions,
    this: Weak<Self>,
}

type Sessions = Arc<Mutex<HashMap<SessionId, Activity>>>;

/// What a session is doing.
struct Activity {
    last_active: Instant,
    /// Requests in progress.
    requests: usize,
    /// Open streams without a request, on which the client listens.
    listeners: usize,
    _expiry: AbortOnDropHandle<()>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionPoolError {
    #[error("all {0} sessions have requests in progress")]
    Full(usize),
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

impl SessionPool {
    pub(crate) fn new(mut config: SessionConfig, limits: SessionLimits) -> Arc<Self> {
        // It does not count an open stream as activity.
        config.keep_alive = None;
        let mut inner = LocalSessionManager::default();
        inner.session_config = config;
        let inner = Arc::new(inner);
        Arc::new_cyclic(|this| Self { inner, limits, sessions: Sessions::default(), this: this.clone() })
    }

    /// Whether a new session is refused.
    pub(crate) fn is_full(&self) -> bool {
        let sessions = self.sessions();
        sessions.len() >= self.limits.max_sessions && sessions.values().all(|activity| activity.requests > 0)
    }

    /// Ends the longest idle session if there are as many as there may be. One that a client listens to comes last, and
    /// one with a request in progress never.
    fn make_room(&self) -> Result<(), SessionPoolError> {
        let mut sessions = self.sessions();
        while sessions.len() >= self.limits.max_sessions {
            let idle = sessions.iter().filter(|(_, activity)| activity.requests == 0);
            let longest = idle.min_by_key(|(_, activity)| (activity.listeners > 0, activity.last_active));
            let Some(id) = longest.map(|(id, _)| id.clone()) else {
                return Err(SessionPoolError::Full(sessions.len()));
            };
            sessions.remove(&id);
            tracing::info!("an idle MCP session ended to make room for a new one");
            self.close(id);
        }
        Ok(())
    }

    /// Ends a session once it has been idle for too long.
    async fn expire(this: Weak<Self>, id: SessionId) {
        while let Some(pause) = this.upgrade().and_then(|pool| pool.end_if_idle(&id)) {
            sleep(pause).await;
        }
    }

    /// Ends the session if it is idle; otherwise returns when to check again.
    fn end_if_idle(&self, id: &SessionId) -> Option<Duration> {
        let mut sessions = self.sessions();
        let activity = sessions.get(id)?;
        if activity.requests + activity.listeners > 0 {
            return Some(self.limits.idle_timeout);
        }
        let left = self.limits.idle_timeout.saturating_sub(activity.last_active.elapsed());
        if !left.is_zero() {
            return Some(left);
        }
        sessions.remove(id);
        self.close(id.clone());
        None
    }

    /// Closes a session in a task of its own: its worker may be waiting for a client that does not read.
    fn close(&self, id: SessionId) {
        let inner = self.inner.clone();
        place::spawn(async move {
            if let Err(error) = inner.close_session(&id).await {
                tracing::debug!(%error, "an idle MCP session could not be closed");
            }
        });
    }

    /// Counts a request or a listener for as long as its stream is open.
    fn enter<S: Stream + Send + Sync + 'static>(
        &self,
        id: &SessionId,
        count: fn(&mut Activity) -> &mut usize,
        stream: S,
    ) -> impl Stream<Item = S::Item> + Send + Sync + use<S> {
        let open = OpenStream { sessions: self.sessions.clone(), id: id.clone(), count };
        open.update(|count| *count += 1);
        stream.map(move |message| {
            let _is_open = &open;
            message
        })
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Activity>> {
        self.sessions.lock()
    }
}

/// A stream that keeps its session from being idle.
struct OpenStream {
    sessions: Sessions,
    id: SessionId,
    count: fn(&mut Activity) -> &mut usize,
}

impl OpenStream {
    fn update(&self, change: impl FnOnce(&mut usize)) {
        let mut sessions = self.sessions.lock();
        if let Some(activity) = sessions.get_mut(&self.id) {
            change((self.count)(activity));
            activity.last_active = Instant::now();
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.update(|count| *count -= 1);
    }
}

impl SessionManager for SessionPool {
    type Error = SessionPoolError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionPoolError> {
        self.make_room()?;
        let (id, transport) = self.inner.create_session().await?;
        let expiry = place::spawn(Self::expire(self.this.clone(), id.clone()));
        let activity = Activity {
            last_active: Instant::now(),
            requests: 0,
            listeners: 0,
            _expiry: AbortOnDropHandle::new(expiry),
        };
        self.sessions().insert(id.clone(), activity);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionPoolError> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionPoolError> {
        let mut sessions = self.sessions();
        let Some(activity) = sessions.get_mut(id) else { return Ok(false) };
        activity.last_active = Instant::now();
        Ok(true)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionPoolError> {
        self.sessions().remove(id);
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionPoolError> {
        let stream = self.inner.create_stream(id, message).await?;
        Ok(self.enter(id, |activity| &mut activity.requests, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionPoolError> {
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionPoolError> {
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(self.enter(id, |activity| &mut activity.listeners, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionPoolError> {
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(self.enter(id, |activity| &mut activity.listeners, stream))
    }
}
