//! Which Jupyter servers the options and the environment name, and how they are reached.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::jupyter::{Capabilities, Jupyter, Settings, Source};
use anyhow::Context as _;
use connection::NetworkTimeout;
use rest::discovery::{self, Discovery};
use rest::{Address, Credentials, Options, Proxies, Secret};

use crate::args::{JupyterServer, Servers, Start, either, given};

/// The server of the notebooks, and that of the kernels if it is another.
pub(crate) fn sources(options: &Start) -> anyhow::Result<(Source, Option<Source>)> {
    let password = |option: &Option<String>| given(option.as_deref()).map(str::to_owned);
    let common = Login { password: password(&options.jupyter_password), ..Login::common(&options.servers) };
    let documents =
        Login { password: password(&options.document_password), ..Login::documents(&options.servers) };
    let kernels =
        Login { password: password(&options.code_sandbox_password), ..Login::kernels(&options.servers) };
    if let Some(named) = pair(&common, documents, kernels)? {
        return Ok(named);
    }
    Ok((running()?, None))
}

/// A server that is running on this machine.
fn running() -> anyhow::Result<Source> {
    // Without a working directory, no server is closer than others.
    let discovery = discovery_near(&std::env::current_dir().unwrap_or_default());
    discovery.map(Source::Discover).context(
        "there is no home folder to search for a running Jupyter server; name a server with --jupyter-url",
    )
}

/// The place of the server that a command names, or of a running one.
pub(crate) fn place_of(server: &JupyterServer, timeout: NetworkTimeout) -> anyhow::Result<Arc<Jupyter>> {
    let source = source_beside(server)?.map_or_else(running, Ok)?;
    // Kernels end with the command, so that no later server looks for its runs.
    Ok(jupyter_place(source, &reach(server.ca_file.clone(), timeout), None))
}

/// The server that is given beside other places, if any.
pub(crate) fn source_beside(server: &JupyterServer) -> anyhow::Result<Option<Source>> {
    let login = Login {
        password: given(server.jupyter_password.as_deref()).map(str::to_owned),
        ..Login::new(given(server.jupyter_url.as_deref()), given(server.jupyter_token.as_deref()))
    };
    login.url.is_some().then(|| login.source()).transpose()
}

/// Where running servers are looked for, those closest to `folder` first; `None` without a home folder.
pub(crate) fn discovery_near(folder: &Path) -> Option<Discovery> {
    let home = std::env::home_dir();
    let runtime = discovery::runtime_dir(|name| std::env::var_os(name), home.as_deref())?;
    Some(Discovery { runtime, working_directory: folder.to_path_buf() })
}

/// The same, from what is given for each; `None` if there is no address.
fn pair(
    common: &Login,
    documents: Login,
    kernels: Login,
) -> anyhow::Result<Option<(Source, Option<Source>)>> {
    let [documents, kernels] = [documents, kernels].map(|login| login.or(common));
    Ok(match (documents.url.is_some(), kernels.url.is_some()) {
        (true, true) if !documents.is_at(&kernels) => Some((documents.source()?, Some(kernels.source()?))),
        (true, _) => Some((documents.with_login_of(kernels).source()?, None)),
        (false, true) => Some((kernels.with_login_of(documents).source()?, None)),
        (false, false) => None,
    })
}

/// The servers of the notebooks and of the kernels, each with what is given for both.
pub(crate) fn addresses(servers: &Servers) -> [Login; 2] {
    let common = Login::common(servers);
    [Login::documents(servers), Login::kernels(servers)].map(|login| login.or(&common))
}

/// What is given for one server.
pub(crate) struct Login {
    pub(crate) url: Option<String>,
    pub(crate) token: Option<String>,
    password: Option<String>,
}

impl Login {
    fn common(servers: &Servers) -> Self {
        Self::new(given(servers.jupyter_url.as_deref()), given(servers.jupyter_token.as_deref()))
    }

    fn documents(servers: &Servers) -> Self {
        Self::new(given(servers.document_url.as_deref()), given(servers.document_token.as_deref()))
    }

