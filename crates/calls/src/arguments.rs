//! The arguments of a call: declared once for models and for the tool, and read as models write them.

pub mod choice;
pub mod combinations;
pub mod declare;
pub mod given;
pub mod kernel_selector;
pub mod names;
pub mod older_names;
pub mod parameters;
