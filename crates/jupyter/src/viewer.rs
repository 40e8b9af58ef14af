//! Shows a person notebooks of a server where no open `JupyterLab` takes commands.

use std::sync::Arc;

use futures_util::FutureExt as _;
use place::{Error, ErrorKind, Frontend, Future, NotebookPath, Showing};
use rest::Secret;

use crate::paths::Prefix;
use crate::server_handle::ServerHandle;

/// A notebook that a person is to see.
pub struct ServerNotebook {
    /// The base URL of its server.
    pub base: String,
    pub token: Option<Secret>,
    pub path: String,
    /// The address of the notebook in the server's `JupyterLab`, without the token; `None` if the server has none.
    pub lab: Option<String>,
    /// How the paths of the machine begin that the server is on, if somebody has it for a while.
    pub machine: Option<String>,
}

/// What shows notebooks of servers on this machine, such as a browser.
pub trait Viewer: Send + Sync {
    /// Shows the notebook. Returns in bounded time.
    fn show(&self, notebook: ServerNotebook) -> Future<'_, Showing>;
}

/// Shows notebooks in an open `JupyterLab` if there is one, and else with a viewer.
pub(crate) struct LabOrViewer {
    pub(crate) lab: Option<Arc<dyn Frontend>>,
    pub(crate) viewer: Arc<dyn Viewer>,
    pub(crate) handle: Arc<ServerHandle>,
    pub(crate) prefix: Prefix,
}

impl LabOrViewer {
    async fn show(&self, path: &NotebookPath) -> Result<Showing, Error> {
        if let Some(lab) = &self.lab {
            match lab.open(path).await {
                Err(error) if error.kind == ErrorKind::Unavailable => {}
                shown => return shown,
            }
        }
        if self.handle.machine.is_some()
            && let Some(base) = self.handle.base()
        {
            let (path, machine) = (path.to_string(), Some(self.prefix.as_str().to_owned()));
            return self.viewer.show(ServerNotebook { base, token: None, path, lab: None, machine }).await;
        }
        let path = self.prefix.strip_notebook(path)?;
        let addresses = |server: rest::Server| {
            let path = path.clone();
            async move { Ok((server.base().to_string(), server.lab_address(&path).await?)) }
        };
        let (base, lab) = self.handle.call(addresses).await?;
        let token = self.handle.address().and_then(|(_, token)| token);
        self.viewer.show(ServerNotebook { base, token, path, lab, machine: None }).await
    }
}

impl Frontend for LabOrViewer {
    fn open(&self, path: &NotebookPath) -> Future<'_, Showing> {
        let path = path.clone();
        async move { self.show(&path).await }.boxed()
    }
}