    /// Older configurations name these variables after the runtime.
    fn kernels(servers: &Servers) -> Self {
        let url = either(servers.code_sandbox_url.as_deref(), "RUNTIME_URL");
        let token = either(servers.code_sandbox_token.as_deref(), "RUNTIME_TOKEN");
        Self::new(url.as_deref(), token.as_deref())
    }

    fn new(url: Option<&str>, token: Option<&str>) -> Self {
        Self { url: url.map(str::to_owned), token: token.map(str::to_owned), password: None }
    }

    /// Takes from `common` what is missing. Its secrets belong to its address, and go nowhere else.
    fn or(self, common: &Self) -> Self {
        let url = self.url.or_else(|| common.url.clone());
        let is_alike = match (&url, &common.url) {
            (Some(url), Some(common)) => same_server(url, common),
            _ => true,
        };
        if !is_alike || self.token.is_some() || self.password.is_some() {
            return Self { url, ..self };
        }
        Self { url, token: common.token.clone(), password: common.password.clone() }
    }

    fn is_at(&self, other: &Self) -> bool {
        matches!((&self.url, &other.url), (Some(one), Some(other)) if same_server(one, other))
    }

    /// Takes the secrets given for the same server elsewhere, if it has none.
    fn with_login_of(self, other: Self) -> Self {
        if self.token.is_some() || self.password.is_some() || (other.url.is_some() && !self.is_at(&other)) {
            return self;
        }
        Self { url: self.url, token: other.token, password: other.password }
    }

    fn source(self) -> anyhow::Result<Source> {
        Ok(given_source(self.url.context("no address")?, self.password, self.token))
    }
}

/// A password wins over a token, as with the original.
pub(crate) fn given_source(url: String, password: Option<String>, token: Option<String>) -> Source {
    let credentials = match (password.and_then(Secret::new), token.and_then(Secret::new)) {
        (Some(password), _) => Credentials::Password(password),
        (None, Some(token)) => Credentials::Token(token),
        (None, None) => Credentials::None,
    };
    Source::Given { url, credentials }
}

fn same_server(one: &str, other: &str) -> bool {
    match (Address::parse(one), Address::parse(other)) {
        (Ok(one), Ok(other)) => one.base == other.base,
        _ => one == other,
    }
}

pub(crate) fn secrets_of(source: &Source) -> Vec<Secret> {
    let Source::Given { url, credentials } = source else { return Vec::new() };
    let in_address = Address::parse(url).ok().and_then(|address| address.token);
    let given = match credentials {
        Credentials::Token(secret) | Credentials::Password(secret) => Some(secret.clone()),
        Credentials::None | Credentials::Forwarded(_) | Credentials::Issued(_) => None,
    };
    in_address.into_iter().chain(given).collect()
}

/// How servers are reached: certificates in addition to the system's, the environment's proxies, and the timeout.
pub(crate) fn reach(ca_file: Option<PathBuf>, network_timeout: NetworkTimeout) -> Options {
    let agent = concat!("cellbridge/", env!("CARGO_PKG_VERSION")).to_owned();
    Options { ca_file, proxies: proxies(), agent, private_socket: None, network_timeout }
}

/// The proxies that the environment names, in upper or lower case. In a CGI script, `HTTP_PROXY` may come from a header
/// of the request, so it is ignored (<https://httpoxy.org>).
fn proxies() -> Proxies {
    let variable = |name: &str| {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        read(&name.to_ascii_lowercase()).or_else(|| read(name))
    };
    let is_script = std::env::var_os("REQUEST_METHOD").is_some();
    Proxies {
        http: if is_script { None } else { variable("HTTP_PROXY") },
        https: variable("HTTPS_PROXY"),
        all: variable("ALL_PROXY"),
        no_proxy: variable("NO_PROXY"),
    }
}

