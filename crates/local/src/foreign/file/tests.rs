use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use super::super::own_file::refusal_of_folder;
use super::*;

const KEY: &str = "not-to-be-shown";

fn content(changes: &Value) -> Value {
    let mut content = json!({
        "shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5, "ip": "127.0.0.1",
        "key": KEY, "transport": "tcp", "signature_scheme": "hmac-sha256", "kernel_name": "python3",
    });
    for (name, value) in changes.as_object().unwrap() {
        content[name] = value.clone();
    }
    content
}

struct Runtime(tempfile::TempDir);

impl Runtime {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a connection file with the usual permissions.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn refusal(&self, changes: &Value) -> Refusal {
        let path = self.write("kernel-x.json", &content(changes).to_string());
        ForeignFile::read(&path).map(|_| ()).unwrap_err()
    }
}

#[test]
fn a_file_is_read_as_jupyter_writes_it() {
    let runtime = Runtime::new();
    let changes = json!({ "jupyter_session": "/work/a\nb.ipynb", "unknown": [1] });
    let path = runtime.write("kernel-0a-1_b.json", &content(&changes).to_string());
    let file = ForeignFile::read(&path).unwrap().unwrap();
    assert_eq!((&*file.id, file.kernel_name()), ("0a-1_b", Some("python3")));
    assert_eq!(file.origin(), "started for /work/ab.ipynb, probably by a Jupyter server");
    assert_eq!(file.info.key, KEY);
}

#[test]
fn an_origin_is_named_only_if_it_can_be_seen() {
    let runtime = Runtime::new();
    let origin = |name: &str| {
        let path = runtime.write(name, &content(&json!({ "kernel_name": "" })).to_string());
        let file = ForeignFile::read(&path).unwrap().unwrap();
        assert_eq!(file.kernel_name(), None);
        file.origin()
    };
    assert_eq!(origin("kernel-v2-28141kSC9njpUbH1b.json"), "started by VS Code");
    assert_eq!(origin("kernel-4711.json"), "started by another program");
}

#[test]
fn files_with_other_names_are_not_read() {
    for name in
        ["kernel-.json", "kernel-a b.json", "kernel-a\nb.json", "jpserver-1.json", "kernel-a.json.swp"]
    {
        assert_eq!(id_of(Path::new(name)), None, "{name:?}");
    }
}

#[test]
fn kernels_of_this_program_are_left_out() {
    let runtime = Runtime::new();
    for changes in [
        json!({ "started_by": "cellbridge" }),
        json!({ "transport": "ipc", "ip": "/tmp/cellbridge-Ab12Cd/k" }),
    ] {
        let path = runtime.write("kernel-x.json", &content(&changes).to_string());
        assert!(ForeignFile::read(&path).unwrap().is_none(), "{changes}");
    }
    assert!(ForeignFile::read(&runtime.path("kernel-none.json")).unwrap().is_none());
}

#[test]
fn what_others_could_have_written_is_refused() {
    let runtime = Runtime::new();
    let path = runtime.write("kernel-x.json", &content(&json!({})).to_string());
    let link = runtime.path("kernel-link.json");
    symlink(&path, &link).unwrap();
    let refusal = |path: &Path| ForeignFile::read(path).map(|_| ()).unwrap_err();
    assert!(refusal(&link).contains("symbolic link"));
    for mode in [0o602, 0o620] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(refusal(&path).contains("other users can write"));
    }
    fs::create_dir(runtime.path("kernel-folder.json")).unwrap();
    assert!(refusal(&runtime.path("kernel-folder.json")).contains("not a file"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_planted_pipe_is_refused_at_once() {
    let runtime = Runtime::new();
    let path = runtime.path("kernel-pipe.json");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(ForeignFile::read(&path).map(|_| ()).unwrap_err().contains("not a file"));
}

#[test]
fn a_file_of_another_user_is_refused() {
    // Every system has one that is another user's, unless the tests run as its owner: then one can be given away.
    let runtime = Runtime::new();
    let path = runtime.write("kernel-x.json", &content(&json!({})).to_string());
    if std::os::unix::fs::chown(&path, Some(65534), None).is_ok() {
        assert!(ForeignFile::read(&path).map(|_| ()).unwrap_err().contains("another user"));
    }
}

#[test]
fn addresses_beyond_this_machine_are_refused() {
    let runtime = Runtime::new();
    for ip in ["192.168.1.7", "0.0.0.0", "*", "example.org", "::1", ""] {
        assert!(runtime.refusal(&json!({ "ip": ip })).contains(&format!("{ip:?}")));
    }
    for ip in ["127.0.0.1", "127.0.1.1", "localhost"] {
        let path = runtime.write("kernel-y.json", &content(&json!({ "ip": ip })).to_string());
        assert!(ForeignFile::read(&path).unwrap().is_some(), "{ip}");
    }
}

#[test]
fn sockets_must_be_of_this_user() {
    let runtime = Runtime::new();
    let at = |name: &str| runtime.path(name).to_str().unwrap().to_owned();
    let ipc = |ip: &str| json!({ "transport": "ipc", "ip": ip });
    let _listener = UnixListener::bind(at("own-1")).unwrap();
    let path = runtime.write("kernel-y.json", &content(&ipc(&at("own"))).to_string());
    assert!(ForeignFile::read(&path).unwrap().is_some());
    symlink(at("own-1"), at("planted-2")).unwrap();
    assert!(runtime.refusal(&ipc(&at("planted"))).contains("its sockets belong"));
    assert!(runtime.refusal(&ipc("kernel-ipc")).contains("its sockets belong"));
}

#[test]
fn kernels_that_cannot_prove_who_they_are_are_refused() {
    let runtime = Runtime::new();
    assert!(runtime.refusal(&json!({ "key": "" })).contains("no key"));
    assert!(runtime.refusal(&json!({ "signature_scheme": "hmac-md5" })).contains("hmac-sha256"));
    assert!(runtime.refusal(&json!({ "curve_publickey": "abc" })).contains("encrypts"));
}

#[test]
fn no_refusal_shows_the_key() {
    let runtime = Runtime::new();
    let texts = [
        content(&json!({ "shell_port": KEY })).to_string(),
        content(&json!({ "key": { "secret": KEY } })).to_string(),
        format!("{{\"key\": \"{KEY}\""),
        format!("\"{KEY}\""),
    ];
    for text in texts {
        let path = runtime.write("kernel-x.json", &text);
        let refusal = ForeignFile::read(&path).map(|_| ()).unwrap_err();
        assert!(refusal.contains("not the connection file"));
        assert!(!refusal.contains(KEY));
    }
}

#[test]
fn folders_to_which_others_can_write_are_not_used() {
    let runtime = Runtime::new();
    let set = |mode| fs::set_permissions(runtime.0.path(), fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(refusal_of_folder(runtime.0.path()), None);
    // Jupyter sets the sticky bit.
    set(0o1700);
    assert_eq!(refusal_of_folder(runtime.0.path()), None);
    set(0o777);
    assert!(refusal_of_folder(runtime.0.path()).unwrap().contains("other users can write"));
    assert_eq!(refusal_of_folder(&runtime.path("none")), None);
}
