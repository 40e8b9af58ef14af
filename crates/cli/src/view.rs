//! `cellbridge view`: the live page for the person. One process serves the page of a user, for all folders; it is started on demand.

mod address;
#[cfg_attr(not(unix), path = "view/elsewhere.rs")]
mod machine;
mod server;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use calls::permissions::{Group, Permission, Policy};
use colab::{Browser, BrowserCommand};
use environments::ProcessEnv;
use futures_util::FutureExt as _;
use page::{Hub, Rights};
use place::{Error, ErrorKind, Frontend, Future, NotebookPath};
use tokio::time::{sleep, timeout};
use workspace::Workspace;

use self::address::Address;
use self::machine::FolderMachine;
use crate::args::View;
use crate::terminal::{note, say};
use crate::{person, serve};

/// How long the process that serves the page may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);
const START_PAUSE: Duration = Duration::from_millis(20);
/// How long a browser may take to read the file that leads it to the page. Without a browser, nothing is waited for.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(15);

pub(crate) async fn run(options: View) -> anyhow::Result<()> {
    let process_env = person::process_env();
    if options.serve {
        return server::run(&process_env, None).await;
    }
    let shown = Shown::of(options.path.as_deref())?;
    if options.foreground || cfg!(not(unix)) {
        return server::run(&process_env, Some((&shown, serve::browser(options.no_browser)))).await;
    }
    let address = running(&process_env).await?;
    let url = shown.url(&address);
    say(&url)?;
    match open(&serve::browser(options.no_browser), &url, &process_env, &shown.root).await {
        Ok(Some(opened)) => {
            sleep(BROWSER_TIMEOUT).await;
            drop(opened);
        }
        Ok(None) => {}
        Err(problem) => note(&format!("cellbridge: {problem} Open the address above.")),
    }
    Ok(())
}

/// What the page shows.
struct Shown {
    root: PathBuf,
    /// The path of a notebook below it.
    notebook: Option<String>,
}

impl Shown {
    fn of(path: Option<&Path>) -> anyhow::Result<Self> {
        let path = path.unwrap_or_else(|| Path::new("."));
        let found = dunce::canonicalize(path).with_context(|| path.display().to_string())?;
        if found.is_dir() {
            return Ok(Self { root: found, notebook: None });
        }
        let (root, name) = found.parent().zip(found.file_name()).context("the path has no folder")?;
        let name = name.to_str().context("the name of the notebook is not UTF-8")?;
        Ok(Self { root: root.to_path_buf(), notebook: Some(name.to_owned()) })
    }

    /// The address of the page. Browsers never send what is behind the `#`.
    fn url(&self, address: &Address) -> String {
        let mut fragment = form_urlencoded::Serializer::new(String::new());
        fragment.append_pair("token", address.token.expose());
        fragment.append_pair("root", &self.root.display().to_string());
        if let Some(notebook) = &self.notebook {
            fragment.append_pair("notebook", notebook);
        }
        format!("http://127.0.0.1:{}{}#{}", address.port, page::PATH, fragment.finish())
    }
}

/// The address of the page. Starts the process that serves it if there is none.
async fn running(process_env: &ProcessEnv) -> anyhow::Result<Address> {
    let state = address::folder(process_env.own_state_dir())
        .context("there is no folder for the state of this program: HOME is not set")?;
    if let Some(address) = address::read(&state) {
        return Ok(address);
    }
    let program = std::env::current_exe().context("this executable cannot be located")?;
    let mut command = std::process::Command::new(program);
    command.args(["view", "--serve"]);
    // The folder may be removed while the page is open.
    command.current_dir(state.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")));
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
        let shown = Shown::of(Some(path))?;
        let frontend = PageFrontend {
            root: shown.root,
            process_env: person::process_env(),
            browser: serve::browser(false),
        };
        frontend
            .show(&NotebookPath::from(shown.notebook.unwrap_or_default()))
            .await
            .map_err(anyhow::Error::from)
    };
    if let Err(error) = showing.await {
        note(&format!("cellbridge: {error:#}"));
    }
}

