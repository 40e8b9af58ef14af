use std::time::Duration;

use kernel::log::Channel;
use serde_json::Value;

use super::*;
use crate::folder::{MAX_AGE, RunLogs, prefix};

const SERVER: &str = "http://s/";

fn announcement(run: &str, message: Option<&str>) -> LogRecord {
    LogRecord::Announced(Announcement {
        run: run.into(),
        message: message.map(Into::into),
        data: Value::Null,
    })
}

fn print(parent: &str, size: usize) -> LogRecord {
    publish("stream", parent, size)
}

fn publish(kind: &str, parent: &str, size: usize) -> LogRecord {
    let header = format!(r#"{{"msg_id":"1","msg_type":"{kind}"}}"#);
    let parts = [header, format!(r#"{{"msg_id":"{parent}"}}"#), "{}".to_owned(), "x".repeat(size)];
    LogRecord::FromKernel { channel: Channel::Iopub, parts: parts.map(Into::into).into() }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

fn open(claimed: &[(RunLog, Past)]) -> Vec<&str> {
    claimed.iter().flat_map(|(_, past)| &past.open).map(|run| &*run.announcement.run).collect()
}

struct Folder {
    _temporary: tempfile::TempDir,
    path: PathBuf,
    logs: RunLogs,
}

fn folder() -> Folder {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("runs");
    Folder { _temporary: temporary, logs: RunLogs::new(path.clone()), path }
}

#[test]
fn a_log_exists_while_there_are_runs() {
    let Folder { path, logs, .. } = &folder();
    let log = logs.begin(SERVER, "k");
    assert!(files(path).is_empty());
    for _ in 0..2 {
        log.append(&announcement("r1", None));
        assert!(!log.has_runs(), "the kernel has none of them");
        log.append(&announcement("r1", Some("m1")));
        assert!(log.has_runs());
        assert_eq!(files(path).len(), 1);
        log.acknowledge(&"r1".into());
        assert!(files(path).is_empty() && !log.has_runs());
    }
    log.acknowledge(&"r2".into());
    assert!(files(path).is_empty());
}

#[test]
fn the_logs_of_programs_that_run_are_current() {
    let Folder { logs, .. } = &folder();
    let (log, elsewhere) = (logs.begin(SERVER, "k"), logs.begin("http://other/", "k"));
    elsewhere.append(&announcement("r1", Some("m1")));
    assert_eq!(logs.current(SERVER), []);
    log.append(&announcement("r1", Some("m1")));
    let current = logs.current(SERVER);
    assert_eq!(current.iter().map(|log| &*log.kernel).collect::<Vec<_>>(), ["k"]);
    let text = fs::read(&current[0].path).unwrap();
    let start = usize::try_from(current[0].start).unwrap();
    assert_eq!(text[start - 1], b'\n');
    assert!(Header::read(&text[..start]).is_some());
    log.acknowledge(&"r1".into());
    assert_eq!(logs.current(SERVER), []);
}

#[test]
fn a_log_that_is_left_to_another_server_is_not_replaced() {
    let Folder { path, logs, .. } = &folder();
    let log = logs.begin(SERVER, "k");
    log.append(&announcement("r1", Some("m1")));
    log.release();
    log.append(&announcement("r2", None));
    log.acknowledge(&"r2".into());
    assert_eq!((open(&logs.claim(SERVER, "k")), files(path).len()), (vec!["r1"], 1));
}

#[cfg(unix)]
#[test]
fn a_log_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let Folder { path, logs, .. } = &folder();
    let log = logs.begin(SERVER, "k");
    log.append(&announcement("r1", None));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path), mode(&files(path)[0])), (0o700, 0o600));
}

#[test]
fn only_one_server_claims_a_log_and_only_after_the_end_of_its_owner() {
    let Folder { logs, .. } = &folder();
    let owner = logs.begin(SERVER, "k");
    owner.append(&announcement("r1", Some("m1")));
    assert!(logs.claim(SERVER, "k").is_empty());
    drop(owner);
    assert!(logs.claim(SERVER, "another").is_empty() && logs.claim("http://t/", "k").is_empty());
    let claimed = logs.claim(SERVER, "k");
    assert_eq!(open(&claimed), ["r1"]);
    assert!(logs.claim(SERVER, "k").is_empty());
    // Its new owner goes on with it, and leaves it in turn.
    claimed[0].0.append(&announcement("r2", Some("m2")));
    let session = claimed[0].0.header.session.clone();
    claimed[0].0.acknowledge(&"r1".into());
    drop(claimed);
    let claimed = logs.claim(SERVER, "k");
    assert_eq!((open(&claimed), &claimed[0].0.header.session), (vec!["r2"], &session));
    claimed[0].0.release();
    assert_eq!(open(&logs.claim(SERVER, "k")), ["r2"]);
}

