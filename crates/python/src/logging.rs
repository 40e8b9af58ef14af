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
use tracing::{Level, Metadata};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
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
    let (lines, waiting) = sync_channel::<Line>(MAX_PENDING_LINES);
    std::thread::Builder::new().name("cellbridge-log".into()).spawn(move || {
        waiting.into_iter().for_each(Line::pass_on);
    })?;
    let own = telemetry::LOGGED.map(|name| (name, LevelFilter::WARN));
    let targets = Targets::new().with_default(LevelFilter::ERROR).with_targets(own);
    let format = tracing_subscriber::fmt::layer().without_time().with_level(false).with_ansi(false);
    let format = format.with_writer(ToPython(lines)).with_filter(targets);
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

struct Line {
    /// As a number of Python's `logging`.
    level: u8,
    text: String,
}

impl Line {
    fn pass_on(self) {
        // The interpreter may be shutting down.
        let _ = Python::try_attach(|py| -> PyResult<()> {
            let logger = py.import("logging")?.call_method1("getLogger", ("cellbridge",))?;
            logger.call_method1("log", (self.level, "%s", self.text))?;
            Ok(())
        });
    }
}

#[derive(Clone)]
struct ToPython(SyncSender<Line>);

impl<'a> MakeWriter<'a> for ToPython {
    type Writer = Writer;

    fn make_writer(&'a self) -> Writer {
        Writer { level: 30, lines: self.0.clone() }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Writer {
        let level = if *metadata.level() == Level::ERROR { 40 } else { 30 };
        Writer { level, lines: self.0.clone() }
    }
}

struct Writer {
    level: u8,
    lines: SyncSender<Line>,
}

impl io::Write for Writer {
    /// The formatter writes one whole line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        let _ = self.lines.try_send(Line { level: self.level, text });
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
