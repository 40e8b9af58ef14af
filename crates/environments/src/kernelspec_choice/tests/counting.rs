//! How often Pythons are started, with shell scripts for them.

use super::making::uv;
use super::script;
use super::*;

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
        let query = KernelspecQuery {
            folder: &folder,
            name: None,
            preferred: None,
            purpose: Purpose::Opening,
            progress: None,
        };
        chooser.choose(&query).await.unwrap().unwrap().program
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
