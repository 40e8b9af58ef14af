//! Google's Colab API, v1beta: requests as values, and what its responses say. Without I/O. All of its enumerations are open.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::DateTime;
use connection::Secret;
use place::MachineKind;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::refusal::Refusal;

/// How long Google may wait for an operation within a request, in seconds; less than a request may take.
const WAIT: u32 = 20;
const NO_ACCELERATOR: &str = "NONE";
const HIGH_MEMORY: &str = "SHAPE_HIGHMEM";
/// The longest label of a host (RFC 1034).
const MAX_OWN_ID: usize = 63;
const MAX_ID: usize = 200;

/// The id of a machine: a name that can stand in a path of an address or of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct MachineId(String);

impl MachineId {
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
        let is_id = (1..=MAX_ID).contains(&id.len()) && id.chars().all(is_plain) && !id.starts_with('.');
        is_id.then(|| Self(id.to_owned()))
    }

    /// A new one for a machine that this program starts, such as `cellbridge-t4-3fa9c1`.
    pub(crate) fn generate(kind: &MachineKind) -> Self {
        let model = kind.accelerator.as_ref().unwrap_or(&kind.variant).to_ascii_lowercase();
        let model =
            model.chars().filter(char::is_ascii_alphanumeric).take(MAX_OWN_ID / 2).collect::<String>();
        let random = &Uuid::new_v4().simple().to_string()[..6];
        Self(format!("cellbridge-{model}-{random}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for MachineId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Path of the types of machines that could be started.
pub(crate) const SPECS: &str = "v1beta/runtimespecs";
pub(crate) const SUBSCRIPTION: &str = "v1beta/subscription";
pub(crate) const MACHINES: &str = "v1beta/runtimes";

/// A request to the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Below the API's address, with the query.
    pub(crate) path: String,
    pub(crate) body: Option<String>,
}

impl Request {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None }
    }

    pub(crate) fn machine(id: &MachineId) -> Self {
        Self::get(format!("v1beta/runtimes/{id}"))
    }

    /// Creates a machine, whose id Google chooses if there is none. Google answers a second request with the same `request` as it answered the first.
    pub(crate) fn create(id: Option<&MachineId>, kind: &MachineKind, request: Uuid) -> Self {
        let spec = json!({
            "variant": format!("VARIANT_{}", kind.variant),
            "accelerator": kind.accelerator.as_deref().unwrap_or(NO_ACCELERATOR),
            "shape": if kind.has_high_memory { HIGH_MEMORY } else { "SHAPE_STANDARD" },
        });
        let id = id.map(|id| format!("&runtimeId={id}")).unwrap_or_default();
        let path = format!("v1beta/runtimes?requestId={request}{id}");
        Self { method: Method::POST, path, body: Some(json!({ "runtimeSpec": spec }).to_string()) }
    }

    /// Waits for an operation. The response may come before its end.
    pub(crate) fn wait(operation: &OperationId) -> Self {
        Self::get(format!("v1/operations/{}:wait?timeout={WAIT}s", operation.0))
    }

    /// Ends a machine. One that is not there is no failure.
    pub(crate) fn delete(id: &MachineId) -> Self {
        let path = format!("v1beta/runtimes/{id}?allowMissing=true");
        Self { method: Method::DELETE, path, body: None }
    }
}

/// The id of an operation, which can stand in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperationId(String);

/// A machine that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runtime {
    pub(crate) id: MachineId,
    pub(crate) kind: MachineKind,
    pub(crate) connection: Option<Connection>,
}

/// How a machine is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) url: String,
    pub(crate) token: Secret,
    pub(crate) expires: SystemTime,
}

/// A type of machine, and whether this account may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) kind: MachineKind,
    pub(crate) is_eligible: bool,
}

/// The creation of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    Pending(OperationId),
    /// The machine is there, and described if Google did.
    Created(Option<Runtime>),
    Refused(Refusal),
}

