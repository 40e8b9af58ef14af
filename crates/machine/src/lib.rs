//! The kernels of a place as the live page sees them, whoever started them: those of a folder from their keepers, those of a Jupyter
//! server from the server and the logs of runs. And the chart libraries that notebooks of this machine need.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod folder;
#[cfg(unix)]
mod followed;
mod libraries;
#[cfg(unix)]
mod server;

#[cfg(not(unix))]
pub use elsewhere::{of_folder, of_server};
#[cfg(unix)]
pub use folder::{keeper_state, of_folder};
pub use libraries::libraries;
#[cfg(unix)]
pub use server::of_server;
