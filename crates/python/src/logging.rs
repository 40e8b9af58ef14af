//! Passes warnings on to Python's `logging`, and starts the export of spans.
//!
//! A separate thread does it, so that no request waits for the interpreter.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use telemetry::{Settings, Telemetry};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;

/// The most lines that wait to be passed on; further ones are dropped.
const MAX_PENDING_LINES: usize = 256;

static STARTED: OnceLock<Started> = OnceLock::new();

struct Started {
    telemetry: Option<Telemetry>,
    file: Option<PathBuf>,
}

/// The export of spans, if it is configured.
pub(crate) fn telemetry() -> Option<&'static Telemetry> {
    STARTED.get()?.telemetry.as_ref()
}

/// Starts, unless another server of this process has. Spans are appended to `file`.
pub(crate) fn start(file: Option<PathBuf>) -> PyResult<()> {
    if let Some(started) = STARTED.get() {
        if file.is_some() && file != started.file {
            tracing::warn!("spans go to the file that the first server of this process named");
        }
        return Ok(());
    }
    let mut settings = Settings::read(|name| std::env::var(name).ok(), file.clone());
    let telemetry = Telemetry::start(&mut settings).map_err(|error| PyOSError::new_err(error.to_string()))?;
    let (lines, waiting) = sync_channel::<String>(MAX_PENDING_LINES);
    std::thread::Builder::new().name("cellbridge-log".into()).spawn(move || {
        for line in waiting {
            pass_on(&line);
        }
    })?;
    let targets = Targets::new().with_default(LevelFilter::ERROR);
    let targets = targets.with_targets(telemetry::logged(LevelFilter::WARN));
    let format = tracing_subscriber::fmt::layer().without_time().with_ansi(false);
    let format = format.with_writer(move || ToPython(lines.clone())).with_filter(targets);
    let spans = telemetry.as_ref().map(Telemetry::layer);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(spans).with(format))
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    // Setting the default subscriber fails for everybody but the first.
    let _ = STARTED.set(Started { telemetry, file });
    for note in settings.notes() {
        tracing::warn!("{note}");
    }
    Ok(())
}

/// The formatter writes the level of a line at its start.
fn pass_on(line: &str) {
    let (level, text) = match line.trim().split_once(' ') {
        Some(("ERROR", text)) => (40, text),
        Some((_, text)) => (30, text),
        None => (30, line),
    };
    // The interpreter may be shutting down.
    let _ = Python::try_attach(|py| -> PyResult<()> {
        let logger = py.import("logging")?.call_method1("getLogger", ("cellbridge",))?;
        logger.call_method1("log", (level, "%s", text))?;
        Ok(())
    });
}

struct ToPython(SyncSender<String>);

impl io::Write for ToPython {
    /// The formatter writes one whole line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.0.try_send(String::from_utf8_lossy(line).into_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
