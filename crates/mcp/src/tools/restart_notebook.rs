//! `restart_notebook`: a fresh kernel for a notebook.

use workspace::{Error, ErrorKind, KernelChoice, KernelSelector};

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "restart_notebook",
        description: "Restart a notebook's kernel; all variables are lost, outputs stay.",
        schema: Schema::new().notebook().build(),
        effect: Effect::Destroys,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let opened = context.notebook(&arguments).await?;
    let choice = context.session.choose_kernel(&opened, &KernelSelector::default(), None).await?;
    let KernelChoice::Kernel { kernel, .. } = choice else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("{} has no kernel yet, so there is nothing to restart.", opened.path()),
            "Run a cell; that starts one.",
        ));
    };
    context.session.workspace().runner().restart(&*kernel).await?;
    Ok(format!(
        "The kernel of {} was restarted successfully and answers. Memory state and imported packages have been cleared. \
         Kernel id {}.",
        opened.path(),
        kernel.id()
    )
    .into())
}
