//! The tokens of one machine: those of Google's proxy in front of it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rest::{Kind, RestError, Secret, TokenIssuer};
use tokio::sync::Mutex;

use crate::access::EARLY;
use crate::api::{Connection, MachineId};
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::requests::Api;

/// How soon after a request for a token the next one may follow, unless the proxy has refused the token of a machine that is there. A
/// clock that is fast would cause one before each request to the machine.
const PAUSE: Duration = Duration::from_secs(30);

/// Issues the tokens of a machine at one address.
pub(crate) struct Issuer {
    api: Arc<Api>,
    ledger: Arc<Ledger>,
    id: MachineId,
    /// Its base URL.
    url: String,
    /// The folder with the copies of its notebooks.
    copies: PathBuf,
    /// Held during a renewal, so that there is one at a time.
    held: Mutex<Held>,
    /// How many renewals have ended, for those who have waited for one.
    renewals: AtomicU64,
}

struct Held {
    token: Secret,
    expires: SystemTime,
    asked: SystemTime,
    /// How the last renewal ended.
    last: Result<(), RestError>,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Issuer({})", self.id)
    }
}

impl Issuer {
    /// `url` is the base URL of the connection.
    pub(crate) fn new(
        api: Arc<Api>,
        ledger: Arc<Ledger>,
        id: MachineId,
        url: String,
        copies: PathBuf,
        connection: Connection,
    ) -> Self {
        let Connection { token, expires, .. } = connection;
        let held = Held { token, expires, asked: SystemTime::now(), last: Ok(()) };
        Self { api, ledger, id, url, copies, held: Mutex::new(held), renewals: AtomicU64::new(0) }
    }

    /// Asks Google for a token, and returns the one that is valid then. Without a valid one, the request is repeated if that may help.
    async fn renew(&self, held: &mut Held, is_valid: bool) -> Result<Secret, RestError> {
        held.asked = SystemTime::now();
        let machine =
            if is_valid { self.api.machine_once(&self.id).await } else { self.api.machine(&self.id).await };
        held.last = match machine {
            Ok(machine) => match machine.connection {
                Some(connection) if self.is_here(&connection) => {
                    (held.token, held.expires) = (connection.token, connection.expires);
                    Ok(())
                }
                // Another address is that of another computer: what this place knows does not exist there.
                Some(_) => Err(self.gone("was replaced by Google")),
                // It is being prepared.
                None => Ok(()),
            },
            Err(failure) => Err(self.explain(&failure)),
        };
        self.renewals.fetch_add(1, Ordering::Relaxed);
        held.last.clone().map(|()| held.token.clone())
    }

    fn is_here(&self, connection: &Connection) -> bool {
        self.api.machine_address(&connection.url).is_some_and(|url| url == self.url)
    }

    fn explain(&self, failure: &Failure) -> RestError {
        let error = failure.of_token(&self.id);
        if error.kind == Kind::Gone { self.gone("was stopped, or reclaimed by Google") } else { error }
    }

    fn gone(&self, what: &str) -> RestError {
        let mut cause = format!("The Colab machine {} {what}: its files and variables are lost.", self.id);
        if self.copies.exists() {
            let copies = self.copies.display();
            cause += &format!(" Copies of the notebooks that were used through Cellbridge are in {copies}");
        }
        RestError::new(Kind::Gone, cause, "Start another machine, and copy there what is needed.")
    }
}

impl Held {
    /// Whether Google was asked just now. Fails if it knew of no machine then.
    fn is_new(&self, now: SystemTime) -> Result<bool, RestError> {
        let is_new = now.duration_since(self.asked).is_ok_and(|age| age < PAUSE);
        match &self.last {
            Err(gone) if gone.kind == Kind::Gone && is_new => Err(gone.clone()),
            _ => Ok(is_new),
        }
    }
}

impl TokenIssuer for Issuer {
    fn header(&self) -> &'static str {
        "x-colab-runtime-proxy-token"
    }

    fn token(&self) -> BoxFuture<'_, Result<Secret, RestError>> {
        async {
            // Each process that uses a machine keeps others from ending it. While another one looks, this fails; the next request
            // tries again.
            if let Err(error) = self.ledger.hold(&self.id) {
                tracing::debug!(%error, id = %self.id, "the use of a Colab machine is not recorded yet");
            }
            let mut held = self.held.lock().await;
            let now = SystemTime::now();
            let is_new = held.is_new(now)?;
            if now + EARLY < held.expires || is_new {
                return Ok(held.token.clone());
            }
            let is_valid = now < held.expires;
            match self.renew(&mut held, is_valid).await {
                Err(error) if error.kind != Kind::Gone && is_valid => Ok(held.token.clone()),
                renewed => renewed,
            }
        }
        .boxed()
    }

    fn renewed<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, RestError>> {
        async {
            let before = self.renewals.load(Ordering::Relaxed);
            let mut held = self.held.lock().await;
            let is_shared = self.renewals.load(Ordering::Relaxed) != before;
            if is_shared || (held.token != *refused && held.last.is_ok()) {
                return held.last.clone().map(|()| held.token.clone());
            }
            held.is_new(SystemTime::now())?;
            self.renew(&mut held, false).await
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
