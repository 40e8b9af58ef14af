//! `execute_code`: runs code that does not enter the notebook.

use std::sync::Arc;
use std::time::Duration;

use runs::Run;

use calls::prelude::*;
use calls::replies::run_report::report;

pub(crate) static TOOL: Tool = tool! {
    name: "execute_code",
    title: "Run code without a cell",
    description: "Run code in a notebook's kernel without adding a cell: show variables, try something, pip install (magics and ! too).",
    discovery: Discovery::FoundBy(
        "inspect variables, evaluate an expression, install a package, shell command",
    ),
    effect: Effect::Runs,
    groups: &[Group::Run],
    has_view: true,
};

arguments! {
    struct Arguments {
        code: String,
        /// Seconds to wait
        timeout: Option<Duration> = 30,
        /// Default: the notebook's kernel
        kernel_id: Option<String>,
        progress_interval: Option<Duration> = 5,
        interrupt_on_timeout: bool = false,
        interrupt_on_cancel: bool = false,
        budget: BudgetArguments,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { code, kernel_id, notebook, .. } = arguments;
    let (run, place) = start(context, code, kernel_id, notebook.notebook_name).await?;
    let waiting = WaitingArguments {
        timeout: arguments.timeout,
        stream: true,
        progress_interval: arguments.progress_interval,
        interrupt_on_timeout: arguments.interrupt_on_timeout,
        interrupt_on_cancel: arguments.interrupt_on_cancel,
        budget: arguments.budget,
    };
    waiting.waiting(context).wait(&run, context).await?;
    Ok(report(context.session, &run, context.budget(&waiting.budget), "", &place).await)
}

/// Starts a run in the kernel that is meant; returns it, and where it belongs.
async fn start(
    context: &Context<'_>,
    code: String,
    kernel: Option<String>,
    notebook: Option<String>,
) -> Result<(Arc<Run>, String), Error> {
    let session = context.session;
    Ok(match (kernel, notebook) {
        (Some(kernel), _) => {
            let place = format!(" · kernel {}", one_line(&kernel));
            // A run in the kernel of a notebook counts for its cells.
            match session.workspace().notebook_of_kernel(&kernel) {
                Some(opened) => {
                    context.consent.check_notebook(opened.path())?;
                    context.is_about(&opened);
                    (session.run(opened, None, code)?, place)
                }
                None => (session.run_code(Some(&kernel), code).await?, place),
            }
        }
        (None, None) if session.current().is_none() => {
            (session.run_code(None, code).await?, " · the session's own kernel".to_owned())
        }
        (None, name) => {
            let opened = session.notebook(name.as_deref()).await?;
            context.consent.check_notebook(opened.path())?;
            context.is_about(&opened);
            let place = format!(" · kernel of {}", one_line(opened.path()));
            (session.run(opened, None, code)?, place)
        }
    })
}
