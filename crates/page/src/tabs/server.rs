//! The side of a server with tabs.

use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};

use super::{LIST, OpenTab};
use crate::hub::Hub;
use crate::private_socket::PrivateListener;
use crate::routes::{data, only};

/// Serves the page of tabs, and the list of those that are connected, to processes of this user. Dropping the future ends what is open.
pub async fn serve(
    listener: PrivateListener,
    hub: Arc<Hub>,
    tabs: impl Fn() -> Vec<OpenTab> + Send + Sync + 'static,
) {
    let tabs = Arc::new(tabs);
    let list = Router::new().route(LIST, get(async move || Json(tabs())));
    listener.serve(data(only(hub)).merge(list)).await;
}
