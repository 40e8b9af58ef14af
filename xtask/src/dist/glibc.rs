//! The glibc that the packages ask for, read from the programs in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use zip::ZipArchive;

use super::Workshop;
use super::platform::GLIBC;
use crate::linked::{Version, requirements};

const ELF: &[u8] = b"\x7fELF";

/// The oldest glibc that each package with programs for Linux runs with. Fails if that is newer than promised.
pub(super) fn asked(workshop: &Workshop) -> Result<BTreeMap<String, Version>> {
    let mut asked = BTreeMap::new();
    for name in workshop.package_names()? {
        let package = workshop.packages.join(&name);
        let version = of(&package).with_context(|| format!("{} can't be judged", package.display()))?;
        let Some(version) = version else { continue };
        ensure!(
            Some(&version) <= Version::parse(GLIBC).as_ref(),
            "{name} asks for glibc {version}, newer than {GLIBC}"
        );
        asked.insert(name, version);
    }
    Ok(asked)
}

/// The newest that a program in the package asks for.
fn of(package: &Path) -> Result<Option<Version>> {
    let ending = package.extension().unwrap_or_default();
    let mut newest = None;
    let mut judge = |file: &mut dyn Read| -> Result<()> {
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        if content.starts_with(ELF) {
            newest = newest.take().max(requirements(&content)?.oldest);
        }
        Ok(())
    };
    if ending == "gz" {
        let mut archive = tar::Archive::new(GzDecoder::new(File::open(package)?));
        for entry in archive.entries()? {
            judge(&mut entry?)?;
        }
    } else if ending == "whl" || ending == "mcpb" {
        let mut archive = ZipArchive::new(File::open(package)?)?;
        for index in 0..archive.len() {
            judge(&mut archive.by_index(index)?)?;
        }
    }
    Ok(newest)
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::super::archive::{Entry, write_tar_gz, write_zip};
    use super::*;

    #[test]
    fn programs_are_found_in_both_kinds_of_packages() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let program = std::env::current_exe()?;
        let entries = || -> Result<_> {
            Ok([Entry::new("a", 0o644, Vec::new()), Entry::from_file(&program, "b", 0o755)?])
        };
        let (tar, zip) = (folder.path().join("x.tar.gz"), folder.path().join("x.whl"));
        write_tar_gz(&tar, &mut entries()?)?;
        write_zip(&zip, &mut entries()?)?;
        let expected = requirements(&std::fs::read(program)?)?.oldest;
        assert!(expected.is_some());
        assert_eq!(of(&tar)?, expected);
        assert_eq!(of(&zip)?, expected);
        let text = folder.path().join("SHA256SUMS");
        std::fs::write(&text, "")?;
        assert_eq!(of(&text)?, None);
        Ok(())
    }
}
