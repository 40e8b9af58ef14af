//! Environments that are made, with shell scripts for uv and Python.

use tokio::sync::mpsc;

use super::*;
use crate::tests::script;

/// A uv that makes an environment, notes each call, and fails at installing while there is a file `broken`.
fn uv(machine: &Machine) {
    let folder = machine.folder.path().display();
    script(
        &machine.at("bin/uv"),
        &format!(
            r#"PATH=/usr/bin:/bin; echo "$1" >> {folder}/calls
            case $1 in
            venv) mkdir -p "$2/bin"; : > "$2/pyvenv.cfg"; : > "$2/bin/python";;
            pip) echo 'Downloading ipykernel-7.4.0'
                packages=$(dirname "$4")/../lib/python3.12/site-packages/ipykernel
                mkdir -p "$packages"; : > "$packages/__init__.py"
                [ -e {folder}/broken ] && {{ echo no network >&2; exit 2; }}
                exit 0;;
            esac"#
        ),
    );
}

fn calls(machine: &Machine) -> String {
    fs::read_to_string(machine.at("calls")).unwrap().replace('\n', " ")
}

#[tokio::test]
async fn concurrent_callers_share_one_new_environment() {
    let machine = Machine::new();
    uv(&machine);
    // Two choosers stand for two programs.
    let (one, other) = (machine.chooser(), machine.chooser());
    let (progress, mut lines) = mpsc::channel(20);
    let folder = machine.at("root");
    let query = KernelspecQuery { folder: &folder, name: None, preferred: None, progress: Some(&progress) };
    let (a, b, c) = tokio::join!(one.choose(&query), one.choose(&query), other.choose(&query));
    for choice in [a, b, c] {
        assert_eq!(choice.unwrap().program, machine.at("home/data/cellbridge/python/bin/python"));
    }
    assert_eq!(calls(&machine), "venv pip ");
    lines.close();
    let mut received = Vec::new();
    while let Some(line) = lines.recv().await {
        received.push(line);
    }
    assert!(received.contains(&"Downloading ipykernel-7.4.0".to_owned()), "{received:?}");
    // Later choices use it, with or without its name.
    assert_eq!(machine.program(Some(MANAGED), None).await, machine.program(None, None).await);
    assert_eq!(calls(&machine), "venv pip ");
}

#[tokio::test]
async fn an_unfinished_environment_is_made_again() {
    let machine = Machine::new();
    uv(&machine);
    fs::write(machine.at("broken"), "").unwrap();
    let error = machine.choose(None, None).await.unwrap_err();
    assert!(error.cause.contains("no network") && error.to_string().contains("network"), "{error}");
    fs::remove_file(machine.at("broken")).unwrap();
    fs::write(machine.at("home/data/cellbridge/python/left"), "").unwrap();
    machine.choose(Some(MANAGED), None).await.unwrap();
    assert!(!machine.at("home/data/cellbridge/python/left").exists());
    assert_eq!(calls(&machine), "venv pip venv pip ");
}

#[tokio::test]
async fn making_an_environment_goes_on_without_its_caller() {
    let machine = Machine::new();
    uv(&machine);
    let chooser = machine.chooser();
    let folder = machine.at("root");
    let query = KernelspecQuery { folder: &folder, name: Some(MANAGED), preferred: None, progress: None };
    tokio::select! {
        biased;
        _ = chooser.choose(&query) => unreachable!("it takes a process or two"),
        () = tokio::task::yield_now() => {}
    }
    chooser.choose(&query).await.unwrap();
    assert_eq!(calls(&machine), "venv pip ");
}

#[tokio::test]
async fn without_python_the_error_says_what_to_install() {
    let machine = Machine::new();
    let error = machine.choose(None, None).await.unwrap_err();
    assert!(error.cause.contains("no Python") && error.to_string().contains("Install Python"), "{error}");
    script(
        &machine.at("bin/python3"),
        "[ \"$1\" = -c ] && { echo '3.11 0'; echo \"$0\"; exit; }; echo ensurepip is not available; exit 1",
    );
    let error = machine.choose(None, None).await.unwrap_err();
    assert!(error.cause.contains("ensurepip") && error.to_string().contains("python3-venv"), "{error}");
}

/// A Python on `PATH` that counts its starts. It has ipykernel while its folder `packages` does, and names the files
/// that decide this as the real one does.
fn counting_python(machine: &Machine) -> KernelspecChooser {
    let folder = machine.folder.path().display();
    script(
        &machine.at("bin/python3"),
        &format!(
            "echo start >> {folder}/starts; [ -e {folder}/packages/ipykernel ] && has=1; \
             printf '3.12 %s\\n%s\\n{folder}/packages\\n{folder}/user' \"${{has:-0}}\" \"$0\""
        ),
    );
    fs::create_dir_all(machine.at("packages")).unwrap();
    uv(machine);
    fs::write(machine.at("starts"), "").unwrap();
    machine.age_files();
    machine.chooser()
}

impl Machine {
    /// Sets the modification times back by an hour.
    fn age_files(&self) {
        let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        for path in ["packages/ipykernel", "packages", "bin/python3"] {
            if let Ok(file) = fs::File::open(self.at(path)) {
                file.set_modified(earlier).unwrap();
            }
        }
    }

    fn starts(&self) -> usize {
        fs::read_to_string(self.at("starts")).unwrap().lines().count()
    }

    async fn program_of(&self, chooser: &KernelspecChooser) -> PathBuf {
        let folder = self.at("root");
        let query = KernelspecQuery { folder: &folder, name: None, preferred: None, progress: None };
        chooser.choose(&query).await.unwrap().program
    }
}

#[tokio::test]
async fn an_unchanged_python_is_started_once() {
    let machine = Machine::new();
    let chooser = counting_python(&machine);
    for _ in 0..3 {
        let managed = machine.at("home/data/cellbridge/python/bin/python");
        assert_eq!(machine.program_of(&chooser).await, managed);
    }
    assert_eq!(machine.starts(), 1);
}

#[tokio::test]
async fn installing_and_removing_ipykernel_is_noticed() {
    let machine = Machine::new();
    let (own, managed) = (machine.at("bin/python3"), machine.at("home/data/cellbridge/python/bin/python"));
    let chooser = counting_python(&machine);
    assert_eq!(machine.program_of(&chooser).await, managed);
    fs::create_dir(machine.at("packages/ipykernel")).unwrap();
    assert_eq!(machine.program_of(&chooser).await, own);
    machine.age_files();
    assert_eq!(machine.program_of(&chooser).await, own);
    fs::remove_dir(machine.at("packages/ipykernel")).unwrap();
    assert_eq!(machine.program_of(&chooser).await, managed);
}

#[tokio::test]
async fn an_environment_that_inherits_packages_is_started_once() {
    let machine = Machine::new();
    let chooser = counting_python(&machine);
    let inheriting = venv(&machine.at("root/.venv"), false);
    fs::write(inheriting.prefix.join("pyvenv.cfg"), "include-system-site-packages = true").unwrap();
    fs::create_dir(machine.at("packages/ipykernel")).unwrap();
    fs::copy(machine.at("bin/python3"), &inheriting.interpreter).unwrap();
    machine.age_files();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::open(&inheriting.interpreter).unwrap().set_modified(earlier).unwrap();
    for _ in 0..3 {
        assert_eq!(machine.program_of(&chooser).await, inheriting.interpreter);
    }
    assert_eq!(machine.starts(), 1);
}
