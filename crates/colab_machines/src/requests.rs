//! Sends requests to the API: with an access token, and again where that helps.

use std::time::Duration;

use connection::Secret;
use place::MachineKind;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::Http;
use crate::access::Access;
use crate::api::{self, MachineId, Operation, Request, Runtime, Spec, Tier};
use crate::failure::Failure;
use crate::refusal::{Code, Refusal};

/// Time limit for the preparation of a machine by Google.
const CREATION_TIMEOUT: Duration = Duration::from_secs(200);

/// The pauses of a client. Tests have shorter ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses {
    /// Before a request is repeated for the first and for the second time.
    pub(crate) retries: [Duration; 2],
    /// Between two questions about an operation, if Google answers before it has ended.
    pub(crate) operation: Duration,
    /// Between two attempts to reach the server on a new machine.
    pub(crate) boot: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        let [first, second, operation, boot] = [2, 8, 1, 3].map(Duration::from_secs);
        Self { retries: [first, second], operation, boot }
    }
}

/// Why there is no machine, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotCreated {
    pub(crate) failure: Failure,
    /// Whether Google may have created it, or may still.
    pub(crate) may_exist: bool,
    /// Whether it would have the id that was requested.
    pub(crate) is_named: bool,
}

/// The API with the person's login.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) http: Http,
    pub(crate) access: Access,
}

impl Api {
    /// The base URL of a machine, if the address is one of a machine.
    pub(crate) fn machine_address(&self, address: &str) -> Option<String> {
        self.http.google.machine(address)
    }

    pub(crate) async fn specs(&self) -> Result<Vec<Spec>, Failure> {
        self.read(&Request::get(api::SPECS), api::read_specs).await
    }

    pub(crate) async fn tier(&self) -> Result<Tier, Failure> {
        self.read(&Request::get(api::SUBSCRIPTION), api::read_tier).await
    }

    pub(crate) async fn machines(&self) -> Result<Vec<Runtime>, Failure> {
        self.read(&Request::get(api::MACHINES), api::read_machines).await
    }

    pub(crate) async fn machine(&self, id: &MachineId) -> Result<Runtime, Failure> {
        self.read(&Request::machine(id), api::read_machine).await
    }

    /// The same, without a repetition if it fails.
    pub(crate) async fn machine_once(&self, id: &MachineId) -> Result<Runtime, Failure> {
        self.read_once(&Request::machine(id), api::read_machine).await
    }

    pub(crate) async fn delete(&self, id: &MachineId) -> Result<(), Failure> {
        let is_done = |body: &[u8]| serde_json::from_slice::<Map<String, Value>>(body).is_ok();
        match self.repeat(&Request::delete(id)).await {
            Ok(body) if is_done(&body) => Ok(()),
            Ok(_) => Err(Failure::Malformed),
            // Gone, whatever `allowMissing` promises, or hidden for a moment.
            Err(failure) if failure.is(Code::NotFound) => match self.machine_once(id).await {
                Err(missing) if missing.is(Code::NotFound) => Ok(()),
                _ => Err(failure),
            },
            Err(failure) => Err(failure),
        }
    }

    /// Creates a machine, and waits until Google has prepared it. `report` gets lines of progress.
    pub(crate) async fn create(
        &self,
        id: &MachineId,
        kind: &MachineKind,
        report: &(dyn Fn(String) + Send + Sync),
    ) -> Result<Runtime, NotCreated> {
        let start = Instant::now();
        let (mut operation, is_named) = self.begin(id, kind).await?;
        // It was requested, so it may exist, whatever fails from now on.
        let lost = |failure| NotCreated { failure, may_exist: true, is_named };
        loop {
            let pending = match operation {
                Operation::Created(Some(runtime)) => return Ok(runtime),
                Operation::Created(None) => return self.machine(id).await.map_err(lost),
                Operation::Refused(refusal) => {
                    return Err(NotCreated {
                        failure: Failure::Refused(refusal),
                        may_exist: false,
                        is_named,
                    });
                }
                Operation::Pending(pending) => pending,
            };
            let waited = start.elapsed();
            if waited > CREATION_TIMEOUT {
                return Err(lost(Failure::Unfinished));
            }
            report(format!("Google prepares the machine {id} ({} s)", waited.as_secs()));
            operation = self.read(&Request::wait(&pending), api::read_operation).await.map_err(lost)?;
            if matches!(operation, Operation::Pending(_)) {
                sleep(self.http.pauses.operation).await;
            }
        }
    }

