//! What this program keeps on this machine: how much, and who can read it.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::finding::{Check, Finding, Repair, command};
use super::machine::Machine;

const CHECK: Check = Check::State;

/// A folder on a slow disk is not counted to its end.
const COUNT_TIMEOUT: Duration = Duration::from_secs(3);
/// How many files a command names.
#[cfg(unix)]
const MAX_NAMED: usize = 4;

/// An existing folder of Cellbridge.
struct Folder {
    name: &'static str,
    path: PathBuf,
    bytes: u64,
    files: u64,
    /// Whether all files were counted.
    is_complete: bool,
    /// Files that other users can read or write, and that can hold a secret.
    exposed: Vec<PathBuf>,
}

struct Facts {
    folders: Vec<Folder>,
    /// Connection and server files in Jupyter's runtime folder, with keys and tokens, that other users can read.
    exposed_to_jupyter: Vec<PathBuf>,
    #[cfg(unix)]
    leftovers: Vec<local::Leftover>,
}

pub(crate) fn check(machine: &Machine) -> Vec<Finding> {
    let end = Instant::now() + COUNT_TIMEOUT;
    let process_env = &machine.process_env;
    let folders = [("data", process_env.own_data_dir()), ("state", process_env.own_state_dir())];
    let mut counted: Vec<Folder> = Vec::new();
    for (name, path) in folders {
        let Some(path) = path.filter(|path| path.is_dir()) else { continue };
        // On some systems two of them are one folder.
        if counted.iter().all(|folder| folder.path != path) {
            counted.push(count(name, path, end));
        }
    }
    findings(&Facts {
        folders: counted,
        exposed_to_jupyter: process_env
            .jupyter_runtime_dir()
            .map(|it| exposed_in_runtime(&it))
            .unwrap_or_default(),
        #[cfg(unix)]
        leftovers: local::leftovers(process_env, machine.now),
    })
}

fn count(name: &'static str, path: PathBuf, end: Instant) -> Folder {
    let mut folder = Folder { name, path, bytes: 0, files: 0, is_complete: true, exposed: Vec::new() };
    // Packages for kernels, which are no secret.
    let packages = folder.path.join("python");
    let mut waiting = vec![folder.path.clone()];
    while let Some(current) = waiting.pop() {
        for entry in fs::read_dir(&current).into_iter().flatten().flatten() {
            if Instant::now() > end {
                folder.is_complete = false;
                return folder;
            }
            // Of a link itself: what it leads to is not ours.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                waiting.push(entry.path());
                continue;
            }
            folder.files += 1;
            folder.bytes += metadata.len();
            if is_exposed(&metadata) && !entry.path().starts_with(&packages) {
                folder.exposed.push(entry.path());
            }
        }
    }
    folder.exposed.sort();
    folder
}

/// Whether others can read or write a file with content.
#[cfg(unix)]
pub(crate) fn is_exposed(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.is_file() && metadata.len() > 0 && metadata.permissions().mode() & 0o066 != 0
}

#[cfg(not(unix))]
pub(crate) fn is_exposed(_: &Metadata) -> bool {
    false
}

/// Nobody reaches files in a folder that others may not enter.
fn exposed_in_runtime(runtime: &Path) -> Vec<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let is_closed = |metadata: Metadata| metadata.permissions().mode() & 0o011 == 0;
        if fs::metadata(runtime).is_ok_and(is_closed) {
            return Vec::new();
        }
    }
    let files = fs::read_dir(runtime).into_iter().flatten().flatten().map(|entry| entry.path());
    let holds_secret = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ["kernel-", "jpserver-", "nbserver-"].iter().any(|begin| name.starts_with(begin))
    };
    let mut found: Vec<PathBuf> = files
        .filter(holds_secret)
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|it| is_exposed(&it)))
        .collect();
    found.sort();
    found
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let mut all: Vec<Finding> = facts.folders.iter().flat_map(folder).collect();
    if facts.folders.is_empty() {
        all.push(CHECK.ok("folders", "Nothing is stored yet."));
    }
    if !facts.exposed_to_jupyter.is_empty() {
        let message = format!(
            "Other users can read {} with Jupyter's keys or tokens, which let them run code as you.",
            files(&facts.exposed_to_jupyter)
        );
        all.push(
            CHECK
                .warning("Jupyter's runtime folder", message)
                .fixed_by(make_private(&facts.exposed_to_jupyter)),
        );
    }
    #[cfg(unix)]
    all.extend(leftovers(&facts.leftovers));
    all
}

fn folder(folder: &Folder) -> Vec<Finding> {
    let at_least = if folder.is_complete { "" } else { "more than " };
    let number = if folder.files == 1 { "1 file".to_owned() } else { format!("{} files", folder.files) };
    let message = format!("{} holds {at_least}{} in {number}.", folder.path.display(), size(folder.bytes));
    let mut found = vec![CHECK.ok(folder.name, message)];
    if !folder.exposed.is_empty() {
        let message = format!("Other users can read or write {}.", files(&folder.exposed));
        found.push(
            CHECK
                .warning(folder.name, message)
                .fixed_by(make_private(&folder.exposed))
                .repaired_by(Repair::MakePrivate(folder.exposed.clone())),
        );
    }
    found
}

#[cfg(unix)]
fn leftovers(leftovers: &[local::Leftover]) -> Option<Finding> {
    let paths: Vec<PathBuf> = leftovers
        .iter()
        .flat_map(|leftover| leftover.file.iter().chain(&leftover.sockets).cloned())
        .collect();
    let first = paths.first()?;
    let message = format!("Ended kernels of Cellbridge left {} behind.", named(first, paths.len()));
    let words = ["rm", "-r"].into_iter().map(str::to_owned);
    let words: Vec<String> =
        words.chain(paths.iter().take(MAX_NAMED).map(|path| path.to_string_lossy().into_owned())).collect();
    let finding = CHECK
        .warning("leftovers", message)
        .fixed_by(if paths.len() > MAX_NAMED {
            "cellbridge doctor --fix".to_owned()
        } else {
            command(words.iter().map(String::as_str))
        })
        .repaired_by(Repair::Remove(leftovers.to_vec()));
    Some(finding)
}

fn files(paths: &[PathBuf]) -> String {
    paths.first().map(|first| named(first, paths.len())).unwrap_or_default()
}

fn named(first: &Path, number: usize) -> String {
    match number {
        1 => first.display().to_string(),
        _ => format!("{} and {} more", first.display(), number - 1),
    }
}

fn make_private(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    command(["chmod", "go-rwx"].into_iter().chain(paths.iter().map(String::as_str)))
}

pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = bytes / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
