//! The configuration: the extension's traits as JSON.

use std::path::PathBuf;
use std::time::Duration;

use calls::permissions::{Offer, Policy};
use connection::NetworkTimeout;
use jupyter::Capabilities;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rest::{Credentials, PrivateSocket, Secret};
use serde::{Deserialize, Deserializer};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are the names of settings")]
pub(crate) struct Config {
    /// Where the Jupyter server in whose process we live listens for us alone.
    socket: Socket,
    base_url: String,
    /// Whether it serves live notebooks.
    has_rooms: bool,
    /// Whether it passes commands on to `JupyterLab`.
    has_commands: bool,
    #[serde(default)]
    document_url: ServerUrl,
    #[serde(default, deserialize_with = "given")]
    document_token: Option<String>,
    #[serde(default)]
    runtime_url: ServerUrl,
    #[serde(default, deserialize_with = "given")]
    runtime_token: Option<String>,
    /// The notebook to begin with.
    #[serde(default, deserialize_with = "given")]
    pub(crate) document_id: Option<String>,
    /// The kernel on which the first notebook runs.
    #[serde(default, deserialize_with = "given")]
    pub(crate) runtime_id: Option<String>,
    pub(crate) max_characters: usize,
    pub(crate) max_images: usize,
    /// What runs change in memory is left out of replies.
    pub(crate) no_changes: bool,
    /// The folder in which changes are recorded.
    #[serde(default)]
    pub(crate) history: Option<PathBuf>,
    #[serde(deserialize_with = "seconds")]
    pub(crate) execution_timeout: Duration,
    #[serde(deserialize_with = "seconds")]
    pub(crate) max_execution_timeout: Duration,
    #[serde(deserialize_with = "network_timeout")]
    pub(crate) network_timeout: NetworkTimeout,
    pub(crate) max_notebooks: usize,
    pub(crate) max_runs: usize,
    read_only: bool,
    #[serde(deserialize_with = "offers")]
    tools: Vec<Offer>,
    #[serde(deserialize_with = "asked")]
    ask: Vec<Offer>,
    allow_install: bool,
    /// The file for spans.
    #[serde(default, deserialize_with = "given")]
    pub(crate) otel_file: Option<String>,
}

/// The `address` in `private_socket.py`.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Socket {
    #[cfg(unix)]
    Unix { path: PathBuf },
    Port {
        port: u16,
        #[serde(deserialize_with = "secret")]
        secret: Secret,
    },
}

#[derive(Clone, Default, PartialEq)]
pub(crate) enum ServerUrl {
    /// The Jupyter server in whose process we live.
    #[default]
    Local,
    Other(String),
}

impl<'de> Deserialize<'de> for ServerUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let url = String::deserialize(deserializer)?;
        let url = url.trim();
        Ok(match url.to_ascii_lowercase().as_str() {
            "" | "local" => Self::Local,
            _ => Self::Other(url.to_owned()),
        })
    }
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    let text = String::deserialize(deserializer)?;
    Secret::new(text).ok_or_else(|| serde::de::Error::custom("the secret is empty"))
}

/// An empty text means that the setting is not given.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

fn network_timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NetworkTimeout, D::Error> {
    NetworkTimeout::from_seconds(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

fn offers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Offer>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| tools::offered(name).map_err(serde::de::Error::custom)).collect()
}

fn asked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Offer>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| tools::asked(name).map_err(serde::de::Error::custom)).collect()
}

/// Raises a `ValueError` for a name in the settings `tools` or `ask` that is neither that of a group of tools nor that of
/// a tool.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python's arguments arrive by value")]
pub(crate) fn check_tools(tools: Vec<String>, ask: Vec<String>) -> PyResult<()> {
    let misspelled =
        |setting: &str, error| PyValueError::new_err(format!("CellbridgeApp.{setting}: {error}"));
    let offered = tools.iter().try_for_each(|name| tools::offered(name).map(drop));
    offered.map_err(|error| misspelled("tools", error))?;
    let asked = ask.iter().try_for_each(|name| tools::asked(name).map(drop));
    asked.map_err(|error| misspelled("ask", error))
}

impl Config {
    /// The address of the Jupyter server in whose process we live.
    pub(crate) fn own_url(&self) -> String {
        let host = match &self.socket {
            #[cfg(unix)]
            Socket::Unix { .. } => "localhost".to_owned(),
            Socket::Port { port, .. } => format!("127.0.0.1:{port}"),
        };
        format!("http://{host}{}", self.base_url)
    }

    pub(crate) fn private_socket(&self) -> PrivateSocket {
        match &self.socket {
            #[cfg(unix)]
            Socket::Unix { path } => PrivateSocket::Unix(path.clone()),
            Socket::Port { secret, .. } => PrivateSocket::Port(secret.clone()),
        }
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy {
            is_read_only: self.read_only,
            tools: self.tools.clone(),
            asked: self.ask.clone(),
            installs_unasked: self.allow_install,
        }
    }

    pub(crate) fn documents(&self) -> (&ServerUrl, Credentials) {
        (&self.document_url, login(self.document_token.as_deref()))
    }

    /// The extensions that the server of the notebooks may have.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let is_local = self.document_url == ServerUrl::Local;
        Capabilities { rooms: !is_local || self.has_rooms, commands: !is_local || self.has_commands }
    }

    /// The server of the kernels, if that is another.
    pub(crate) fn kernels(&self) -> Option<(&ServerUrl, Credentials)> {
        let is_another = self.runtime_url != self.document_url;
        is_another.then(|| (&self.runtime_url, login(self.runtime_token.as_deref())))
    }
}

fn login(token: Option<&str>) -> Credentials {
    token.and_then(Secret::new).map_or(Credentials::None, Credentials::Token)
}