    /// Requests a machine. If the answer is lost, the machine may exist: that is found out before the request is repeated.
    /// Returns the operation, and whether the machine gets this id.
    async fn begin(&self, id: &MachineId, kind: &MachineKind) -> Result<(Operation, bool), NotCreated> {
        let mut request = Request::create(Some(id), kind, Uuid::new_v4());
        let mut pauses = self.http.pauses.retries.into_iter();
        let (mut may_exist, mut is_named) = (false, true);
        loop {
            let failure = match self.read_once(&request, api::read_operation).await {
                Ok(operation) => return Ok((operation, is_named)),
                // That is the machine of an earlier request.
                Err(failure) if may_exist && failure.is(Code::AlreadyExists) => {
                    return Ok((Operation::Created(None), is_named));
                }
                // Google documents the id, but none of its own clients sends one.
                Err(failure) if is_named && !may_exist && failure.is(Code::InvalidArgument) => {
                    request = Request::create(None, kind, Uuid::new_v4());
                    is_named = false;
                    continue;
                }
                Err(failure) => failure,
            };
            may_exist |= failure.is_ambiguous();
            let Some(pause) = pauses.next().filter(|_| failure.is_transient()) else {
                return Err(NotCreated { failure, may_exist, is_named });
            };
            sleep(pause).await;
            if !is_named {
                // The id of the request lets Google recognise it.
                continue;
            }
            match self.machine_once(id).await {
                Ok(runtime) => return Ok((Operation::Created(Some(runtime)), is_named)),
                Err(failure) if failure.is(Code::NotFound) || failure.is_transient() => {}
                Err(failure) => return Err(NotCreated { failure, may_exist, is_named }),
            }
        }
    }

    /// Sends a request that can be repeated, and reads the response.
    async fn read<T>(&self, request: &Request, read: fn(&[u8]) -> Option<T>) -> Result<T, Failure> {
        read(&self.repeat(request).await?).ok_or(Failure::Malformed)
    }

    async fn read_once<T>(&self, request: &Request, read: fn(&[u8]) -> Option<T>) -> Result<T, Failure> {
        read(&self.send(request).await?).ok_or(Failure::Malformed)
    }

    async fn repeat(&self, request: &Request) -> Result<Vec<u8>, Failure> {
        for pause in self.http.pauses.retries {
            match self.send(request).await {
                Err(failure) if failure.is_transient() => sleep(pause).await,
                answer => return answer,
            }
        }
        self.send(request).await
    }

    /// Sends a request, and once more with a new token if Google refuses the first.
    async fn send(&self, request: &Request) -> Result<Vec<u8>, Failure> {
        let token = self.access.token(None).await.map_err(Failure::Login)?;
        match call(&self.http, request, &token).await {
            Err(failure) if failure.is(Code::Unauthenticated) => {
                let token = self.access.token(Some(&token)).await.map_err(Failure::Login)?;
                call(&self.http, request, &token).await
            }
            answer => answer,
        }
    }
}

/// Sends a request once.
pub(crate) async fn call(http: &Http, request: &Request, token: &Secret) -> Result<Vec<u8>, Failure> {
    let Request { method, path, .. } = request;
    let (status, body) = http.call(request, token).await.map_err(Failure::Login)?;
    if status == 200 {
        tracing::debug!(%method, path, "Google's API has answered");
        return Ok(body);
    }
    // A message may quote the request.
    let body = String::from_utf8_lossy(&body).replace(token.expose(), "…");
    let refusal = Refusal::of_response(status, body.as_bytes());
    tracing::debug!(%method, path, words = refusal.words, "Google's API has refused a request");
    Err(Failure::Refused(refusal))
}

#[cfg(test)]
mod tests;
