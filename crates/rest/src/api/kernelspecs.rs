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

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Kernelspec {
    #[serde(skip)]
    pub name: String,
    #[serde(deserialize_with = "lenient::text")]
    pub display_name: String,
    #[serde(deserialize_with = "lenient::text")]
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
    spec: Kernelspec,
}

impl Server {
    pub async fn kernelspecs(&self) -> Result<Kernelspecs> {
        let listing: Listing = self.fetch(&Request::get("api/kernelspecs", "list of kernelspecs")).await?;
        let specs = listing.kernelspecs.into_iter().map(|(name, Listed { mut spec })| {
            if spec.display_name.is_empty() {
                spec.display_name.clone_from(&name);
            }
            Kernelspec { name, ..spec }
        });
        Ok(Kernelspecs { default: listing.default, specs: specs.collect() })
    }
}
