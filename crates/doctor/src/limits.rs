//! Limits of this machine that will hurt: open files, disks that are almost full, folders that cannot be written.

use std::path::{Path, PathBuf};

use super::finding::{Check, Finding};
use super::machine::Machine;
use super::state::size;

const CHECK: Check = Check::Limits;

/// A kernel needs about ten open files, an HTTP session two.
const FEW_OPEN_FILES: u64 = 512;
const TOO_FEW_OPEN_FILES: u64 = 64;

const MB: u64 = 1 << 20;
const LOW_SPACE: u64 = 200 * MB;
const NO_SPACE: u64 = 10 * MB;
/// Installing packages and drawing figures need room for temporary files.
const SMALL_TMPFS: u64 = 256 * MB;

struct Facts {
    open_files: Option<OpenFiles>,
    places: Vec<Place>,
    home: NamedFolder,
    session_folder: NamedFolder,
}

struct OpenFiles {
    soft: u64,
    /// `None` if there is no limit.
    hard: Option<u64>,
}

/// A folder that is written to.
struct Place {
    purpose: &'static Purpose,
    path: PathBuf,
    /// `None` if it can be written.
    problem: Option<String>,
    space: Option<Space>,
}

/// The use of a folder.
#[derive(Debug, PartialEq, Eq)]
struct Purpose {
    subject: &'static str,
    /// Effect if the folder cannot be written.
    without: &'static str,
    /// Nothing runs without it.
    is_needed: bool,
    /// It is made, with the folders above it, if it does not exist.
    is_made: bool,
}

const NOTEBOOKS: Purpose =
    Purpose { subject: "folder", without: "notebooks can only be read", is_needed: false, is_made: false };
/// Connection files of kernels.
const RUNTIME: Purpose =
    Purpose { subject: "runtime folder", without: NO_KERNELS, is_needed: true, is_made: true };
/// Sockets of kernels.
const TEMPORARY: Purpose =
    Purpose { subject: "temporary folder", without: NO_KERNELS, is_needed: true, is_made: false };
/// The environment that is made if there is no kernel.
const DATA: Purpose = Purpose {
    subject: "data folder",
    without: "no Python environment can be created there",
    is_needed: false,
    is_made: true,
};
const NO_KERNELS: &str = "kernels cannot be started";

#[derive(Debug, Clone, Copy)]
struct Space {
    free: u64,
    total: u64,
    has_inodes: bool,
    is_tmpfs: bool,
}

/// A folder that a variable names: `HOME`, or `XDG_RUNTIME_DIR`, through which desktop programs find each other.
enum NamedFolder {
    /// It exists, or nothing here needs it.
    Fine,
    Unset,
    Missing(PathBuf),
}

impl NamedFolder {
    fn of(path: Option<PathBuf>) -> Self {
        match path {
            None => Self::Unset,
            Some(folder) if folder.is_dir() => Self::Fine,
            Some(folder) => Self::Missing(folder),
        }
    }
}

pub(crate) fn check(machine: &Machine) -> Vec<Finding> {
    let process_env = &machine.process_env;
    let places = [
        (&NOTEBOOKS, machine.root.clone().ok()),
        (&RUNTIME, process_env.jupyter_runtime_dir()),
        (&TEMPORARY, Some(process_env.temp_dir())),
        (&DATA, process_env.own_data_dir()),
    ];
    let places = places.into_iter().filter_map(|(purpose, path)| Some(place(purpose, path?))).collect();
    findings(&Facts {
        open_files: open_files(),
        places,
        home: NamedFolder::of(process_env.home.clone()),
        session_folder: session_folder(machine),
    })
}

fn place(purpose: &'static Purpose, path: PathBuf) -> Place {
    let existing =
        if purpose.is_made { path.ancestors().find(|folder| folder.exists()) } else { Some(&*path) };
    let problem = match existing {
        Some(folder) => tempfile::tempfile_in(folder).err().map(|error| error.to_string()),
        None => Some("no folder above it exists".to_owned()),
    };
    let space = existing.and_then(space);
    Place { purpose, path, problem, space }
}

#[cfg(unix)]
fn space(folder: &Path) -> Option<Space> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(Space {
        free: found.f_bavail.saturating_mul(found.f_frsize),
        total: found.f_blocks.saturating_mul(found.f_frsize),
        // Some file systems count no inodes.
        has_inodes: found.f_files == 0 || found.f_favail > 0,
        is_tmpfs: is_tmpfs(folder),
    })
}

