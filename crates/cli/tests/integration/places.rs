//! One server for every place: what paths name, before and after an agent connects to Jupyter servers.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Agent;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::bridge::{PROGRAM, WITHOUT_PYTHON};

const NOTEBOOK: &str = r#"{"metadata":{},"nbformat":4,"nbformat_minor":5,"cells":[
    {"id":"a","cell_type":"code","source":"here","metadata":{},"execution_count":null,"outputs":[]}]}"#;

/// A Jupyter server without files, which is only connected to.
pub(crate) struct Server {
    pub(crate) url: String,
    _task: AbortOnDropHandle<()>,
}

impl Server {
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let task = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let Ok(length) = socket.read(&mut request).await else { continue };
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let (status, body) = match request.split(' ').nth(1).unwrap_or_default() {
                    "/api" => ("200 OK", r#"{"version":"2.0"}"#),
                    "/api/status" => ("200 OK", r#"{"kernels":0}"#),
                    _ => ("404 Not Found", r#"{"message":"not found"}"#),
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        Ok(Self { url, _task: AbortOnDropHandle::new(task) })
    }

    /// Writes the file of a running server with the folder `root`.
    fn register(&self, runtime: &Path, name: &str, root: &Path) -> Result<()> {
        let file = json!({ "url": self.url, "pid": std::process::id(), "token": "hush", "root_dir": root });
        Ok(fs::write(runtime.join(name), file.to_string())?)
    }
}

/// An agent at the unified server, whose folder has the notebook `a.ipynb`.
struct Client {
    agent: Agent,
    folder: TempDir,
    runtime: TempDir,
}

impl Client {
    async fn start() -> Result<Self> {
        Self::start_with(&[]).await
    }

    async fn start_with(variables: &[(&str, &str)]) -> Result<Self> {
        let (folder, runtime) = (tempfile::tempdir()?, tempfile::tempdir()?);
        fs::write(folder.path().join("a.ipynb"), NOTEBOOK)?;
        let (root, runtime_dir) = (folder.path().display().to_string(), runtime.path().display().to_string());
        let own = [&WITHOUT_PYTHON[..], &[("JUPYTER_RUNTIME_DIR", &*runtime_dir)]].concat();
        let arguments = ["--no-browser", "--root", &root];
        let mut agent = Agent::start_with(PROGRAM, &arguments, &[&own, variables].concat())?;
        agent.initialize("2025-11-25").await?;
        Ok(Self { agent, folder, runtime })
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.agent.call_tool_for_text(tool, arguments).await
    }

    async fn refused(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.agent.call_tool_expecting_failure(tool, arguments).await
    }

    async fn read(&mut self, name: &str) -> Result<String> {
        self.call("read_notebook", json!({ "notebook_name": name })).await
    }

    async fn connect(&mut self, url: &str) -> Result<String> {
        self.call("connect_to_jupyter", json!({ "jupyter_url": url })).await
    }
}

#[tokio::test]
async fn with_a_folder_alone_paths_need_no_prefix_and_may_have_one() -> Result<()> {
    let mut client = Client::start().await?;
    for name in ["a.ipynb", "local:a.ipynb", "local:/a.ipynb"] {
        assert!(client.read(name).await?.starts_with("Notebook a.ipynb has 1 cells"), "{name}");
    }
    let created = client.call("use_notebook", json!({ "notebook_path": "local:b.ipynb", "mode": "create" }));
    assert!(created.await?.contains("Created b.ipynb in the folder"));
    let listed = client.call("list_files", json!({ "path": "local:" })).await?;
    assert!(listed.contains("a.ipynb") && !listed.contains("local:"), "{listed}");
    Ok(())
}

#[tokio::test]
async fn without_a_server_the_answer_says_how_to_connect() -> Result<()> {
    let mut client = Client::start().await?;
    for (tool, arguments) in [
        ("read_notebook", json!({ "notebook_name": "jupyter:a.ipynb" })),
        ("use_notebook", json!({ "notebook_path": "jupyter:a.ipynb", "mode": "create" })),
        ("list_files", json!({ "path": "jupyter:" })),
        ("connect_to_jupyter", json!({})),
    ] {
        let refused = client.refused(tool, arguments).await?;
        assert!(
            refused.contains("connect_to_jupyter") && refused.contains("JUPYTER_URL"),
            "{tool}: {refused}"
        );
    }
    assert_eq!(fs::read_dir(client.folder.path())?.count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_down_hinders_neither_the_start_nor_the_folder() -> Result<()> {
    let mut client = Client::start_with(&[("JUPYTER_URL", "http://127.0.0.1:1/")]).await?;
    let listed = client.call("list_notebooks", json!({})).await?;
    assert!(listed.contains("local:a.ipynb"), "{listed}");
    assert!(listed.contains("[WARNING]") && listed.contains("http://127.0.0.1:1"), "{listed}");
    // The name that was listed can be passed back.
    assert!(client.read("local:a.ipynb").await?.starts_with("Notebook local:a.ipynb has 1 cells"));
    let edit = json!({ "notebook_name": "local:a.ipynb", "cell_index": 0, "cell_source": "there" });
    let edited = client.call("overwrite_cell_source", edit).await?;
    assert!(edited.contains("local:a.ipynb"), "{edited}");
    assert!(fs::read_to_string(client.folder.path().join("a.ipynb"))?.contains("there"));
    let files = client.call("list_files", json!({ "path": "local:" })).await?;
    assert!(files.contains("local:a.ipynb"), "{files}");
    // Without a prefix and with the server's, the server is meant.
    for name in ["a.ipynb", "jupyter:a.ipynb", "http://127.0.0.1:1/a.ipynb"] {
        let refused = client.refused("read_notebook", json!({ "notebook_name": name })).await?;
        assert!(refused.contains("http://127.0.0.1:1"), "{name}: {refused}");
    }
    Ok(())
}

#[tokio::test]
async fn a_path_means_the_same_notebook_after_connecting_or_is_refused() -> Result<()> {
    let (mut client, server) = (Client::start().await?, Server::start().await?);
    fs::write(client.folder.path().join("opened.ipynb"), NOTEBOOK)?;
    fs::create_dir(client.folder.path().join("sub"))?;
    fs::write(client.folder.path().join("sub/deep.ipynb"), NOTEBOOK)?;
    client.call("list_notebooks", json!({})).await?;
    client.call("list_files", json!({ "path": "sub" })).await?;
    client.read("opened.ipynb").await?;
    let connected = client.connect(&server.url).await?;
    assert!(connected.contains(&server.url), "{connected}");
    assert!(connected.contains("start with local: belong to the folder"), "{connected}");
    // It was open.
    assert!(client.read("opened.ipynb").await?.contains("1 cells"));
    for path in ["a.ipynb", "sub/deep.ipynb"] {
        for (tool, arguments) in [
            ("read_notebook", json!({ "notebook_name": path })),
            ("use_notebook", json!({ "notebook_path": path, "mode": "create" })),
            (
                "insert_cell",
                json!({ "notebook_name": path, "cell_index": 0, "cell_type": "code", "cell_source": "x" }),
            ),
        ] {
            let refused = client.refused(tool, arguments).await?;
            let names = [format!("local:{path}"), format!("{}{path}", server.url)];
            assert!(names.iter().all(|name| refused.contains(name)), "{tool}: {refused}");
        }
        assert!(client.read(&format!("local:{path}")).await?.contains("1 cells"));
    }
    // Others are the server's, which has none.
    let refused = client.refused("read_notebook", json!({ "notebook_name": "new.ipynb" })).await?;
    assert!(refused.contains(&server.url), "{refused}");
    Ok(())
}

#[tokio::test]
async fn several_servers_are_named_by_their_addresses() -> Result<()> {
    let (mut client, one, two) = (Client::start().await?, Server::start().await?, Server::start().await?);
    client.connect(&one.url).await?;
    let missing = client.refused("read_notebook", json!({ "notebook_name": "jupyter:x.ipynb" })).await?;
    assert!(missing.contains(&format!("{}x.ipynb", one.url)), "{missing}");
    client.connect(&two.url).await?;
    let refused = client.refused("read_notebook", json!({ "notebook_name": "jupyter:x.ipynb" })).await?;
    assert!(refused.contains(&format!("{}x.ipynb", one.url)), "{refused}");
    assert!(refused.contains(&format!("{}x.ipynb", two.url)), "{refused}");
    for server in [&one, &two] {
        let bare = server.url.trim_start_matches("http://");
        for name in [format!("{}x.ipynb", server.url), format!("jupyter:{bare}x.ipynb")] {
            let missing = client.refused("read_notebook", json!({ "notebook_name": name })).await?;
            assert!(missing.contains(&format!("no notebook \"{}x.ipynb\"", server.url)), "{missing}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_running_server_closest_to_the_folder_is_found_when_asked_for() -> Result<()> {
    let (mut client, near, far) = (Client::start().await?, Server::start().await?, Server::start().await?);
    let elsewhere = tempfile::tempdir()?;
    near.register(client.runtime.path(), "jpserver-1.json", client.folder.path())?;
    far.register(client.runtime.path(), "jpserver-2.json", elsewhere.path())?;
    // Nothing is connected before it is asked for.
    let refused = client.refused("read_notebook", json!({ "notebook_name": "jupyter:x.ipynb" })).await?;
    assert!(refused.contains("none is connected"), "{refused}");
    let connected = client.call("connect_to_jupyter", json!({})).await?;
    assert!(connected.contains(&near.url) && !connected.contains(&far.url), "{connected}");
    let root = client.folder.path().display().to_string();
    assert!(connected.contains(&format!("Its root is {root}; 1 more")), "{connected}");
    assert!(!connected.contains("hush"), "{connected}");
    Ok(())
}

/// Clients that ignore `list_changed` have all tools too.
#[tokio::test]
async fn connecting_changes_nothing_in_the_list_of_tools() -> Result<()> {
    let (mut client, server) = (Client::start().await?, Server::start().await?);
    let before = client.agent.request("tools/list", "{}").await?;
    let refused = client.refused("open_in_browser", json!({ "notebook_name": "a.ipynb" })).await?;
    assert!(refused.contains("connect_to_jupyter"), "{refused}");
    client.connect(&server.url).await?;
    assert_eq!(client.agent.request("tools/list", "{}").await?, before);
    let names: Vec<_> = before["tools"]
        .as_array()
        .context("no tools")?
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for tool in ["open_in_browser", "connect_to_jupyter", "open_colab_browser_connection"] {
        assert!(names.contains(&tool), "{tool}");
    }
    Ok(())
}

#[tokio::test]
async fn a_copy_goes_to_a_place_that_exists_or_nowhere() -> Result<()> {
    let mut client = Client::start_with(&[("CELLBRIDGE_TOOLS", "read,edit,files")]).await?;
    let before = fs::read_dir(client.folder.path())?.count();
    for to in [
        "colab:",
        "jupyter:b.ipynb",
        "http://127.0.0.1:1/b.ipynb?token=sesame",
        "elsewhere:b.ipynb",
        "../b.ipynb",
    ] {
        for tool in ["copy_notebook", "copy_file"] {
            let refused =
                client.refused(tool, json!({ "from": "a.ipynb", "to": to, "overwrite": true })).await?;
            assert!(!refused.contains("sesame"), "{to}: {refused}");
        }
    }
    assert_eq!(fs::read_dir(client.folder.path())?.count(), before);
    // A copy of the same name in a folder; a notebook is not replaced as a file, and a folder never.
    fs::create_dir(client.folder.path().join("sub"))?;
    let copied = client.call("copy_file", json!({ "from": "a.ipynb", "to": "sub/" })).await?;
    assert!(copied.contains("sub/a.ipynb") && copied.contains("SHA-256"), "{copied}");
    for to in ["sub/a.ipynb", "sub/", "sub"] {
        let refused =
            client.refused("copy_file", json!({ "from": "a.ipynb", "to": to, "overwrite": true })).await?;
        assert!(refused.contains("is a notebook") || refused.contains("is a folder"), "{to}: {refused}");
    }
    let kept = client.refused("copy_notebook", json!({ "from": "a.ipynb", "to": "sub/" })).await?;
    assert!(kept.contains("overwrite: true"), "{kept}");
    let replaced = json!({ "from": "a.ipynb", "to": "sub/", "overwrite": true });
    let replaced = client.call("copy_notebook", replaced).await?;
    assert!(replaced.contains("sub/a.ipynb: 1 cells") && replaced.contains("saved to disk"), "{replaced}");
    let other = client.refused("copy_notebook", json!({ "from": "a.ipynb", "to": "notes.txt" })).await?;
    assert!(other.contains(".ipynb"), "{other}");
    Ok(())
}
