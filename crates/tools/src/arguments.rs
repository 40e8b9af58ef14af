//! The arguments of a call: declared once for models and for the tool, and read as models write them.

pub(crate) mod declare;
pub(crate) mod given;
pub(crate) mod kernel_selector;
pub(crate) mod names;
pub(crate) mod older_names;
pub(crate) mod parameters;
