//! What agents may do: what the operator offers, and what the user of an agent is allowed.

use std::collections::BTreeSet;

use workspace::{Error, ErrorKind};

use crate::tools::{self, Right};

/// What the operator offers to everybody.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Only the tools that change and run nothing.
    pub is_read_only: bool,
    /// Only tools of these names, if there are any.
    pub tools: BTreeSet<String>,
}

impl Policy {
    /// Whether the tool is offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let reads = || matches!(tools::right(tool), Some(Right::Read));
        (self.tools.is_empty() || tools::names(tool).any(|name| self.tools.contains(name)))
            && (!self.is_read_only || reads())
    }

    /// Fails if the tool is not offered.
    pub(crate) fn check(&self, tool: &str) -> Result<(), Error> {
        if self.offers(tool) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Forbidden,
            format!("The person who runs this server does not offer {tool} to agents."),
            "tools/list names what is offered.",
        ))
    }
}

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
    /// What is left of it under `policy`.
    pub(crate) fn under(self, policy: &Policy) -> Self {
        let may_change = !policy.is_read_only;
        Self { write: self.write && may_change, execute: self.execute && may_change, ..self }
    }

    /// Fails if the user may not call the tool.
    pub(crate) fn check(self, tool: &str) -> Result<(), Error> {
        tools::right(tool).map_or(Ok(()), |right| self.permit(right, tool))
    }

    /// Fails if the user has no right to `what`, a tool or something that it can do.
    pub(crate) fn permit(self, right: Right, what: &str) -> Result<(), Error> {
        let (is_allowed, action) = match right {
            Right::Read => (self.read, "read"),
            Right::Write => (self.read && self.write, "write"),
            Right::Execute => (self.read && self.execute, "execute"),
        };
        if is_allowed {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Forbidden,
            format!(
                "The user of this agent may not use {what}: the server does not allow the action {action:?}."
            ),
            "Ask the person who runs the server, or use what needs less.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_offered_is_refused() {
        let all = Policy::default();
        assert!(all.offers("execute_cell") && all.offers("read_cell"));
        let reading = Policy { is_read_only: true, ..Policy::default() };
        assert!(reading.offers("read_cell") && reading.offers("use_notebook"));
        assert!(reading.check("execute_cell").is_err() && reading.check("insert_cell").is_err());
        let some =
            Policy { tools: ["read_cell", "insert_cell"].map(str::to_owned).into(), ..Policy::default() };
        assert!(some.offers("insert_cell") && !some.offers("execute_cell"));
        let both = Policy { is_read_only: true, ..some };
        assert!(both.offers("read_cell") && !both.offers("insert_cell"));
    }

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
