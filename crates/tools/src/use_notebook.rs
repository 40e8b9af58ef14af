//! `use_notebook`: opens or creates a notebook, and says which kernel it has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use place::{Kernel, KernelChoice, KernelSelector, KernelState, Mode, NotebookPath};
use runs::OpenNotebook;
use serde_json::json;
use tokio::time::timeout;

use super::read_notebook::problems::absent_modules;
use calls::arguments::kernel_selector::kernel_selector;
use calls::next_step::message;
use calls::prelude::*;
use calls::replies::time;

/// The kernelspec of any Python.
const PYTHON: &str = "python3";
/// How many cells are shown.
const MAX_CELLS: usize = 20;
/// How long the choice of a kernel may delay the answer, unless a kernel is asked for. An installation goes on.
const CHOICE_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) static TOOL: Tool = tool! {
    name: "use_notebook",
    title: "Open or create a notebook",
    description: "Open a Jupyter notebook (.ipynb), or create a Jupyter notebook, and make it the current one. Its kernel starts with the first run.",
    discovery: Discovery::AlwaysLoaded,
    effect: Effect::Changes,
    groups: &[Group::Read],
    permission: Permission::Read,
    combinations: &[Combination::NeedsOne(&["notebook_path", "notebook_name"])],
};

arguments! {
    struct Arguments {
        /// A short name for it; default: its path
        notebook_name: Option<String>,
        /// e.g. analysis/plots.ipynb
        notebook_path: PathArgument,
        mode: Mode = Mode::Connect,
        /// A running kernel to join, or NEW
        kernel_id: Option<String>,
        /// A kernelspec
        kernel_name: Option<String>,
        preview: PreviewArgument,
    }
}

/// The path. Models read that it is required; without it, the name of an open notebook is enough.
struct PathArgument(Option<NotebookPath>);

