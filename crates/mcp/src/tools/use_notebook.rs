//! `use_notebook`: opens or makes a notebook, and says what it runs on.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use workspace::{Error, Kernel, KernelChoice, KernelSelector, KernelState, Mode};

use super::arguments::{Arguments, refused};
use super::cells::brief;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Right, Tool};
use crate::next_step::message;

/// The cells that are shown at once.
const FIRST_CELLS: usize = 20;
/// How long the choice of a kernel may hold up the answer. What is being installed goes on.
const PREPARATION: Duration = Duration::from_secs(3);
/// Lines of a preparation that may wait to be shown.
const WAITING_LINES: usize = 64;

pub(super) fn tool() -> Tool {
    Tool {
        name: "use_notebook",
        description: "Open a notebook, or create one, and make it the current one. Its kernel starts with the first run.",
        schema: Schema::new()
            .text("notebook_name", "A short name for it; default: its path")
            .text("notebook_path", "e.g. analysis/plots.ipynb")
            .choice("mode", &["connect", "create"], Some("connect"))
            .text("kernel_id", "A running kernel to join, or NEW")
            .text("kernel_name", "A kernelspec")
            .require(&["notebook_path"])
            .build(),
        effect: Effect::Adds,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    let name = arguments.optional_text("notebook_name")?;
    let path = match (arguments.optional_text("notebook_path")?, &name) {
        (Some(path), _) => path,
        // Switching back to one that is open.
        (None, Some(name)) => session.notebook(Some(name)).await?.path().to_owned(),
        (None, None) => return Err(refused("use_notebook needs notebook_path.".to_owned())),
    };
    let mode =
        arguments.choice("mode", &[("connect", Mode::Connect), ("create", Mode::Create)], Mode::Connect)?;
    let wish = KernelSelector {
        id: arguments.optional_text("kernel_id")?,
        name: arguments.optional_text("kernel_name")?,
    };
    if mode == Mode::Create {
        context.may.permit(Right::Write, "use_notebook with mode \"create\"")?;
    }
    if wish.id.is_some() || wish.name.is_some() {
        context.may.permit(Right::Execute, "use_notebook with a kernel of choice")?;
    }
    if let Some(id) = wish.id.as_deref().filter(|id| *id != "NEW") {
        session.kernel(id).await?;
    }
    let name = name.unwrap_or_else(|| path.clone());
    let opened = session.use_notebook(&name, &path, mode).await?;
    let notebook = opened.document().snapshot().await?;

    let (lines_in, mut lines) = mpsc::channel(WAITING_LINES);
    let choosing = session.choose_kernel(&opened, &wish, Some(lines_in));
    tokio::pin!(choosing);
    let mut told = 0.0;
    let is_asked_for = wish.id.is_some() || wish.name.is_some();
    let patience = if is_asked_for { Duration::MAX } else { PREPARATION };
    let too_long = sleep(patience);
    tokio::pin!(too_long);
    let kernel = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => {
                told += 1.0;
                context.progress(told, line);
            }
            kernel = &mut choosing => break Some(kernel),
            () = &mut too_long => break None,
        }
    };
    let verb = if mode == Mode::Create { "Created" } else { "Opened" };
    let place = opened.place().description();
    let standing = if context.is_stateless {
        "this connection keeps no current notebook: give notebook_name in every call"
    } else {
        "it is the current notebook"
    };
    let mut text = format!("[INFO] {verb} {} in {place} as {name:?}; {standing}.\n", opened.path());
    match kernel {
        None => text.push_str(
            "[INFO] No Python kernel was found, so one is being installed; this goes on, and the first run waits for it.\n",
        ),
        Some(Ok(KernelChoice::Kernel { kernel, .. })) => text.push_str(&describe(&*kernel)),
        Some(Ok(KernelChoice::OnFirstRun(what))) => {
            text.push_str(&format!("[INFO] No kernel runs for it; the first run starts {what}.\n"));
        }
        // The notebook can be read and edited all the same.
        Some(Err(error)) if !is_asked_for => {
            text.push_str(&format!("[WARNING] No kernel yet: {}\n", message(&error)));
        }
        Some(Err(error)) => {
            let cause = format!("{} The notebook itself is open as {name:?}.", error.cause);
            return Err(Error { cause, ..error });
        }
    }
    if let Some(notice) = opened.document().notice() {
        text.push_str(&format!("[NOTICE] {notice}\n"));
    }
    if opened.document().is_live() {
        text.push_str("[INFO] People may edit it too; cell_id \"@selected\" is the cell that a person's cursor is in.\n");
    }
    let count = notebook.cells().len();
    text.push_str(&format!("Notebook {name} has {count} cells.\n"));
    if count > 0 {
        text.push('\n');
        text.push_str(&brief(session, &opened, &notebook, 0..count.min(FIRST_CELLS)));
    }
    if count > FIRST_CELLS {
        text.push_str(&format!("\n\nread_notebook(start_index={FIRST_CELLS}) shows more."));
    }
    Ok(text.into())
}

fn describe(kernel: &dyn Kernel) -> String {
    let known = kernel.description();
    let state = match known.state {
        KernelState::NotStarted => "it starts with the first run".to_owned(),
        KernelState::Dead { how } => format!("it had died ({how}) and starts anew with the next run"),
        _ => "it is running".to_owned(),
    };
    let environment = if known.environment.is_empty() {
        String::new()
    } else {
        format!(", environment {}", known.environment)
    };
    format!(
        "[INFO] Kernel {} ({}, {}){environment}: {state}. Kernel id {}.\n",
        known.name,
        known.display_name,
        known.language,
        kernel.id()
    )
}
