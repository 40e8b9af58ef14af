//! Planted folders and facts, and what is said about them.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::finding::tests::lines;

fn write(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn nothing() -> Facts {
    Facts { folders: Vec::new(), exposed_to_jupyter: Vec::new(), leftovers: Vec::new() }
}

#[test]
fn files_that_others_can_read_are_found_except_packages_and_empty_ones() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("log/open.log"), "12345", 0o640);
    write(&at("writable"), "1", 0o602);
    write(&at("private"), "12", 0o600);
    write(&at("python.lock"), "", 0o644);
    write(&at("python/lib/x.py"), "123", 0o644);
    let counted = count("data", folder.path().to_path_buf(), later());
    assert_eq!((counted.bytes, counted.files, counted.is_complete), (11, 5, true));
    assert_eq!(counted.exposed, [at("log/open.log"), at("writable")]);
    let cut = count(
        "data",
        folder.path().to_path_buf(),
        Instant::now().checked_sub(Duration::from_secs(1)).unwrap(),
    );
    assert!(!cut.is_complete);
}

#[test]
fn links_are_not_followed() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(&other.path().join("open"), "12345", 0o644);
    std::os::unix::fs::symlink(other.path(), folder.path().join("folder")).unwrap();
    std::os::unix::fs::symlink(other.path().join("open"), folder.path().join("file")).unwrap();
    assert_eq!(count("data", folder.path().to_path_buf(), later()).exposed, [] as [PathBuf; 0]);
}

#[test]
fn keys_in_jupyter_s_runtime_folder_are_found_if_others_can_enter_it() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = folder.path().join("runtime");
    write(&runtime.join("kernel-1.json"), "{}", 0o644);
    write(&runtime.join("jpserver-1.json"), "{}", 0o600);
    write(&runtime.join("notes.json"), "{}", 0o644);
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(exposed_in_runtime(&runtime), [runtime.join("kernel-1.json")]);
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(exposed_in_runtime(&runtime), [] as [PathBuf; 0]);
}

#[test]
fn each_folder_says_how_much_it_holds_and_what_is_exposed() {
    let folder = |exposed, is_complete| Folder {
        name: "data",
        path: "/d".into(),
        bytes: 2_621_440,
        files: 3,
        is_complete,
        exposed,
    };
    let exposed = vec![PathBuf::from("/d/a b"), PathBuf::from("/d/c")];
    let found = findings(&Facts { folders: vec![folder(exposed.clone(), true)], ..nothing() });
    assert_eq!(
        lines(&found),
        [
            "ok data: /d holds 2.5 MB in 3 files.",
            "warning data: Other users can read or write /d/a b and 1 more. [chmod go-rwx '/d/a b' /d/c]",
        ]
    );
    assert_eq!(found[1].repair, Some(Repair::MakePrivate(exposed)));
    let cut = findings(&Facts { folders: vec![folder(Vec::new(), false)], ..nothing() });
    assert_eq!(lines(&cut), ["ok data: /d holds more than 2.5 MB in 3 files."]);
    assert_eq!(lines(&findings(&nothing())), ["ok folders: Nothing is stored yet."]);
}

#[test]
fn what_belongs_to_jupyter_is_reported_and_not_repaired() {
    let found = findings(&Facts { exposed_to_jupyter: vec!["/r/kernel-1.json".into()], ..nothing() });
    assert!(found[1].message.contains("run code as you"), "{}", found[1].message);
    assert_eq!((found[1].fix.as_deref(), &found[1].repair), (Some("chmod go-rwx /r/kernel-1.json"), &None));
}

#[test]
fn leftovers_are_named_and_can_be_removed() {
    let leftover = |number: usize| local::Leftover {
        file: Some(format!("/r/kernel-{number}.json").into()),
        sockets: Some(format!("/tmp/cellbridge-{number}").into()),
    };
    let found = findings(&Facts { leftovers: vec![leftover(1)], ..nothing() });
    assert_eq!(
        lines(&found)[1],
        "warning leftovers: Ended kernels of Cellbridge left /r/kernel-1.json and 1 more behind. \
         [rm -r /r/kernel-1.json /tmp/cellbridge-1]"
    );
    assert_eq!(found[1].repair, Some(Repair::Remove(vec![leftover(1)])));
    let many = findings(&Facts { leftovers: (0..5).map(leftover).collect(), ..nothing() });
    assert_eq!(many[1].fix.as_deref(), Some("cellbridge doctor --fix"));
}

#[test]
fn sizes_are_readable() {
    let sizes = [0, 1023, 1024, 1_600_000, 5 << 30].map(size);
    assert_eq!(sizes, ["0 bytes", "1023 bytes", "1.0 kB", "1.5 MB", "5.0 GB"]);
}