impl Argument for PathArgument {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        schema.add_required(name, json!({ "type": "string" }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        Ok(Self(given.optional_text(name)?.map(NotebookPath::from)))
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let names_kernel = arguments.kernel_id.is_some() || arguments.kernel_name.is_some();
    permit(context, arguments.mode, names_kernel).await?;
    let session = context.session;
    let path = match (arguments.notebook_path.0, &arguments.notebook_name) {
        (Some(path), _) => path,
        (None, name) => session.notebook(name.as_deref()).await?.path().clone(),
    };
    let would = if arguments.mode == Mode::Create {
        let (path, executed_later) = session.check_new(&path).await?;
        context.permit_executed_later(&path, executed_later).await?;
        format!("Would create {}, without cells", one_line(&path))
    } else {
        format!("Would open {}, which changes no cell", one_line(&path))
    };
    if arguments.preview.preview {
        return Ok(format!("{would} (nothing was done).").into());
    }
    let wanted = kernel_selector(session, arguments.kernel_id.as_deref(), arguments.kernel_name).await?;
    let name = arguments.notebook_name.unwrap_or_else(|| path.to_string());
    let opened = session.use_notebook(&name, &path, arguments.mode).await?;
    if names_kernel {
        // The runs of earlier calls belong to the kernel of before.
        context.turn.after_earlier_starts(|run| run.kernel().is_none()).await;
    }
    let kernel = if names_kernel || context.consent.may(&[Group::Run], Permission::Execute) {
        kernel(context, &opened, &name, wanted).await?
    } else {
        // Choosing one may install Python, or change a session on the server.
        present_kernel(&opened)
    };
    describe(context, &opened, &name, arguments.mode, &kernel).await
}

/// Fails if the call may not do what is more than opening a notebook.
async fn permit(context: &Context<'_>, mode: Mode, names_kernel: bool) -> Result<(), Error> {
    if mode == Mode::Create {
        context.permit(&[Group::Files], Permission::Write, "use_notebook with mode \"create\"").await?;
    }
    if names_kernel {
        // A kernel that starts runs the code of its startup files.
        let groups = &[Group::Kernels, Group::Run];
        context.permit(groups, Permission::Execute, "use_notebook with a chosen kernel").await?;
    }
    Ok(())
}

/// Chooses the kernel; returns what to say about it. Only a kernel that is asked for may fail: the notebook can be read
/// and edited without one.
async fn kernel(
    context: &Context<'_>,
    opened: &Arc<OpenNotebook>,
    name: &str,
    wanted: KernelSelector,
) -> Result<String, Error> {
    let is_asked_for = wanted != KernelSelector::Any;
    let wanted = with_name(opened, wanted).await;
    let limit = if is_asked_for { Duration::MAX } else { CHOICE_TIMEOUT };
    Ok(match timeout(limit, context.session.choose_kernel(opened, wanted)).await {
        Err(_) => {
            "[INFO] No Python kernel was found. Cellbridge is installing one; the first run waits for it.\n"
                .to_owned()
        }
        Ok(Ok(KernelChoice::Kernel { kernel, .. })) => {
            let mut text = describe_kernel(&*kernel);
            for replaced in opened.replaced_kernels() {
                let next = if replaced.is_shared().await {
                    "another server uses it"
                } else {
                    "unuse_notebook stops both"
                };
                text.push_str(&format!(
                    "[INFO] Kernel {} of this notebook is still running, in addition to this one; {next}.\n",
                    replaced.id()
                ));
            }
            text
        }
        Ok(Ok(KernelChoice::OnFirstRun(what))) => {
            format!("[INFO] The notebook has no kernel yet; the first run starts {}.\n", one_line(&what))
        }
        Ok(Err(error)) if !is_asked_for => format!("[WARNING] No kernel yet: {}\n", message(&error)),
        Ok(Err(error)) => {
            let cause = format!("{} The notebook itself is open as {name:?}.", error.cause);
            return Err(Error { cause, ..error });
        }
    })
}

/// The kernelspec that is asked for.
fn asked(wanted: &KernelSelector) -> Option<&str> {
    match wanted {
        KernelSelector::Kernelspec(name) | KernelSelector::New(Some(name)) => Some(name),
        _ => None,
    }
}

/// Takes a name for people for the kernelspec, if it is that of exactly one and no kernelspec's own name.
async fn with_name(opened: &OpenNotebook, wanted: KernelSelector) -> KernelSelector {
    let Some(name) = asked(&wanted) else { return wanted };
    let place = opened.place().clone();
    let Ok(Ok(installed)) = timeout(CHOICE_TIMEOUT, place.kernelspecs()).await else { return wanted };
    // The environment's own kernel need not be listed.
    let own = opened.kernel().map(|kernel| kernel.description());
    let mut specs: Vec<_> = installed.iter().map(|spec| (&*spec.name, &*spec.display_name)).collect();
    specs.extend(own.iter().map(|own| (&*own.name, &*own.display_name)));
    specs.push((PYTHON, ""));
    match (named_for_people(name, &specs).map(str::to_owned), &wanted) {
        (None, _) => wanted,
        (Some(name), KernelSelector::New(_)) => KernelSelector::New(Some(name)),
        (Some(name), _) => KernelSelector::Kernelspec(name),
    }
}

/// The name of the one kernelspec with this display name, or that differs in spaces only. Each is given with both.
fn named_for_people<'s>(wanted: &str, specs: &[(&'s str, &str)]) -> Option<&'s str> {
    let is_it = |name: &str| name.trim().eq_ignore_ascii_case(wanted.trim());
    let squeezed = |name: &str| name.split_whitespace().collect::<String>().to_ascii_lowercase();
    if specs.iter().any(|(name, _)| is_it(name)) {
        return None;
    }
    let one = |is_meant: &dyn Fn(&(&'s str, &str)) -> bool| {
        let names: BTreeSet<&str> =
            specs.iter().filter(|spec| is_meant(spec)).map(|(name, _)| *name).collect();
        (names.len() == 1).then(|| names.first().copied()).flatten()
    };
    one(&|(_, displayed)| is_it(displayed)).or_else(|| one(&|(name, _)| squeezed(name) == squeezed(wanted)))
}

fn present_kernel(opened: &OpenNotebook) -> String {
    match opened.kernel() {
        Some(kernel) => describe_kernel(&*kernel),
        None => "[INFO] No kernel was chosen, because this agent may not run code, or must ask first.\n"
            .to_owned(),
    }
}

