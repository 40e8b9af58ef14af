//! `cellbridge jupyter`: which servers it uses, and how it reaches them.

pub(crate) mod sources;

use std::path::PathBuf;
use std::sync::Arc;

use ::jupyter::{Capabilities, Jupyter, JupyterConnector, Settings};
use place::Connector;
use tokio_util::sync::CancellationToken;
use workspace::Workspace;

use self::sources::{discovery_near, reach, secrets_of, settings, sources};
use crate::args::{Start, either, given, variable};
use crate::endpoint::{HttpEndpoint, serve_until_shutdown};
use crate::logging;
use crate::process::{process_env, run_logs};
use crate::serve::notebook_server;

pub(crate) async fn serve(mut options: Start) -> anyhow::Result<()> {
    let (documents, kernels) = sources(&options)?;
    let secrets = [Some(&documents), kernels.as_ref()].into_iter().flatten().flat_map(secrets_of);
    let serving = &mut options.serving;
    if serving.logging.otel_file.is_none() {
        serving.logging.otel_file = variable("JUPYTER_MCP_OTEL_FILE").map(PathBuf::from);
    }
    let endpoint = HttpEndpoint::for_transport(serving)?;
    let secrets = secrets.chain(endpoint.iter().filter_map(|endpoint| endpoint.token.clone())).collect();
    logging::start(&serving.logging, secrets)?;

    let process_env = process_env();
    let run_logs = run_logs(&process_env);
    let reach = reach(options.ca_file.clone(), options.network.network_timeout);
    let place = Jupyter::new(Settings {
        kernels,
        reconnect: Some(options.reconnect_interval).filter(|pause| !pause.is_zero()),
        notebook: given(options.servers.document_id.as_deref()).map(str::to_owned),
        kernel: either(options.servers.code_sandbox_id.as_deref(), "RUNTIME_ID"),
        capabilities: Capabilities { commands: options.jupyterlab, ..Capabilities::default() },
        ..settings(documents, &reach, run_logs.clone())
    });
    let discovery = std::env::current_dir().ok().and_then(|folder| discovery_near(&folder));
    let connector: Arc<dyn Connector> =
        JupyterConnector::new(reach, discovery, Some(place.clone()), run_logs.clone());
    let images = if options.allow_img_output { options.replies.max_images } else { 0 };
    let timeout = options.execution_timeout.min(options.max_execution_timeout);
    let settings = workspace::Settings {
        max_timeout: options.max_execution_timeout,
        ..options.replies.settings(images, timeout)
    };
    let machine = page::of_server(place.clone(), run_logs);
    let workspace = Workspace::with_places(place, Vec::new(), settings, Some(connector));
    if let Some(folder) = options.replies.recording.folder(&process_env) {
        workspace.record_history(folder);
    }
    let shutdown = CancellationToken::new();
    let server =
        notebook_server(&workspace, None, &options.serving, endpoint.as_ref(), machine, &process_env);
    let served = serve_until_shutdown(server, endpoint, "jupyter -- cellbridge jupyter", &shutdown).await;
    workspace.shutdown().await;
    served
}
