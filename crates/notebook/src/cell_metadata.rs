//! The members of a cell's metadata that nbformat and front ends define.

const DEFINED: [&str; 9] =
    ["collapsed", "deletable", "editable", "execution", "format", "jupyter", "name", "scrolled", "tags"];

/// Whether nbformat or a front end says what this member of a cell's metadata means. Others belong to other programs.
pub fn is_defined_metadata(name: &str) -> bool {
    DEFINED.contains(&name)
}
