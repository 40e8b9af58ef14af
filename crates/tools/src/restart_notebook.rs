//! `restart_notebook`: a fresh kernel for a notebook.

use notebook::one_line;
use place::{Error, ErrorKind, KernelChoice, KernelSelector};
use runs::Run;

use calls::arguments::parameters::NotebookArgument;
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "restart_notebook",
    title: "Restart a kernel",
    description: "Restart a notebook's kernel: all variables are lost, outputs stay.",
    discovery: Discovery::FoundBy("restart kernel, reset variables and memory"),
    effect: Effect::Changes,
    // A kernel that starts runs the code of its startup files.
    groups: &[Group::Run, Group::Kernels, Group::Delete],
    permission: Permission::Execute,
    arguments: NotebookArgument,
};

async fn call(notebook: NotebookArgument, context: &Context<'_>) -> Outcome {
    let opened = context.notebook(&notebook).await?;
    let choice = context.session.choose_kernel(&opened, KernelSelector::Any).await?;
    let KernelChoice::Kernel { kernel, .. } = choice else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("{} has no kernel yet, so there is nothing to restart.", one_line(opened.path())),
            "Run a cell; that starts one.",
        ));
    };
    let is_its = |run: &Run| run.kernel().is_none_or(|its| its.id() == kernel.id());
    let cut_off = context
        .after_earlier_runs(is_its, |ids| format!("These runs ended because of the restart: {ids}."))
        .await;
    context.session.workspace().runner().restart(&*kernel).await?;
    opened.restarted_by(context.session.id());
    Ok(format!(
        "The kernel of {} was restarted successfully and answers. Memory state and imported packages have been cleared. \
         Kernel id {}.{cut_off}",
        one_line(opened.path()),
        kernel.id()
    )
    .into())
}
