//! `cellbridge view`: the live page for the person, of a folder.

#[cfg_attr(not(unix), path = "view/elsewhere.rs")]
mod machine;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use calls::permissions::{Group, Permission, Policy};
use environments::ProcessEnv;
use local::Folder;
use mcp::HttpAuth;
use page::{Hub, Rights};
use rest::Secret;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use workspace::{Settings, Workspace};

use self::machine::FolderMachine;
use crate::args::View;
use crate::terminal::{note, say};
use crate::{operations, person, serve};

pub(crate) async fn run(options: View) -> anyhow::Result<()> {
    let Shown { root, notebook } = Shown::of(options.path.as_deref())?;
    let process_env = person::process_env();
    let hub = hub(&root, &process_env);
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port can be opened on loopback")?;
    let token = Secret::generate()?;
    let url = url(listener.local_addr()?.port(), &token, notebook.as_deref());
    say(&url)?;
    let shutdown = person::interruption();
    let opening = open(&options, &url, &process_env, &root, hub.clone(), shutdown.clone());
    let auth = HttpAuth::new(Some(token), [], false);
    let serving = mcp::serve_page(hub.clone(), listener, auth, shutdown.clone());
    tokio::select! {
        _ = async { tokio::join!(opening, serving) } => {}
        () = take_questions(&hub, &process_env) => {}
    }
    Ok(())
}

/// Shows the questions of this user's servers. Never ends: a page without questions is of use, too.
#[cfg_attr(not(unix), expect(unused_variables, reason = "there are no Unix sockets"))]
async fn take_questions(hub: &Hub, process_env: &ProcessEnv) {
    #[cfg(unix)]
    if let Some(state) = process_env.own_state_dir() {
        hub.take_questions(&questions::folder_of_pages(&state), &process_env.temp_dir()).await;
    }
    std::future::pending::<()>().await;
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
}

/// What the pages of a folder share.
fn hub(root: &Path, process_env: &ProcessEnv) -> Arc<Hub> {
    let folder = Folder::new(root.to_path_buf(), process_env.clone(), None);
    let settings = Settings { asks_for_changes: false, ..Settings::default() };
    let workspace = Workspace::new(folder, settings);
    if let Some(history) = operations::folder(process_env) {
        workspace.keep_history(history);
    }
    let machine = Arc::new(FolderMachine::new(root, process_env));
    Hub::new(workspace, machine, Rights { edits: true, runs: true })
}

/// The same for a server of a folder, with what its operator offers.
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
    Hub::new(workspace, Arc::new(FolderMachine::new(root, process_env)), rights)
}

/// The address of the page. Browsers never send what is behind the `#`.
fn url(port: u16, token: &Secret, notebook: Option<&str>) -> String {
    let mut fragment = form_urlencoded::Serializer::new(String::new());
    fragment.append_pair("token", token.expose());
    if let Some(notebook) = notebook {
        fragment.append_pair("notebook", notebook);
    }
    format!("http://127.0.0.1:{port}{}#{}", page::PATH, fragment.finish())
}

/// Opens the page in the browser, and keeps what the browser reads until it has opened the page.
async fn open(
    options: &View,
    url: &str,
    process_env: &ProcessEnv,
    root: &Path,
    hub: Arc<Hub>,
    shutdown: CancellationToken,
) {
    let browser = serve::browser(options.no_browser);
    let opened = match browser.open(url, &serve::desktop(process_env, root)).await {
        Ok(Some(opened)) => opened,
        Ok(None) => return,
        Err(problem) => return note(&format!("cellbridge: {problem} Open the address above.")),
    };
    let mut pages = hub.open_pages();
    tokio::select! {
        _ = pages.wait_for(|open| *open > 0) => {}
        () = shutdown.cancelled() => {}
    }
    drop(opened);
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
        let shown = |path: &Path| Shown::of(Some(path)).map(|shown| (shown.root, shown.notebook)).unwrap();
        assert_eq!(shown(&root), (root.clone(), None));
        assert_eq!(shown(&file), (root.clone(), Some("a b.ipynb".to_owned())));
        assert!(Shown::of(Some(&root.join("absent"))).is_err());
    }

    #[test]
    fn what_a_server_must_not_log_is_behind_the_hash() {
        let url = url(80, &Secret::new("t").unwrap(), Some("a&b c.ipynb"));
        assert_eq!(url, "http://127.0.0.1:80/view#token=t&notebook=a%26b+c.ipynb");
    }
}
