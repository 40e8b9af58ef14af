//! The sessions of a server, which connect notebooks with kernels.

use std::sync::Arc;

use place::{Error, ErrorKind};
use rest::{KernelModel, SessionKernel, SessionModel};

use crate::server_handle::ServerHandle;

pub(super) struct Sessions {
    pub(super) handle: Arc<ServerHandle>,
}

impl Sessions {
    /// The session of a notebook.
    pub(super) async fn of(&self, notebook: &str) -> Result<Option<SessionModel>, Error> {
        Ok(self.all().await?.into_iter().find(|session| is_of(session, notebook)))
    }

    pub(super) async fn all(&self) -> Result<Vec<SessionModel>, Error> {
        self.handle.call(|server| async move { server.sessions().await }).await
    }

    pub(super) async fn create(&self, notebook: &str, kernel: SessionKernel) -> Result<SessionModel, Error> {
        let kernel = &kernel;
        self.handle.call(|server| async move { server.create_session(notebook, kernel).await }).await
    }

    /// Creates a session for a notebook that has none. The server looks for a session and creates one in two steps, and
    /// another program may do the same in between. Then both use the older one, which the server lists first. Returns its kernel, and
    /// whether we started that.
    pub(super) async fn start(&self, notebook: &str, spec: &str) -> Result<(KernelModel, bool), Error> {
        let ours = self.create(notebook, SessionKernel::Named(spec.to_owned())).await?;
        let id = ours.id.clone();
        let model = kernel_of(ours)?;
        let sessions = match self.all().await {
            Ok(sessions) => sessions,
            Err(error) => {
                tracing::debug!(%error, "whether the notebook has two sessions is unknown");
                return Ok((model, true));
            }
        };
        let mut of_it = sessions.into_iter().filter(|session| is_of(session, notebook));
        let is_ours_listed = |session: &SessionModel| session.id == id;
        let Some(first) = of_it.next().filter(|first| !is_ours_listed(first)) else {
            return Ok((model, true));
        };
        let Some(theirs) = first.kernel.filter(|theirs| theirs.id != model.id) else {
            return Ok((model, true));
        };
        if of_it.any(|session| is_ours_listed(&session)) {
            let id = id.as_str();
            let ended = self.handle.call(|server| async move { server.delete_session(id).await }).await;
            if let Err(error) = ended {
                tracing::warn!(%error, "a second session of the notebook could not be ended");
            }
        }
        Ok((theirs, false))
    }

    pub(super) async fn change(&self, session: &str, kernel: SessionKernel) -> Result<KernelModel, Error> {
        let kernel = &kernel;
        let changed = self.handle.call(|server| async move { server.change_session(session, kernel).await });
        kernel_of(changed.await?)
    }
}

pub(super) fn is_of(session: &SessionModel, notebook: &str) -> bool {
    session.path.trim_matches('/') == notebook
}

/// Whether a session has this kernel.
pub(super) fn has_kernel(session: &SessionModel, kernel: &str) -> bool {
    session.kernel.as_ref().is_some_and(|model| model.id == kernel)
}

fn kernel_of(session: SessionModel) -> Result<KernelModel, Error> {
    session.kernel.ok_or_else(|| {
        Error::new(
            ErrorKind::RemoteFailure,
            format!("The server created a session for {:?} without a kernel.", session.path),
            "See the server's log, then try again.",
        )
    })
}
