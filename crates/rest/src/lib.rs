//! A Jupyter server over HTTP.
