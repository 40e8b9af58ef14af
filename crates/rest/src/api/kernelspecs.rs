//! The kernelspecs of a server.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::lenient;
use crate::request::Request;
use crate::{Result, Server};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernelspecs {
    /// The name of the default kernelspec.
    pub default: String,
    /// Sorted by name.
    pub specs: Vec<Kernelspec>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernelspec {
    pub name: String,
    pub display_name: String,
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
