//! What a linked program asks of the system that runs it, read from the program itself.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context as _, Result, bail};
use object::read::elf::ElfFile64;
use object::read::macho::MachOFile64;
use object::{Endianness, FileKind, Object as _};

/// What a program asks for.
#[derive(Debug, Default)]
pub(crate) struct Requirements {
    /// The libraries that are loaded with it.
    pub(crate) libraries: BTreeSet<String>,
    /// The oldest glibc, on Linux, or the oldest macOS that it runs with.
    pub(crate) oldest: Option<Version>,
}

/// Numbers that are compared one by one: 2.17 is newer than 2.2.5.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(Vec<u32>);

impl Version {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.split('.').map(|number| number.parse().ok()).collect::<Option<_>>().map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        formatter.write_str(&numbers.join("."))
    }
}

pub(crate) fn requirements(program: &[u8]) -> Result<Requirements> {
    match FileKind::parse(program)? {
        FileKind::Elf64 => of_elf(program),
        FileKind::MachO64 => of_macho(program),
        FileKind::Pe64 => {
            let imports = object::File::parse(program)?.imports()?;
            let libraries = imports.iter().map(|import| text(import.library())).collect();
            Ok(Requirements { libraries, oldest: None })
        }
        other => bail!("a program of the kind {other:?} can't be judged"),
    }
}

fn of_elf(program: &[u8]) -> Result<Requirements> {
    let mut found = Requirements::default();
    let file = ElfFile64::<Endianness>::parse(program)?;
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let Some((mut files, link)) = sections.gnu_verneed(endian, program)? else { return Ok(found) };
    let strings = sections.strings(endian, program, link)?;
    while let Some((file, mut versions)) = files.next()? {
        found.libraries.insert(text(file.file(endian, strings)?));
        while let Some(version) = versions.next()? {
            let name = text(version.name(endian, strings)?);
            if let Some(number) = name.strip_prefix("GLIBC_") {
                // `GLIBC_PRIVATE` and `GLIBC_ABI_…` tie a program to glibc in other ways.
                let version = Version::parse(number).with_context(|| format!("it asks for {name}"))?;
                found.oldest = found.oldest.max(Some(version));
            }
        }
    }
    Ok(found)
}

fn of_macho(program: &[u8]) -> Result<Requirements> {
    let mut found = Requirements::default();
    let file = MachOFile64::<Endianness>::parse(program)?;
    let endian = file.endian();
    let mut commands = file.macho_load_commands()?;
    while let Some(command) = commands.next()? {
        if let Some(library) = command.dylib()? {
            found.libraries.insert(text(command.string(endian, library.dylib.name)?));
        }
        if let Some(build) = command.build_version()? {
            let version = build.minos.get(endian);
            found.oldest = Some(Version(vec![version >> 16, version >> 8 & 0xff]));
        }
    }
    Ok(found)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("2.17") > version("2.2.5"));
        assert!(version("2.28") > version("2.17"));
        assert_eq!(version("2.17").to_string(), "2.17");
        assert_eq!(Version::parse("PRIVATE"), None);
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn this_program_asks_for_glibc() -> Result<()> {
        let program = std::fs::read(std::env::current_exe()?)?;
        let found = requirements(&program)?;
        assert!(found.libraries.contains("libc.so.6"), "{found:?}");
        assert!(found.oldest >= Version::parse("2.17"), "{found:?}");
        Ok(())
    }

    #[test]
    fn what_is_no_program_is_not_judged() {
        assert!(requirements(b"#!/bin/sh\nexit 0\n").is_err());
    }
}
