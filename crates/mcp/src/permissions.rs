//! What agents may do: what the operator offers, and what the user of an agent is allowed.

use std::collections::BTreeSet;

use workspace::{Error, ErrorKind};

/// What the operator offers to everybody.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Only the tools that change and run nothing.
    pub is_read_only: bool,
    /// Only tools of these names, if there are any.
    pub tools: BTreeSet<String>,
}

/// What somebody must be allowed to do in order to use a tool; the words are those of Jupyter's authorizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    Read,
    Write,
    Execute,
}

impl Policy {
    /// Whether it offers a tool with these names.
    pub(crate) fn offers(&self, names: &[&str], permission: Permission) -> bool {
        (self.tools.is_empty() || names.iter().any(|name| self.tools.contains(*name)))
            && (!self.is_read_only || permission == Permission::Read)
    }

    /// Fails if the tool, whose first name is the one that was used, is not offered.
    pub(crate) fn check(&self, names: &[&str], permission: Permission) -> Result<(), Error> {
        if self.offers(names, permission) {
            return Ok(());
        }
        let tool = names.first().copied().unwrap_or_default();
        Err(Error::new(
            ErrorKind::Forbidden,
            format!("The person who runs this server does not offer {tool} to agents."),
            "tools/list names the tools that are offered.",
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

/// Everything.
impl Default for Permissions {
    fn default() -> Self {
        Self { read: true, write: true, execute: true }
    }
}

impl Permissions {
    /// The same within `policy`.
    pub(crate) fn under(self, policy: &Policy) -> Self {
        let may_change = !policy.is_read_only;
        Self { write: self.write && may_change, execute: self.execute && may_change, ..self }
    }

    /// Fails if the user may not use `what`, a tool or something that it can do.
    pub(crate) fn permit(self, permission: Permission, what: &str) -> Result<(), Error> {
        let (is_allowed, action) = match permission {
            Permission::Read => (self.read, "read"),
            Permission::Write => (self.read && self.write, "write"),
            Permission::Execute => (self.read && self.execute, "execute"),
        };
        if is_allowed {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Forbidden,
            format!(
                "The user of this agent may not use {what}: the server does not allow the action {action:?}."
            ),
            "Ask the person who runs the server.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Permission::{Execute, Read, Write};
    use super::*;

    #[test]
    fn the_policy_decides_what_is_offered() {
        let all = Policy::default();
        assert!(all.offers(&["execute_cell"], Execute));
        assert!(all.offers(&["read_cell"], Read));
        let reading = Policy { is_read_only: true, ..Policy::default() };
        assert!(reading.offers(&["read_cell"], Read));
        assert!(reading.check(&["execute_cell"], Execute).is_err());
        assert!(reading.check(&["insert_cell"], Write).is_err());
        let some =
            Policy { tools: ["read_cell", "insert_cell"].map(str::to_owned).into(), ..Policy::default() };
        assert!(some.offers(&["append_markdown_cell", "insert_cell"], Write));
        assert!(!some.offers(&["execute_cell"], Execute));
        let both = Policy { is_read_only: true, ..some };
        assert!(both.offers(&["read_cell"], Read));
        assert!(!both.offers(&["insert_cell"], Write));
    }

    #[test]
    fn each_permission_includes_reading() {
        let none = Permissions { read: false, write: false, execute: false };
        let reader = Permissions { read: true, ..none };
        let writer = Permissions { write: true, ..reader };
        let runner = Permissions { execute: true, ..reader };
        for (permission, expected) in [
            (Read, [false, true, true, true]),
            (Write, [false, false, true, false]),
            (Execute, [false, false, false, true]),
        ] {
            let is_allowed =
                [none, reader, writer, runner].map(|permissions| permissions.permit(permission, "x").is_ok());
            assert_eq!(is_allowed, expected, "{permission:?}");
        }
        assert!(Permissions::default().permit(Execute, "x").is_ok());
    }
}
