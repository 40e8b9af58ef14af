use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::search::{LIST_TIMEOUT, PROBES};
use super::*;

/// Writes the connection file of a kernel that does not run, as if it were so old.
fn write(folder: &Path, id: &str, age: u64) -> PathBuf {
    let path = folder.join(format!("kernel-{id}.json"));
    let text = r#"{"shell_port": 1, "iopub_port": 1, "stdin_port": 1, "control_port": 1, "hb_port": 1, "ip": "127.0.0.1",
        "key": "k", "transport": "tcp", "signature_scheme": "hmac-sha256"}"#;
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let written = SystemTime::now() - Duration::from_secs(age);
    fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
    path
}

fn machine() -> (tempfile::TempDir, Arc<ProcessEnv>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, Arc::new(ProcessEnv::with_variables(&[("JUPYTER_RUNTIME_DIR", &path), ("HOME", &path)])))
}

#[test]
fn the_newest_come_first_and_ours_are_left_out() {
    let (folder, process_env) = machine();
    for (id, age) in [("old", 20), ("new", 10), ("ours", 5), ("ours-2", 5), ("ours-else", 30)] {
        write(folder.path(), id, age);
    }
    fs::write(folder.path().join("jpserver-1.json"), "{}").unwrap();
    let (found, refused) = find(&process_env, HashSet::from(["ours".to_owned()]));
    assert_eq!(found.iter().map(|file| &*file.id).collect::<Vec<_>>(), ["new", "old", "ours-else"]);
    assert_eq!(refused, []);
}

#[test]
fn refused_files_are_told_from_others() {
    let (folder, process_env) = machine();
    write(folder.path(), "good", 1);
    let open = write(folder.path(), "open", 1);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
    let (found, refused) = find(&process_env, HashSet::new());
    assert_eq!((found.len(), refused), (1, vec![(open, "other users can write to it".to_owned())]));
    assert!(is_foreign_kernel(&process_env, "goo") && !is_foreign_kernel(&process_env, "open"));
}

#[tokio::test]
async fn kernels_that_do_not_answer_are_not_listed_and_said_to_be_so() {
    let (folder, process_env) = machine();
    write(folder.path(), "dead", 1);
    let foreign = ForeignKernels::new(process_env);
    assert!(foreign.list(HashSet::new()).await.is_empty());
    let of = |id: &str| foreign.unknown(id).cause;
    assert_eq!(of("dead"), "Kernel dead does not answer; its connection file is stale.");
    assert_eq!(of("other"), Error::no_kernel("other").cause);
    assert_eq!(of("../dead"), Error::no_kernel("../dead").cause);
    let error = foreign.join("dead").await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::KernelGone);
}

#[tokio::test(start_paused = true)]
async fn listing_takes_bounded_time_if_the_ports_of_many_old_kernels_are_silent() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (folder, process_env) = machine();
    for id in 0..u64::try_from(PROBES * 8).unwrap() {
        write(folder.path(), &id.to_string(), id);
    }
    let mut files = find(&process_env, HashSet::new()).0;
    assert_eq!(files.len(), PROBES * 8);
    for file in &mut files {
        let port = silent.local_addr().unwrap().port();
        (file.info.iopub_port, file.info.hb_port) = (port, port);
    }
    let start = Instant::now();
    assert!(living(files, |_| false).await.is_empty());
    assert_eq!(start.elapsed().as_secs(), LIST_TIMEOUT.as_secs());
}

#[test]
fn a_refusal_names_its_reason() {
    let (folder, process_env) = machine();
    let path = write(folder.path(), "open", 1);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o602)).unwrap();
    let foreign = ForeignKernels::new(process_env);
    let expected = "The connection file of kernel open is not used: other users can write to it.";
    assert_eq!(foreign.unknown("open").cause, expected);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let expected =
        format!("Connection files in {} are not used: other users can write to it.", folder.path().display());
    assert_eq!(foreign.unknown("open").cause, expected);
    let (found, refused) = find(&foreign.process_env, HashSet::new());
    assert_eq!(
        (found.len(), refused),
        (0, vec![(folder.path().to_path_buf(), "other users can write to it".to_owned())])
    );
}