async fn describe(
    context: &Context<'_>,
    opened: &OpenNotebook,
    name: &str,
    mode: Mode,
    kernel: &str,
) -> Outcome {
    let (document, place) = (opened.document(), one_line(&opened.place().description()).into_owned());
    let verb = if mode == Mode::Create { "Created" } else { "Opened" };
    let current = if context.is_stateless {
        "this connection has no current notebook: give notebook_name in every call"
    } else {
        "it is the current notebook"
    };
    let mut text =
        format!("[INFO] {verb} {} in {place} as {name:?}; {current}.\n{kernel}", one_line(opened.path()));
    for notice in opened.take_notices() {
        text.push_str(&format!("[NOTICE] {}\n", one_line(&notice)));
    }
    if let Some(notice) = document.notice() {
        text.push_str(&format!("[NOTICE] {}\n", one_line(&notice)));
    }
    if document.is_live() {
        text.push_str(
            "[INFO] Others can edit this notebook at the same time; cell_id \"@selected\" is the cell with a \
             person's cursor.\n",
        );
    }
    let notebook = document.snapshot().await?;
    let count = notebook.cells().len();
    text.push_str(&format!("Notebook {} has {count} cells.\n", one_line(name)));
    if count > 0 {
        text.push('\n');
        text.push_str(&brief(context.session, opened, &notebook, 0..count.min(MAX_CELLS)));
    }
    if count > MAX_CELLS {
        text.push_str(&format!("\n\nread_notebook(start_index={MAX_CELLS}) shows more."));
    }
    if let Some(line) = absent_modules(context, opened, &notebook).await {
        text.push_str(&format!("\n\n{line}"));
    }
    Ok(text.into())
}

fn describe_kernel(kernel: &dyn Kernel) -> String {
    let known = kernel.description();
    let is_dead = matches!(known.state, KernelState::Dead { .. });
    let state = match known.state {
        KernelState::NotStarted => "starts with the first run".to_owned(),
        KernelState::Unreachable { how } => format!("unreachable ({how})"),
        KernelState::Dead { how } => format!("died ({how}); the next run starts a new one"),
        _ => "running".to_owned(),
    };
    let environment = if known.environment.is_empty() {
        String::new()
    } else {
        format!(" Environment: {}.", one_line(&known.environment))
    };
    // A dead kernel has no variables.
    let kept = known.keeping.filter(|keeping| keeping.is_from_earlier && !is_dead).map(|keeping| {
        let (started, used) = (time(keeping.started_at), time(keeping.last_request));
        let is_shared = keeping.attached.iter().any(|process| *process != std::process::id());
        let whose = if is_shared { "is shared with another server" } else { "is from an earlier server" };
        format!(
            "[NOTICE] This kernel {whose}, with its variables: started {started}, last used {used}. use_notebook \
             with kernel_id \"NEW\" starts another one.\n"
        )
    });
    let foreign = known.foreign.map(|foreign| {
        format!(
            "[NOTICE] This kernel belongs to another program ({}, {}), which shares its variables and alone can \
             restart or end it.\n",
            one_line(&foreign.origin),
            time(foreign.started_at)
        )
    });
    let notice = kept.or(foreign).unwrap_or_default();
    format!(
        "{notice}[INFO] Kernel {} ({}, {}): {state}.{environment} Kernel id {}.\n",
        one_line(&known.name),
        one_line(&known.display_name),
        one_line(&known.language),
        kernel.id()
    )
}

#[cfg(test)]
mod tests {
    use super::named_for_people;

    #[test]
    fn a_name_for_people_stands_for_the_one_kernelspec_that_has_it() {
        let specs =
            [("python3", "Python 3 (ipykernel)"), ("ml", "Machine learning"), ("r1", "R"), ("r2", "R")];
        for (wanted, expected) in [
            ("Python 3 (ipykernel)", Some("python3")),
            ("machine Learning", Some("ml")),
            ("Python 3", Some("python3")),
            ("R", None),
            ("ml", None),
            ("pyhton3", None),
        ] {
            assert_eq!(named_for_people(wanted, &specs), expected, "{wanted}");
        }
    }
}
