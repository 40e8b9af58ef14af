//! What agents may do: what the operator offers, and what the user of an agent is allowed.

use std::fmt;

use place::{Error, ErrorKind, Fault};

use crate::consent::cannot_ask;

/// What the operator offers to everybody.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Whether agents may only read.
    pub is_read_only: bool,
    /// Only these tools, if there are any.
    pub tools: Vec<Offer>,
    /// The person is asked before calls of these.
    pub asked: Vec<Offer>,
    /// Agents may install packages without the person being asked.
    pub installs_unasked: bool,
}

/// Tools that the operator offers, or wants the person to be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    Group(Group),
    /// One tool, with everything that it can do.
    Tool(&'static str),
}

/// A group of tools that are offered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Open and read notebooks, and see runs.
    Read,
    /// Change notebooks.
    Edit,
    /// Run code, and interrupt it.
    Run,
    /// List files, create notebooks and show them to the person.
    Files,
    /// List, choose and restart kernels; connect to the servers that have them.
    Kernels,
    /// Remove cells or outputs, or clear a kernel's memory. The person can be asked about it; it is offered with the
    /// other groups of a tool.
    Delete,
    /// Tools of a page, which are passed on; the name is the relay's.
    Relayed(&'static str),
}

/// What somebody must be allowed to do in order to use a tool; the words are those of Jupyter's authorizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Read,
    Write,
    Execute,
}

impl Group {
    /// The groups of our own tools.
    pub const OWN: [Self; 5] = [Self::Read, Self::Edit, Self::Run, Self::Files, Self::Kernels];

    /// The groups of our own tools about which the person can be asked.
    pub const ASKED: [Self; 5] = [Self::Edit, Self::Run, Self::Files, Self::Kernels, Self::Delete];

    /// The name in the operator's settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Run => "run",
            Self::Files => "files",
            Self::Kernels => "kernels",
            Self::Delete => "delete",
            Self::Relayed(name) => name,
        }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Group(group) => group.name(),
            Self::Tool(name) => name,
        })
    }
}

impl Permission {
    /// What is needed for a tool of a page: one that does not only read may run code.
    pub fn of_relayed(only_reads: bool) -> Self {
        if only_reads { Self::Read } else { Self::Execute }
    }
}

impl Policy {
    /// Whether it offers something that belongs to all of these groups and that `tool` does.
    pub fn offers(&self, tool: &str, groups: &[Group], permission: Permission) -> bool {
        self.check(tool, tool, groups, permission).is_ok()
    }

    /// Whether it offers what only reads and belongs to this group.
    pub fn offers_group(&self, group: Group) -> bool {
        self.offers("", &[group], Permission::Read)
    }

    /// Checks that the operator offers `what`, an action of `tool` in `groups`.
    pub(crate) fn check(
        &self,
        what: &str,
        tool: &str,
        groups: &[Group],
        permission: Permission,
    ) -> Result<(), Error> {
        if self.is_read_only && permission != Permission::Read {
            return Err(not_offered(what, "lets agents only read", "start the server without read-only"));
        }
        let is_named = |offer: &Offer| matches!(offer, Offer::Tool(name) if *name == tool);
        if self.tools.is_empty() || self.tools.iter().any(is_named) {
            return Ok(());
        }
        let is_missing =
            |group: &&Group| **group != Group::Delete && !self.tools.contains(&Offer::Group(**group));
        let missing = groups.iter().find(is_missing);
        match missing {
            None => Ok(()),
            Some(group) => Err(not_offered(
                what,
                &format!("offers agents only {}", names(&self.tools)),
                &format!("add {:?} to the tools that the server offers", group.name()),
            )),
        }
    }

    /// Whether the person is asked before `tool` does something that belongs to these groups.
    pub(crate) fn asks(&self, tool: &str, groups: &[Group], permission: Permission) -> bool {
        let only_reads = permission == Permission::Read;
        // A page's tool that does not only read may do anything.
        let may_do_anything = !only_reads && groups.iter().any(|group| matches!(group, Group::Relayed(_)));
        self.asked.iter().any(|asked| match asked {
            Offer::Tool(name) => may_do_anything || *name == tool,
            Offer::Group(group) => may_do_anything || (!only_reads && groups.contains(group)),
        })
    }