/// Opens the page in a browser, which reads its address from a file that only this user can read, until the result is dropped.
async fn open(
    browser: &Browser,
    url: &str,
    process_env: &ProcessEnv,
    root: &Path,
) -> Result<Option<BrowserCommand>, String> {
    browser.open(url, &serve::desktop(process_env, root)).await
}

/// What the pages of a server share, which may do what its operator offers.
pub(crate) fn hub_of(
    workspace: Arc<Workspace>,
    root: &Path,
    process_env: &ProcessEnv,
    policy: &Policy,
) -> Arc<Hub> {
    let rights = Rights {
        edits: policy.offers("", &[Group::Edit], Permission::Write),
        runs: policy.offers("", &[Group::Run], Permission::Execute),
    };
    let machine = Arc::new(FolderMachine::new(root, process_env));
    Hub::new(workspace, machine, rights, Arc::default())
}

/// Shows notebooks of a folder on the page.
pub(crate) struct PageFrontend {
    root: PathBuf,
    process_env: ProcessEnv,
    browser: Browser,
}

impl PageFrontend {
    /// `None` if no browser may be opened.
    pub(crate) fn of(root: &Path, process_env: &ProcessEnv, browser: Browser) -> Option<Arc<dyn Frontend>> {
        // A process of its own needs a session of its own.
        if browser == Browser::Never || cfg!(not(unix)) {
            return None;
        }
        let (root, process_env) = (root.to_path_buf(), process_env.clone());
        Some(Arc::new(Self { root, process_env, browser }))
    }

    async fn show(&self, path: &NotebookPath) -> Result<(), Error> {
        let failed = |cause: String| {
            let next = "Ask the person to run `cellbridge view` in the folder.";
            Error::new(ErrorKind::Unavailable, format!("The page was not opened: {cause}."), next)
        };
        let address = running(&self.process_env).await.map_err(|error| failed(format!("{error:#}")))?;
        let notebook = path.strip_prefix("local:").unwrap_or(path).to_owned();
        let shown = Shown { root: self.root.clone(), notebook: Some(notebook) };
        let url = shown.url(&address);
        let opening = open(&self.browser, &url, &self.process_env, &self.root);
        let problem = |problem: String| failed(problem.trim_end_matches('.').to_owned());
        if let Some(opened) = opening.await.map_err(problem)? {
            // Ends with what the browser reads.
            tokio::spawn(async move {
                sleep(BROWSER_TIMEOUT).await;
                drop(opened);
            });
        }
        Ok(())
    }
}

impl Frontend for PageFrontend {
    fn open(&self, path: &NotebookPath) -> Future<'_, ()> {
        let path = path.clone();
        async move { self.show(&path).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use rest::Secret;

    use super::*;

    #[test]
    fn a_path_is_a_folder_or_a_notebook_in_one() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let file = root.join("a b.ipynb");
        std::fs::write(&file, "").unwrap();
        let shown = |path: &Path| Shown::of(Some(path)).map(|shown| (shown.root, shown.notebook)).unwrap();
        assert_eq!(shown(&root), (root.clone(), None));
        assert_eq!(shown(&file), (root.clone(), Some("a b.ipynb".to_owned())));
        assert!(Shown::of(Some(&root.join("absent"))).is_err());
    }

    #[test]
    fn what_a_server_must_not_log_is_behind_the_hash() {
        let shown = Shown { root: "/r".into(), notebook: Some("a&b c.ipynb".to_owned()) };
        let url = shown.url(&Address { port: 80, token: Secret::new("t").unwrap() });
        assert_eq!(url, "http://127.0.0.1:80/view#token=t&root=%2Fr&notebook=a%26b+c.ipynb");
    }
}
