//! The document as others see it: against documents of Jupyter's libraries, and between several writers.
#![allow(clippy::unwrap_used, reason = "a test that fails here has said enough")]

mod convergence;
mod hostile;
mod vectors;
