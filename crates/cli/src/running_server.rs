//! `cellbridge jupyter connect` and `stop`: asks a running server to use another Jupyter server, or to close its
//! notebooks.

use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::args::{Connect, Running, given};
use crate::jupyter::sources::addresses;
use terminal::note;

/// The server answers once it has reached the Jupyter server, which has 30 s to answer.
const TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn connect(options: &Connect) -> anyhow::Result<()> {
    let [documents, kernels] = addresses(&options.servers);
    if documents.url.is_none() && kernels.url.is_none() {
        bail!("connect needs the address of a Jupyter server: give it with --jupyter-url");
    }
    let body = json!({
        "document_url": documents.url,
        "document_token": documents.token,
        "document_id": given(options.servers.document_id.as_deref()),
        "code_sandbox_url": kernels.url,
        "code_sandbox_token": kernels.token,
        "code_sandbox_id": crate::args::either(options.servers.code_sandbox_id.as_deref(), "RUNTIME_ID"),
    });
    let request = request(&options.running, Method::PUT, "/api/connect")?;
    send(request.header("Content-Type", "application/json").body(body.to_string()), &options.running).await?;
    note("cellbridge: connected");
    Ok(())
}

pub(crate) async fn stop(running: &Running) -> anyhow::Result<()> {
    send(request(running, Method::DELETE, "/api/stop")?, running).await?;
    note("cellbridge: closed the server's notebooks and stopped their kernels");
    Ok(())
}

fn request(running: &Running, method: Method, path: &str) -> anyhow::Result<RequestBuilder> {
    let base = running.jupyter_mcp_server_url.trim().trim_end_matches('/');
    // reqwest needs a provider even where it never encrypts.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder().connect_timeout(CONNECT_TIMEOUT).timeout(TIMEOUT);
    if base.starts_with("http://") {
        // Reading the system's certificates fails where there are none.
        client = client.tls_certs_only([]);
    }
    let request = client.build()?.request(method, format!("{base}{path}"));
    Ok(match given(running.mcp_token.as_deref()) {
        Some(token) => request.bearer_auth(token),
        None => request,
    })
}

async fn send(request: RequestBuilder, running: &Running) -> anyhow::Result<()> {
    let url = &running.jupyter_mcp_server_url;
    let response = request.send().await.map_err(reqwest::Error::without_url).with_context(|| {
        format!("no server answers at {url}; name the address of a running one with --jupyter-mcp-server-url")
    })?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let text = response.text().await.unwrap_or_default();
    let reason = serde_json::from_str::<Value>(&text).ok();
    let reason = reason.as_ref().and_then(|body| body["error"].as_str()).unwrap_or(text.trim());
    let hint = if status == 401 { "; give the server's token with --mcp-token or MCP_TOKEN" } else { "" };
    bail!("the server at {url} answered {}: {reason}{hint}", status.as_u16())
}
