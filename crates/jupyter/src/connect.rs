//! Servers that agents reach while the program runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use rest::{Address, Credentials, Options, Secret};
use workspace::{Connector, Error, Future, Place, ServerWish, Side};

use crate::failure;
use crate::server::Jupyter;
use crate::settings::{Settings, Source};

/// Reaches servers, each once.
pub struct Dialer {
    options: Options,
    known: Mutex<HashMap<String, Known>>,
}

struct Known {
    token: Option<String>,
    place: Arc<Jupyter>,
}

impl Dialer {
    /// Reaches servers in this way. `first` is the place that is there already.
    pub fn new(options: Options, first: Option<Arc<Jupyter>>) -> Arc<Self> {
        let mut known = HashMap::new();
        if let Some(place) = first
            && let Some((base, token)) = place.address()
        {
            known.insert(base, Known { token, place });
        }
        Arc::new(Self { options, known: Mutex::new(known) })
    }

    async fn reach(&self, wish: ServerWish) -> Result<Arc<Jupyter>, Error> {
        let address = Address::parse(&wish.url).map_err(failure::of)?;
        let base = address.base.to_string();
        let token = wish.token.as_ref().map(|token| token.expose().to_owned());
        let token = token.or_else(|| address.token.as_ref().map(|token| token.expose().to_owned()));
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            // Another token is another person's way in; without one, what is known will do.
            known
                .get(&base)
                .filter(|known| token.is_none() || known.token == token)
                .map(|known| known.place.clone())
        };
        let place = match known {
            Some(place) => place,
            None => {
                let credentials =
                    token.clone().and_then(Secret::new).map_or(Credentials::None, Credentials::Token);
                Jupyter::new(Settings {
                    documents: Source::Given { url: base.clone(), credentials },
                    kernels: None,
                    options: self.options.clone(),
                    prefix: base.clone(),
                    notebook: address.notebook,
                    kernel: None,
                })
            }
        };
        // Before the answer is yes.
        place.status().await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(base, Known { token, place: place.clone() });
        Ok(place)
    }
}

impl Connector for Dialer {
    fn connect(&self, wish: ServerWish) -> Future<'_, Arc<dyn Place>> {
        async {
            let bound = std::time::Duration::from_secs(90);
            match tokio::time::timeout(bound, self.reach(wish)).await {
                Ok(place) => Ok(place? as Arc<dyn Place>),
                Err(_) => Err(Error::new(
                    Side::Place,
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
