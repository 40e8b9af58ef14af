//! Planted facts, and what is said about them.

use super::*;
use crate::finding::Status;
use crate::finding::tests::{line, lines};

fn existing(program: &str) -> NextKernel {
    NextKernel::Existing { name: "python3".into(), program: program.into() }
}

fn facts(next: NextKernel) -> Facts {
    Facts {
        root: "/work".into(),
        next_if_hidden: next.clone(),
        next,
        kernelspecs: Vec::new(),
        unreadable: Vec::new(),
        environments: Vec::new(),
        activated: Vec::new(),
        on_path: None,
        managed: ManagedState::NotMade("/data/python".into()),
        has_uv: false,
        has_default_prefix: false,
    }
}

fn kernelspec(name: &str, program: Result<&str, BrokenKernelspec>) -> FoundKernelspec {
    FoundKernelspec { name: name.into(), folder: "/k".into(), program: program.map(PathBuf::from) }
}

fn bare(python: &str, has_pip: bool) -> EnvironmentState {
    EnvironmentState::NoKernel { interpreter: python.into(), has_pip }
}

fn activated(state: Option<EnvironmentState>) -> ActivatedEnvironment {
    ActivatedEnvironment { variable: "VIRTUAL_ENV", prefix: "/env".into(), state }
}

#[test]
fn the_next_kernel_comes_first() {
    let next = |facts: Facts| line(&findings(&facts)[0]);
    assert_eq!(
        next(facts(existing("/usr/bin/python3"))),
        "ok new notebook: It gets the kernel python3, which is /usr/bin/python3."
    );
    let made = facts(NextKernel::Made { with: "/bin/uv".into() });
    assert!(next(made).starts_with("ok new notebook: There is no Python kernel yet."));
    let none = || facts(NextKernel::None);
    assert!(next(none()).starts_with("error new notebook: There is no Python kernel, and neither uv"));
    let other = Facts { kernelspecs: vec![kernelspec("ir", Ok("/usr/bin/R"))], ..none() };
    assert!(next(other).starts_with("warning new notebook"), "other languages work");
}

#[test]
fn a_next_kernel_that_cannot_start_is_an_error() {
    let broken = kernelspec("python3", Err(BrokenKernelspec::NoKernel("/old/bin/python".into())));
    let facts = Facts { kernelspecs: vec![broken], ..facts(existing("/old/bin/python")) };
    assert_eq!(
        lines(&findings(&facts)),
        [
            "error new notebook: It gets /old/bin/python, which has no ipykernel. \
             [/old/bin/python -m pip install ipykernel]",
            "warning kernelspec python3: It is not used: /old/bin/python has no ipykernel. \
             [/old/bin/python -m pip install ipykernel]",
        ]
    );
}

#[test]
fn a_kernelspec_without_its_program_is_named_with_the_command_that_removes_it() {
    let gone = kernelspec("old env", Err(BrokenKernelspec::NoProgram("/gone/python".into())));
    let facts = Facts {
        kernelspecs: vec![gone, kernelspec("ir", Ok("/usr/bin/R"))],
        unreadable: vec!["/k/kernel.json is not a kernelspec: EOF".into()],
        ..facts(existing("/p"))
    };
    assert_eq!(
        lines(&findings(&facts))[1..],
        [
            "warning kernelspec old env: It is not used: its program \"/gone/python\" does not exist. \
             [jupyter kernelspec remove 'old env']",
            "ok kernelspec ir: It runs /usr/bin/R.",
            "warning kernelspec: /k/kernel.json is not a kernelspec: EOF.",
        ]
    );
}

#[test]
fn environments_of_the_folder_say_why_they_are_not_used() {
    let at = |prefix: &str, state| FoundEnvironment { prefix: prefix.into(), state };
    let environments = || {
        vec![
            at("/work/.venv", bare("/work/.venv/bin/python", true)),
            at("/work/venv", EnvironmentState::Defective(Defect::NoPython)),
            at("/work/env", EnvironmentState::Ready("/work/env/bin/python".into())),
        ]
    };
    let of =
        |has_uv| Facts { environments: environments(), has_uv, ..facts(existing("/work/env/bin/python")) };
    assert_eq!(
        lines(&findings(&of(false)))[1..],
        [
            "warning /work/.venv: This environment of the folder is not used: it has no ipykernel. \
             [/work/.venv/bin/python -m pip install ipykernel]",
            "warning /work/venv: This environment of the folder is not used: its Python no longer exists. \
             [python3 -m venv --clear /work/venv]",
            "ok /work/env: Notebooks get this environment of the folder.",
        ]
    );
    assert!(lines(&findings(&of(true)))[2].ends_with("[uv venv --clear /work/venv]"));
}

