//! The commands for every place and for the Colab tab alone: connects the places to the transport.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::jupyter::JupyterConnector;
use anyhow::{Context as _, bail};
use calls::permissions::{Group, Policy};
use colab::{Listener, Settings};
use colab_machines::{ColabMachines, Google, Http, Store};
use environments::ProcessEnv;
use local::KernelKeeping;
use mcp::Server;
use place::{Place, Relay};
use rest::Secret;
use tokio_util::sync::CancellationToken;
#[cfg(unix)]
use tokio_util::task::AbortOnDropHandle;
use workspace::Workspace;

use crate::args::{self, Transport};
use crate::colab_runtime::{ColabRuntime, RequiredLogin};
use crate::colab_subset::ColabSubset;
use crate::endpoint::{HttpEndpoint, serve_until_shutdown};
use crate::jupyter::sources::{discovery_near, jupyter_place, reach, secrets_of, source_beside};
use crate::process::{browser, desktop, run_logs};
use crate::view::PageFrontend;
use crate::{logging, view};

/// Time limit for sending the last frames to the Colab tab at shutdown.
const TAB_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// How long `open_colab_browser_connection` waits for the person: less than Codex waits for a call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(50);

/// Serves the notebooks of a folder, of Jupyter servers, and of Colab tabs.
pub(crate) async fn every_place(options: args::Every) -> anyhow::Result<()> {
    let serving = &options.serving;
    let token = Secret::generate()?;
    let further_tokens: Vec<Secret> =
        (0..colab::FURTHER_TABS).map(|_| Secret::generate()).collect::<Result<_, _>>()?;
    let endpoint = HttpEndpoint::for_transport(serving)?;
    let source = source_beside(&options.folder.server)?;
    let given = source.iter().flat_map(secrets_of);
    let known = secrets(further_tokens.iter().chain([&token]), endpoint.as_ref());
    logging::start(&serving.logging, known.into_iter().chain(given).collect())?;
    let root = match &options.folder.root {
        Some(root) => root.clone(),
        None => std::env::current_dir().context("the current folder is gone; name one with --root")?,
    };
    let root =
        dunce::canonicalize(&root).with_context(|| format!("--root {} cannot be opened", root.display()))?;
    if !root.is_dir() {
        bail!("--root {} is not a folder", root.display());
    }
    let variables = std::env::vars_os();
    let process_env = ProcessEnv::inherited(variables, std::env::home_dir(), &options.folder.kernel_env);
    let (state_env, page_root) = (process_env.clone(), root.clone());
    let keeping = keeping(options.keep_kernels);
    let run_logs = run_logs(&state_env);
    let settings = options.replies.settings(options.replies.max_images, options.execution_timeout);
    let reach = reach(options.folder.server.ca_file.clone(), options.network.network_timeout);
    let discovery = discovery_near(&root);
    let server = source.map(|source| jupyter_place(source, &reach, run_logs.clone()));
    let machines = machines(options.google.addresses(), &state_env, &reach, run_logs.clone());
    let connector = JupyterConnector::new(reach, discovery, server.clone(), run_logs.clone());

    let shutdown = CancellationToken::new();
    let tab_port = serving.port.filter(|_| serving.transport == Transport::Stdio).unwrap_or(0);
    let listener = Listener::bind(tab_port).context("the port for the Colab tab could not be opened")?;
    let tab_settings = Settings {
        browser: browser(options.no_browser),
        desktop: desktop(&state_env, &root),
        connect_timeout: CONNECT_TIMEOUT,
        call_timeout: None,
        network_timeout: options.network.network_timeout,
    };
    let (tab, tabs) = colab::Colab::new(listener, token, further_tokens, tab_settings, shutdown.clone());
    let tabs = tokio::spawn(serve_tabs(tabs, doctor::store_attempts(tab.attempts(), state_env.clone())));
    let has_tab = is_tab_a_place(&serving.policy());
    let folder = match &server {
        Some(_) => local::Folder::beside_another(root, process_env, keeping),
        None => local::Folder::new(root, process_env, keeping),
    };
    if let Some(frontend) = PageFrontend::of(&page_root, &state_env, &options) {
        folder.shown_by(frontend.clone());
        if let Some(machines) = &machines {
            machines.shown_by(frontend.clone());
        }
        connector.shown_by(frontend);
    }
    let (first, others, machine): (Arc<dyn Place>, Vec<Arc<dyn Place>>, _) = match server {
        Some(server) => (server.clone(), vec![folder], page::of_server(server, run_logs)),
        None => (folder, Vec::new(), page::of_folder(&page_root, &state_env)),
    };
    #[cfg(unix)]
    let seen_tab = tab.clone();
    let others = others.into_iter().chain(has_tab.then(|| tab.place())).collect();
    let workspace = Workspace::with_places(first, others, settings, Some(connector));
    if let Some(machines) = machines {
        workspace.places().use_machines(machines);
    }
    let history = options.replies.recording.folder(&state_env);
    if let Some(folder) = &history {
        workspace.record_history(folder.clone());
    }
    #[cfg(unix)]
    let _tab_page = has_tab.then(|| {
        let page = view::tabs::serve(seen_tab, workspace.clone(), history, state_env.clone());
        AbortOnDropHandle::new(tokio::spawn(page))
    });
    let relay: Arc<dyn Relay> = Arc::new(ColabSubset::new(tab));
    let mut server =
        notebook_server(&workspace, Some(relay), serving, endpoint.as_ref(), machine, &state_env);
    server.lists_all_tools = true;
    let served = serve_until_shutdown(server, endpoint, "cellbridge -- cellbridge", &shutdown).await;
    workspace.shutdown().await;
    let _ = tokio::time::timeout(TAB_SHUTDOWN_TIMEOUT, tabs).await;
    served
}

