//! Writes the log to stderr or to a file, never to stdout, and without secrets. Starts the export of spans.
//!
//! A separate thread writes the log: a client that does not read our stderr blocks every writer.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use rest::Secret;
use telemetry::{Settings, Telemetry};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::Logging;

/// The most lines that wait to be written; further ones are dropped.
const MAX_PENDING_LINES: usize = 1024;
/// Time limit for writing the last lines at exit.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(200);

/// Time limit for sending the last spans to a collector at exit.
const SPANS_TIMEOUT: Duration = Duration::from_secs(1);

static STARTED: OnceLock<Started> = OnceLock::new();

struct Started {
    log: Log,
    telemetry: Option<Telemetry>,
}

/// Writes what is pending. Call it last: what is logged or traced afterwards is lost.
pub(crate) fn finish() {
    let Some(Started { log, telemetry }) = STARTED.get() else { return };
    if let Some(telemetry) = telemetry {
        telemetry.end(SPANS_TIMEOUT);
    }
    log.flush();
}

struct Log(SyncSender<Entry>);

enum Entry {
    Line(String),
    /// Answered once everything before it is written.
    Mark(SyncSender<()>),
}

impl Log {
    /// Waits until the lines so far are written, or the time is up.
    fn flush(&self) {
        let (mark, written) = sync_channel(1);
        if self.0.try_send(Entry::Mark(mark)).is_ok() {
            let _ = written.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// Starts the log, and the export of spans if it is configured. Replaces `secrets` in every line.
pub(crate) fn start(options: &Logging, secrets: Vec<Secret>) -> anyhow::Result<()> {
    let path = match (&options.log, &options.log_file) {
        (Some(folder), _) => Some(file_in(folder)?),
        (None, file) => file.clone(),
    };
    let default = if path.is_some() { LevelFilter::INFO } else { LevelFilter::WARN };
    let level = options.log_level.unwrap_or(default);
    let targets = Targets::new().with_default(level.min(LevelFilter::ERROR));
    let targets = targets.with_targets(telemetry::logged(level));
    let mut settings = Settings::read(|name| std::env::var(name).ok(), options.otel_file.clone());
    let telemetry = Telemetry::start(&mut settings)?;
    let is_file = path.is_some();
    #[cfg(windows)]
    let shared_folder = path.as_deref().and_then(shared_folder);
    let out: Box<dyn Write + Send> = match path {
        Some(path) => Box::new(open(&path)?),
        None => Box::new(terminal::errors()),
    };
    let entries = spawn_writer(out)?;
    let format = tracing_subscriber::fmt::layer().with_ansi(false).with_target(is_file);
    let writer = Redacting { entries: entries.clone(), secrets: secrets.into() };
    let format = format.with_writer(move || writer.clone());
    let spans = telemetry.as_ref().map(Telemetry::layer);
    tracing_subscriber::registry().with(spans).with(format.with_filter(targets)).try_init()?;
    for note in settings.notes() {
        tracing::warn!("{note}");
    }
    #[cfg(windows)]
    if let Some(folder) = shared_folder {
        tracing::warn!("other users of this machine may read the log in {}", folder.display());
    }
    // `try_init` fails for a second subscriber, so this is the first.
    let _ = STARTED.set(Started { log: Log(entries), telemetry });
    Ok(())
}

/// The thread ends with the process: the subscriber, which holds the sender, is never dropped.
fn spawn_writer(mut out: Box<dyn Write + Send>) -> io::Result<SyncSender<Entry>> {
    let (entries, waiting) = sync_channel(MAX_PENDING_LINES);
    std::thread::Builder::new().name("log".into()).spawn(move || {
        for entry in waiting {
            match entry {
                Entry::Line(line) => {
                    let _ = out.write_all(line.as_bytes());
                }
                Entry::Mark(mark) => {
                    let _ = mark.try_send(());
                }
            }
        }
    })?;
    Ok(entries)
}

/// The folder of a file, if it may be open to other users.
#[cfg(windows)]
fn shared_folder(file: &Path) -> Option<PathBuf> {
    let process_env =
        environments::ProcessEnv { variables: std::env::vars_os().collect(), home: std::env::home_dir() };
    let folder = std::path::absolute(file).ok()?.parent()?.to_path_buf();
    (!process_env.inherits_privacy(&folder)).then_some(folder)
}

fn file_in(folder: &Path) -> anyhow::Result<PathBuf> {
    state::create_folder(folder)
        .with_context(|| format!("cannot create the log folder {}", folder.display()))?;
    let now = chrono::Local::now().format("%Y-%m-%d_%H-%M-%S");
    Ok(folder.join(format!("cellbridge.{now}.{}.log", std::process::id())))
}

fn open(path: &Path) -> anyhow::Result<File> {
    state::open_to_append(path).with_context(|| format!("cannot write the log file {}", path.display()))
}

/// Passes lines on with every secret replaced.
#[derive(Clone)]
struct Redacting {
    entries: SyncSender<Entry>,
    secrets: Arc<[Secret]>,
}

impl Write for Redacting {
    /// The formatter writes one whole line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut text = String::from_utf8_lossy(line).into_owned();
        for secret in self.secrets.iter().map(Secret::expose) {
            if text.contains(secret) {
                text = text.replace(secret, "(hidden)");
            }
        }
        let _ = self.entries.try_send(Entry::Line(text));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let entries = spawn_writer(Box::new(open(&path).unwrap())).unwrap();
        let secrets = ["one-secret", "two"].map(|secret| Secret::new(secret).unwrap());
        let mut writer = Redacting { entries: entries.clone(), secrets: secrets.into() };
        writer.write_all(b"a one-secret b two, two\n").unwrap();
        Log(entries).flush();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a (hidden) b (hidden), (hidden)\n");
    }

    #[test]
    fn a_blocked_log_blocks_nobody() {
        struct Stuck;
        impl Write for Stuck {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                loop {
                    std::thread::park();
                }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let entries = spawn_writer(Box::new(Stuck)).unwrap();
        let mut writer = Redacting { entries: entries.clone(), secrets: [].into() };
        for _ in 0..MAX_PENDING_LINES * 2 {
            writer.write_all(b"line\n").unwrap();
        }
        Log(entries).flush();
    }

    #[test]
    #[cfg(unix)]
    fn only_the_owner_can_read_log_files() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = file_in(&folder.path().join("deep/er")).unwrap();
        open(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