#[test]
fn uv_installs_where_there_is_no_pip() {
    let with = |has_pip, has_uv| {
        let environment = FoundEnvironment { prefix: "/e".into(), state: bare("/e/bin/python", has_pip) };
        let facts = Facts { environments: vec![environment], has_uv, ..facts(NextKernel::None) };
        findings(&facts)[1].fix.clone().unwrap()
    };
    assert_eq!(with(false, true), "uv pip install --python /e/bin/python ipykernel");
    for pip in [with(true, true), with(false, false)] {
        assert_eq!(pip, "/e/bin/python -m pip install ipykernel");
    }
}

#[test]
fn an_activated_environment_is_chosen_or_says_why_not() {
    let ready = || Some(EnvironmentState::Ready("/env/bin/python".into()));
    let said = |state, next: &str| {
        let facts = Facts { activated: vec![activated(state)], ..facts(existing(next)) };
        line(&findings(&facts)[1])
    };
    assert_eq!(
        said(ready(), "/env/bin/python"),
        "ok VIRTUAL_ENV: Notebooks get the activated environment /env."
    );
    assert!(said(ready(), "/work/.venv/bin/python").ends_with("one of the folder takes precedence."));
    assert_eq!(
        said(Some(bare("/env/bin/python", true)), "/p"),
        "warning VIRTUAL_ENV: The activated environment /env is not used: it has no ipykernel. \
         [/env/bin/python -m pip install ipykernel]"
    );
    assert!(
        said(Some(EnvironmentState::Defective(Defect::NoPython)), "/p")
            .contains("its Python no longer exists")
    );
    assert!(said(None, "/p").contains("/env is not used: it is not a Python environment"));
}

#[test]
fn an_activated_environment_that_clients_hide_is_linked_into_the_folder() {
    let hidden = || Facts {
        activated: vec![activated(Some(EnvironmentState::Ready("/env/bin/python".into())))],
        next_if_hidden: existing("/usr/bin/python3"),
        ..facts(existing("/env/bin/python"))
    };
    assert_eq!(
        line(&findings(&hidden())[2]),
        "warning VIRTUAL_ENV: Clients that do not pass on this shell's variables (Codex, desktop programs) hide \
         this environment: notebooks then get /usr/bin/python3. [ln -s /env /work/.venv]"
    );
    let taken = Facts { has_default_prefix: true, ..hidden() };
    assert_eq!(findings(&taken)[2].fix, None);
    // Other variables, such as JUPYTER_PATH, can be hidden too.
    let other = Facts { activated: Vec::new(), ..hidden() };
    let said = line(&findings(&other)[1]);
    assert!(said.starts_with("warning variables") && said.ends_with("/usr/bin/python3."), "{said}");
}

#[test]
fn an_environment_whose_variable_is_hidden_is_recognised_on_path() {
    let found = |state| Some(FoundEnvironment { prefix: "/env".into(), state });
    let ready = || found(EnvironmentState::Ready("/env/bin/python".into()));
    let hidden = Facts { on_path: ready(), ..facts(existing("/usr/bin/python3")) };
    let finding = &findings(&hidden)[1];
    assert_eq!((finding.status, finding.fix.as_deref()), (Status::Warning, Some("ln -s /env /work/.venv")));
    assert!(finding.message.contains("the client hides VIRTUAL_ENV"), "{}", finding.message);
    let used = Facts { on_path: ready(), ..facts(existing("/env/bin/python")) };
    assert_eq!(findings(&used)[1].status, Status::Ok);
    let by_another_name = Facts { on_path: ready(), ..facts(existing("/env/bin/python3")) };
    assert_eq!(findings(&by_another_name)[1].status, Status::Ok);
    let without = Facts { on_path: found(bare("/env/bin/python", true)), ..facts(existing("/p")) };
    assert!(line(&findings(&without)[1]).contains("has no ipykernel. [/env/bin/python -m pip"));
    // It is said once.
    let known = Facts {
        on_path: ready(),
        activated: vec![activated(Some(EnvironmentState::Ready("/env/bin/python".into())))],
        ..facts(existing("/env/bin/python"))
    };
    assert_eq!(findings(&known).len(), 2);
}

#[test]
fn the_environment_of_this_program_is_reported_once_there_is_something_of_it() {
    let said = |managed| {
        let facts = Facts { managed, ..facts(existing("/p")) };
        lines(&findings(&facts))[1..].concat()
    };
    assert_eq!(said(ManagedState::NotMade("/d".into())), "");
    assert!(said(ManagedState::Ready("/d/bin/python".into())).starts_with("ok own environment"));
    assert!(said(ManagedState::Unfinished("/d".into())).contains("/d is incomplete"));
    assert!(said(ManagedState::NoFolder).contains("set HOME"));
}

#[test]
fn clients_pass_on_few_variables() {
    let variables = [("PATH", "/bin"), ("VIRTUAL_ENV", "/env"), ("HOME", "/h"), ("JUPYTER_PATH", "/j")];
    let variables = variables.map(|(name, value)| (name.into(), value.into())).into();
    let left = passed_on(&ProcessEnv { variables, home: None }).variables;
    assert_eq!(left.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["HOME", "PATH"]);
}
