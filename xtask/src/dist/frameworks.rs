//! Stand-ins for Apple's frameworks, which no package has. A linker only asks which library has which name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use walkdir::WalkDir;

/// The frameworks, with how the names start that are theirs.
const FRAMEWORKS: [(&str, &[&str]); 3] = [
    ("CoreFoundation", &["CF", "kCF"]),
    ("CoreServices", &["FSEvent", "FSEvents", "kFSEvent"]),
    ("Security", &["Sec", "kSec"]),
];

/// The crates that declare the functions of frameworks, without their versions.
const CRATES: [&str; 4] =
    ["core-foundation-sys", "objc2-core-foundation", "objc2-core-services", "security-framework-sys"];

const TARGETS: &str = "[ arm64-macos, x86_64-macos ]";

/// Writes the stand-ins into a folder of `cache`, with all names in the crates' sources below `sources`; returns the folder.
pub(super) fn write(sources: &Path, cache: &Path) -> Result<PathBuf> {
    let mut names = BTreeSet::new();
    for file in WalkDir::new(sources).into_iter().filter_map(Result::ok) {
        let is_declared =
            file.path().components().any(|part| is_of_crate(&part.as_os_str().to_string_lossy()));
        if is_declared && file.path().extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(file.path())
                .with_context(|| format!("{} can't be read", file.path().display()))?;
            names.extend(words(&text).filter(|word| framework_of(word).is_some()).map(str::to_owned));
        }
    }
    let folder = cache.join("frameworks");
    for (framework, _) in FRAMEWORKS {
        let own = names.iter().filter(|name| framework_of(name) == Some(framework));
        let place = folder.join(format!("{framework}.framework"));
        fs::create_dir_all(&place)?;
        fs::write(place.join(format!("{framework}.tbd")), stand_in(framework, own))?;
    }
    Ok(folder)
}

/// A library as Apple's linkers read it from text.
fn stand_in<'n>(framework: &str, names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<String> = names.map(|name| format!("_{name}")).collect();
    let mut text = format!("--- !tapi-tbd\ntbd-version: 4\ntargets: {TARGETS}\n");
    let _ = writeln!(
        text,
        "install-name: '/System/Library/Frameworks/{framework}.framework/Versions/A/{framework}'"
    );
    let _ = writeln!(text, "exports:\n  - targets: {TARGETS}\n    symbols: [ {} ]\n...", names.join(", "));
    text
}

/// Whether a folder of Cargo's registry holds one of [`CRATES`].
fn is_of_crate(folder: &str) -> bool {
    let version =
        |rest: &str| rest.strip_prefix('-').is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    CRATES.iter().any(|name| folder.strip_prefix(name).is_some_and(version))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
}

/// The framework that a name is from: `SecItemAdd`, but not `Section`.
fn framework_of(name: &str) -> Option<&'static str> {
    let goes_on = |rest: &str| rest.starts_with(|character: char| character.is_ascii_uppercase());
    let is_own = |start: &&str| name.strip_prefix(*start).is_some_and(goes_on);
    let found = FRAMEWORKS.iter().find(|(_, starts)| starts.iter().any(is_own));
    found.map(|(framework, _)| *framework)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_crates_declare() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let sources = folder.path().join("security-framework-sys-2.17.0/src");
        fs::create_dir_all(&sources)?;
        fs::write(sources.join("lib.rs"), "pub fn SecRandomCopyBytes(x: CFIndex); // Section, secret")?;
        fs::create_dir_all(folder.path().join("other-1.0.0"))?;
        fs::write(folder.path().join("other-1.0.0/lib.rs"), "SecOther")?;
        let written = write(folder.path(), folder.path())?;
        let text = fs::read_to_string(written.join("Security.framework/Security.tbd"))?;
        assert!(text.contains("symbols: [ _SecRandomCopyBytes ]"), "{text}");
        let text = fs::read_to_string(written.join("CoreFoundation.framework/CoreFoundation.tbd"))?;
        assert!(text.contains("symbols: [ _CFIndex ]"), "{text}");
        Ok(())
    }
}