    /// Whether the person is asked about this group.
    pub fn asks_about(&self, group: Group) -> bool {
        self.asked.contains(&Offer::Group(group))
    }

    /// What a model should know about it, if agents may not simply do everything.
    pub fn notice(&self) -> Option<String> {
        let limits = [
            self.is_read_only.then(|| "Agents may only read here: nothing can be changed or run.".to_owned()),
            (!self.tools.is_empty())
                .then(|| format!("Only these tools are offered here: {}.", names(&self.tools))),
            (!self.asked.is_empty())
                .then(|| format!("The person is asked before calls of: {}.", names(&self.asked))),
        ];
        let limits: Vec<_> = limits.into_iter().flatten().collect();
        (!limits.is_empty()).then(|| limits.join(" "))
    }
}

fn names(offers: &[Offer]) -> String {
    offers.iter().map(Offer::to_string).collect::<Vec<_>>().join(", ")
}

fn not_offered(what: &str, reason: &str, remedy: &str) -> Error {
    Error::new(
        ErrorKind::Forbidden,
        format!("{what} is not offered: the person who runs this server {reason}."),
        format!("tools/list shows the offered tools. For more, that person must {remedy}."),
    )
    .with_fault(Fault::Person)
}

/// What a request's user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Fails if the user may not use `what`, a tool or something that it can do.
    pub fn permit(self, permission: Permission, what: &str) -> Result<(), Error> {
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

/// What one call of a tool may do: what the operator offers and its user is allowed.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    pub policy: &'a Policy,
    pub permissions: Permissions,
    /// The tool's name.
    pub tool: &'a str,
}

impl Access<'_> {
    /// Fails if `what`, which belongs to all of these groups, is not allowed, or if the person must be asked about it: what is no call
    /// of a tool cannot ask.
    pub fn permit_unasked(self, groups: &[Group], permission: Permission, what: &str) -> Result<(), Error> {
        self.check(groups, permission, what)?;
        if self.asks(groups, permission) { Err(cannot_ask(what)) } else { Ok(()) }
    }

    /// Fails if `what`, a request that shows the same as these tools, is not allowed, or if the person must be asked about one of them.
    pub fn permit_like(self, tools: &[&str], what: &str) -> Result<(), Error> {
        let of = |tool| Access { tool, ..self };
        self.permit_unasked(&[Group::Read], Permission::Read, what)?;
        let is_asked = tools.iter().any(|tool| of(tool).asks(&[Group::Read], Permission::Read));
        if is_asked { Err(cannot_ask(what)) } else { Ok(()) }
    }

    /// Fails if the person is asked about anything: `what` may do as much as any call.
    pub fn permit_unless_asking(self, what: &str) -> Result<(), Error> {
        if self.asks_at_all() { Err(cannot_ask(what)) } else { Ok(()) }
    }

    /// Fails if the call may not do `what`, which belongs to all of these groups: the tool, or something that it can do.
    pub(crate) fn check(self, groups: &[Group], permission: Permission, what: &str) -> Result<(), Error> {
        self.policy.check(what, self.tool, groups, permission)?;
        self.permissions.permit(permission, what)
    }

    /// Whether the person is asked before the call does something that belongs to these groups.
    pub(crate) fn asks(self, groups: &[Group], permission: Permission) -> bool {
        self.policy.asks(self.tool, groups, permission)
    }

    /// Whether the person is asked about anything.
    pub(crate) fn asks_at_all(self) -> bool {
        !self.policy.asked.is_empty()
    }

    /// Whether the person is asked before packages are installed.
    pub(crate) fn asks_about_packages(self) -> bool {
        !self.policy.installs_unasked
    }
}

#[cfg(test)]
mod tests {
    use super::Permission::{Execute, Read, Write};
    use super::*;

    fn only(tools: &[Offer]) -> Policy {
        Policy { tools: tools.to_vec(), ..Policy::default() }
    }

    #[test]
    fn without_settings_everything_is_offered() {
        let all = Policy::default();
        assert!(all.offers("execute_cell", &[Group::Run], Execute));
        assert!(all.offers("get_cells", &[Group::Relayed("page")], Read));
        assert_eq!(all.notice(), None);
    }

