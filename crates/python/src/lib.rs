//! Cellbridge inside a Python process: `cellbridge._native`, which Jupyter Server's extension hands its requests to.
//!
//! Python is touched to take a request over and to hand an answer back, and nowhere between.

mod config;
mod core;
mod face;
mod future;
mod http;
mod logging;
mod managers;
mod runtime;
mod stream;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::core::Core;
    #[pymodule_export]
    use crate::stream::Stream;
}
