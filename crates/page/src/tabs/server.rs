//! The side of a server with tabs.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use place::Error;

use super::{LIST, OpenTab};
use crate::hub::Hub;
use crate::private_socket::PrivateListener;
use crate::routes::{Hubs, data};

/// What a server shows of its tabs.
pub trait TabHost: Send + Sync + 'static {
    /// The tabs that are connected now.
    fn tabs(&self) -> Vec<OpenTab>;

    /// Their page, which is made when it is first asked for.
    fn hub(&self) -> Arc<Hub>;
}

struct Served(Arc<dyn TabHost>);

impl Hubs for Served {
    fn hub(&self, _root: &str) -> Result<Arc<Hub>, Error> {
        Ok(self.0.hub())
    }
}

/// Serves the page of tabs to processes of this user. Dropping the future ends what is open.
pub async fn serve(listener: PrivateListener, host: Arc<dyn TabHost>) {
    let list = async |State(host): State<Arc<dyn TabHost>>| Json(host.tabs());
    let list = Router::new().route(LIST, get(list)).with_state(host.clone());
    listener.serve(data(Arc::new(Served(host))).merge(list)).await;
}
