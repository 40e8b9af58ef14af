use super::*;

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let mut name = [0; 8];
        getrandom::fill(&mut name).unwrap();
        let path = std::env::temp_dir().join(format!("rest-discovery-{:016x}", u64::from_be_bytes(name)));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Writes a server's file, `age` seconds old.
    fn server(&self, name: &str, pid: u32, age: u64, more: &str) {
        let text = format!(
            r#"{{"base_url": "/", "hostname": "localhost", "password": false, "pid": {pid}, "root_dir": "/work",
                "secure": false, "token": "hush", "version": "2.21.1", {more}}}"#
        );
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        let then = SystemTime::now() - std::time::Duration::from_secs(age);
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn own_pid() -> u32 {
    std::process::id()
}

/// The id of a process that has ended.
fn ended_pid() -> u32 {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn running_servers_are_listed_newest_first() {
    let folder = Folder::new();
    folder.server("jpserver-1.json", own_pid(), 50, r#""sock": "", "url": "http://localhost:8888/""#);
    folder.server("jpserver-2.json", own_pid(), 10, r#""url": "http://0.0.0.0:8889/base/""#);
    folder.server(
        "nbserver-3.json",
        own_pid(),
        30,
        r#""url": "http://localhost:8890/", "notebook_dir": "/old""#,
    );
    let found = newest_first(&folder.0);
    let bases: Vec<&str> = found.iter().map(|server| server.address.base.as_str()).collect();
    assert_eq!(bases, ["http://127.0.0.1:8889/base/", "http://localhost:8890/", "http://localhost:8888/"]);
    assert_eq!(found[0].address.token.as_ref().map(crate::Secret::expose), Some("hush"));
    assert_eq!(found[0].root, Path::new("/work"));
    assert!(!format!("{found:?}").contains("hush"));
}

#[test]
fn files_without_a_running_server_are_ignored() {
    let folder = Folder::new();
    folder.server("jpserver-1.json", ended_pid(), 1, r#""url": "http://localhost:1/""#);
    folder.server(
        "jpserver-2.json",
        own_pid(),
        1,
        r#""sock": "/run/x.sock", "url": "http+unix://%2Frun%2Fx.sock/""#,
    );
    folder.server("kernel-3.json", own_pid(), 1, r#""url": "http://localhost:3/""#);
    folder.server("jpserver-4-open.html", own_pid(), 1, r#""url": "http://localhost:4/""#);
    folder.server("jpserver-5.json", 0, 1, r#""url": "http://localhost:5/""#);
    folder.server("jpserver-6.json", u32::MAX, 1, r#""url": "http://localhost:6/""#);
    fs::write(folder.0.join("jpserver-7.json"), "{").unwrap();
    fs::create_dir(folder.0.join("jpserver-8.json")).unwrap();
    fs::write(folder.0.join("jpserver-9.json"), vec![b' '; 100_000]).unwrap();
    assert_eq!(newest_first(&folder.0), []);
    assert_eq!(newest_first(&folder.0.join("nowhere")), []);
    let unused: Vec<_> = unused_files(&folder.0)
        .into_iter()
        .map(|file| (file.path.file_name().unwrap().to_str().unwrap().to_owned(), file.reason))
        .collect();
    let expected = [
        ("jpserver-1.json", UnusedReason::Ended),
        ("jpserver-2.json", UnusedReason::OnSocket),
        ("jpserver-5.json", UnusedReason::Ended),
        ("jpserver-6.json", UnusedReason::Ended),
        ("jpserver-7.json", UnusedReason::Unreadable),
        ("jpserver-9.json", UnusedReason::Unreadable),
    ];
    assert_eq!(unused, expected.map(|(name, reason)| (name.to_owned(), reason)));
}

#[test]
fn two_files_of_one_server_are_listed_once() {
    let folder = Folder::new();
    folder.server("jpserver-1.json", own_pid(), 1, r#""url": "http://localhost:8888/""#);
    folder.server("nbserver-1.json", own_pid(), 1, r#""url": "http://localhost:8888/""#);
    assert_eq!(newest_first(&folder.0).len(), 1);
}

/// The ports of the running servers in their order, seen from `working_directory`. Each is given by its port, which is its
/// age too, and its root.
fn order(servers: &[(u16, &Path)], working_directory: &Path) -> Vec<u16> {
    let folder = Folder::new();
    for (port, root) in servers {
        let text = serde_json::json!({
            "pid": own_pid(), "url": format!("http://localhost:{port}/"), "token": "t", "root_dir": root,
        });
        let path = folder.0.join(format!("jpserver-{port}.json"));
        fs::write(&path, text.to_string()).unwrap();
        let then = SystemTime::now() - std::time::Duration::from_secs(u64::from(*port));
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }
    let discovery =
        Discovery { runtime: folder.0.clone(), working_directory: working_directory.to_path_buf() };
    running(&discovery).iter().filter_map(|server| server.address.base.port()).collect()
}

#[test]
fn the_server_whose_root_is_the_closest_ancestor_comes_first() {
    let folder = Folder::new();
    let deep = folder.0.join("work/project/src");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(folder.0.join("work/pro")).unwrap();
    let (work, project) = (folder.0.join("work"), folder.0.join("work/project"));
    let servers: [(u16, &Path); 5] = [
        (1, Path::new("")),
        (2, &folder.0),
        // Its name starts like that of an ancestor.
        (3, &folder.0.join("work/pro")),
        (4, &project),
        (5, &work),
    ];
    for (seen_from, expected) in [
        (&deep, [4, 5, 2, 1, 3]),
        // The same folder counts as the closest ancestor.
        (&project, [4, 5, 2, 1, 3]),
        (&work, [5, 2, 1, 3, 4]),
        // If no root contains it, the newest comes first.
        (&std::env::temp_dir(), [1, 2, 3, 4, 5]),
    ] {
        assert_eq!(order(&servers, seen_from), expected, "{}", seen_from.display());
    }
    // Of equally close ones, the newest.
    assert_eq!(order(&[(9, &work), (8, &work), (7, &folder.0)], &deep), [8, 9, 7]);
}

#[cfg(unix)]
#[test]
fn links_on_the_way_to_a_root_make_no_difference() {
    let folder = Folder::new();
    fs::create_dir_all(folder.0.join("real/project")).unwrap();
    std::os::unix::fs::symlink(folder.0.join("real"), folder.0.join("link")).unwrap();
    let (real, link) = (folder.0.join("real"), folder.0.join("link"));
    let elsewhere = folder.0.join("elsewhere");
    for (root, seen_from) in [(&real, link.join("project")), (&link, real.join("project"))] {
        assert_eq!(order(&[(1, &elsewhere), (2, root)], &seen_from), [2, 1]);
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn the_runtime_folder_follows_jupyter_s_variables() {
    let home = Path::new("/home/ada");
    let table: [(&[(&str, &str)], &str); 5] = [
        (&[], "/home/ada/.local/share/jupyter/runtime"),
        (&[("XDG_DATA_HOME", "/x")], "/x/jupyter/runtime"),
        (&[("XDG_DATA_HOME", "/x"), ("JUPYTER_DATA_DIR", "/d")], "/d/runtime"),
        (&[("JUPYTER_DATA_DIR", "/d"), ("JUPYTER_RUNTIME_DIR", "/r")], "/r"),
        (&[("JUPYTER_RUNTIME_DIR", "")], "/home/ada/.local/share/jupyter/runtime"),
    ];
    for (variables, expected) in table {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        assert_eq!(runtime_dir(variable, Some(home)).as_deref(), Some(Path::new(expected)), "{variables:?}");
    }
    assert_eq!(runtime_dir(|_| None, None), None);
}
