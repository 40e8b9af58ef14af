//! Words for failures: what happened, and the next tool call or action by its name.

use std::borrow::Cow;

use connection::joined;
use notebook::visible;
use place::{Error, NextStep};
use render::quoted;

/// A failure as an agent reads it.
pub fn message(error: &Error) -> String {
    let (cause, next) = (visible(error.cause.trim_end()), words(&error.next));
    let next = visible(&next);
    match cause.split_once('\n') {
        None => joined(&cause, &next),
        // Others may have written the lines below the first: a source, an output, or what a server says.
        Some((first, rest)) => format!("{first}\n{}\n{next}", quoted(rest)),
    }
}

fn words(step: &NextStep) -> Cow<'static, str> {
    let words = match step {
        NextStep::ListNotebooks => {
            "list_notebooks shows the notebooks that exist; use_notebook with mode \"create\" creates a new one."
        }
        NextStep::ListFiles => {
            "Give a path from the root folder, such as \"analysis/plot.ipynb\"; list_files shows what exists."
        }
        NextStep::Overwrite => "Give another path, or overwrite: true to replace it.",
        NextStep::OpenExisting => "Open it with mode \"connect\", or give another path.",
        NextStep::NameNotebook { open } if open.is_empty() => {
            "Open one with use_notebook, or give its path as notebook_name; list_notebooks shows what exists."
        }
        NextStep::NameNotebook { open } => {
            return format!(
                "Open notebooks: {}. use_notebook opens another; notebook_name also takes a path.",
                open.join(", ")
            )
            .into();
        }
        NextStep::CloseNotebook => "Close one with unuse_notebook; list_notebooks shows which are open.",
        NextStep::Reopen { path } => {
            return format!("Call use_notebook with notebook_path {path:?} to open it again.").into();
        }
        NextStep::ReadNotebook => "Call read_notebook to see the cells as they are now, then try again.",
        NextStep::NameCell => "Call again with the cell_id that you mean; read_notebook lists all cells.",
        NextStep::EditRevision { revision } => {
            return format!("Decide on the new source, then try again with if_revision {revision:?}.").into();
        }
        NextStep::ListKernels => {
            "list_kernels shows the kernels that exist; omit kernel_id to use the notebook's own, or give \
             use_notebook the kernel_id \"NEW\" for another."
        }
        NextStep::ChooseKernelspec { available } if !available.is_empty() => {
            return format!(
                "Installed: {}. Pass one as `kernel_name` to use_notebook, or install the missing one.",
                available.join(", ")
            )
            .into();
        }
        NextStep::StartKernel => "Call use_notebook to get a new kernel.",
        NextStep::RestartKernel => {
            "Try again; if that does not help, call restart_notebook (variables are lost), or use_notebook with \
             kernel_id \"NEW\"."
        }
        NextStep::Run => "Run the cell with execute_cell.",
        NextStep::GetRun { latest } if latest.is_empty() => "Nothing has run yet; execute_cell starts a run.",
        NextStep::WaitForRun => {
            "Wait for one with get_run, or stop one with interrupt_kernel; get_run without run_id lists them."
        }
        NextStep::ListMachines => "list_machines shows the machines that run, and those that can be started.",
        NextStep::StartMachine => "start_machine starts one; list_machines shows which there are.",
        NextStep::SignIn => "Ask the person to run `cellbridge colab login` in a terminal, then try again.",
        NextStep::GiveAddress => {
            "Start one (`jupyter lab`), or give the address of a running one to connect_to_jupyter or in JUPYTER_URL."
        }
        NextStep::GiveToken { obtain } => {
            return format!("{obtain} Then give it to connect_to_jupyter or in JUPYTER_TOKEN.").into();
        }
        NextStep::GivePassword => {
            "Start this program with the server's address and password, or give connect_to_jupyter its address and token."
        }
        NextStep::GiveCertificate { given: Some(file) } => {
            return format!(
                "--ca-file {} does not help: it must be a PEM file with the server's certificate, or with that of the authority \
                 that signed it.",
                file.display()
            )
            .into();
        }
        NextStep::GiveCertificate { given: None } => {
            "If the certificate is self-signed or a private authority signed it, give it or the authority's certificate (PEM) \
             with --ca-file."
        }
        neutral => return neutral.to_string().into(),
    };
    words.into()
}

#[cfg(test)]
mod tests {
    use place::ErrorKind;

    use super::*;

    #[test]
    fn steps_name_tools_and_arguments() {
        let of = |next| message(&Error::new(ErrorKind::Conflict, "It changed.", next));
        assert_eq!(
            of(NextStep::EditRevision { revision: "a1".to_owned() }),
            "It changed. Decide on the new source, then try again with if_revision \"a1\"."
        );
        let open = vec!["plots".to_owned(), "data".to_owned()];
        assert!(
            of(NextStep::NameNotebook { open }).contains("Open notebooks: plots, data. use_notebook opens")
        );
        assert_eq!(of(NextStep::TryAgain), "It changed. Try again.");
        assert_eq!(of("Wait a moment.".into()), "It changed. Wait a moment.");
        let error = Error::new(ErrorKind::Conflict, "It changed. It is now:\nx = 1\n", NextStep::TryAgain);
        assert_eq!(message(&error), "It changed. It is now:\nx = 1\nTry again.");
    }
}
