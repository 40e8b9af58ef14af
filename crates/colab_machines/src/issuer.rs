//! The tokens of one machine: those of Google's proxy in front of it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rest::{Kind, RestError, Secret, TokenIssuer};
use tokio::sync::Mutex;

use crate::access::EARLY;
use crate::api::{Connection, MachineId};
use crate::failure::Failure;
use crate::http::CLIENT_AGENT;
use crate::ledger::Ledger;
use crate::refusal::Code;
use crate::requests::Api;

/// How long an answer of Google's about a machine counts, unless the proxy refuses the token. A clock that is fast would cause a
/// request to Google before each one to the machine.
const PAUSE: Duration = Duration::from_secs(30);
/// The same, if the proxy refuses the tokens of a machine that starts.
const SHORT_PAUSE: Duration = Duration::from_secs(3);
/// If the proxy refuses a token that replaced a refused one, and that is younger, the machine is starting. Google issues another one each
/// time that it is asked.
const YOUNG: Duration = Duration::from_secs(60);

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
}

struct Held {
    token: Secret,
    expires: SystemTime,
    /// When Google issued it.
    issued: SystemTime,
    /// When Google answered last, and how.
    asked: SystemTime,
    last: Result<(), RestError>,
    /// Whether the token replaced a refused one.
    is_replacement: bool,
    /// Whether the proxy refuses what Google issues.
    is_starting: bool,
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
        let now = SystemTime::now();
        let held = Held {
            token,
            expires,
            issued: now,
            asked: now,
            last: Ok(()),
            is_replacement: false,
            is_starting: false,
        };
        Self { api, ledger, id, url, copies, held: Mutex::new(held) }
    }

    /// Asks Google for a token. Without a valid one, the request is repeated if that may help.
    async fn renew(&self, held: &mut Held, is_valid: bool) -> Result<(), RestError> {
        let machine =
            if is_valid { self.api.machine_once(&self.id).await } else { self.api.machine(&self.id).await };
        held.asked = SystemTime::now();
        (held.is_replacement, held.is_starting) = (false, false);
        held.last = match machine {
            Ok(machine) => match machine.connection {
                Some(connection) if self.is_here(&connection) => {
                    (held.token, held.expires, held.issued) =
                        (connection.token, connection.expires, held.asked);
                    Ok(())
                }
                // Another address is that of another computer: what this place knows does not exist there.
                Some(connection) if self.api.machine_address(&connection.url).is_some() => {
                    Err(self.gone("was replaced by Google"))
                }
                Some(_) => {
                    let cause = "Google names an address for the machine that is not one of its machines.";
                    Err(RestError::new(Kind::Unreachable, cause, "The next call tries again."))
                }
                // It is being prepared.
                None => Ok(()),
            },
            Err(failure) if failure.is(Code::NotFound) && self.is_listed().await => {
                let cause = "Google does not find a machine that it lists.";
                Err(RestError::new(Kind::Unreachable, cause, "The next call tries again."))
            }
            Err(failure) => Err(self.explain(&failure)),
        };
        held.last.clone()
    }

    /// Whether the machine is there after all. If that is not known, it is assumed.
    async fn is_listed(&self) -> bool {
        match self.api.machines().await {
            Ok(machines) => machines.iter().any(|machine| machine.id == self.id),
            Err(_) => true,
        }
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
            cause += &format!(
                " Copies of the notebooks that were changed through Cellbridge are on this computer, in \"{copies}\", from where \
                 code on this computer or the person can copy them."
            );
        }
        RestError::new(Kind::Gone, cause, "Start another machine, and copy there what is needed.")
    }
}

impl Held {
    /// Whether Google has answered within this time. Fails if it knew of no machine not long ago.
    fn is_known(&self, now: SystemTime, age: Duration) -> Result<bool, RestError> {
        let is_younger = |age| is_younger(self.asked, now, age);
        match &self.last {
            Err(gone) if gone.kind == Kind::Gone && is_younger(PAUSE) => Err(gone.clone()),
            _ => Ok(is_younger(age)),
        }
    }
}

fn is_younger(time: SystemTime, now: SystemTime, age: Duration) -> bool {
    now.duration_since(time).is_ok_and(|it| it < age)
}

impl TokenIssuer for Issuer {
    fn header(&self) -> &'static str {
        "x-colab-runtime-proxy-token"
    }

    fn client(&self) -> (&'static str, &'static str) {
        CLIENT_AGENT
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
            let is_known = held.is_known(now, PAUSE)?;
            if now + EARLY < held.expires || is_known {
                return Ok(held.token.clone());
            }
            let is_valid = now < held.expires;
            match self.renew(&mut held, is_valid).await {
                Err(error) if error.kind == Kind::Gone || !is_valid => Err(error),
                _ => Ok(held.token.clone()),
            }
        }
        .boxed()
    }

    fn renewed<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, RestError>> {
        async move {
            let mut held = self.held.lock().await;
            let now = SystemTime::now();
            let is_known = held.is_known(now, SHORT_PAUSE)?;
            if is_known {
                held.last.clone()?;
            }
            if held.token == *refused {
                let is_starting = held.is_replacement && is_younger(held.issued, now, YOUNG);
                if !is_starting || !is_known {
                    self.renew(&mut held, false).await?;
                }
                (held.is_replacement, held.is_starting) = (true, is_starting);
            }
            // The token that was refused says that the machine is starting; the next request has the new one.
            let token = if held.is_starting { refused } else { &held.token };
            Ok(token.clone())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