/// A server with the notebook tools, and with the page of its notebooks.
pub(crate) fn notebook_server(
    workspace: &Arc<Workspace>,
    relay: Option<Arc<dyn Relay>>,
    serving: &args::Serving,
    endpoint: Option<&HttpEndpoint>,
    machine: Arc<dyn page::Machine>,
    process_env: &ProcessEnv,
) -> Server {
    let policy = serving.policy();
    let charts = page::Charts::new(machine.clone());
    let hub = view::hub_behind(endpoint, workspace, machine, &policy);
    let mut server = Server::with_workspace(workspace.clone(), relay);
    (server.policy, server.task_wait) = (Arc::new(policy), serving.task_after);
    (server.page, server.charts) = (hub, Some(Arc::new(charts)));
    server.asking_on_pages(process_env.own_state_dir().map(|state| page::folder_of_pages(&state)))
}

/// The Colab machines of whoever signs in. `None` if there is no folder for the login.
pub(crate) fn machines(
    google: Google,
    env: &ProcessEnv,
    reach: &rest::Options,
    run_logs: Option<PathBuf>,
) -> Option<Arc<ColabMachines>> {
    let state = env.own_state_dir()?;
    let http = Http::new(google, &reach.proxies, &reach.agent);
    Some(ColabMachines::new(http, Store::new(&state), &state, reach.clone(), run_logs))
}

/// How kernels of the folder outlive this program.
fn keeping(idle: args::KeepKernels) -> Option<KernelKeeping> {
    let idle = idle?;
    if !cfg!(unix) {
        tracing::warn!("--keep-kernels needs Linux or macOS: on this system kernels end with this server");
        return None;
    }
    match std::env::current_exe() {
        Ok(program) => Some(KernelKeeping { program, idle, only_stores: false }),
        Err(error) => {
            tracing::warn!(%error, "cannot locate this executable, so kernels cannot be kept: they end with this \
             server");
            None
        }
    }
}

