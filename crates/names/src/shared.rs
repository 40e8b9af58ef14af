//! Names for what cells share without a name in their code: the configuration of libraries, displays, and attributes that cells add to
//! the classes of libraries. Messages show these names; each counts as an object.

use syntax::{Name, is_builtin};

use syntax::hash;

pub const CONFIGURATION: &str = "matplotlib's configuration";
pub const ARRAYS: &str = "NumPy's print options";
pub const FRAMES: &str = "the display options of data frames";
/// The setting of `%precision`.
pub const FLOATS: &str = "IPython's precision";
/// The choice of expressions of a cell that `IPython` shows.
pub const INTERACTIVITY: &str = "IPython's ast_node_interactivity";
pub(crate) const ENVIRONMENT: &str = "the environment";
pub(crate) const LOGS: &str = "the configuration of logging";
/// Prefix of the names of displays whose content cells update; their ids follow.
pub(crate) const DISPLAY: &str = "the display ";
/// Prefix of the names of files that cells write and read.
pub(crate) const FILE: &str = "the file ";
const ATTRIBUTE: &str = "the attribute ";

/// Whether a name is there in every kernel, though no cell defines it.
pub fn is_predefined(name: &str) -> bool {
    is_builtin(name) || is_shared(name)
}

/// Whether a name stands for something that cells share and that is there though no cell defines it.
pub fn is_shared(name: &str) -> bool {
    is_configuration(name) || is_display(name) || patched(name).is_some() || is_file(name)
}

/// Whether a name stands for a display.
pub fn is_display(name: &str) -> bool {
    name.starts_with(DISPLAY)
}

/// Whether a name stands for a file.
pub fn is_file(name: &str) -> bool {
    name.starts_with(FILE)
}

/// Whether a name stands for options, which cells set in parts.
pub fn is_configuration(name: &str) -> bool {
    [CONFIGURATION, ARRAYS, FRAMES, FLOATS, LOGS, ENVIRONMENT, INTERACTIVITY].contains(&name)
}

/// The attribute whose name for messages this is.
pub fn patched(name: &str) -> Option<&str> {
    name.strip_prefix(ATTRIBUTE)
}

pub(crate) fn name_of_attribute(attribute: &str) -> Name {
    format!("{ATTRIBUTE}{attribute}")
}

/// Stands for an attribute that a cell reads.
pub fn attribute(name: &str) -> u32 {
    // Another one with the same number is rare, and only means that a cell is run once more.
    u32::try_from(hash(name) & u64::from(u32::MAX)).unwrap_or_default()
}
