//! Remembers what an installation was made from, so that it is repeated only when that changed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file beside an installation that holds the very text it was made from.
pub(crate) struct Stamp {
    file: PathBuf,
    text: String,
}

impl Stamp {
    /// A stamp at `file` for an installation made from `text`.
    pub(crate) fn new(file: PathBuf, text: String) -> Self {
        Self { file, text }
    }

    /// Whether the last finished installation was made from the same text.
    pub(crate) fn is_fresh(&self) -> bool {
        std::fs::read_to_string(&self.file).is_ok_and(|stamped| stamped == self.text)
    }

    /// Forgets the installation before it is changed: one that is cut short must not look finished.
    pub(crate) fn clear(&self) -> Result<()> {
        match std::fs::remove_file(&self.file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{} can't be removed", self.file.display()))
            }
            _ => Ok(()),
        }
    }

    /// Marks the installation as finished.
    pub(crate) fn set(&self) -> Result<()> {
        std::fs::write(&self.file, &self.text)
            .with_context(|| format!("{} can't be written", self.file.display()))
    }
}

/// Reads a file of the project that an installation is made from.
pub(crate) fn source(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("{} can't be read", file.display()))
}

#[cfg(test)]
mod tests {
    use super::Stamp;

    #[test]
    fn only_a_finished_installation_from_the_same_text_is_fresh() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let stamp = |text: &str| Stamp::new(folder.path().join("stamp"), text.to_owned());
        assert!(!stamp("a==1").is_fresh());
        stamp("a==1").clear()?;
        stamp("a==1").set()?;
        assert!(stamp("a==1").is_fresh());
        assert!(!stamp("a==2").is_fresh());
        stamp("a==2").clear()?;
        assert!(!stamp("a==1").is_fresh());
        Ok(())
    }
}
