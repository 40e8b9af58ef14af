//! Which Python a notebook gets.

mod choose;
mod install;
mod interpreter;
mod managed;
mod project;
mod python;
#[cfg(test)]
#[cfg(unix)]
mod tests;

pub(crate) use choose::{Choice, Chooser, Wish};
pub(crate) use python::interpreter_in;
