//! The document as others see it: against documents of Jupyter's libraries, and between several writers.

mod convergence;
mod hostile;
mod vectors;
