//! The notebook tools, one file each: what a model reads about a tool, who may call it, and what it does.
//!
//! A new tool is a file with a `TOOL`, its `mod`, and a line in the list.

mod add_packages;
mod answer_input;
mod change_cell;
mod checkpoint;
mod clear_cell_output;
mod connect_to_jupyter;
mod copy_file;
mod copy_notebook;
mod delete_cell;
mod edit_cell_source;
mod edit_cells;
mod execute_cell;
mod execute_code;
mod get_run;
mod history;
mod insert_cell;
mod insert_execute_code_cell;
mod inspect_variable;
mod interrupt_kernel;
mod list_files;
mod list_kernels;
mod list_notebooks;
mod list_variables;
mod move_cell;
mod open_in_browser;
mod overwrite_cell_source;
mod read_cell;
mod read_notebook;
mod restart_notebook;
mod run_cells;
mod search_notebook;
mod shared;
mod undo;
mod unuse_notebook;
mod use_notebook;
mod verify_notebook;

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use place::{Error, progress};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::call_order::Ordering;
use crate::permissions::{Group, Offer, Permission, Policy};
pub(crate) use connect_to_jupyter::is_named_by_operator;
pub(crate) use shared::answer::{Answer, Outcome};
pub(crate) use shared::cell_text::{banner, index_or_id, shortened};
pub(crate) use shared::context::{Called, Context};
use shared::given::Given;
pub(crate) use shared::kernel_selector::kernel_selector;
use shared::leftovers;
use shared::older_names;
pub(crate) use shared::preview::preview_of_relayed;

/// What the warning takes that changes are not recorded, in characters; the system's reason is most of it.
const WARNING_ROOM: usize = 400;

/// The tools in the order in which they are listed.
static TOOLS: &[&Tool] = &[
    &list_files::TOOL,
    &list_notebooks::TOOL,
    &list_kernels::TOOL,
    &use_notebook::TOOL,
    &unuse_notebook::TOOL,
    &copy_notebook::TOOL,
    &copy_file::TOOL,
    &restart_notebook::TOOL,
    &read_notebook::TOOL,
    &search_notebook::TOOL,
    &read_cell::TOOL,
    &insert_cell::TOOL,
    &overwrite_cell_source::TOOL,
    &edit_cell_source::TOOL,
    &edit_cells::TOOL,
    &move_cell::TOOL,
    &change_cell::TOOL,
    &delete_cell::TOOL,
    &clear_cell_output::TOOL,
    &history::TOOL,
    &checkpoint::TOOL,
    &undo::TOOL,
    &execute_cell::TOOL,
    &insert_execute_code_cell::TOOL,
    &run_cells::TOOL,
    &verify_notebook::TOOL,
    &execute_code::TOOL,
    &get_run::TOOL,
    &list_variables::TOOL,
    &inspect_variable::TOOL,
    &interrupt_kernel::TOOL,
    &answer_input::TOOL,
    &add_packages::TOOL,
    &open_in_browser::TOOL,
    &connect_to_jupyter::TOOL,
];

/// A tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// The name for people.
    title: &'static str,
    /// Begins with the words in which people ask for it: clients search it.
    description: &'static str,
    discovery: Discovery,
    effect: Effect,
    /// The groups to which it belongs; it is offered if all of them are.
    pub(crate) groups: &'static [Group],
    pub(crate) permission: Permission,
    availability: Availability,
    schema: fn() -> Value,
    call: for<'a> fn(Given, &'a Context<'_>) -> BoxFuture<'a, Outcome>,
}

/// How a model comes to know a tool in a client that lists only some tools and searches the others, as Claude Code does
/// (<https://docs.claude.com/en/docs/claude-code/mcp>).
#[derive(Clone, Copy)]
enum Discovery {
    /// Listed from the start.
    AlwaysLoaded,
    /// Found by these words, too.
    FoundBy(&'static str),
}

/// What a tool does to the world, for its annotations.
#[derive(Clone, Copy)]
enum Effect {
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

/// Where a tool is listed.
#[derive(Clone, Copy)]
enum Availability {
    Always,
    /// Where a session can connect to other servers.
    WithConnector,
    /// Where a session can show its person a notebook.
    WithFrontend,
    /// Where the person can be asked, or need not be.
    WithConsent,
}

/// What a session can do that others cannot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capabilities {
    /// It can connect to other servers.
    pub(crate) can_connect: bool,
    /// It can show its person a notebook.
    pub(crate) can_show: bool,
    /// It can ask its person about what agents may not do by themselves, or agents may do it.
    pub(crate) can_consent: bool,
}

impl Capabilities {
    pub(crate) const ALL: Self = Self { can_connect: true, can_show: true, can_consent: true };

    pub(crate) fn of(session: &workspace::Session, can_consent: bool) -> Self {
        Self {
            can_connect: session.workspace().can_connect(),
            can_show: session.place().frontend().is_some(),
            can_consent,
        }
    }
}

impl Tool {
    fn is_available(&self, capabilities: Capabilities) -> bool {
        match self.availability {
            Availability::Always => true,
            Availability::WithConnector => capabilities.can_connect,
            Availability::WithFrontend => capabilities.can_show,
            Availability::WithConsent => capabilities.can_consent,
        }
    }

    /// The names of its parameters.
    fn parameters(&self) -> &'static [String] {
        static PARAMETERS: LazyLock<HashMap<&str, Vec<String>>> = LazyLock::new(|| {
            let names = |tool: &Tool| {
                let schema = (tool.schema)();
                schema["properties"].as_object().map(|properties| properties.keys().cloned().collect())
            };
            TOOLS.iter().map(|tool| (tool.name, names(tool).unwrap_or_default())).collect()
        });
        PARAMETERS.get(self.name).map_or(&[], Vec::as_slice)
    }

