//! What the person who runs the Jupyter server has set, as the extension writes it down.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jupyter::Capabilities;
use rest::{Credentials, Secret};
use serde::{Deserialize, Deserializer};

/// The extension's traits.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Where the Jupyter server that we live in is served to us.
    pub(crate) socket: PathBuf,
    pub(crate) base_url: String,
    /// Whether it has rooms in which notebooks are edited together.
    has_rooms: bool,
    /// Whether it passes commands to `JupyterLab`.
    has_commands: bool,
    #[serde(default)]
    document_url: Whereabouts,
    #[serde(default, deserialize_with = "given")]
    document_token: Option<String>,
    #[serde(default)]
    runtime_url: Whereabouts,
    #[serde(default, deserialize_with = "given")]
    runtime_token: Option<String>,
    /// The notebook to begin with.
    #[serde(default, deserialize_with = "given")]
    pub(crate) document_id: Option<String>,
    /// The kernel that the first notebook is to run on.
    #[serde(default, deserialize_with = "given")]
    pub(crate) runtime_id: Option<String>,
    pub(crate) max_characters: usize,
    pub(crate) max_images: usize,
    #[serde(deserialize_with = "seconds")]
    pub(crate) execution_timeout: Duration,
    #[serde(deserialize_with = "seconds")]
    pub(crate) max_execution_timeout: Duration,
    pub(crate) max_notebooks: usize,
    pub(crate) max_runs: usize,
    pub(crate) read_only: bool,
    pub(crate) allowed_tools: BTreeSet<String>,
    /// Where spans are written.
    #[serde(default, deserialize_with = "given")]
    pub(crate) otel_file: Option<String>,
}

/// Which server.
#[derive(Clone, Default, PartialEq)]
pub(crate) enum Whereabouts {
    /// The one that we live in.
    #[default]
    Here,
    Elsewhere(String),
}

impl<'de> Deserialize<'de> for Whereabouts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let url = String::deserialize(deserializer)?;
        let url = url.trim();
        Ok(match url.to_ascii_lowercase().as_str() {
            "" | "local" => Self::Here,
            _ => Self::Elsewhere(url.to_owned()),
        })
    }
}

/// Configurations that must say something say nothing with an empty text.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

impl Config {
    pub(crate) fn documents(&self) -> (&Whereabouts, Credentials) {
        (&self.document_url, login(self.document_token.as_deref()))
    }

    /// The extensions that the server of the notebooks may have.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let is_here = self.document_url == Whereabouts::Here;
        Capabilities { rooms: !is_here || self.has_rooms, commands: !is_here || self.has_commands }
    }

    /// The server of the kernels, if that is another.
    pub(crate) fn kernels(&self) -> Option<(&Whereabouts, Credentials)> {
        let is_another = self.runtime_url != self.document_url;
        is_another.then(|| (&self.runtime_url, login(self.runtime_token.as_deref())))
    }
}

fn login(token: Option<&str>) -> Credentials {
    token.and_then(Secret::new).map_or(Credentials::None, Credentials::Token)
}
