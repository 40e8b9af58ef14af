//! Jupyter servers as places.
