//! `unuse_notebook`: closes a notebook.

use runs::{EndsKernel, Run};

use super::interrupt_kernel::named;
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "unuse_notebook",
    title: "Close a notebook",
    description: "Close a notebook; ends only a kernel that this session started.",
    discovery: Discovery::FoundBy("close notebook, shut down its kernel"),
    effect: Effect::Changes,
    groups: &[Group::Read],
    permission: Permission::Read,
    arguments: NotebookArgument,
};

async fn call(NotebookArgument { notebook_name }: NotebookArgument, context: &Context<'_>) -> Outcome {
    let session = context.session;
    let ends = match (
        context.consent.may(&[Group::Run, Group::Delete], Permission::Execute),
        context.is_stateless,
    ) {
        (false, _) => EndsKernel::Never,
        (true, false) => EndsKernel::IfOurs,
        (true, true) => EndsKernel::IfOrphaned,
    };
    let kernel = session.notebook(notebook_name.as_deref()).await.ok().and_then(|opened| opened.kernel());
    let is_its = |run: &Run| {
        kernel.as_ref().is_none_or(|kernel| run.kernel().is_none_or(|its| its.id() == kernel.id()))
    };
    let cut_off =
        context.after_earlier_runs(is_its, |ids| format!("These runs were not finished: {ids}.")).await;
    let pending = match &kernel {
        Some(kernel) => session.workspace().runner().pending(&**kernel).await,
        None => Vec::new(),
    };
    let pending = named(session, &pending).await;
    let (opened, kernels) = session.unuse_notebook(notebook_name.as_deref(), ends).await?;
    let has_ended = kernel.is_some_and(|kernel| kernels.iter().any(|ended| ended.id() == kernel.id()));
    let cut_off = if has_ended && !pending.is_empty() { format!(" That ended {pending}.") } else { cut_off };
    let kernel = match &kernels[..] {
        [] => " No kernel was shut down.".to_owned(),
        [kernel] => format!(" Its kernel {} was shut down.", kernel.id()),
        kernels => {
            let ids: Vec<&str> = kernels.iter().map(|kernel| &**kernel.id()).collect();
            format!(" Its kernels {} were shut down.", ids.join(", "))
        }
    };
    let current = match session.current() {
        Some(current) => format!(" The current notebook is {}.", one_line(&current)),
        None => " There is no current notebook now.".to_owned(),
    };
    Ok(format!("Notebook {} is closed.{kernel}{cut_off}{current}", one_line(opened.path())).into())
}
