//! What a tool is: what a model reads about it, who may call it, what it does, and what a person is asked about it.
//!
//! A tool is called with a [`Context`], which knows the tool and asks the person about it (`preview`): these three files know each
//! other.

use futures_util::future::BoxFuture;
use place::{Error, NextStep, progress};
use serde_json::{Value, json};

use crate::answer::Outcome;
use crate::arguments::combinations::Combination;
use crate::arguments::declare::InputSchema;
use crate::arguments::given::Given;
use crate::call_order::Ordering;
use crate::context::Context;
use crate::permissions::{Group, Permission, Policy};
use crate::preview::Asked;
use crate::replies::{leftovers, stale_now};

/// What the warning takes that changes are not recorded, in characters; the system's reason is most of it.
const WARNING_ROOM: usize = 400;

/// A tool.
pub struct Tool {
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Begins with the words in which people ask for it: clients search it.
    pub description: &'static str,
    pub discovery: Discovery,
    pub effect: Effect,
    /// The groups to which it belongs; it is offered if all of them are.
    pub groups: &'static [Group],
    /// Whether a person wants to see its calls, where the client can show them.
    pub has_view: bool,
    pub permission: Permission,
    /// Whether it is listed in a session.
    pub availability: fn(Capabilities) -> bool,
    pub schema: InputSchema,
    /// Arguments without an effect beside others.
    pub combinations: &'static [Combination],
    pub shows: Shows,
    /// Reads and checks the arguments, before anybody is asked about the call.
    pub read: fn(&Given) -> Result<Work, Error>,
}

/// A call with its arguments.
pub type Work = Box<dyn for<'a> FnOnce(&'a Context<'_>) -> BoxFuture<'a, Outcome> + Send>;

/// A tool that the function `call` runs, with the arguments `Arguments`. It is always listed, needs the permission of its effect, and a question about it shows the cell
/// that the arguments name, unless the declaration says otherwise. `check` refuses arguments that can be read and mean nothing.
#[macro_export]
macro_rules! tool {
    (
        name: $name:expr,
        title: $title:expr,
        description: $description:expr,
        discovery: $discovery:expr,
        effect: $effect:expr,
        groups: $groups:expr,
        $(has_view: $has_view:expr,)?
        $(permission: $permission:expr,)?
        $(availability: $availability:expr,)?
        $(arguments: $arguments:ty,)?
        $(combinations: $combinations:expr,)?
        $(check: $check:expr,)?
        $(shows: $shows:expr,)?
    ) => {
        $crate::tool::Tool {
            name: $name,
            title: $title,
            description: $description,
            discovery: $discovery,
            effect: $effect,
            groups: $groups,
            has_view: $crate::tool!(@first $($has_view,)? false),
            permission: $crate::tool!(@first $($permission,)? $effect.permission()),
            availability: $crate::tool!(@first $($availability,)? |_| true),
            schema: $crate::arguments::declare::InputSchema::of::<$crate::tool!(@type $($arguments,)? Arguments)>(),
            combinations: $crate::tool!(@first $($combinations,)? &[]),
            shows: $crate::tool!(@first $($shows,)? $crate::tool::Shows::NamedCell),
            read: |given| {
                let arguments = given.read()?;
                $(($check)(&arguments)?;)?
                Ok(Box::new(move |context| Box::pin(call(arguments, context))))
            },
        }
    };
    (@first $first:expr $(, $default:expr)?) => { $first };
    (@type $first:ty $(, $default:ty)?) => { $first };
}
pub use crate::tool;

/// How a model comes to know a tool in a client that lists only some tools and searches the others, as Claude Code does
/// (<https://docs.claude.com/en/docs/claude-code/mcp>).
#[derive(Clone, Copy)]
pub enum Discovery {
    /// Listed from the start.
    AlwaysLoaded,
    /// Found by these words, too.
    FoundBy(&'static str),
}

/// What a tool does to the world, for its annotations.
#[derive(Clone, Copy)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Changes nothing, and is about runs alone, whatever notebook is current.
    Watches,
    /// Changes nothing, but asks a kernel, which takes the permission to execute.
    AsksKernel,
    /// Adds something; loses nothing.
    Adds,
    /// Changes, removes or ends something; the same call again may do more of it.
    Changes,
    /// Interrupts a run.
    Interrupts,
    /// Answers a run that waits, which then does anything.
    Answers,
    /// Runs code, which may do anything.
    Runs,
    /// Connects to any server; loses nothing, and the same call again changes nothing more.
    Connects,
}

impl Effect {
    /// The default permission of a tool with this effect.
    pub const fn permission(self) -> Permission {
        match self {
            Self::Reads | Self::Watches => Permission::Read,
            Self::Adds | Self::Changes | Self::Connects => Permission::Write,
            Self::AsksKernel | Self::Interrupts | Self::Answers | Self::Runs => Permission::Execute,
        }
    }
}