    #[test]
    fn under_read_only_nothing_is_offered_that_writes_or_runs() {
        let reading = Policy { is_read_only: true, ..Policy::default() };
        assert!(reading.offers("read_cell", &[Group::Read], Read));
        let refused = reading.check("execute_cell", "execute_cell", &[Group::Run], Execute).unwrap_err();
        assert_eq!((refused.kind, refused.fault), (ErrorKind::Forbidden, Fault::Person));
        assert_eq!(
            refused.to_string(),
            "execute_cell is not offered: the person who runs this server lets agents only read. tools/list shows \
             the offered tools. For more, that person must start the server without read-only."
        );
        assert!(!reading.offers("insert_cell", &[Group::Edit], Write));
        // Naming a tool does not lift it.
        let both = Policy { is_read_only: true, ..only(&[Offer::Tool("insert_cell")]) };
        assert!(!both.offers("insert_cell", &[Group::Edit], Write));
        assert!(!both.offers("read_cell", &[Group::Read], Read));
    }

    #[test]
    fn a_tool_is_offered_by_its_name_or_by_all_of_its_groups() {
        let some = only(&[Offer::Group(Group::Run), Offer::Tool("insert_cell")]);
        assert!(some.offers("insert_cell", &[Group::Edit], Write));
        assert!(some.offers("execute_cell", &[Group::Run], Execute));
        assert!(!some.offers("delete_cell", &[Group::Edit], Write));
        assert!(!some.offers("insert_execute_code_cell", &[Group::Edit, Group::Run], Execute));
        let refused =
            some.check("delete_cell", "delete_cell", &[Group::Edit], Write).unwrap_err().to_string();
        assert!(refused.contains("offers agents only run, insert_cell.") && refused.contains("add \"edit\""));
    }

    #[test]
    fn a_call_needs_what_the_operator_offers_and_the_user_is_allowed() {
        let (policy, reader) = (
            only(&[Offer::Group(Group::Read), Offer::Group(Group::Edit)]),
            Permissions { write: false, execute: false, ..Permissions::default() },
        );
        let may = |permissions, group, permission| {
            let access = Access { policy: &policy, permissions, tool: "use_notebook" };
            access.check(&[group], permission, "x").is_ok()
        };
        assert!(may(Permissions::default(), Group::Edit, Write));
        assert!(!may(Permissions::default(), Group::Files, Write));
        assert!(!may(reader, Group::Edit, Write));
        assert!(may(reader, Group::Read, Read));
    }

    #[test]
    fn the_person_is_asked_by_group_or_by_name() {
        let asks = |asked: &[Offer], tool, groups: &[Group], permission| {
            Policy { asked: asked.to_vec(), ..Policy::default() }.asks(tool, groups, permission)
        };
        let run = [Offer::Group(Group::Run)];
        assert!(asks(&run, "execute_cell", &[Group::Run], Execute));
        assert!(asks(&run, "insert_execute_code_cell", &[Group::Edit, Group::Run], Execute));
        assert!(!asks(&run, "insert_cell", &[Group::Edit], Write));
        assert!(asks(&[Offer::Group(Group::Delete)], "delete_cell", &[Group::Edit, Group::Delete], Write));
        // Reading is asked about by name only.
        assert!(!asks(&[Offer::Group(Group::Files)], "list_files", &[Group::Files], Read));
        assert!(asks(&[Offer::Tool("list_files")], "list_files", &[Group::Files], Read));
        // A page's tool may do what was meant by another group or name.
        let page = [Group::Relayed("page")];
        for asked in [Offer::Group(Group::Delete), Offer::Tool("delete_cell"), Offer::Group(page[0])] {
            assert!(asks(&[asked], "update_cell", &page, Execute), "{asked:?}");
            assert!(!asks(&[asked], "get_cells", &page, Read), "{asked:?}");
        }
        assert!(!asks(&[], "update_cell", &page, Execute));
    }

    #[test]
    fn what_is_asked_about_is_offered() {
        let policy = only(&[Offer::Group(Group::Edit)]);
        assert!(policy.offers("delete_cell", &[Group::Edit, Group::Delete], Write));
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
