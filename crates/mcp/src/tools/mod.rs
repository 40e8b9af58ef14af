//! The notebook tools, one file each: what a model reads of them, and what they do.

mod arguments;
mod cells;
mod context;
mod older_names;
mod runs;
mod schema;

mod answer_input;
mod clear_cell_output;
mod connect_to_jupyter;
mod delete_cell;
mod edit_cell_source;
mod execute_cell;
mod execute_code;
mod get_run;
mod insert_cell;
mod insert_execute_code_cell;
mod interrupt_kernel;
mod list_files;
mod list_kernels;
mod list_notebooks;
mod move_cell;
mod open_in_browser;
mod overwrite_cell_source;
mod read_cell;
mod read_notebook;
mod restart_notebook;
mod run_cells;
mod search_notebook;
mod unuse_notebook;
mod use_notebook;

use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use workspace::Error;

use arguments::Arguments;
pub(crate) use cells::{banner, index_or_id};
pub(crate) use context::{Answer, Context, Outcome, Person};

/// Lines that may wait to be shown.
const WAITING_LINES: usize = 64;

/// What a tool does to the world, for its annotations.
#[derive(Clone, Copy)]
enum Effect {
    /// Changes nothing.
    Reads,
    /// Adds something; loses nothing.
    Adds,
    /// Changes what is there; the same call again changes nothing more.
    Edits,
    /// Takes something away.
    Destroys,
    /// Runs code, which may do anything.
    Runs,
}

/// A tool as models read it.
struct Tool {
    name: &'static str,
    description: &'static str,
    schema: Value,
    effect: Effect,
}

/// What somebody must be allowed in order to use a tool; the words are those of Jupyter's authorizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    Read,
    Write,
    Execute,
}

impl Tool {
    fn right(&self) -> Right {
        match (self.effect, self.name) {
            // What these take away is the kernel's, or what it was doing.
            (Effect::Runs, _) | (_, "interrupt_kernel" | "restart_notebook" | "unuse_notebook") => {
                Right::Execute
            }
            // Making a notebook is up to the place.
            (Effect::Reads, _) | (_, "use_notebook") => Right::Read,
            (Effect::Adds | Effect::Edits | Effect::Destroys, _) => Right::Write,
        }
    }

    fn definition(self) -> Value {
        let (reads, destroys, is_idempotent, is_open) = match self.effect {
            Effect::Reads => (true, false, true, false),
            Effect::Adds => (false, false, false, false),
            Effect::Edits => (false, true, true, false),
            Effect::Destroys => (false, true, false, false),
            Effect::Runs => (false, true, false, true),
        };
        let annotations = json!({
            "readOnlyHint": reads,
            "destructiveHint": destroys,
            "idempotentHint": is_idempotent,
            "openWorldHint": is_open,
        });
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": annotations,
        })
    }
}

macro_rules! tools {
    ($($name:ident),* $(,)?) => {
        /// The tools in the order in which they are listed.
        static TOOLS: LazyLock<Vec<workspace::Tool>> = LazyLock::new(|| vec![$(listed($name::tool())),*]);

        static RIGHTS: LazyLock<Vec<Right>> = LazyLock::new(|| vec![$($name::tool().right()),*]);

        /// The tool of that name, if there is one.
        fn known(name: &str) -> Option<&'static str> {
            match name {
                $(stringify!($name) => Some(stringify!($name)),)*
                _ => None,
            }
        }

        fn dispatch<'a>(
            name: &'static str,
            arguments: Arguments,
            context: &'a Context<'_>,
        ) -> BoxFuture<'a, Outcome> {
            match name {
                $(stringify!($name) => Box::pin($name::call(arguments, context)),)*
                // `known` gives no other.
                _ => Box::pin(std::future::ready(Ok(String::new().into()))),
            }
        }
    };
}

tools![
    list_files,
    list_notebooks,
    list_kernels,
    use_notebook,
    unuse_notebook,
    restart_notebook,
    read_notebook,
    search_notebook,
    read_cell,
    insert_cell,
    overwrite_cell_source,
    edit_cell_source,
    move_cell,
    delete_cell,
    clear_cell_output,
    execute_cell,
    insert_execute_code_cell,
    run_cells,
    execute_code,
    get_run,
    interrupt_kernel,
    answer_input,
    open_in_browser,
    connect_to_jupyter,
];

fn listed(tool: Tool) -> workspace::Tool {
    let name = tool.name.to_owned();
    // Values that were made here are written without fail.
    let definition = to_raw_value(&tool.definition()).unwrap_or_default();
    workspace::Tool { name, definition: Arc::from(definition) }
}

/// What is possible for a session, beyond what is possible for all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abilities {
    /// It can reach other servers.
    pub(crate) can_connect: bool,
    /// It can show its person a notebook.
    pub(crate) can_show: bool,
}

impl Abilities {
    pub(crate) fn of(session: &workspace::Session) -> Self {
        Self {
            can_connect: session.workspace().can_connect(),
            can_show: session.place().frontend().is_some(),
        }
    }
}

/// The tools in the order in which they are listed.
pub(crate) fn list(abilities: Abilities) -> impl Iterator<Item = &'static workspace::Tool> {
    TOOLS.iter().filter(move |tool| match tool.name.as_str() {
        "connect_to_jupyter" => abilities.can_connect,
        "open_in_browser" => abilities.can_show,
        _ => true,
    })
}

/// Whether a call of that name is for these tools, by a name of today or an older one.
pub(crate) fn serves(name: &str) -> bool {
    today(name).is_some()
}

/// What a tool is called today.
pub(crate) fn today(name: &str) -> Option<&'static str> {
    older_names::translate(name).or_else(|| known(name))
}

/// The name itself, and that of today if it is an older one.
pub(crate) fn names(name: &str) -> impl Iterator<Item = &str> {
    [Some(name), older_names::translate(name)].into_iter().flatten()
}

/// What somebody must be allowed in order to call the tool, by a name of today or an older one.
pub(crate) fn right(name: &str) -> Option<Right> {
    let today = today(name)?;
    TOOLS.iter().zip(&*RIGHTS).find(|(tool, _)| tool.name == today).map(|(_, right)| *right)
}

/// Runs a tool. `params` are those of the `tools/call`.
pub(crate) async fn call(name: &str, params: &RawValue, context: &Context<'_>) -> Outcome {
    let Some(today) = today(name) else {
        return Err(arguments::refused(format!("There is no tool {name:?}.")));
    };
    let mut arguments = Arguments::read(today, params)?;
    older_names::adapt(name, &mut arguments)?;
    let (listener, mut lines) = mpsc::channel(WAITING_LINES);
    let call = workspace::progress::scope(listener, dispatch(today, arguments, context));
    tokio::pin!(call);
    // What a run tells of itself counts in seconds, and comes later.
    let mut told = 0.0;
    loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => {
                told += 0.001;
                context.progress(told, line);
            }
            answer = &mut call => return answer.map_err(as_sentence),
        }
    }
}

/// Begins the cause with a capital letter, wherever it comes from, unless it begins with an argument's name or an address.
fn as_sentence(mut error: Error) -> Error {
    let is_name =
        error.cause.split(' ').next().is_some_and(|word| word.contains('_') || word.contains("://"));
    if let Some(first) = error.cause.get_mut(..1).filter(|_| !is_name) {
        first.make_ascii_uppercase();
    }
    error
}

#[cfg(test)]
mod tests;
