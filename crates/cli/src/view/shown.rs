//! What the page shows: a folder or a Jupyter server, and a notebook in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use colab_machines::Google;
use connection::NetworkTimeout;
use place::{Machines as _, Place};
use rest::{Address, Secret};
use serde::{Deserialize, Serialize};

use super::address;
use crate::args::{self, JupyterServer, View};
use crate::jupyter::sources::{given_source, jupyter_place, place_of, reach};
use crate::process::{NO_STATE, process_env};
use crate::serve::machines;

/// Begins the path of a notebook on a server, or is the whole path of one that is running on this machine.
const SERVER: &str = "jupyter:";
/// Begins the path of a notebook on a Colab machine.
const MACHINE: &str = "colab-vm:";

/// What the page shows.
pub(super) struct Shown {
    /// A folder, or the address of a server.
    pub(super) root: String,
    /// The path of a notebook below it.
    pub(super) notebook: Option<String>,
    /// Of a server.
    pub(super) login: Option<Login>,
}

/// How the process that serves the page reaches a server.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) url: String,
    token: Option<String>,
    password: Option<String>,
    ca_file: Option<PathBuf>,
    network_timeout: f64,
    /// How the paths begin of the machine that the server is on. The login to the account of the machines is used then.
    #[serde(default)]
    pub(super) machine: Option<String>,
    /// For tests: what stands in for Google.
    #[serde(default)]
    google: Option<String>,
}

impl Shown {
    /// What the command's options name. Asks a server whether it answers.
    pub(super) async fn of(options: &View) -> anyhow::Result<Self> {
        let path = options.path.as_deref();
        let text = path.and_then(Path::to_str).unwrap_or_default();
        if text.starts_with(MACHINE) {
            return Self::on_machine(text, options).await;
        }
        let is_address = text.starts_with("http://") || text.starts_with("https://");
        let is_named = path.is_none() && options.places.server.jupyter_url.is_some();
        if is_address || is_named || text.starts_with(SERVER) {
            return Self::on_server(text, is_address, options).await;
        }
        Self::file(path.unwrap_or_else(|| Path::new(".")))
    }

    /// A folder, or a notebook in one.
    pub(super) fn file(path: &Path) -> anyhow::Result<Self> {
        let found = dunce::canonicalize(path).with_context(|| path.display().to_string())?;
        if found.is_dir() {
            return Ok(Self { root: found.display().to_string(), notebook: None, login: None });
        }
        let (root, name) = found.parent().zip(found.file_name()).context("the path has no folder")?;
        let name = name.to_str().context("the name of the notebook is not UTF-8")?;
        Ok(Self { root: root.display().to_string(), notebook: Some(name.to_owned()), login: None })
    }

    async fn on_server(text: &str, is_address: bool, options: &View) -> anyhow::Result<Self> {
        let given = &options.places.server;
        let url = given.jupyter_url.clone().or_else(|| is_address.then(|| text.to_owned()));
        let server = JupyterServer { jupyter_url: url, ..given.clone() };
        let timeout = options.places.network.network_timeout;
        let place = place_of(&server, timeout)?;
        place.status().await?;
        let (base, token) = place.address().context("the address of the server is not known")?;
        // The address of JupyterLab with a notebook, or ours of that notebook.
        let pasted = Address::parse(text).ok().filter(|_| is_address).and_then(|address| address.notebook);
        let named = text.strip_prefix(SERVER).or_else(|| place.strip_name(text)).unwrap_or_default();
        let named = Some(named.trim_start_matches('/').to_owned()).filter(|path| !path.is_empty());
        let of_server = place.first_notebook().map(|path| path.to_string());
        let notebook = pasted.or(named).or(of_server);
        let [url, password] =
            [&server.jupyter_url, &server.jupyter_password].map(|it| args::given(it.as_deref()));
        let password = url.and(password).map(str::to_owned);
        let login = Login { password, ..Login::by_token(&base, token.as_ref(), server.ca_file, timeout) };
        Ok(Self { root: base, notebook, login: Some(login) })
    }

