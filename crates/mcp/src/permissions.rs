//! What the user of an agent may do, where somebody else decides that.

use workspace::{Error, Side};

use crate::tools::{self, Right};

/// What a request's user may do.
#[derive(Debug, Clone, Copy)]
pub struct Permissions {
    /// Read notebooks, and see kernels and runs.
    pub read: bool,
    /// Change notebooks.
    pub write: bool,
    /// Run code, and end what runs.
    pub execute: bool,
}

/// Everything: whoever was let in at all.
impl Default for Permissions {
    fn default() -> Self {
        Self { read: true, write: true, execute: true }
    }
}

impl Permissions {
    /// Fails if the user may not call the tool.
    pub(crate) fn check(self, tool: &str) -> Result<(), Error> {
        let (is_allowed, action) = match tools::right(tool) {
            Some(Right::Read) => (self.read, "read"),
            Some(Right::Write) => (self.read && self.write, "write"),
            Some(Right::Execute) => (self.read && self.execute, "execute"),
            None => return Ok(()),
        };
        if is_allowed {
            return Ok(());
        }
        Err(Error::new(
            Side::Agent,
            format!(
                "The user of this agent may not call {tool}: the server does not allow the action {action:?}."
            ),
            "Ask the person who runs the server, or use tools that need less.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_needs_its_right() {
        let none = Permissions { read: false, write: false, execute: false };
        let reader = Permissions { read: true, ..none };
        let writer = Permissions { write: true, ..reader };
        let runner = Permissions { execute: true, ..reader };
        for (tool, needed) in [
            ("read_notebook", [false, true, true, true]),
            ("use_notebook", [false, true, true, true]),
            ("insert_cell", [false, false, true, false]),
            ("delete_cell", [false, false, true, false]),
            ("execute_cell", [false, false, false, true]),
            ("restart_notebook", [false, false, false, true]),
            ("unknown", [true, true, true, true]),
        ] {
            assert_eq!([none, reader, writer, runner].map(|may| may.check(tool).is_ok()), needed, "{tool}");
        }
        assert!(Permissions::default().check("execute_code").is_ok());
    }
}
