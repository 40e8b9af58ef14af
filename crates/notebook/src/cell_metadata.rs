//! The members of a cell's metadata that nbformat and front ends define.

/// The member with the times of the run that made a cell's outputs, as `JupyterLab` writes them. It goes with the outputs: it is no
/// part of the content, and whoever replaces the outputs removes it.
pub const RUN_TIMES: &str = "execution";

const DEFINED: [&str; 9] =
    ["collapsed", "deletable", "editable", "execution", "format", "jupyter", "name", "scrolled", "tags"];

/// Whether nbformat or a front end says what this member of a cell's metadata means. Others belong to other programs.
pub fn is_defined_metadata(name: &str) -> bool {
    DEFINED.contains(&name)
}
