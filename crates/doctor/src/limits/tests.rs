//! Planted facts, and what is said about them.

use super::*;
use crate::finding::Status;
use crate::finding::tests::line;

const ROOMY: Space = Space { free: 10 << 30, total: 20 << 30, has_inodes: true, is_tmpfs: false };

fn at(purpose: &'static Purpose, problem: Option<&str>, space: Space) -> Finding {
    place_finding(&Place {
        purpose,
        path: "/p".into(),
        problem: problem.map(str::to_owned),
        space: Some(space),
    })
}

#[test]
fn a_low_limit_of_open_files_names_the_command_that_raises_it() {
    let said = |soft, hard| line(&open_files_finding(&OpenFiles { soft, hard }));
    assert_eq!(said(1024, None), "ok open files: A process may open 1024 files.");
    assert_eq!(
        said(256, None),
        "warning open files: A process may open only 256 files; each kernel needs about ten. [ulimit -n 4096]"
    );
    assert!(said(32, Some(100)).starts_with("error") && said(32, Some(100)).ends_with("[ulimit -n 100]"));
    assert!(said(32, Some(32)).ends_with("about ten."), "nothing can raise it");
}

#[test]
fn folders_that_cannot_be_written_say_what_does_not_work() {
    let denied = |purpose| line(&at(purpose, Some("Read-only file system"), ROOMY));
    assert_eq!(
        denied(&NOTEBOOKS),
        "warning folder: /p cannot be written (Read-only file system): notebooks can only be read."
    );
    for purpose in [&RUNTIME, &TEMPORARY] {
        let said = denied(purpose);
        assert!(said.starts_with("error") && said.ends_with("kernels cannot be started."), "{said}");
    }
    assert!(denied(&DATA).starts_with("warning data folder"));
}

#[test]
fn a_disk_that_is_almost_full_is_named() {
    let of = |free, has_inodes| at(&DATA, None, Space { free, has_inodes, ..ROOMY });
    assert_eq!(line(&of(10 << 30, true)), "ok data folder: /p has 10.0 GB free of 20.0 GB.");
    assert_eq!(of(100 * MB, true).status, Status::Warning);
    assert_eq!(of(MB, true).status, Status::Error);
    let full = line(&of(10 << 30, false));
    assert!(full.starts_with("error") && full.contains("no room for more files"), "{full}");
}

#[test]
fn a_small_tmpfs_is_too_small_for_temporary_files() {
    let small = Space { free: 255 * MB, total: 255 * MB, has_inodes: true, is_tmpfs: true };
    let said = line(&at(&TEMPORARY, None, small));
    assert!(said.starts_with("warning") && said.contains("Set TMPDIR"), "{said}");
    assert_eq!(at(&RUNTIME, None, small).status, Status::Ok, "connection files are small");
    let disk = Space { is_tmpfs: false, ..small };
    assert_eq!(at(&TEMPORARY, None, disk).status, Status::Ok);
    let large = Space { free: 1 << 30, total: 1 << 30, ..small };
    assert_eq!(at(&TEMPORARY, None, large).status, Status::Ok);
}

#[test]
fn a_home_that_is_not_there_is_named() {
    assert_eq!(home_finding(&NamedFolder::Fine), None);
    assert!(line(&home_finding(&NamedFolder::Unset).unwrap()).starts_with("warning HOME: It is not set"));
    let missing = home_finding(&NamedFolder::Missing("/gone".into())).unwrap();
    assert_eq!(line(&missing), "error HOME: /gone does not exist.");
}

#[test]
fn a_missing_session_folder_is_named_where_it_is_needed() {
    assert_eq!(session_folder_finding(&NamedFolder::Fine), None);
    assert_eq!(session_folder_finding(&NamedFolder::Unset).unwrap().status, Status::Warning);
    let missing = session_folder_finding(&NamedFolder::Missing("/run/user/7".into())).unwrap();
    assert!(line(&missing).starts_with("warning XDG_RUNTIME_DIR: /run/user/7 does not exist"));
}

#[cfg(unix)]
#[test]
fn a_folder_is_tried_where_it_exists() {
    let folder = tempfile::tempdir().unwrap();
    let deep = place(&DATA, folder.path().join("not/yet"));
    assert!(deep.problem.is_none() && deep.space.is_some_and(|space| space.total > 0));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left there");
    assert!(place(&TEMPORARY, folder.path().join("gone")).problem.is_some());
    assert!(place(&RUNTIME, "/proc/no/such".into()).problem.is_some());
}

#[cfg(target_os = "linux")]
#[test]
fn a_tmpfs_is_recognised() {
    assert!(!is_tmpfs(Path::new("/proc")));
    // Containers may be without.
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    if mounts.lines().any(|mount| mount.split(' ').nth(1) == Some("/dev/shm") && mount.contains(" tmpfs ")) {
        assert!(is_tmpfs(Path::new("/dev/shm")));
    }
}