    /// `colab-vm:ID/a.ipynb`; without an id, the machine that runs.
    async fn on_machine(text: &str, options: &View) -> anyhow::Result<Self> {
        let google = options.google.addresses();
        let places = machines(google.clone(), &process_env(), &reach(None, NetworkTimeout::default()), None);
        let places = places.context(NO_STATE)?.places().await?;
        let named = places.iter().find_map(|place| Some((place, place.strip_name(text)?)));
        let (place, rest) = match (named, places.as_slice()) {
            (Some(named), _) => named,
            (None, [only]) => (only, text.trim_start_matches(MACHINE)),
            (None, []) => bail!("no Colab machine runs"),
            (None, several) => {
                let names: Vec<_> = several.iter().map(|place| place.prefix()).collect();
                bail!("name one of the Colab machines that run: {}", names.join(", "));
            }
        };
        let prefix = place.prefix();
        let notebook = (!rest.is_empty()).then(|| format!("{prefix}{rest}"));
        let timeout = options.places.network.network_timeout;
        let login = Login::to_machine(prefix, timeout, &google);
        Ok(Self { root: prefix.to_owned(), notebook, login: Some(login) })
    }

    /// A folder of this machine, which browsers must not be searched in.
    pub(super) fn folder(&self) -> &Path {
        Path::new(if self.login.is_some() { "." } else { &self.root })
    }

    /// The address of the page. Browsers never send what is behind the `#`.
    pub(super) fn url(&self, address: &address::Address) -> String {
        let mut fragment = form_urlencoded::Serializer::new(String::new());
        fragment.append_pair("token", address.token.expose());
        fragment.append_pair("root", &self.root);
        if let Some(notebook) = &self.notebook {
            fragment.append_pair("notebook", notebook);
        }
        format!("http://127.0.0.1:{}{}#{}", address.port, page::PATH, fragment.finish())
    }
}

impl Login {
    pub(super) fn by_token(
        base: &str,
        token: Option<&Secret>,
        ca_file: Option<PathBuf>,
        timeout: NetworkTimeout,
    ) -> Self {
        let token = token.map(|token| token.expose().to_owned());
        let network_timeout = timeout.duration().as_secs_f64();
        Self { url: base.to_owned(), token, ca_file, network_timeout, ..Self::default() }
    }

    /// The server on the machine whose paths begin so.
    pub(super) fn to_machine(prefix: &str, timeout: NetworkTimeout, google: &Google) -> Self {
        let (machine, google) = (Some(prefix.to_owned()), google.stand_in());
        Self { machine, google, ..Self::by_token(prefix, None, None, timeout) }
    }

    /// The server as a place. Contacts it only to find a machine.
    pub(super) async fn place(&self) -> anyhow::Result<Arc<dyn Place>> {
        let timeout = NetworkTimeout::from_seconds(self.network_timeout).map_err(anyhow::Error::msg)?;
        let reach = reach(self.ca_file.clone(), timeout);
        if let Some(machine) = &self.machine {
            let google = self.google.as_deref().and_then(Google::on_loopback).unwrap_or_default();
            let places = machines(google, &process_env(), &reach, None).context(NO_STATE)?.places().await?;
            let found = places.into_iter().find(|place| place.prefix() == machine);
            return found.context("the machine does not run any longer");
        }
        // Runs of earlier programs stay with the next one that an agent uses.
        let source = given_source(self.url.clone(), self.password.clone(), self.token.clone());
        Ok(jupyter_place(source, &reach, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_folder_or_a_notebook_in_one() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let file = root.join("a b.ipynb");
        std::fs::write(&file, "").unwrap();
        let shown = |path: &Path| Shown::file(path).map(|shown| (shown.root, shown.notebook)).unwrap();
        let folder = root.display().to_string();
        assert_eq!(shown(&root), (folder.clone(), None));
        assert_eq!(shown(&file), (folder, Some("a b.ipynb".to_owned())));
        assert!(Shown::file(&root.join("absent")).is_err());
    }

    #[test]
    fn what_a_server_must_not_log_is_behind_the_hash() {
        let shown = Shown { root: "/r".into(), notebook: Some("a&b c.ipynb".to_owned()), login: None };
        let url = shown.url(&address::Address { port: 80, token: Secret::new("t").unwrap() });
        assert_eq!(url, "http://127.0.0.1:80/view#token=t&root=%2Fr&notebook=a%26b+c.ipynb");
    }
}
