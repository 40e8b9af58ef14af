//! `--fix`: repairs what is ours, and says what it did.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::finding::{Finding, Repair, Status};

/// Repairs what a finding names, if it is safe. The finding then says what was done, or why it failed.
pub(crate) fn repair(finding: Finding, now: SystemTime) -> Finding {
    let Some(repair) = finding.repair.clone() else { return finding };
    let (repaired, done) = match &repair {
        Repair::MakePrivate(files) => {
            (files.iter().try_for_each(|file| make_private(file)), "only you can read them now")
        }
        #[cfg(unix)]
        Repair::Remove(leftovers) => {
            (leftovers.iter().try_for_each(|leftover| leftover.remove(now)), "they are removed")
        }
    };
    #[cfg(not(unix))]
    let _ = now;
    match repaired {
        Ok(()) => Finding {
            status: Status::Ok,
            message: format!("Fixed, {done}: {}", finding.message),
            fix: None,
            repair: None,
            ..finding
        },
        Err(error) => {
            Finding { message: format!("{} It could not be fixed: {error}.", finding.message), ..finding }
        }
    }
}

#[cfg(unix)]
fn make_private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    // Opened without following a link, so that a file of somebody else cannot be put in its place.
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
    let file = std::fs::File::from(rustix::fs::open(file, flags, rustix::fs::Mode::empty())?);
    let mode = file.metadata()?.permissions().mode() & 0o700;
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use super::*;
    use crate::finding::Check;

    fn exposed(files: Vec<PathBuf>) -> Finding {
        Check::State
            .warning("data", "Others can read it.")
            .fixed_by("chmod")
            .repaired_by(Repair::MakePrivate(files))
    }

    fn mode(file: &Path) -> u32 {
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_repaired_finding_says_what_was_done() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("open");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o764)).unwrap();
        let repaired = repair(exposed(vec![file.clone()]), SystemTime::now());
        assert_eq!((repaired.status, repaired.fix), (Status::Ok, None));
        assert_eq!(repaired.message, "Fixed, only you can read them now: Others can read it.");
        assert_eq!(mode(&file), 0o700);
    }

    #[test]
    fn what_cannot_be_repaired_stays_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("theirs"), folder.path().join("link"));
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let left = repair(exposed(vec![link]), SystemTime::now());
        assert_eq!((left.status, left.fix.as_deref()), (Status::Warning, Some("chmod")));
        assert!(left.message.contains("could not be fixed"), "{}", left.message);
        assert_eq!(mode(&file), 0o644);
    }

    #[test]
    fn a_finding_without_a_repair_is_unchanged() {
        let finding = Check::Limits.error("HOME", "gone");
        assert_eq!(repair(finding.clone(), SystemTime::now()), finding);
    }
}
