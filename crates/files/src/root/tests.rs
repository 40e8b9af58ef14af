use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn folder() -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::create_dir_all(folder.path().join("outside")).unwrap();
    fs::write(root.join("a/x.ipynb"), "").unwrap();
    symlink(folder.path().join("outside"), root.join("out")).unwrap();
    symlink("a/b", root.join("in")).unwrap();
    symlink("/nowhere", root.join("broken")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    (folder, Root::new(root))
}

#[test]
fn all_spellings_of_a_path_are_relative_to_the_root() {
    let (_folder, root) = folder();
    let absolute = root.real().join("a/x.ipynb");
    for path in [
        "a/x.ipynb",
        "/a/x.ipynb",
        "./a//x.ipynb",
        "a/b/../x.ipynb",
        "in/../x.ipynb",
        "a\\x.ipynb",
        absolute.to_str().unwrap(),
    ] {
        assert_eq!(root.resolve(path).unwrap(), absolute, "{path}");
    }
    assert_eq!(root.resolve("").unwrap(), root.real());
    assert_eq!(root.resolve("in/new/y.ipynb").unwrap(), root.real().join("a/b/new/y.ipynb"));
    assert_eq!(root.resolve("new\\y.ipynb").unwrap(), root.real().join("new/y.ipynb"));
    assert_eq!(root.relative(&absolute).as_deref(), Some("a/x.ipynb"));
}

#[test]
fn paths_out_of_the_root_are_refused() {
    let (_folder, root) = folder();
    for path in [
        "..",
        "../outside",
        "a/../../outside/y.ipynb",
        "out",
        "out/y.ipynb",
        "broken",
        "loop",
        "loop/x",
        "a\0",
        "new/../../..",
        "/etc/passwd",
        "/missing/x.ipynb",
    ] {
        let error = root.resolve(path).unwrap_err();
        assert_eq!(error.fault, place::Fault::Agent, "{path}");
    }
}

#[test]
fn shown_paths_have_the_prefix_and_resolve_with_and_without_it() {
    let (_folder, root) = folder();
    let root = root.with_prefix("local:");
    let file = root.real().join("a/x.ipynb");
    assert_eq!(root.relative(&file).as_deref(), Some("local:a/x.ipynb"));
    for path in ["local:a/x.ipynb", "local:/a/x.ipynb", "a/x.ipynb"] {
        assert_eq!(root.resolve(path).unwrap(), file, "{path}");
    }
    assert!(root.resolve("local:../x.ipynb").is_err());
}

#[test]
fn files_that_are_called_like_places_can_be_named() {
    let (_folder, root) = folder();
    let file = root.real().join("local:x.ipynb");
    fs::write(&file, "").unwrap();
    for (root, shown) in
        [(root.clone(), "./local:x.ipynb"), (root.with_prefix("local:"), "local:local:x.ipynb")]
    {
        assert_eq!(root.relative(&file).as_deref(), Some(shown));
        assert_eq!(root.resolve(shown).unwrap(), file);
    }
}

#[test]
fn a_backslash_is_kept_if_a_file_has_it_in_its_name() {
    let (_folder, root) = folder();
    fs::write(root.real().join("a\\y.ipynb"), "").unwrap();
    assert_eq!(root.resolve("a\\y.ipynb").unwrap(), root.real().join("a\\y.ipynb"));
}

#[test]
fn a_linked_root_accepts_absolute_paths_with_and_without_the_link() {
    let (folder, root) = folder();
    let link = folder.path().join("link");
    symlink(root.real(), &link).unwrap();
    let linked = Root::new(link.clone());
    assert_eq!(
        linked.resolve(link.join("a/x.ipynb").to_str().unwrap()).unwrap(),
        root.real().join("a/x.ipynb")
    );
    let real = root.real().join("a");
    assert_eq!(linked.resolve(real.to_str().unwrap()).unwrap(), real);
}

#[test]
fn other_spellings_of_the_root_are_known_by_where_they_lead() {
    let (folder, root) = folder();
    let alias = folder.path().join("alias");
    symlink(root.real(), &alias).unwrap();
    let expected = root.real().join("a/x.ipynb");
    assert_eq!(root.resolve(alias.join("a/x.ipynb").to_str().unwrap()).unwrap(), expected);
    assert_eq!(
        root.resolve(alias.join("new.ipynb").to_str().unwrap()).unwrap(),
        root.real().join("new.ipynb")
    );
    assert!(root.resolve(alias.join("out/x").to_str().unwrap()).is_err());
    assert!(root.resolve(alias.join("../outside/x").to_str().unwrap()).is_err());
}

proptest! {
    #[test]
    fn every_resolved_path_is_inside(parts in prop::collection::vec("a|b|in|out|loop|broken|\\.|\\.\\.|/|new|\\\\|x.ipynb", 0..8)) {
        let (_folder, root) = folder();
        if let Ok(found) = root.resolve(&parts.join("/")) {
            prop_assert!(found.starts_with(root.real()));
            prop_assert!(root.relative(&found).is_some());
        }
    }
}
