//! Connects to servers that agents name while the program runs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use place::{Connected, Connector, Discovered, Error, ErrorKind, Future, NextStep, ServerSpec};
use rest::discovery::Discovery;
use rest::{Address, Credentials, Options, Secret};

use crate::failure;
use crate::paths::SCHEME;
use crate::place::Jupyter;
use crate::running_server::discover;
use crate::settings::{Capabilities, Settings, Source};
use crate::viewer::Viewer;

/// The only document provider that is supported.
const PROVIDER: &str = "jupyter";

/// Time limit for connecting, which may include starting the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(90);

/// Connects to servers. The same server is the same place.
pub struct JupyterConnector {
    options: Options,
    discovery: Option<Discovery>,
    /// The place that there is from the start.
    first: Option<Arc<Jupyter>>,
    run_logs: Option<PathBuf>,
    known: Mutex<HashMap<String, KnownServer>>,
    viewer: OnceLock<Arc<dyn Viewer>>,
}

struct KnownServer {
    token: Option<Secret>,
    place: Arc<Jupyter>,
}

impl JupyterConnector {
    /// `first` is a place that exists already; the others use the same pause between attempts to connect. Without
    /// `discovery`, every server must be named by its address. `run_logs` is that of [`Settings`].
    pub fn new(
        options: Options,
        discovery: Option<Discovery>,
        first: Option<Arc<Jupyter>>,
        run_logs: Option<PathBuf>,
    ) -> Arc<Self> {
        Arc::new(Self {
            options,
            discovery,
            first,
            run_logs,
            known: Mutex::default(),
            viewer: OnceLock::new(),
        })
    }

    /// Shows notebooks of all servers where no open `JupyterLab` does, from now on.
    pub fn shown_by(&self, viewer: Arc<dyn Viewer>) {
        if let Some(first) = &self.first {
            first.shown_by(viewer.clone());
        }
        let _ = self.viewer.set(viewer);
    }

    /// The address of the server that is asked for, and how it was chosen.
    async fn address(&self, url: Option<&str>) -> Result<(Address, Option<Discovered>), Error> {
        if let Some(url) = url {
            return Ok((parse(url)?, None));
        }
        let discovery = self.discovery.as_ref().ok_or_else(|| {
            let cause = "No server address was given.";
            Error::new(ErrorKind::InvalidArgument, cause, NextStep::GiveAddress)
        })?;
        let running = discover(discovery, &self.options).await.map_err(failure::of)?;
        Ok((running.address, Some(running.discovered)))
    }

    /// The place that there is already for a server.
    fn known_place(&self, name: &str, token: Option<&Secret>) -> Option<Arc<Jupyter>> {
        // Another token may be another person's; without one, the known place is used.
        let is_same = |known: Option<&Secret>| token.is_none() || known == token;
        if let Some(known) = self.known.lock().get(name).filter(|known| is_same(known.token.as_ref())) {
            return Some(known.place.clone());
        }
        let first = self.first.as_ref()?;
        let (base, own_token) = first.address()?;
        (base == name && is_same(own_token.as_ref())).then(|| first.clone())
    }

    async fn reach(&self, spec: ServerSpec) -> Result<Connected, Error> {
        if let Some(provider) = spec.provider.as_ref().filter(|it| !it.eq_ignore_ascii_case(PROVIDER)) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("The document provider {provider:?} exists only in a vendor's cloud."),
                format!("Use {PROVIDER:?}, or omit it."),
            ));
        }
        let (address, discovered) = self.address(spec.url.as_deref()).await?;
        let token = spec.token.or_else(|| address.token.clone());
        let kernels = spec.kernels.map(|(url, token)| Ok::<_, Error>((parse(&url)?, token))).transpose()?;
        let base = address.base.to_string();
        // The same documents with other kernels are another place.
        let name = match &kernels {
            Some((kernels, _)) => format!("{base} {}", kernels.base),
            None => base.clone(),
        };
        let place = self.known_place(&name, token.as_ref()).unwrap_or_else(|| {
            Jupyter::new(Settings {
                documents: source(&address, token.clone()),
                kernels: kernels.map(|(address, token)| source(&address, token)),
                reconnect: self.first.as_ref().and_then(|place| place.reconnect_pause()),
                options: self.options.clone(),
                prefix: base,
                notebook: address.notebook,
                kernel: None,
                in_process: None,
                run_logs: self.run_logs.clone(),
                capabilities: Capabilities::default(),
                machine: None,
            })
        });
        if let Some(viewer) = self.viewer.get() {
            place.shown_by(viewer.clone());
        }
        // Both servers have to answer before the place is usable.
        place.status().await?;
        place.kernel_status().await?;
        let mut known = self.known.lock();
        if !known.get(&name).is_some_and(|known| Arc::ptr_eq(&known.place, &place)) {
            known.insert(name, KnownServer { token, place: place.clone() });
        }
        Ok(Connected { place, discovered })
    }
}

fn parse(url: &str) -> Result<Address, Error> {
    Address::parse(url).map_err(failure::of)
}

/// The server at an address, with the given token, or the one in the address.
fn source(address: &Address, token: Option<Secret>) -> Source {
    let token = token.or_else(|| address.token.clone());
    let credentials = token.map_or(Credentials::None, Credentials::Token);
    Source::Given { url: address.base.to_string(), credentials }
}

impl Connector for JupyterConnector {
    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn connect(&self, spec: ServerSpec) -> Future<'_, Connected> {
        async {
            match tokio::time::timeout(CONNECT_TIMEOUT, self.reach(spec)).await {
                Ok(connected) => connected,
                Err(_) => Err(Error::new(
                    ErrorKind::Timeout,
                    "The server did not answer in time.",
                    "Check its address and that it is running, then try again.",
                )),
            }
        }
        .boxed()
    }
}

impl std::fmt::Debug for JupyterConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JupyterConnector").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