#[cfg(not(unix))]
fn space(_: &Path) -> Option<Space> {
    None
}

#[cfg(target_os = "linux")]
fn is_tmpfs(folder: &Path) -> bool {
    // `TMPFS_MAGIC` in <linux/magic.h>.
    rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == 0x0102_1994)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_tmpfs(_: &Path) -> bool {
    false
}

#[cfg(unix)]
fn open_files() -> Option<OpenFiles> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map(|soft| OpenFiles { soft, hard: limit.maximum })
}

#[cfg(not(unix))]
fn open_files() -> Option<OpenFiles> {
    None
}

fn session_folder(machine: &Machine) -> NamedFolder {
    let process_env = &machine.process_env;
    let shows_windows = cfg!(target_os = "linux") && process_env.get("WAYLAND_DISPLAY").is_some();
    match process_env.path("XDG_RUNTIME_DIR") {
        None if !shows_windows => NamedFolder::Fine,
        folder => NamedFolder::of(folder),
    }
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let mut all: Vec<Finding> = facts.open_files.iter().map(open_files_finding).collect();
    all.extend(home_finding(&facts.home));
    all.extend(facts.places.iter().map(place_finding));
    all.extend(session_folder_finding(&facts.session_folder));
    all
}

fn open_files_finding(limit: &OpenFiles) -> Finding {
    const SUBJECT: &str = "open files";
    let OpenFiles { soft, hard } = *limit;
    if soft >= FEW_OPEN_FILES {
        return CHECK.ok(SUBJECT, format!("A process may open {soft} files."));
    }
    let message = format!("A process may open only {soft} files; each kernel needs about ten.");
    let finding = if soft < TOO_FEW_OPEN_FILES {
        CHECK.error(SUBJECT, message)
    } else {
        CHECK.warning(SUBJECT, message)
    };
    let wanted = hard.unwrap_or(4096).min(4096);
    if wanted > soft { finding.fixed_by(format!("ulimit -n {wanted}")) } else { finding }
}

fn home_finding(home: &NamedFolder) -> Option<Finding> {
    match home {
        NamedFolder::Fine => None,
        NamedFolder::Unset => Some(CHECK.warning(
            "HOME",
            "It is not set, and this user has no home folder: kernels and settings there are not found.",
        )),
        NamedFolder::Missing(folder) => {
            Some(CHECK.error("HOME", format!("{} does not exist.", folder.display())))
        }
    }
}

fn place_finding(place: &Place) -> Finding {
    let Purpose { subject, without, is_needed, .. } = *place.purpose;
    let path = place.path.display();
    if let Some(problem) = &place.problem {
        let message = format!("{path} cannot be written ({problem}): {without}.");
        return if is_needed { CHECK.error(subject, message) } else { CHECK.warning(subject, message) };
    }
    let Some(space) = place.space else { return CHECK.ok(subject, format!("{path} can be written.")) };
    let free = format!("{path} has {} free of {}", size(space.free), size(space.total));
    if space.free < NO_SPACE || !space.has_inodes {
        let what = if space.has_inodes { "" } else { " and no room for more files" };
        return CHECK.error(subject, format!("{free}{what}: {without}."));
    }
    if space.free < LOW_SPACE {
        return CHECK.warning(subject, format!("{free}, which is little."));
    }
    if space.is_tmpfs && space.total < SMALL_TMPFS && *place.purpose == TEMPORARY {
        return CHECK.warning(
            subject,
            format!("{free}: it is in memory, and too small for installing packages. Set TMPDIR to a folder on a disk."),
        );
    }
    CHECK.ok(subject, format!("{free}."))
}

fn session_folder_finding(folder: &NamedFolder) -> Option<Finding> {
    let problem = match folder {
        NamedFolder::Fine => return None,
        NamedFolder::Unset => "It is not set".to_owned(),
        NamedFolder::Missing(folder) => format!("{} does not exist", folder.display()),
    };
    let message = format!("{problem}, so a browser may not find the person's desktop.");
    Some(CHECK.warning("XDG_RUNTIME_DIR", message))
}

#[cfg(test)]
mod tests;