/// What a question to the person about a call shows beside its arguments.
#[derive(Clone, Copy)]
pub enum Shows {
    /// The cell that the arguments name, if they name one.
    NamedCell,
    /// What the tool adds.
    More(for<'a> fn(&'a mut Asked<'_>) -> BoxFuture<'a, Result<(), Error>>),
    /// The tool asks itself, once it knows what it would do; the groups to which a call belongs.
    ByItself(fn(&Given) -> Result<&'static [Group], Error>),
}

/// What a session can do that others cannot.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
pub struct Capabilities {
    /// It can connect to other servers.
    pub can_connect: bool,
    /// It can show its person a notebook.
    pub can_show: bool,
    /// It can ask its person about what agents may not do by themselves, or agents may do it.
    pub can_consent: bool,
    /// It can start machines: the person has signed in to the account.
    pub has_machines: bool,
}

impl Capabilities {
    pub const ALL: Self = Self { can_connect: true, can_show: true, can_consent: true, has_machines: true };

    pub fn of(session: &workspace::Session, can_consent: bool) -> Self {
        Self {
            can_connect: session.workspace().places().can_connect(),
            can_show: session.place().frontend().is_some(),
            can_consent,
            has_machines: session.workspace().machines().is_some(),
        }
    }
}

impl Tool {
    pub fn is_available(&self, capabilities: Capabilities) -> bool {
        (self.availability)(capabilities)
    }

    /// Whether it changes nothing.
    pub fn only_reads(&self) -> bool {
        matches!(self.effect, Effect::Reads | Effect::Watches | Effect::AsksKernel)
    }

    /// Whether the operator offers it.
    pub fn is_offered(&self, policy: &Policy) -> bool {
        policy.offers(self.name, self.groups, self.permission)
    }

    /// What a call of it may overtake.
    pub fn ordering(&self) -> Ordering {
        match self.effect {
            Effect::Watches => Ordering::Unordered,
            Effect::Reads | Effect::AsksKernel => Ordering::Reads,
            Effect::Interrupts | Effect::Answers => Ordering::Signals,
            Effect::Adds | Effect::Changes | Effect::Runs | Effect::Connects => Ordering::Changes,
        }
    }

    /// The tool as clients list it.
    pub fn definition(&self) -> Value {
        let (reads, destroys, is_idempotent, is_open) = match self.effect {
            Effect::Reads | Effect::Watches | Effect::AsksKernel => (true, false, true, false),
            Effect::Adds => (false, false, false, false),
            Effect::Changes | Effect::Interrupts => (false, true, false, false),
            Effect::Runs | Effect::Answers => (false, true, false, true),
            Effect::Connects => (false, false, true, true),
        };
        let annotations = json!({
            "readOnlyHint": reads,
            "destructiveHint": destroys,
            "idempotentHint": is_idempotent,
            "openWorldHint": is_open,
        });
        let meta = match self.discovery {
            Discovery::AlwaysLoaded => json!({ "anthropic/alwaysLoad": true }),
            Discovery::FoundBy(words) => json!({ "anthropic/searchHint": words }),
        };
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema.value(),
            "annotations": annotations,
            "_meta": meta,
        })
    }

    /// Runs the tool, if it may be run.
    pub async fn call(&self, context: &Context<'_>) -> Outcome {
        let given = &context.called.given;
        let work = (self.read)(given)?;
        let groups = match self.shows {
            // Even its preview may do something.
            Shows::ByItself(groups) => Some(groups(given)?),
            _ => None,
        };
        if given.flag("preview")? == Some(true) && groups.is_none() {
            context.consent.ask_nothing();
        }
        let reported = |line| context.report_progress(line);
        let call = async {
            match groups {
                Some(groups) => context.consent.check_packages(groups, self.name)?,
                None => context.permit(self.groups, self.permission, context.called.name).await?,
            }
            context.session.acting(self.name, work(context)).await
        };
        let workspace = context.session.workspace();
        workspace.places().notice_login();
        let left = workspace.leftovers().await;
        let mut answer = progress::follow(call, reported).await.map_err(|error| self.worded(error))?;
        if let Some(left) = left.filter(|left| workspace.report_leftovers(left))
            && let Some(report) = leftovers::described(&left, |id| answer.mentions(id))
        {
            answer.begin_with(&report);
        }
        if !self.only_reads()
            && given.flag("preview")? != Some(true)
            && let Some(line) = stale_now::line(context).await
        {
            answer.end_with(&line);
        }
        // A full reply leaves them to the next one.
        if answer.has_room(WARNING_ROOM) {
            for sentence in context.session.take_persons_actions().await {
                answer.begin_with(&format!("[NOTICE] {sentence}"));
            }
        }
        if answer.has_room(WARNING_ROOM)
            && let Some(warning) = context.session.take_record_warning()
        {
            answer.begin_with(&warning);
        }
        Ok(answer)
    }

    /// The error as a sentence, with a next step that the tool can take.
    fn worded(&self, error: Error) -> Error {
        if matches!(error.next, NextStep::EditRevision { .. }) && !self.schema.takes("if_revision") {
            let next = format!("Look at what it is now, then call {} again.", self.name);
            return Error { next: next.into(), ..error };
        }
        error
    }
}
