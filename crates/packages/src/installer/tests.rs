//! The commands for each kind of environment.

use super::*;
use crate::PackageChange;

fn packages() -> Vec<Requirement> {
    ["six", "pandas[excel]>=2"].map(|text| text.parse().unwrap()).to_vec()
}

fn venv() -> Environment {
    Environment {
        python: "/e/bin/python".to_owned(),
        prefix: "/e".to_owned(),
        is_writable: true,
        ..Environment::default()
    }
}

fn planned() -> Plan {
    let change = |name: &str, old: Option<&str>| PackageChange {
        name: name.to_owned(),
        old: old.map(str::to_owned),
        new: Some("1".to_owned()),
    };
    Plan {
        changes: Some(vec![change("six", None), change("pandas", Some("0"))]),
        pins: vec!["six==1 --hash=sha256:a".to_owned(), "pandas==2".to_owned()],
        ..Plan::default()
    }
}

fn line(command: &Command) -> String {
    command.command.join(" ")
}

/// The commands of the plan and of the installation, a line each.
fn commands(environment: &Environment, record: RecordIn) -> Vec<String> {
    let installer = Installer::of(environment, record).unwrap();
    let plan = installer.plan(environment, &packages(), false);
    let made = if plan.is_some() { planned() } else { Plan::default() };
    let install = installer.install(environment, &packages(), &made, false);
    plan.iter().chain(&install).map(line).collect()
}

#[test]
fn an_environment_without_a_project_takes_uv_and_then_pip() {
    let with_uv = Environment { uv: Some("/b/uv".to_owned()), has_pip: true, ..venv() };
    assert_eq!(
        commands(&with_uv, RecordIn::Auto),
        [
            "/b/uv --no-config pip install --python /e/bin/python --only-binary :all: --dry-run six pandas[excel]>=2",
            "/b/uv --no-config pip install --python /e/bin/python --only-binary :all: --no-deps --requirement {requirements}",
        ]
    );
    let pip = "/e/bin/python -I -m pip install --no-input --disable-pip-version-check --progress-bar off --only-binary :all:";
    assert_eq!(
        commands(&Environment { has_pip: true, ..venv() }, RecordIn::No),
        [
            format!("{pip} --quiet --report {{report}} --dry-run six pandas[excel]>=2"),
            format!("{pip} --no-deps --requirement {{requirements}}")
        ]
    );
    assert_eq!(
        commands(&Environment { has_ensurepip: true, ..venv() }, RecordIn::Auto),
        ["/e/bin/python -I -m ensurepip --default-pip".to_owned(), format!("{pip} six pandas[excel]>=2")]
    );
}

#[test]
fn no_plan_builds_anything() {
    let with_uv = Environment { uv: Some("uv".to_owned()), ..venv() };
    let with_pip = Environment { has_pip: true, ..venv() };
    for environment in [with_uv, with_pip] {
        let installer = Installer::of(&environment, RecordIn::No).unwrap();
        for is_alone in [false, true] {
            let plan = line(&installer.plan(&environment, &packages(), is_alone).unwrap());
            assert!(plan.contains("--only-binary :all:") && plan.contains("--dry-run"), "{plan}");
            assert_eq!(plan.contains("--no-deps"), is_alone);
        }
        for plan in [planned(), Plan::default()] {
            let installs = |builds| line(&installer.install(&environment, &packages(), &plan, builds)[0]);
            assert!(!installs(true).contains("--only-binary") && installs(false).contains("--only-binary"));
        }
    }
}

#[test]
fn a_project_of_uv_records_the_planned_versions() {
    let project =
        Environment { uv: Some("uv".to_owned()), uv_project: Some("/p".to_owned()), has_pip: true, ..venv() };
    assert_eq!(
        commands(&project, RecordIn::Auto)[1..],
        [
            "uv add --project /p --no-sync --no-build --constraints {requirements} six pandas[excel]>=2",
            "uv --no-config pip install --python /e/bin/python --only-binary :all: --no-deps --requirement {requirements}",
        ]
    );
    let installer = Installer::of(&project, RecordIn::Auto).unwrap();
    let files: Vec<_> = installer.install(&project, &packages(), &planned(), false);
    let files: Vec<_> = files.into_iter().map(|command| command.requirements.unwrap()).collect();
    assert_eq!(files, ["six==1\npandas==2", "six==1 --hash=sha256:a\npandas==2"]);
    assert_eq!(Installer::of(&project, RecordIn::No).unwrap(), Installer::Uv { uv: "uv".to_owned() });
    let without_uv = Environment { uv: None, ..project };
    assert_eq!(Installer::of(&without_uv, RecordIn::Auto).unwrap(), Installer::Pip { needs_pip: false });
    assert_eq!(Installer::of(&without_uv, RecordIn::Project).unwrap_err().kind, ErrorKind::Unavailable);
}

#[test]
fn conda_installs_from_the_channels_of_the_environment() {
    let conda = Environment {
        is_conda: true,
        conda: Some("/m/bin/micromamba".to_owned()),
        channels: vec!["https://c/conda-forge".to_owned()],
        has_pip: true,
        ..venv()
    };
    assert_eq!(
        commands(&conda, RecordIn::Auto)[1],
        "/m/bin/micromamba install --prefix /e --override-channels --channel https://c/conda-forge --yes --no-deps \
         six==1 --hash=sha256:a pandas==2"
    );
    assert_eq!(Installer::of(&conda, RecordIn::Auto).unwrap().name(), "micromamba");
    assert!(Installer::of(&Environment { conda: None, ..conda }, RecordIn::Auto).is_err());
}

#[test]
fn pixi_adds_to_its_project() {
    let pixi = Environment {
        is_conda: true,
        pixi: Some("pixi".to_owned()),
        pixi_project: Some("/p".to_owned()),
        pixi_environment: Some("default".to_owned()),
        ..venv()
    };
    assert_eq!(commands(&pixi, RecordIn::Auto), ["pixi add --manifest-path /p six pandas[excel]>=2"]);
    assert!(Installer::of(&pixi, RecordIn::No).is_err());
    assert!(
        Installer::of(&Environment { pixi_environment: Some("test".to_owned()), ..pixi }, RecordIn::Auto)
            .is_err()
    );
}

#[test]
fn what_nobody_may_change_is_refused_with_a_next_step() {
    for environment in [
        Environment { is_externally_managed: true, has_pip: true, ..venv() },
        Environment { is_writable: false, has_pip: true, ..venv() },
        venv(),
    ] {
        let error = Installer::of(&environment, RecordIn::Auto).unwrap_err();
        assert_eq!(error.fault, Fault::Person, "{error}");
    }
    assert!(Installer::of(&Environment { has_pip: true, ..venv() }, RecordIn::Project).is_err());
}
