//! The notebooks of Colab tabs on the page of `cellbridge view`. Only the server that a tab is connected to reaches it. So that server
//! has the page of its tabs, behind a private socket, and the process that serves all pages of the user passes it on to browsers.

#[cfg(unix)]
mod relayed;
#[cfg(unix)]
mod servers;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use serde::{Deserialize, Serialize};

#[cfg(unix)]
pub use relayed::TabServer;
#[cfg(unix)]
pub(crate) use servers::TabServers;

/// Begins what a page names in place of a folder, before the name of a server's socket.
#[cfg(unix)]
const ROOT: &str = "tabs:";
/// Where a server lists its tabs.
#[cfg(unix)]
const LIST: &str = "/tabs";

/// The folder with the sockets of servers that have tabs. `state` is the folder of what this program remembers between two starts.
#[cfg(unix)]
pub fn folder_of_tabs(state: &std::path::Path) -> std::path::PathBuf {
    state.join("tabs")
}

/// A tab that is connected to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTab {
    /// What a page names in place of a folder for the tabs of its server, which the server itself does not know.
    #[serde(skip)]
    pub root: String,
    /// The path of its notebook at that server.
    pub path: String,
    /// The notebook in the records of changes.
    pub identity: String,
}

/// Serves the page of tabs, and the list of those that are connected, to processes of this user. Dropping the future ends what is open.
#[cfg(unix)]
pub async fn serve(
    listener: crate::private_socket::PrivateListener,
    hub: std::sync::Arc<crate::hub::Hub>,
    tabs: impl Fn() -> Vec<OpenTab> + Send + Sync + 'static,
) {
    let tabs = std::sync::Arc::new(tabs);
    let list = axum::Router::new().route(LIST, axum::routing::get(async move || axum::Json(tabs())));
    listener.serve(crate::routes::data(crate::routes::only(hub)).merge(list)).await;
}
