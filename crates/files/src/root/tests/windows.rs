use std::fs;
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn folder() -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("root/a/b")).unwrap();
    fs::create_dir_all(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("root/a/x.ipynb"), "").unwrap();
    let root = Root::new(folder.path().join("root"));
    (folder, root)
}

#[test]
fn all_spellings_of_a_path_are_one_file() {
    let (_folder, root) = folder();
    let file = root.real().join("a").join("x.ipynb");
    let absolute = file.to_str().unwrap();
    assert!(!absolute.contains('?'));
    for path in [
        "a/x.ipynb",
        r"A\X.IPYNB",
        "/a/b/../x.ipynb",
        absolute,
        &absolute.to_uppercase(),
        &absolute.replace('\\', "/"),
    ] {
        assert_eq!(root.resolve(path).unwrap(), file, "{path}");
    }
    assert_eq!(root.relative(&file).as_deref(), Some("a/x.ipynb"));
    assert_eq!(root.resolve(r"new\y.ipynb").unwrap(), root.real().join("new").join("y.ipynb"));
    for path in [r"..\outside\x", "nul", r"C:x", r"\x", "x.ipynb:y", "missing/x/../../../outside"] {
        assert!(root.resolve(path).is_err(), "{path}");
    }
}

#[test]
fn a_junction_that_leads_out_is_refused() {
    let (folder, root) = folder();
    let mut command = Command::new("cmd.exe");
    command
        .args(["/d", "/c", "mklink", "/J"])
        .arg(root.real().join("out"))
        .arg(folder.path().join("outside"));
    let made = command.output().unwrap();
    // Nothing to see where there are none: wine has none.
    if made.status.success() && root.real().join("out").exists() {
        assert!(root.resolve("out/x.ipynb").is_err());
    }
}

proptest! {
    #[test]
    fn every_resolved_path_is_inside(parts in prop::collection::vec("a|B|\\.|\\.\\.|/|\\\\|new|C:|nul|x.ipynb", 0..8)) {
        let (_folder, root) = folder();
        if let Ok(found) = root.resolve(&parts.join("/")) {
            prop_assert!(found.starts_with(root.real()));
            prop_assert!(root.relative(&found).is_some());
        }
    }
}
