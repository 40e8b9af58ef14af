//! The oldest system that the packages run with, read from the programs in them.

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

/// How programs start, and what they name the oldest version of. Those of Windows name none.
const KINDS: [(&[u8], &str); 2] = [(b"\x7fELF", "glibc"), (b"\xcf\xfa\xed\xfe", "macOS")];

/// A version of one of [`KINDS`].
#[derive(Debug, PartialEq, Eq)]
struct Oldest {
    of: &'static str,
    version: Version,
}

/// What each package with programs runs with at the least. Fails if that is a newer glibc than promised.
pub(super) fn asked(workshop: &Workshop) -> Result<BTreeMap<String, String>> {
    let mut asked = BTreeMap::new();
    for name in workshop.package_names()? {
        let package = workshop.packages.join(&name);
        let oldest = of(&package).with_context(|| format!("{} can't be judged", package.display()))?;
        let Some(Oldest { of, version }) = oldest else { continue };
        ensure!(
            of != "glibc" || Some(&version) <= Version::parse(GLIBC).as_ref(),
            "{name} asks for glibc {version}, newer than {GLIBC}"
        );
        asked.insert(name, format!("{of} {version}"));
    }
    Ok(asked)
}

/// The newest that a program in the package asks for.
fn of(package: &Path) -> Result<Option<Oldest>> {
    let ending = package.extension().unwrap_or_default();
    let mut newest: Option<Oldest> = None;
    let mut judge = |file: &mut dyn Read| -> Result<()> {
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        let kind = KINDS.iter().find(|(start, _)| content.starts_with(start));
        if let Some((_, of)) = kind
            && let Some(version) = requirements(&content)?.oldest
            && newest.as_ref().is_none_or(|known| known.version < version)
        {
            newest = Some(Oldest { of, version });
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
        // Small, and linked with glibc as ours are.
        let program = Path::new("/bin/sh");
        let entries = || -> Result<_> {
            Ok([Entry::new("a", 0o644, Vec::new()), Entry::from_file(program, "b", 0o755)?])
        };
        let (tar, zip) = (folder.path().join("x.tar.gz"), folder.path().join("x.whl"));
        write_tar_gz(&tar, &mut entries()?)?;
        write_zip(&zip, &mut entries()?)?;
        let version = requirements(&std::fs::read(program)?)?.oldest.context("it asks for glibc")?;
        let expected = Some(Oldest { of: "glibc", version });
        assert_eq!(of(&tar)?, expected);
        assert_eq!(of(&zip)?, expected);
        let text = folder.path().join("SHA256SUMS");
        std::fs::write(&text, "")?;
        assert_eq!(of(&text)?, None);
        Ok(())
    }
}
