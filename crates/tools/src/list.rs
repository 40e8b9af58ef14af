//! The list of the tools.

use std::sync::{Arc, LazyLock};

use serde_json::value::to_raw_value;

use crate::TOOLS;
use calls::arguments::older_names;
use calls::permissions::{Group, Offer};
use calls::tool::{Capabilities, Tool};

/// The tool of that name, by its name of today or an older one.
pub fn find(name: &str) -> Option<&'static Tool> {
    let today = older_names::translate(name).unwrap_or(name);
    TOOLS.iter().copied().find(|tool| tool.name == today)
}

/// A name in the operator's settings that is neither that of a group nor that of a tool.
#[derive(Debug, thiserror::Error)]
#[error("{name:?} is neither a group of tools ({}) nor a tool", groups.map(Group::name).join(", "))]
pub struct UnknownOffer {
    name: String,
    groups: &'static [Group; 5],
}

/// Reads the name of what the operator offers. Fails if it is neither a group nor a tool.
pub fn offered(name: &str) -> Result<Offer, UnknownOffer> {
    among(&Group::OWN, name)
}

/// Reads the name of what the person is asked about. Nobody is asked about all that only reads.
pub fn asked(name: &str) -> Result<Offer, UnknownOffer> {
    among(&Group::ASKED, name)
}

fn among(groups: &'static [Group; 5], name: &str) -> Result<Offer, UnknownOffer> {
    let name = name.trim();
    let group = groups.iter().copied().find(|group| group.name() == name).map(Offer::Group);
    let offer = group.or_else(|| find(name).map(|tool| Offer::Tool(tool.name)));
    offer.ok_or_else(|| UnknownOffer { name: name.to_owned(), groups })
}

/// The tools that a session with these capabilities has, with their definitions, in the order in which they are listed.
pub fn list(capabilities: Capabilities) -> impl Iterator<Item = (&'static Tool, &'static place::Tool)> {
    static LISTED: LazyLock<Vec<place::Tool>> =
        LazyLock::new(|| TOOLS.iter().map(|tool| listed(tool)).collect());
    TOOLS.iter().copied().zip(&*LISTED).filter(move |(tool, _)| tool.is_available(capabilities))
}

fn listed(tool: &Tool) -> place::Tool {
    // Serializing a `Value` cannot fail.
    let definition = to_raw_value(&tool.definition()).unwrap_or_default();
    place::Tool { name: tool.name.to_owned(), definition: Arc::from(definition) }
}
