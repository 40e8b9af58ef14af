//! `cellbridge view`: the live page for the person. One process serves the page of a user, for all folders; it is started on demand.

mod address;
mod server;
mod shown;
pub(crate) mod tabs;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use ::jupyter::{ServerNotebook, Viewer};
use anyhow::{Context as _, bail};
use calls::permissions::Policy;
use colab::{Browser, BrowserCommand};
use colab_machines::Google;
use connection::NetworkTimeout;
use environments::ProcessEnv;
use futures_util::FutureExt as _;
use page::{Hub, Machine, Pages, Rights};
use place::{Error, ErrorKind, Frontend, Future, NotebookPath, Place, Showing};
use tokio::time::{sleep, timeout};
use workspace::{Settings, Workspace};

use self::address::Address;
use self::shown::{Login, Shown};
use crate::args::{Every, View};
use crate::endpoint::HttpEndpoint;
use crate::process::{NO_STATE, browser, desktop, problem, process_env, secret_variables};
use terminal::{note, say};

/// How long the process that serves the page may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);
const START_PAUSE: Duration = Duration::from_millis(20);
/// How long a browser may take to read the file that leads it to the page. Without a browser, nothing is waited for.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(15);

pub(crate) async fn run(options: View) -> anyhow::Result<()> {
    let process_env = process_env();
    if options.serve {
        return server::run(&process_env, None).await;
    }
    let shown = Shown::of(&options).await?;
    if options.foreground || cfg!(not(unix)) {
        return server::run(&process_env, Some((&shown, browser(options.no_browser)))).await;
    }
    let url = published(&process_env, &shown).await?;
    present(&url, &browser(options.no_browser), &process_env, shown.folder()).await
}

/// Prints the address of the page and opens it. Returns once the browser has had time to read it.
async fn present(url: &str, browser: &Browser, process_env: &ProcessEnv, root: &Path) -> anyhow::Result<()> {
    say(url)?;
    match open(browser, url, process_env, root).await {
        Ok(Some(opened)) => {
            sleep(BROWSER_TIMEOUT).await;
            drop(opened);
        }
        Ok(None) => {}
        Err(problem) => note(&format!("cellbridge: {problem} Open the address above.")),
    }
    Ok(())
}

/// The address of what is shown, on the page that a process serves.
async fn published(process_env: &ProcessEnv, shown: &Shown) -> anyhow::Result<String> {
    let address = running(process_env).await?;
    if let Some(login) = &shown.login {
        add(&address, login).await?;
    }
    Ok(shown.url(&address))
}

/// Lets the process that serves the page show a server.
async fn add(address: &Address, login: &Login) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(START_TIMEOUT).build()?;
    let url = format!("http://127.0.0.1:{}{}/places", address.port, page::PATH);
    let request = client.post(url).bearer_auth(address.token.expose());
    let request = request.header("Content-Type", "application/json").body(serde_json::to_vec(login)?);
    let answer = request.send().await.context("the process that serves the page does not answer")?;
    if !answer.status().is_success() {
        bail!(
            "the process that serves the page refused the server: {}",
            answer.text().await.unwrap_or_default()
        );
    }
    Ok(())
}