#[test]
fn runs_of_servers_that_have_ended_are_left_until_they_are_acknowledged() {
    let Folder { logs, .. } = &folder();
    let left = || {
        let open = logs.open_runs(SERVER).into_iter().filter(|(_, is_left)| *is_left);
        open.map(|(run, _)| run.announcement.run).collect::<Vec<_>>()
    };
    let owners = ["k1", "k2"].map(|kernel| logs.begin(SERVER, kernel));
    owners[0].append(&announcement("r1", None));
    owners[1].append(&announcement("r2", Some("m2")));
    logs.begin("http://t/", "k1").append(&announcement("r3", None));
    assert!(left().is_empty(), "their servers live");
    assert_eq!(logs.open_runs(SERVER).iter().map(|(_, is_left)| *is_left).collect::<Vec<_>>(), [false; 2]);
    drop(owners);
    let mut found = left();
    found.sort();
    assert_eq!(found, ["r1", "r2"]);
    let claimed = logs.claim(SERVER, "k1");
    assert_eq!(open(&claimed), ["r1"], "listing it did not claim it");
    assert_eq!(left(), ["r2"]);
    claimed[0].0.acknowledge(&"r1".into());
    drop(claimed);
    assert_eq!(left(), ["r2"]);
}

#[test]
fn a_log_that_was_removed_while_it_was_opened_is_not_claimed() {
    let Folder { path, logs, .. } = &folder();
    let owner = logs.begin(SERVER, "k");
    owner.append(&announcement("r1", Some("m1")));
    let copy = path.join(format!("{}copy.log", prefix(SERVER, "k")));
    // The same file, which has this name though its owner removes it.
    fs::hard_link(&files(path)[0], copy).unwrap();
    owner.acknowledge(&"r1".into());
    drop(owner);
    assert_eq!(files(path).len(), 1);
    assert!(logs.claim(SERVER, "k").is_empty());
}

#[test]
fn what_follows_a_torn_record_is_read() {
    let Folder { path, logs, .. } = &folder();
    let owner = logs.begin(SERVER, "k");
    owner.append(&announcement("r1", Some("m1")));
    drop(owner);
    let [file] = &files(path)[..] else { panic!("one log") };
    File::options().append(true).open(file).unwrap().write_all(&[0, 0, 0, 90, 1]).unwrap();
    let claimed = logs.claim(SERVER, "k");
    claimed[0].0.append(&announcement("r2", None));
    drop(claimed);
    assert_eq!(open(&logs.claim(SERVER, "k")), ["r1", "r2"]);
}

#[test]
fn the_log_of_a_later_version_is_left_alone() {
    let Folder { path, logs, .. } = &folder();
    fs::create_dir_all(path).unwrap();
    let file = path.join(format!("{}later.log", prefix(SERVER, "k")));
    let text = String::from_utf8(Header::new(SERVER, "k", "s".to_owned()).write()).unwrap();
    fs::write(&file, text.replace("\"version\":1", "\"version\":2")).unwrap();
    assert!(logs.claim(SERVER, "k").is_empty() && logs.kernels(SERVER).is_empty());
    assert!(file.exists());
}

#[test]
fn logs_that_nobody_has_claimed_for_long_are_removed() {
    let Folder { path, logs, .. } = &folder();
    let (left, held) = (logs.begin(SERVER, "gone"), logs.begin(SERVER, "k"));
    left.append(&announcement("r1", None));
    held.append(&announcement("r2", None));
    drop(left);
    // Its server was killed before it had named it.
    fs::write(path.join("x.new"), "").unwrap();
    let old = SystemTime::now() - MAX_AGE - Duration::from_secs(60);
    for file in files(path) {
        File::options().append(true).open(file).unwrap().set_modified(old).unwrap();
    }
    logs.claim(SERVER, "another");
    assert_eq!(files(path).len(), 1);
    drop(held);
    assert_eq!(logs.kernels(SERVER), ["k"]);
}

#[test]
fn outputs_beyond_the_limit_are_left_out_once_said() {
    let Folder { logs, .. } = &folder();
    let owner = logs.begin(SERVER, "k");
    owner.append(&announcement("r1", Some("m1")));
    for _ in 0..20 {
        owner.append(&print("m1", 1024 * 1024));
        owner.append(&publish("comm_msg", "m1", 1024 * 1024));
    }
    drop(owner);
    let claimed = logs.claim(SERVER, "k");
    let past = &claimed[0].1;
    assert!(past.length < MAX_BYTES + 2 * 1024 * 1024);
    let cut = LogRecord::Event(LogEvent::Cut { message: "m1".into() });
    assert_eq!(past.records.iter().filter(|record| **record == cut).count(), 1);
}

#[test]
fn a_long_log_loses_what_is_over_and_keeps_what_waits() {
    let Folder { logs, .. } = &folder();
    let owner = logs.begin(SERVER, "k");
    owner.append(&announcement("r1", None));
    owner.append(&announcement("r2", None));
    owner.append(&announcement("r1", Some("m1")));
    owner.append(&print("m1", 2 * 1024 * 1024));
    owner.acknowledge(&"r1".into());
    owner.append(&announcement("r2", Some("m2")));
    drop(owner);
    let claimed = logs.claim(SERVER, "k");
    assert_eq!(open(&claimed), ["r2"]);
    assert!(claimed[0].1.length < 1024);
}

#[test]
fn what_waited_for_a_kernel_that_is_gone_is_forgotten() {
    let Folder { logs, .. } = &folder();
    let owner = logs.begin(SERVER, "k");
    owner.append(&announcement("r1", Some("m1")));
    owner.append(&announcement("r2", None));
    owner.retract_waiting();
    drop(owner);
    assert_eq!(open(&logs.claim(SERVER, "k")), ["r1"]);
}
