//! OpenTelemetry spans and events of runs and kernels. They contain names and numbers, never code or outputs.

use std::sync::Arc;
use std::time::Duration;

use kernel::{LossCause, Status};
use opentelemetry::trace::TraceContextExt as _;
use place::{Error, Executor, Kernel, KernelState, RunId, RunState};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::view::RunCell;

/// The `tracing` target of spans and their events, which separates them from log lines.
pub const TRACED: &str = "otel";

/// Creates the span of a new run: a child of the current call's span, which it may outlive.
pub(crate) fn run(id: &RunId, cell: Option<&RunCell>) -> Span {
    let span = tracing::info_span!(
        target: TRACED,
        // Not a child in `tracing`, where a parent cannot end before its children; see `set_parent` below.
        parent: None,
        "run",
        "cellbridge.run.id" = id.as_str(),
        "cellbridge.notebook.path" = cell.map(|cell| cell.path.as_str()),
        "cellbridge.cell.id" = cell.map(|cell| cell.id.as_str()),
        "cellbridge.kernel.id" = Empty,
        "cellbridge.run.state" = Empty,
        "cellbridge.run.execution_count" = Empty,
        "cellbridge.run.queued" = Empty,
        "error.type" = Empty,
        "otel.status_code" = Empty,
    );
    if !span.is_disabled() {
        // Fails if no OpenTelemetry layer is installed.
        let _ = span.set_parent(Span::current().context());
    }
    span
}

/// Records the state of a run and ends its span.
pub(crate) fn run_ended(span: &Span, state: &RunState, execution_count: Option<u64>, queued: Duration) {
    if span.is_disabled() {
        return;
    }
    let error = match state {
        RunState::Error { name, .. } => Some(class(name)),
        RunState::Lost { cause, .. } => Some(loss(cause)),
        RunState::KernelDied { .. } => Some("kernel_died"),
        RunState::Failed(error) => Some(error.kind.name()),
        _ => None,
    };
    if let RunState::KernelDied { .. } = state {
        tracing::info!(target: TRACED, parent: span, "kernel.died");
    }
    span.record("cellbridge.run.state", state.name());
    span.record("cellbridge.run.queued", queued.as_secs_f64());
    if let Some(count) = execution_count.and_then(|count| i64::try_from(count).ok()) {
        span.record("cellbridge.run.execution_count", count);
    }
    record_error(span, error);
    // The task that owns the run may hold the span for longer.
    span.context().span().end();
}

/// Runs `work` on a kernel in its own span.
pub(crate) async fn with_kernel<T>(
    what: &'static str,
    kernel: &dyn Kernel,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let span = tracing::info_span!(
        target: TRACED,
        "kernel",
        "otel.name" = what,
        "cellbridge.kernel.id" = kernel.id().as_str(),
        "cellbridge.kernel.name" = kernel.description().name,
        "error.type" = Empty,
        "otel.status_code" = Empty,
    );
    let done = work.instrument(span.clone()).await;
    record_error(&span, done.as_ref().err().map(|error| error.kind.name()));
    done
}

/// Connects to a kernel. If that starts the kernel, the start gets its own span.
pub(crate) async fn executor(kernel: &dyn Kernel) -> Result<Arc<dyn Executor>, Error> {
    let is_started =
        !matches!(kernel.description().state, KernelState::NotStarted | KernelState::Dead { .. });
    if is_started {
        kernel.executor().await
    } else {
        with_kernel("kernel.start", kernel, kernel.executor()).await
    }
}

/// Records that a place has started a kernel for the current call or run.
pub(crate) fn kernel_chosen(kernel: &dyn Kernel, is_new: bool) {
    // A kernel that starts with its first use is traced there.
    if is_new && kernel.description().state != KernelState::NotStarted {
        let id = kernel.id().as_str();
        tracing::info!(target: TRACED, { "cellbridge.kernel.id" = id }, "kernel.started");
    }
}

/// Records a new connection for the current run, and later the kernel's death. `is_expected` returns whether that death
/// was requested or is recorded by a run already.
pub(crate) fn connected(
    kernel: &Arc<dyn Kernel>,
    executor: &dyn Executor,
    is_expected: impl Fn() -> bool + Send + 'static,
) {
    if Span::current().is_disabled() {
        return;
    }
    tracing::info!(target: TRACED, { "cellbridge.kernel.id" = kernel.id().as_str() }, "kernel.connected");
    let (kernel, mut status) = (Arc::downgrade(kernel), executor.status());
    // Ends with the connection.
    place::spawn(async move {
        let died = status.wait_for(|status| matches!(status, Status::Dead { .. })).await.is_ok();
        let Some(kernel) = kernel.upgrade().filter(|kernel| died && !kernel.is_gone()) else { return };
        let is_dead = matches!(kernel.description().state, KernelState::Dead { .. });
        if is_dead && !is_expected() {
            tracing::info_span!(
                target: TRACED,
                parent: None,
                "kernel.died",
                "cellbridge.kernel.id" = kernel.id().as_str(),
                "error.type" = "kernel_died",
                "otel.status_code" = "ERROR",
            );
        }
    });
}

fn record_error(span: &Span, error: Option<&str>) {
    if let Some(error) = error {
        span.record("error.type", error);
        span.record("otel.status_code", "ERROR");
    }
}

/// The `error.type` of a lost run.
fn loss(cause: &LossCause) -> &'static str {
    match cause {
        LossCause::Disconnected { .. } => "disconnected",
        LossCause::NotRestored { .. } => "not_restored",
        LossCause::KernelReplaced => "kernel_replaced",
        LossCause::Superseded => "superseded",
        LossCause::ApplicationLeft => "application_left",
        LossCause::KeeperSilent { .. } => "keeper_silent",
        LossCause::LogFailed { .. } => "log_failed",
    }
}

/// The `error.type` of an exception. Some kernels send a whole message instead of a class name; it may contain data, so
/// it is replaced by `error`.
fn class(name: &str) -> &str {
    let is_name = |name: &str| {
        name.len() <= 100 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:".contains(&byte))
    };
    if !name.is_empty() && is_name(name) { name } else { "error" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_cause_has_an_error_type() {
        let causes = [
            LossCause::Disconnected { cause: String::new() },
            LossCause::KernelReplaced,
            LossCause::Superseded,
            LossCause::ApplicationLeft,
            LossCause::KeeperSilent { process: 1 },
        ];
        let names = ["disconnected", "kernel_replaced", "superseded", "application_left", "keeper_silent"];
        assert_eq!(causes.each_ref().map(loss), names);
    }

    #[test]
    fn only_class_names_are_recorded() {
        assert_eq!(class("ZeroDivisionError"), "ZeroDivisionError");
        assert_eq!(class("numpy.linalg.LinAlgError"), "numpy.linalg.LinAlgError");
        assert_eq!(class("object 'password' not found"), "error");
        assert_eq!(class(&"x".repeat(101)), "error");
        assert_eq!(class(""), "error");
    }
}
