//! Connects to servers that agents name while the program runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use rest::{Address, Credentials, Options, Secret};
use workspace::{Connector, Error, ErrorKind, Future, Place, ServerSpec};

use crate::failure;
use crate::place::Jupyter;
use crate::settings::{Capabilities, Settings, Source};

/// The only document provider that is supported.
const PROVIDER: &str = "jupyter";

/// Time limit for connecting, which may include starting the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(90);

/// Connects to servers. The same server is the same place.
pub struct JupyterConnector {
    options: Options,
    reconnect: Option<Duration>,
    known: Mutex<HashMap<String, KnownServer>>,
}

struct KnownServer {
    token: Option<Secret>,
    place: Arc<Jupyter>,
}

impl JupyterConnector {
    /// `first` is a place that exists already; the others use the same pause between attempts to connect.
    pub fn new(options: Options, first: Option<Arc<Jupyter>>) -> Arc<Self> {
        let reconnect = first.as_ref().and_then(|place| place.reconnect_pause());
        let mut known = HashMap::new();
        if let Some(place) = first
            && let Some((base, token)) = place.address()
        {
            known.insert(base, KnownServer { token, place });
        }
        Arc::new(Self { options, reconnect, known: Mutex::new(known) })
    }

    async fn place(&self, spec: ServerSpec) -> Result<Arc<Jupyter>, Error> {
        if let Some(provider) = spec.provider.filter(|it| !it.eq_ignore_ascii_case(PROVIDER)) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("The document provider {provider:?} exists only in a vendor's cloud."),
                format!("Use {PROVIDER:?}, or leave it out."),
            ));
        }
        let (address, token) = address_and_token(&spec.url, spec.token)?;
        let kernels = spec.kernels.map(|(url, token)| address_and_token(&url, token)).transpose()?;
        let base = address.base.to_string();
        // The same documents with other kernels are another place.
        let name = match &kernels {
            Some((kernels, _)) => format!("{base} {}", kernels.base),
            None => base.clone(),
        };
        let known = {
            let known = self.known.lock();
            // Another token may be another person's; without one, the known place is used.
            let matching = known.get(&name).filter(|known| token.is_none() || known.token == token);
            matching.map(|known| known.place.clone())
        };
        let place = known.unwrap_or_else(|| {
            Jupyter::new(Settings {
                documents: source(&address, token.clone()),
                kernels: kernels.map(|(address, token)| source(&address, token)),
                reconnect: self.reconnect,
                options: self.options.clone(),
                prefix: base,
                notebook: address.notebook,
                kernel: None,
                in_process: None,
                capabilities: Capabilities::default(),
            })
        });
        // Both servers have to answer before the place is usable.
        place.status().await?;
        place.kernel_status().await?;
        let mut known = self.known.lock();
        if !known.get(&name).is_some_and(|known| Arc::ptr_eq(&known.place, &place)) {
            known.insert(name, KnownServer { token, place: place.clone() });
        }
        Ok(place)
    }
}

/// The parsed address, and the token: the given one, or the one in the address.
fn address_and_token(url: &str, token: Option<Secret>) -> Result<(Address, Option<Secret>), Error> {
    let address = Address::parse(url).map_err(failure::of)?;
    let token = token.or_else(|| address.token.clone());
    Ok((address, token))
}

fn source(address: &Address, token: Option<Secret>) -> Source {
    let credentials = token.map_or(Credentials::None, Credentials::Token);
    Source::Given { url: address.base.to_string(), credentials }
}

impl Connector for JupyterConnector {
    fn connect(&self, spec: ServerSpec) -> Future<'_, Arc<dyn Place>> {
        async {
            match tokio::time::timeout(CONNECT_TIMEOUT, self.place(spec)).await {
                Ok(place) => Ok(place? as Arc<dyn Place>),
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
