//! The native module `cellbridge._native`, to which the extension of Jupyter Server passes its requests.
//!
//! Python runs only to pass a request in and an answer out.

#![expect(clippy::disallowed_methods, reason = "this crate reads the environment, so that no other has to")]

mod callers;
mod config;
mod core;
mod future;
mod http;
mod logging;
mod managers;
mod runtime;
mod socket_session;
mod stream;
mod user;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::config::check_tools;
    #[pymodule_export]
    use crate::core::Core;
    #[pymodule_export]
    use crate::socket_session::SocketSession;
    #[pymodule_export]
    use crate::stream::Stream;
}
