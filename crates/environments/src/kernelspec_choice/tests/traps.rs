//! Folders with programs that nobody may start before a run.

use super::script;
use super::*;
use crate::venv::tests::PACKAGES;

impl Machine {
    /// A program that leaves a mark if it is started.
    fn trap(&self, path: &str) -> PathBuf {
        script(
            &self.at(path),
            &format!("echo \"$0 $@\" >> {}/started; echo 3.12 1; echo $0", self.at("").display()),
        );
        self.at(path)
    }

    fn started(&self) -> String {
        fs::read_to_string(self.at("started")).unwrap_or_default()
    }

    async fn choose_for(
        &self,
        chooser: &KernelspecChooser,
        name: Option<&str>,
        is_for_run: bool,
    ) -> Option<KernelChoice> {
        let folder = self.at("root/sub");
        let purpose = if is_for_run { Purpose::Run } else { Purpose::Opening };
        let query = KernelspecQuery { folder: &folder, name, preferred: None, purpose, progress: None };
        chooser.choose(&query).await.ok().flatten()
    }
}

#[tokio::test]
async fn an_environment_that_also_uses_other_packages_is_not_started() {
    let machine = Machine::new();
    machine.python(0);
    machine.trap("root/.venv/bin/python");
    let base = machine.trap("root/base/bin/python3");
    let settings =
        format!("home = {}\ninclude-system-site-packages = true\n", base.parent().unwrap().display());
    fs::write(machine.at("root/.venv/pyvenv.cfg"), settings).unwrap();
    machine.trap("bin/uv");
    let chooser = machine.chooser();
    chooser.list(&machine.at("root/sub")).await;
    machine.choose_for(&chooser, None, false).await;
    assert!(!machine.started().contains("/root/"), "{}", machine.started());
    // Its packages are found all the same.
    let module = machine.at("root/base").join(PACKAGES).join("ipykernel");
    fs::create_dir_all(&module).unwrap();
    fs::write(module.join("__init__.py"), "").unwrap();
    let choice = machine.choose_for(&chooser, None, false).await.unwrap();
    assert_eq!(choice.program, machine.at("root/.venv/bin/python"));
    assert!(!machine.started().contains("/root/"), "{}", machine.started());
}

/// As after the activation of an environment there, or through a link.
#[tokio::test]
async fn a_python_of_the_folder_on_path_is_not_started() {
    for is_linked in [false, true] {
        let machine = Machine::new();
        for name in ["python3", "python", "python3.12", "uv"] {
            machine.trap(&format!("root/tools/{name}"));
            fs::create_dir_all(machine.at("bin")).unwrap();
            std::os::unix::fs::symlink(machine.at("root/tools").join(name), machine.at("bin").join(name))
                .unwrap();
        }
        if !is_linked {
            fs::remove_dir_all(machine.at("bin")).unwrap();
            fs::rename(machine.at("root/tools"), machine.at("root/bin")).unwrap();
            std::os::unix::fs::symlink("root/bin", machine.at("bin")).unwrap();
        }
        machine.install("python3", "python3", "python");
        let resources = machine.at("jupyter/kernels/bare");
        fs::create_dir_all(&resources).unwrap();
        let text = r#"{"argv": ["python", "-m", "ipykernel_launcher"], "language": "python"}"#;
        fs::write(resources.join("kernel.json"), text).unwrap();
        let chooser = machine.chooser();
        chooser.list(&machine.at("root")).await;
        fs::remove_dir_all(machine.at("jupyter")).unwrap();
        assert!(machine.choose_for(&chooser, None, false).await.is_none(), "it waits for a run");
        assert!(machine.choose_for(&chooser, Some(MANAGED), false).await.is_none());
        assert_eq!(machine.started(), "");
        assert!(machine.choose_for(&chooser, None, true).await.is_none());
        assert!(machine.started().contains("uv venv"), "{}", machine.started());
    }
}

#[tokio::test]
async fn a_run_makes_an_environment_with_the_programs_outside_of_the_folder_if_there_are_any() {
    let machine = Machine::new();
    machine.trap("root/bin/uv");
    machine.trap("bin/uv");
    let path = std::env::join_paths([machine.at("root/bin"), machine.at("bin")]).unwrap();
    let variables = [("PATH".into(), path)].into_iter().collect();
    let process_env = ProcessEnv { variables, home: Some(machine.at("home")) };
    let chooser = KernelspecChooser::new(machine.at("root"), Arc::new(process_env));
    machine.choose_for(&chooser, None, true).await;
    assert!(machine.started().contains("/bin/uv venv"), "{}", machine.started());
    assert!(!machine.started().contains("/root/"), "{}", machine.started());
}

#[tokio::test]
async fn nothing_is_made_for_a_preview() {
    let machine = Machine::new();
    machine.trap("bin/uv");
    let chooser = machine.chooser();
    let folder = machine.at("root/sub");
    let purpose = Purpose::Preview;
    for name in [None, Some(MANAGED)] {
        let query = KernelspecQuery { folder: &folder, name, preferred: None, purpose, progress: None };
        assert!(chooser.choose(&query).await.unwrap().is_none());
    }
    assert_eq!(machine.started(), "");
}

#[tokio::test]
async fn a_real_python_imports_nothing_of_the_folder() {
    #[expect(clippy::disallowed_methods, reason = "the test runs a Python of this machine")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let machine = Machine::new();
    let mark = format!("open({:?}, 'a').write(__name__)", machine.at("started"));
    for name in ["importlib", "os", "site", "sys", "sitecustomize", "usercustomize", "encodings"] {
        fs::write(machine.at("root").join(name).with_extension("py"), &mark).unwrap();
    }
    let root = machine.at("root").into_os_string();
    let variables: [(&str, _); 4] = [
        ("PATH", path),
        ("PYTHONPATH", root.clone()),
        ("PYTHONUSERBASE", root.clone()),
        ("PYTHONSTARTUP", machine.at("root/os.py").into()),
    ];
    let variables = variables.map(|(name, value)| (name.into(), value)).into();
    let process_env = ProcessEnv { variables, home: Some(machine.at("root")) };
    let Some(python) = process_env.find_program("python3") else { return };
    let chooser = KernelspecChooser::new(machine.at("root"), Arc::new(process_env));
    assert!(chooser.interpreters.info(&python).await.is_some());
    assert_eq!(machine.started(), "");
}