/// What the account pays Google for Colab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tier {
    Free,
    Pro,
    ProPlus,
    /// One that is not known here.
    Other,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct KeyBody {
    variant: String,
    accelerator: String,
    shape: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuntimeBody {
    name: String,
    #[serde(default)]
    runtime_spec: KeyBody,
    connection_info: Option<ConnectionBody>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ConnectionBody {
    url: String,
    token: String,
    expire_time: String,
}

/// The machines. One whose id cannot be used is left out.
pub(crate) fn read_machines(body: &[u8]) -> Option<Vec<Runtime>> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        runtimes: Vec<RuntimeBody>,
    }
    let Body { runtimes } = serde_json::from_slice(body).ok()?;
    Some(runtimes.into_iter().filter_map(runtime).collect())
}

pub(crate) fn read_machine(body: &[u8]) -> Option<Runtime> {
    runtime(serde_json::from_slice(body).ok()?)
}

/// What can be started. A shape that is not known here cannot be asked for, and is left out.
pub(crate) fn read_specs(body: &[u8]) -> Option<Vec<Spec>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Body {
        #[serde(default)]
        runtime_specs: Vec<SpecBody>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct SpecBody {
        key: KeyBody,
        eligible: bool,
    }
    let Body { runtime_specs } = serde_json::from_slice(body).ok()?;
    let is_known = |shape: &str| ["", "SHAPE_UNSPECIFIED", "SHAPE_STANDARD", HIGH_MEMORY].contains(&shape);
    let known = runtime_specs.into_iter().filter(|spec| is_known(&spec.key.shape));
    Some(known.map(|spec| Spec { kind: kind(&spec.key), is_eligible: spec.eligible }).collect())
}

pub(crate) fn read_tier(body: &[u8]) -> Option<Tier> {
    let body: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(body).ok()?;
    let tier = body.get("tier").map_or(Some(""), serde_json::Value::as_str)?;
    Some(match tier.trim_start_matches("SUBSCRIPTION_TIER_") {
        "FREE" | "NONE" => Tier::Free,
        "PRO" => Tier::Pro,
        "PRO_PLUS" => Tier::ProPlus,
        _ => Tier::Other,
    })
}

pub(crate) fn read_operation(body: &[u8]) -> Option<Operation> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        name: String,
        #[serde(default)]
        done: bool,
        response: Option<RuntimeBody>,
        error: Option<serde_json::Value>,
    }
    let Body { name, done, response, error } = serde_json::from_slice(body).ok()?;
    if let Some(error) = error {
        return Some(Operation::Refused(Refusal::of_operation(&error)));
    }
    if done {
        return Some(Operation::Created(response.and_then(runtime)));
    }
    let id = MachineId::parse(name.strip_prefix("operations/")?)?;
    Some(Operation::Pending(OperationId(id.0)))
}

fn runtime(body: RuntimeBody) -> Option<Runtime> {
    let id = MachineId::parse(body.name.strip_prefix("runtimes/")?)?;
    let connection = body.connection_info.and_then(|it| {
        // Without a time, the token is replaced soon.
        let expires = DateTime::parse_from_rfc3339(&it.expire_time).map_or(UNIX_EPOCH, Into::into);
        Some(Connection { url: it.url, token: Secret::new(it.token)?, expires })
    });
    Some(Runtime { id, kind: kind(&body.runtime_spec), connection })
}

fn kind(key: &KeyBody) -> MachineKind {
    let variant = key.variant.trim_start_matches("VARIANT_");
    let accelerator = Some(key.accelerator.as_str()).filter(|it| !it.is_empty() && *it != NO_ACCELERATOR);
    // They are shown.
    let named = rest::safe;
    MachineKind {
        variant: named(if ["", "UNSPECIFIED"].contains(&variant) { "CPU" } else { variant }),
        accelerator: accelerator.map(named),
        has_high_memory: key.shape == HIGH_MEMORY,
    }
}

#[cfg(test)]
mod tests;