/// The address of the page. Starts the process that serves it if there is none.
async fn running(process_env: &ProcessEnv) -> anyhow::Result<Address> {
    let state = address::folder(process_env.own_state_dir()).context(NO_STATE)?;
    if let Some(address) = address::read(&state) {
        return Ok(address);
    }
    let program = std::env::current_exe().context("this executable cannot be located")?;
    let mut command = std::process::Command::new(program);
    command.args(["view", "--serve"]);
    // The folder may be removed while the page is open.
    command.current_dir(state.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")));
    // It outlives this command, and gets what it needs in requests.
    for name in secret_variables() {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().context("the process that serves the page cannot be started")?;
    let listening = async {
        loop {
            if let Some(address) = address::read(&state) {
                return Ok(address);
            }
            // If it has ended because another one serves the page, that listens soon.
            if let Ok(Some(status)) = child.try_wait()
                && !status.success()
            {
                bail!("the process that serves the page has ended ({status}); --foreground shows why");
            }
            sleep(START_PAUSE).await;
        }
    };
    timeout(START_TIMEOUT, listening).await.context("the process that serves the page does not listen")?
}

/// Shows a notebook of this machine on the page, beside what a command does. A failure ends nothing.
pub(crate) async fn show(path: &Path) {
    let showing = async {
        let shown = Shown::file(path)?;
        let frontend = PageFrontend {
            root: shown.root.clone().into(),
            process_env: process_env(),
            browser: browser(false),
            ca_file: None,
            network_timeout: NetworkTimeout::default(),
            google: Google::default(),
        };
        frontend.show(shown).await.map(drop).map_err(anyhow::Error::from)
    };
    if let Err(error) = showing.await {
        note(&format!("cellbridge: {}", problem(&error)));
    }
}

/// Opens the page in a browser, which reads its address from a file that only this user can read, until the result is dropped.
async fn open(
    browser: &Browser,
    url: &str,
    process_env: &ProcessEnv,
    root: &Path,
) -> Result<Option<BrowserCommand>, String> {
    let mut opened = browser.open(url, &desktop(process_env, root)).await?;
    if let Some(command) = &mut opened
        && let Some(problem) = command.failure().await
    {
        return Err(problem);
    }
    Ok(opened)
}

/// What the pages of a server over HTTP share, which may do what its operator offers.
///
/// The page does what a person does, without asking. Here agents have the token, too, and without one every user of this machine
/// could use it.
pub(crate) fn hub_behind(
    endpoint: Option<&HttpEndpoint>,
    workspace: &Arc<Workspace>,
    machine: Arc<dyn Machine>,
    policy: &Policy,
) -> Option<Arc<Hub>> {
    if endpoint.is_none_or(|endpoint| endpoint.token.is_none()) || !policy.asked.is_empty() {
        return None;
    }
    Some(Hub::new(workspace.clone(), machine, Rights::offered(policy, |_| true), Arc::default()))
}

/// The hub of the person's pages of a place. They may do everything there.
fn hub(
    place: Arc<dyn Place>,
    history: Option<PathBuf>,
    machine: Arc<dyn Machine>,
    sees_elsewhere: bool,
    pages: Arc<Pages>,
) -> Arc<Hub> {
    let workspace = Workspace::new(place, Settings { asks_for_changes: false, ..Settings::default() });
    if let Some(history) = history {
        workspace.record_history(history);
    }
    Hub::new(workspace, machine, Rights { edits: true, runs: true, sees_elsewhere }, pages)
}

/// Shows notebooks in the person's browser: those of a folder on the page, those of servers in `JupyterLab` or on the page.
pub(crate) struct PageFrontend {
    root: PathBuf,
    process_env: ProcessEnv,
    browser: Browser,
    /// How servers are reached.
    ca_file: Option<PathBuf>,
    network_timeout: NetworkTimeout,
    google: Google,
}

impl PageFrontend {
    /// `None` if no browser may be opened.
    pub(crate) fn of(root: &Path, process_env: &ProcessEnv, options: &Every) -> Option<Arc<Self>> {
        let browser = browser(options.no_browser);
        // A process of its own needs a session of its own.
        if browser == Browser::Never || cfg!(not(unix)) {
            return None;
        }
        let ca_file = options.folder.server.ca_file.clone();
        let network_timeout = options.network.network_timeout;
        let (root, process_env) = (root.to_path_buf(), process_env.clone());
        let google = options.google.addresses();
        Some(Arc::new(Self { root, process_env, browser, ca_file, network_timeout, google }))
    }

    async fn show(&self, shown: Shown) -> Result<Showing, Error> {
        let url = published(&self.process_env, &shown).await;
        self.open_url(&url.map_err(|error| not_opened(&format!("{}.", problem(&error))))?).await
    }

    async fn open_url(&self, url: &str) -> Result<Showing, Error> {
        let address = without_token(url);
        let failed = |problem: String| not_opened(&format!("{problem} Its address: {address}"));
        if let Some(opened) = open(&self.browser, url, &self.process_env, &self.root).await.map_err(failed)? {
            // Ends with what the browser reads.
            place::spawn(async move {
                sleep(BROWSER_TIMEOUT).await;
                drop(opened);
            });
        }
        Ok(Showing::Started(address))
    }
}

fn not_opened(cause: &str) -> Error {
    let next = "Ask the person to run `cellbridge view` in the folder, or with the address of the server.";
    Error::new(ErrorKind::Unavailable, format!("The page was not opened: {cause}"), next)
}

/// An address that an agent may read: with its token, the agent could act as the person.
fn without_token(url: &str) -> String {
    let parts = url.split_inclusive(['?', '#', '&']).filter(|part| !part.starts_with("token="));
    parts.collect::<String>().trim_end_matches(['?', '#', '&']).to_owned()
}

impl Frontend for PageFrontend {
    fn open(&self, path: &NotebookPath) -> Future<'_, Showing> {
        let notebook = path.strip_prefix("local:").unwrap_or(path).to_owned();
        let root = self.root.display().to_string();
        self.show(Shown { root, notebook: Some(notebook), login: None }).boxed()
    }
}

impl Viewer for PageFrontend {
    fn show(&self, notebook: ServerNotebook) -> Future<'_, Showing> {
        async move {
            let ServerNotebook { base, token, path, lab, machine } = notebook;
            if let Some(machine) = machine {
                let login = Login::to_machine(&machine, self.network_timeout, &self.google);
                return Self::show(self, Shown { root: machine, notebook: Some(path), login: Some(login) })
                    .await;
            }
            if let Some(lab) = lab {
                // The person may not be logged in. The browser reads this from a file that only they can read.
                let login = token.map(|token| {
                    let mut query = form_urlencoded::Serializer::for_suffix("?".to_owned(), 1);
                    query.append_pair("token", token.expose()).finish()
                });
                return self.open_url(&format!("{lab}{}", login.unwrap_or_default())).await;
            }
            let login = Login::by_token(&base, token.as_ref(), self.ca_file.clone(), self.network_timeout);
            Self::show(self, Shown { root: base, notebook: Some(path), login: Some(login) }).await
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::without_token;

    #[test]
    fn an_address_for_an_agent_has_no_token() {
        for (url, expected) in [
            (
                "http://127.0.0.1:1/view#token=hush&root=%2Fa&notebook=b.ipynb",
                "http://127.0.0.1:1/view#root=%2Fa&notebook=b.ipynb",
            ),
            ("http://h/lab/tree/b.ipynb?token=hush", "http://h/lab/tree/b.ipynb"),
            ("http://h/lab/tree/b.ipynb", "http://h/lab/tree/b.ipynb"),
        ] {
            assert_eq!(without_token(url), expected);
        }
    }
}
