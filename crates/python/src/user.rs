//! One caller: a user of the Jupyter server with one credential. Workspace, MCP server and identity.

use std::sync::Arc;

use jupyter::{InProcessServer, Jupyter, Settings, Source};
use mcp::{Embedded, Metrics, Server};
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
}

impl User {
    /// Contacts nothing. Call it within the runtime.
    pub(crate) fn new(
        config: &Config,
        headers: &[(String, String)],
        managers: Managers,
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
            run_logs: None,
            in_process: Some(managers as Arc<dyn InProcessServer>),
        });
        let settings = workspace::Settings {
            budget: Budget::new(config.max_characters, config.max_images),
            default_timeout: config.execution_timeout.min(config.max_execution_timeout),
            max_timeout: config.max_execution_timeout,
            limits: Limits { notebooks: config.max_notebooks, runs: config.max_runs },
            run_suffix: runs::RunSuffix::default(),
            asks_for_changes: !config.no_changes,
        };
        let workspace = Workspace::new(place, settings);
        if let Some(folder) = &config.history {
            workspace.keep_history(folder.clone());
        }
        let server =
            Server::with_workspace(workspace.clone(), None).offering(config.policy()).counting(metrics);
        let embedded = Embedded::new(&server, shutdown);
        Self { identity, embedded, workspace }
    }

    pub(crate) fn active_runs(&self) -> usize {
        self.workspace.journal().runs().iter().filter(|run| !run.state().is_over()).count()
    }
}
