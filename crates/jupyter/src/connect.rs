//! Servers that agents reach while the program runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use rest::{Address, Credentials, Options, Secret};
use workspace::{Connector, Error, ErrorKind, Future, Place, ServerSpec, Token};

use crate::failure;
use crate::server::Jupyter;
use crate::settings::{Lacks, Settings, Source};

/// The one kind of document provider that there is here.
const PROVIDER: &str = "jupyter";

/// Reaches servers, each once.
pub struct Dialer {
    options: Options,
    reconnect: Option<Duration>,
    known: Mutex<HashMap<String, Known>>,
}

struct Known {
    token: Option<String>,
    place: Arc<Jupyter>,
}

impl Dialer {
    /// Reaches servers in this way. `first` is the place that is there already; its pauses are those of the others.
    pub fn new(options: Options, first: Option<Arc<Jupyter>>) -> Arc<Self> {
        let reconnect = first.as_ref().and_then(|place| place.reconnect());
        let mut known = HashMap::new();
        if let Some(place) = first
            && let Some((base, token)) = place.address()
        {
            known.insert(base, Known { token, place });
        }
        Arc::new(Self { options, reconnect, known: Mutex::new(known) })
    }

    async fn reach(&self, wish: ServerSpec) -> Result<Arc<Jupyter>, Error> {
        if let Some(provider) = wish.provider.filter(|it| !it.eq_ignore_ascii_case(PROVIDER)) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("The document provider {provider:?} exists only in a vendor's cloud."),
                format!("Say {PROVIDER:?}, or leave it out."),
            ));
        }
        let (address, token) = way_in(&wish.url, wish.token)?;
        let kernels = wish.kernels.map(|(url, token)| way_in(&url, token)).transpose()?;
        let base = address.base.to_string();
        // The same notebooks with other kernels are another place.
        let name = match &kernels {
            Some((kernels, _)) => format!("{base} {}", kernels.base),
            None => base.clone(),
        };
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            // Another token is another person's way in; without one, what is known will do.
            let fitting = known.get(&name).filter(|known| token.is_none() || known.token == token);
            fitting.map(|known| known.place.clone())
        };
        let place = known.unwrap_or_else(|| {
            Jupyter::new(Settings {
                documents: source(&address, token.as_deref()),
                kernels: kernels.map(|(address, token)| source(&address, token.as_deref())),
                reconnect: self.reconnect,
                options: self.options.clone(),
                prefix: base,
                notebook: address.notebook,
                kernel: None,
                direct: None,
                lacks: Lacks::default(),
            })
        });
        // Before the answer is yes.
        place.status().await?;
        place.kernel_status().await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.get(&name).is_some_and(|known| Arc::ptr_eq(&known.place, &place)) {
            known.insert(name, Known { token, place: place.clone() });
        }
        Ok(place)
    }
}

/// The address that was pasted, and the token: the one given, or the one in the address.
fn way_in(url: &str, token: Option<Token>) -> Result<(Address, Option<String>), Error> {
    let address = Address::parse(url).map_err(failure::of)?;
    let token = token.map(|token| token.expose().to_owned());
    let token = token.or_else(|| address.token.as_ref().map(|token| token.expose().to_owned()));
    Ok((address, token))
}

fn source(address: &Address, token: Option<&str>) -> Source {
    let credentials = token.and_then(Secret::new).map_or(Credentials::None, Credentials::Token);
    Source::Given { url: address.base.to_string(), credentials }
}

impl Connector for Dialer {
    fn connect(&self, wish: ServerSpec) -> Future<'_, Arc<dyn Place>> {
        async {
            let bound = Duration::from_secs(90);
            match tokio::time::timeout(bound, self.reach(wish)).await {
                Ok(place) => Ok(place? as Arc<dyn Place>),
                Err(_) => Err(Error::new(
                    ErrorKind::Timeout,
                    "The server did not answer in time.",
                    "Check its address, and that it runs; then try again.",
                )),
            }
        }
        .boxed()
    }
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