/// The place of a given server, whose paths need no prefix. Contacts nothing yet.
pub(crate) fn jupyter_place(documents: Source, reach: &Options, run_logs: Option<PathBuf>) -> Arc<Jupyter> {
    Jupyter::new(settings(documents, reach, run_logs))
}

pub(crate) fn settings(documents: Source, reach: &Options, run_logs: Option<PathBuf>) -> Settings {
    Settings {
        documents,
        kernels: None,
        reconnect: None,
        options: reach.clone(),
        prefix: String::new(),
        notebook: None,
        kernel: None,
        in_process: None,
        run_logs,
        capabilities: Capabilities::default(),
        machine: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(url: Option<&str>, token: Option<&str>, password: Option<&str>) -> Login {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Login { url: own(url), token: own(token), password: own(password) }
    }

    /// Where notebooks and kernels are, and what each is shown.
    fn shown(common: &Login, documents: Login, kernels: Login) -> Vec<(String, String)> {
        let (documents, kernels) = pair(common, documents, kernels).unwrap().unwrap();
        let sources = std::iter::once(documents).chain(kernels);
        let show = |source| match source {
            Source::Given { url, credentials: Credentials::Token(token) } => (url, token.expose().to_owned()),
            Source::Given { url, credentials: Credentials::Password(word) } => {
                (url, format!("password {}", word.expose()))
            }
            Source::Given { url, credentials: Credentials::None } => (url, String::new()),
            other => panic!("unexpected: {other:?}"),
        };
        sources.map(show).collect()
    }

    fn is(url: &str, shown: &str) -> (String, String) {
        (url.to_owned(), shown.to_owned())
    }

    #[test]
    fn one_server_is_named_in_any_of_three_ways() {
        let none = || login(None, None, None);
        let named = || login(Some("http://a:1"), Some("t"), None);
        assert_eq!(shown(&named(), none(), none()), [is("http://a:1", "t")]);
        assert_eq!(shown(&none(), named(), none()), [is("http://a:1", "t")]);
        assert_eq!(shown(&none(), none(), named()), [is("http://a:1", "t")]);
        let both = login(Some("http://a:1/"), None, None);
        assert_eq!(shown(&none(), named(), both), [is("http://a:1", "t")]);
    }

    #[test]
    fn a_token_goes_only_to_the_server_that_it_was_given_for() {
        let common = || login(Some("http://a:1"), Some("of a"), None);
        let elsewhere = || login(Some("http://b:2"), None, None);
        let none = || login(None, None, None);
        assert_eq!(shown(&common(), elsewhere(), none()), [is("http://b:2", ""), is("http://a:1", "of a")]);
        assert_eq!(shown(&common(), none(), elsewhere()), [is("http://a:1", "of a"), is("http://b:2", "")]);
        // A token without an address is for whatever is named.
        let for_all = login(None, Some("t"), None);
        let a = login(Some("http://a:1"), None, None);
        assert_eq!(shown(&for_all, a, elsewhere()), [is("http://a:1", "t"), is("http://b:2", "t")]);
    }

    #[test]
    fn a_server_beside_other_places_needs_an_address() {
        let server = |url: Option<&str>| JupyterServer {
            jupyter_url: url.map(str::to_owned),
            jupyter_token: Some("t".to_owned()),
            jupyter_password: None,
            ca_file: None,
        };
        // Clients write "none" for what they leave out. A token alone goes nowhere.
        for left_out in [None, Some(""), Some("none")] {
            assert!(source_beside(&server(left_out)).unwrap().is_none(), "{left_out:?}");
        }
        let source = source_beside(&server(Some("http://a:1/?token=u"))).unwrap().unwrap();
        let secrets: Vec<_> = secrets_of(&source).iter().map(|it| it.expose().to_owned()).collect();
        assert_eq!(secrets, ["u", "t"]);
    }

    #[test]
    fn a_password_wins_over_a_token() {
        let named = login(Some("http://a:1"), Some("t"), Some("p"));
        let none = || login(None, None, None);
        assert_eq!(shown(&named, none(), none()), [is("http://a:1", "password p")]);
    }
}
