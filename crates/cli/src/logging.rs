//! Where the log goes: stderr or a file, never stdout, and never with a secret in it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use workspace::Token;

use crate::args::{Level, Logging};

/// Starts logging. None of `secrets` will be written, whoever logs it.
pub(crate) fn start(options: &Logging, secrets: Vec<Token>) -> anyhow::Result<()> {
    let path = match (&options.log, &options.log_file) {
        (Some(folder), _) => Some(file_in(folder)?),
        (None, file) => file.clone(),
    };
    let default = if path.is_some() { LevelFilter::INFO } else { LevelFilter::WARN };
    let level = options.log_level.map_or(default, |level| match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    });
    // The libraries print whole messages, with whatever notebooks and arguments hold.
    let own = ["cellbridge", "colab", "mcp", "workspace"].map(|name| (name, level));
    let targets = Targets::new().with_default(level.min(LevelFilter::ERROR)).with_targets(own);
    let is_file = path.is_some();
    let out = match path {
        Some(path) => Out::File(Arc::new(open(&path)?)),
        None => Out::Stderr,
    };
    let format = tracing_subscriber::fmt::layer().with_ansi(false).with_target(is_file);
    let format = format.with_writer(Redacting { out, secrets: secrets.into() });
    tracing_subscriber::registry().with(targets).with(format).try_init()?;
    Ok(())
}

fn file_in(folder: &Path) -> anyhow::Result<PathBuf> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("cannot make the log folder {}", folder.display()))?;
    let now = chrono::Local::now().format("%Y-%m-%d_%H-%M-%S");
    Ok(folder.join(format!("cellbridge.{now}.{}.log", std::process::id())))
}

fn open(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).with_context(|| format!("cannot write the log file {}", path.display()))
}

#[derive(Clone)]
enum Out {
    Stderr,
    File(Arc<File>),
}

/// Writes log lines with every secret replaced.
#[derive(Clone)]
struct Redacting {
    out: Out,
    secrets: Arc<[Token]>,
}

impl Write for Redacting {
    /// The formatter hands over one whole line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut text = String::from_utf8_lossy(line);
        for secret in self.secrets.iter().map(Token::expose) {
            if text.contains(secret) {
                text = text.replace(secret, "(hidden)").into();
            }
        }
        match &mut self.out {
            Out::Stderr => io::stderr().lock().write_all(text.as_bytes())?,
            Out::File(file) => (&**file).write_all(text.as_bytes())?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Redacting {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let out = Out::File(Arc::new(open(&path).unwrap()));
        let secrets = ["one-secret", "two"].map(|secret| Token::chosen(secret).unwrap());
        let mut writer = Redacting { out, secrets: secrets.into() };
        writer.write_all(b"a one-secret b two, two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a (hidden) b (hidden), (hidden)\n");
    }

    #[test]
    #[cfg(unix)]
    fn log_files_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = file_in(&folder.path().join("deep/er")).unwrap();
        open(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