    /// Whether it has this parameter.
    fn takes(&self, parameter: &str) -> bool {
        self.parameters().iter().any(|name| name == parameter)
    }

    /// Whether it changes nothing.
    fn only_reads(&self) -> bool {
        matches!(self.effect, Effect::Reads | Effect::Watches | Effect::AsksKernel)
    }

    /// Whether the operator offers it.
    pub(crate) fn is_offered(&self, policy: &Policy) -> bool {
        policy.offers(self.name, self.groups, self.permission)
    }

    /// What a call of it may overtake.
    pub(crate) fn ordering(&self) -> Ordering {
        match self.effect {
            Effect::Watches => Ordering::Unordered,
            Effect::Reads | Effect::AsksKernel => Ordering::Reads,
            Effect::Interrupts | Effect::Answers => Ordering::Signals,
            Effect::Adds | Effect::Changes | Effect::Runs | Effect::Connects => Ordering::Changes,
        }
    }

    /// The tool as clients list it.
    fn definition(&self) -> Value {
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
            "inputSchema": (self.schema)(),
            "annotations": annotations,
            "_meta": meta,
        })
    }

    /// Runs the tool, if it may be run.
    pub(crate) async fn call(&self, context: &Context<'_>) -> Outcome {
        let given = context.called.arguments()?;
        // A plan of packages may start the kernel.
        if given.flag("preview")? == Some(true) && self.name != add_packages::TOOL.name {
            context.consent.ask_nothing();
        }
        let reported = |line| context.report_progress(line);
        let call = async {
            if self.name == add_packages::TOOL.name {
                // It asks itself, once it knows its plan.
                let groups = add_packages::groups(given.flag("restart")? == Some(true));
                context.consent.check_packages(groups, self.name)?;
            } else {
                context.permit(self.groups, self.permission, context.called.name).await?;
            }
            context.session.acting(self.name, (self.call)(given, context)).await
        };
        let workspace = context.session.workspace();
        let left = workspace.leftovers().await;
        let mut answer = progress::follow(call, reported).await.map_err(as_sentence)?;
        if let Some(left) = left.filter(|left| workspace.report_leftovers(left))
            && let Some(report) = leftovers::described(&left, |id| answer.mentions(id))
        {
            answer.begin_with(&report);
        }
        // A full reply leaves it to the next one.
        if answer.has_room(WARNING_ROOM)
            && let Some(warning) = context.session.take_record_warning()
        {
            answer.begin_with(&format!("Note: {warning}."));
        }
        Ok(answer)
    }
}

/// The tool of that name, by its name of today or an older one.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    let today = older_names::translate(name).unwrap_or(name);
    TOOLS.iter().copied().find(|tool| tool.name == today)
}

/// A name in the operator's settings that is neither that of a group nor that of a tool.
#[derive(Debug, thiserror::Error)]
#[error("{name:?} is neither a group of tools ({}) nor a tool", groups.map(Group::name).join(", "))]
pub struct UnknownOffer {
    name: String,
    groups: &'static [Group; 5],
}

impl FromStr for Offer {
    type Err = UnknownOffer;

    fn from_str(name: &str) -> Result<Self, UnknownOffer> {
        Self::among(&Group::OWN, name)
    }
}

impl Offer {
    /// Reads the name of what the person is asked about. Nobody is asked about all that only reads.
    pub fn asked(name: &str) -> Result<Self, UnknownOffer> {
        Self::among(&Group::ASKED, name)
    }

    fn among(groups: &'static [Group; 5], name: &str) -> Result<Self, UnknownOffer> {
        let name = name.trim();
        let group = groups.iter().copied().find(|group| group.name() == name).map(Self::Group);
        let offer = group.or_else(|| find(name).map(|tool| Self::Tool(tool.name)));
        offer.ok_or_else(|| UnknownOffer { name: name.to_owned(), groups })
    }
}

/// The tools that a session with these capabilities has, with their definitions, in the order in which they are listed.
pub(crate) fn list(
    capabilities: Capabilities,
) -> impl Iterator<Item = (&'static Tool, &'static place::Tool)> {
    static LISTED: LazyLock<Vec<place::Tool>> =
        LazyLock::new(|| TOOLS.iter().map(|tool| listed(tool)).collect());
    TOOLS.iter().copied().zip(&*LISTED).filter(move |(tool, _)| tool.is_available(capabilities))
}

fn listed(tool: &Tool) -> place::Tool {
    // Serializing a `Value` cannot fail.
    let definition = to_raw_value(&tool.definition()).unwrap_or_default();
    place::Tool { name: tool.name.to_owned(), definition: Arc::from(definition) }
}

/// Begins the cause with a capital letter if it begins as our sentences do. Anything else may be a name, an id or code.
fn as_sentence(mut error: Error) -> Error {
    let mut words = error.cause.split(' ');
    let is_ours = match (words.next(), words.next()) {
        (Some("there"), Some("is" | "are"))
        | (Some("no"), Some("cell" | "kernel" | "notebook" | "run"))
        | (Some("it"), Some("is" | "leads" | "names" | "cannot" | "begins")) => true,
        (Some("cell"), Some(next)) => {
            next.starts_with(|first: char| first.is_ascii_digit())
                || error.cause.contains("nothing was changed")
        }
        (Some("the"), Some(next)) => next != "matches",
        _ => false,
    };
    if let Some(first) = error.cause.get_mut(..1).filter(|_| is_ours) {
        first.make_ascii_uppercase();
    }
    error
}

#[cfg(test)]
mod tests;
