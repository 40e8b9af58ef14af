//! One caller: a user of the Jupyter server with one credential. Workspace, MCP server and identity.

use std::sync::Arc;

use calls::permissions::Permissions;
use jupyter::{InProcessServer, Jupyter, Settings, Source};
use mcp::{Embedded, Metrics, Server};
use page::{Hub, Rights, Runs, ServerKernels};
use render::Budget;
use rest::{Credentials, Forwarded, Options, Proxies};
use tokio_util::sync::CancellationToken;
use workspace::{Limits, Workspace};

use crate::config::{Config, ServerUrl};
use crate::managers::Managers;

pub(crate) struct User {
    /// The headers of the last request with this credential.
    pub(crate) identity: Arc<Forwarded>,
    pub(crate) embedded: Embedded,
    pub(crate) workspace: Arc<Workspace>,
    hub: Arc<Hub>,
}

impl User {
    /// Contacts nothing. `runs` are those of the same user, with whichever credential. Call it within the runtime.
    pub(crate) fn new(
        config: &Config,
        headers: &[(String, String)],
        may: Permissions,
        managers: Managers,
        runs: Runs,
        metrics: Arc<Metrics>,
        shutdown: &CancellationToken,
    ) -> Self {
        let identity = Arc::new(Forwarded::new(headers));
        let managers = Arc::new(managers);
        let source = |(server, login): (&ServerUrl, Credentials)| match server {
            ServerUrl::Local => {
                Source::Given { url: config.own_url(), credentials: Credentials::Forwarded(identity.clone()) }
            }
            ServerUrl::Other(url) => Source::Given { url: url.clone(), credentials: login },
        };
        let place = Jupyter::new(Settings {
            documents: source(config.documents()),
            kernels: config.kernels().map(source),
            reconnect: None,
            options: Options {
                ca_file: None,
                proxies: Proxies::default(),
                agent: concat!("cellbridge/", env!("CARGO_PKG_VERSION")).to_owned(),
                private_socket: Some(config.private_socket()),
                network_timeout: config.network_timeout,
            },
            prefix: String::new(),
            notebook: config.document_id.clone(),
            kernel: config.runtime_id.clone(),
            capabilities: config.capabilities(),
            machine: None,
            run_logs: None,
            in_process: Some(managers as Arc<dyn InProcessServer>),
        });
        let settings = workspace::Settings {
            budget: Budget::new(config.max_characters, config.max_images),
            default_timeout: config.execution_timeout.min(config.max_execution_timeout),
            max_timeout: config.max_execution_timeout,
            limits: Limits { notebooks: config.max_notebooks, runs: config.max_runs },
            // The page shows the runs of all credentials together.
            run_suffix: runs::run_suffix(),
            asks_for_changes: !config.no_changes,
        };
        let workspace = Workspace::new(place.clone(), settings);
        if let Some(folder) = &config.history {
            workspace.record_history(folder.clone());
        }
        let machine = Arc::new(ServerKernels::of_own_runs(place, runs));
        let rights = Rights::offered(&config.policy(), |it| may.permit(it, "").is_ok());
        let hub = Hub::new(workspace.clone(), machine, rights, Arc::default());
        let mut server = Server::with_workspace(workspace.clone(), None);
        (server.policy, server.metrics) = (Arc::new(config.policy()), metrics);
        server.page = Some(hub.clone());
        let embedded = Embedded::new(&server, shutdown);
        Self { identity, embedded, workspace, hub }
    }

    /// Whether nothing would be lost with it.
    pub(crate) fn is_unused(&self) -> bool {
        self.active_runs() == 0 && !self.embedded.has_sockets() && *self.hub.open_pages().borrow() == 0
    }

    pub(crate) fn active_runs(&self) -> usize {
        self.workspace.journal().runs().iter().filter(|run| !run.state().is_over()).count()
    }
}
