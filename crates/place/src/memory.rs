//! What is in a kernel's memory.

use std::time::Duration;

use kernel::MemoryError;
use notebook::Json;
use serde_json::Value;

use crate::{Error, ErrorKind, Fault, Kernel, KernelState, NextStep};

/// Asks a kernel about its variables; see [`kernel::Client::ask_memory`]. Starts nothing: a kernel that does not run has no
/// memory.
pub async fn ask_memory(kernel: &dyn Kernel, question: &Value, limit: Duration) -> Result<Json, Error> {
    let description = kernel.description();
    match description.state {
        KernelState::NotStarted | KernelState::Dead { .. } => return Err(nothing_in_memory()),
        // Another connection might start another process.
        KernelState::Unreachable { how } => {
            return Err(Error::new(
                ErrorKind::KernelGone,
                format!("Nothing reaches the kernel: {how}."),
                NextStep::Run,
            ));
        }
        KernelState::Starting | KernelState::Idle | KernelState::Busy => {}
    }
    let executor = kernel.executor().await?;
    executor.ask_memory(question, limit).await.map_err(|error| explain(&error, &description.language))
}

/// No kernel runs for a notebook.
pub fn nothing_in_memory() -> Error {
    Error::new(ErrorKind::NotFound, "No kernel is running, so there are no variables.", NextStep::Run)
}

fn explain(error: &MemoryError, language: &str) -> Error {
    let said = || sentence(&error.to_string());
    match error {
        MemoryError::Unsupported => Error::new(
            ErrorKind::Unsupported,
            format!("This kind of kernel for {language} cannot list its variables."),
            NextStep::Say(format!("Run code that lists them: {}.", listing_code(language)).into()),
        )
        .with_fault(Fault::Remote),
        MemoryError::OnlyList => {
            Error::new(ErrorKind::Unsupported, said(), "Run code that shows it.").with_fault(Fault::Remote)
        }
        MemoryError::Busy | MemoryError::OnlyBetweenRuns => {
            Error::new(ErrorKind::Busy, said(), NextStep::WaitForRun)
        }
        MemoryError::NoAnswer { .. } => Error::new(ErrorKind::Timeout, said(), NextStep::WaitForRun),
        MemoryError::Refused { cause } => {
            Error::new(ErrorKind::InvalidArgument, cause, "Name a variable, or a path into it.")
        }
        MemoryError::Kernel(_) => Error::new(ErrorKind::RemoteFailure, said(), NextStep::RestartKernel),
    }
}

fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}

/// What a person would run to see the variables.
fn listing_code(language: &str) -> &'static str {
    match language {
        "python" => "dir()",
        "r" => "ls.str()",
        "julia" => "varinfo()",
        "bash" => "compgen -v",
        "rust" => ":vars",
        "javascript" | "typescript" => "Object.keys(globalThis)",
        _ => "the equivalent in its language",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_cannot_be_asked_is_given_the_code_that_lists() {
        let explained = |language| explain(&MemoryError::Unsupported, language);
        assert_eq!(explained("r").kind, ErrorKind::Unsupported);
        assert!(matches!(&explained("r").next, NextStep::Say(step) if step.contains("ls.str()")));
        let waited = Duration::from_secs(2);
        let busy = explain(&MemoryError::NoAnswer { waited, is_busy: true }, "python");
        assert!(
            busy.cause.starts_with("The kernel did not answer within 2 s: the running cell"),
            "{}",
            busy.cause
        );
    }
}
