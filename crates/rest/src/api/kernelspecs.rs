//! The kernels that a server could start.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::lenient;
use crate::server::Request;
use crate::{Result, Server};

/// What a server can start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernelspecs {
    /// The name of the one that is started if none is named.
    pub default: String,
    /// All of them, by name.
    pub specs: Vec<Kernelspec>,
}

/// A kind of kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernelspec {
    /// The name to start it by.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The programming language.
    pub language: String,
}

#[derive(Deserialize)]
struct Listing {
    #[serde(default, deserialize_with = "lenient::text")]
    default: String,
    #[serde(default)]
    kernelspecs: BTreeMap<String, Listed>,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize, Default)]
struct Spec {
    #[serde(default, deserialize_with = "lenient::text")]
    display_name: String,
    #[serde(default, deserialize_with = "lenient::text")]
    language: String,
}

impl Server {
    /// The kernels that can be started.
    pub async fn kernelspecs(&self) -> Result<Kernelspecs> {
        let listing: Listing = self.fetch(&Request::get("api/kernelspecs", "list of kernelspecs")).await?;
        let specs = listing.kernelspecs.into_iter().map(|(name, Listed { spec })| Kernelspec {
            display_name: if spec.display_name.is_empty() { name.clone() } else { spec.display_name },
            language: spec.language,
            name,
        });
        Ok(Kernelspecs { default: listing.default, specs: specs.collect() })
    }
}