pub(crate) async fn colab(options: args::Colab) -> anyhow::Result<()> {
    let serving = &options.serving;
    let is_stdio = serving.transport == Transport::Stdio;
    let tab_port = match (options.tab_port, serving.port) {
        (Some(tab_port), Some(port)) if is_stdio && tab_port != port => {
            bail!(
                "--port {port} and --tab-port {tab_port} contradict each other: on stdio both are the tab's port"
            )
        }
        (Some(tab_port), _) => tab_port,
        (None, port) => port.filter(|_| is_stdio).unwrap_or(0),
    };
    let token = Secret::generate()?;
    let endpoint = HttpEndpoint::for_transport(serving)?;
    logging::start(&serving.logging, secrets([&token], endpoint.as_ref()))?;
    let listener = Listener::bind(tab_port).context("the port for the Colab tab could not be opened")?;
    tracing::info!(port = listener.port(), "waiting for a Colab tab");

    let shutdown = CancellationToken::new();
    let process_env = ProcessEnv { variables: std::env::vars_os().collect(), home: std::env::home_dir() };
    let settings = Settings {
        browser: browser(options.no_browser),
        desktop: desktop(&process_env, &std::env::current_dir()?),
        connect_timeout: options.connect_timeout,
        call_timeout: Some(options.call_timeout).filter(|timeout| !timeout.is_zero()),
        network_timeout: options.network.network_timeout,
    };
    let (tab, tabs) = colab::Colab::new(listener, token, Vec::new(), settings, shutdown.clone());
    let attempts = tab.attempts();
    let runtime =
        options.enable_runtime.then(|| colab_runtime(&options, &process_env, tab.clone())).transpose()?;
    let tabs = tokio::spawn(serve_tabs(tabs, doctor::store_attempts(attempts, process_env)));
    let relay: Arc<dyn Relay> = runtime.clone().map_or(tab, |runtime| runtime);
    let mut server = Server::new(relay);
    (server.policy, server.task_wait) = (Arc::new(serving.policy()), serving.task_after);
    let served = serve_until_shutdown(server, endpoint, "colab -- cellbridge colab", &shutdown).await;
    if let Some(runtime) = runtime {
        runtime.shutdown().await;
    }
    let _ = tokio::time::timeout(TAB_SHUTDOWN_TIMEOUT, tabs).await;
    served
}

/// The tools of the tab, and the one that runs code on a machine.
fn colab_runtime(
    options: &args::Colab,
    env: &ProcessEnv,
    tab: Arc<dyn Relay>,
) -> anyhow::Result<Arc<ColabRuntime>> {
    let no_state = "--enable-runtime needs a folder for the state of this program: HOME is not set";
    let (state, google) = (env.own_state_dir().context(no_state)?, options.google.addresses());
    let reach = reach(None, options.network.network_timeout);
    let machines = machines(google.clone(), env, &reach, None).context(no_state)?;
    let (store, client) = (Store::new(&state), options.client_oauth_config.clone());
    Ok(ColabRuntime::new(tab, machines, RequiredLogin { store, google, client })?)
}

/// Serves tabs; `keeping` goes on as long.
async fn serve_tabs(tabs: impl Future<Output = ()>, keeping: impl Future<Output = ()>) {
    tokio::pin!(tabs);
    tokio::select! {
        () = &mut tabs => return,
        () = keeping => {}
    }
    tabs.await;
}

/// Whether the notebook tools work on the tab. Without asking they do not if its own tools ask.
fn is_tab_a_place(policy: &Policy) -> bool {
    let tab = Group::Relayed(colab::GROUP);
    let asks_anyway = policy.asks_about(Group::Edit) && policy.asks_about(Group::Run);
    policy.offers_group(tab) && (!policy.asks_about(tab) || asks_anyway)
}

fn secrets<'a>(
    tab_tokens: impl IntoIterator<Item = &'a Secret>,
    endpoint: Option<&'a HttpEndpoint>,
) -> Vec<Secret> {
    let endpoint = endpoint.and_then(|endpoint| endpoint.token.as_ref());
    tab_tokens.into_iter().chain(endpoint).cloned().collect()
}
