//! `add_packages`: packages for the environment of a notebook's kernel.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use packages::{
    Building, Installation, Installed, Installer, PackageChange, Plan, RecordIn, Requirement, ScriptEdit,
    plan_starts, record_in_notebook,
};
use place::Kernel;
use runs::OpenNotebook;

use crate::restart_notebook;
use calls::consent::{Preview, Shown};
use calls::prelude::*;
use calls::preview::first_kernel;
use calls::question::{QuestionText, Speaker};

/// How many changes are named.
const SHOWN_CHANGES: usize = 40;

pub(crate) static TOOL: Tool = tool! {
    name: "add_packages",
    title: "Add packages",
    description: "Install packages into the environment of a notebook's kernel, of any kind (venv, uv, conda, pixi); the person is \
                  asked first.",
    discovery: Discovery::FoundBy(
        "pip install a missing module, uv add, conda install, dependencies, ModuleNotFoundError",
    ),
    effect: Effect::Runs,
    groups: &[Group::Run, Group::Kernels],
    availability: |session| session.can_consent,
    shows: Shows::ByItself(|given| Ok(groups(given.flag("restart")? == Some(true)))),
};

arguments! {
    struct Arguments {
        /// Names with versions: pandas>=2
        packages: Vec<String>,
        /// In the project's files, or a PEP 723 cell
        record: RecordIn = RecordIn::Auto,
        /// Restart the kernel if loaded modules changed
        restart: bool = false,
        /// Show the plan only
        preview: bool = false,
        /// Without a wheel: runs the package's code
        build: bool = false,
        /// Reason, shown to the person
        reason: String = "",
        timeout: Option<Duration> = 600,
        notebook: NotebookArgument,
    }
}

/// The groups to which a call belongs: one that restarts the kernel clears its memory.
fn groups(restarts: bool) -> &'static [Group] {
    if restarts { restart_notebook::TOOL.groups } else { TOOL.groups }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { packages, record, restart, preview, build, reason, timeout, notebook } = arguments;
    let packages: Vec<Requirement> = packages
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, _>>()
        .map_err(|error| refused(format!("{error}; options, paths and addresses are not allowed.")))?;
    let (packages, modules): (Vec<Requirement>, Vec<Option<String>>) =
        packages.into_iter().map(Requirement::of_module).unzip();
    let of_modules = packages.iter().zip(&modules).filter_map(|(package, module)| {
        let module = module.as_ref()?;
        Some(format!("{} is the package of the module {module}.", package.name()))
    });
    let of_modules: Vec<String> = of_modules.collect();
    if packages.is_empty() {
        return Err(refused("packages must name at least one.".to_owned()));
    }
    let limit = timeout.unwrap_or(Duration::from_secs(600));
    let opened = context.notebook(&notebook).await?;
    if opened.kernel().is_none_or(|kernel| plan_starts(&*kernel)) {
        permit_start(&opened, preview, context).await?;
    }
    let kernel = context.session.kernel_for_run(&opened).await?;
    let names: Vec<String> = packages.iter().map(|package| package.name().to_owned()).collect();
    context.turn.takes_long();
    let folder = opened.place().folder();
    let installation =
        Installation::prepare(kernel.clone(), folder.as_deref(), packages, record, build).await?;
    let turns = context.session.workspace().installation_turns();
    let _turn = turns.enter(&installation.environment.prefix).await;
    let plan = installation.plan().await?;
    let in_notebook = in_notebook(&installation, record, &opened).await?;
    let is_installed = plan.changes.as_ref().is_some_and(Vec::is_empty);
    if is_installed && in_notebook.is_none() {
        let installed = installation.installed(&names).await?;
        return Ok(format!("Nothing to do: {}.", versions(&names, &installed)).into());
    }
    let mut shown = shown_plan(&installation, &plan, &opened);
    shown.extend(of_modules.iter().cloned());
    shown.extend(in_notebook.as_ref().map(|edit| match &edit.cell {
        Some(id) => format!("Also changes the inline script metadata in the cell {id}."),
        None => "Also inserts a cell with inline script metadata at the top of the notebook.".to_owned(),
    }));
    if preview {
        return Ok(format!("{}\nNothing was changed.", shown.join("\n")).into());
    }
    let name = context.called.tool.name;
    let question = question(name, &shown, plan.changes.as_deref(), restart, &reason);
    context.consent.permit_packages(groups(restart), name, question).await?;
    if in_notebook.is_some() {
        let what =
            format!("{name} in a notebook's inline script metadata (record=\"no\" leaves it unchanged)");
        context.permit(&[Group::Edit], Permission::Write, &what).await?;
    }
    let changes = if is_installed { Ok(Vec::new()) } else { installation.install(&plan, limit).await };
    let changes = match changes {
        Err(error) => {
            let is_added = matches!(installation.installer, Installer::Pip { needs_pip: true })
                && installation.installed(&["pip".to_owned()]).await.is_ok_and(|found| !found.is_empty());
            return Err(if is_added { after_pip_was_added(error) } else { error });
        }
        Ok(changes) => changes,
    };
    let changed: Vec<String> =
        changes.iter().filter(|it| it.old.is_some()).map(|it| it.name.clone()).collect();
    let (installed, replaced) =
        tokio::try_join!(installation.installed(&names), installation.installed(&changed))?;
    let mut lines = vec![if is_installed {
        format!("Nothing to install: {}.", versions(&names, &installed))
    } else {
        done(&installation, &changes)
    }];
    if !plan.is_fulfilled_by(&changes) {
        let planned = plan.changes.iter().flatten().map(PackageChange::to_string).collect::<Vec<_>>();
        lines.push(format!("This differs from the plan, which was: {}.", planned.join(", ")));
    }
    lines.extend(of_modules);
    if in_notebook.is_some() {
        lines.push(recorded(&installation, record, &opened, context).await);
    }
    lines.extend(importable(&installed));
    let loaded: Vec<&str> = replaced.values().flat_map(|it| &it.loaded).map(String::as_str).collect();
    if !loaded.is_empty() {
        lines.push(restarted(&loaded, restart, &kernel, context).await?);
    }
    Ok(lines.join("\n").into())
}

/// Asks before the kernel starts, which runs files of its environment.
async fn permit_start(opened: &OpenNotebook, preview: bool, context: &Context<'_>) -> Result<(), Error> {
    let what = "the start of the kernel for add_packages";
    if preview {
        return context.permit(TOOL.groups, TOOL.permission, what).await;
    }
    let first = format!(
        "Allow the agent to start the kernel of {} to plan an installation? You will see the plan before anything \
         is installed.",
        one_line(opened.path().as_str())
    );
    let mut question = QuestionText::begin(&first);
    if let Some(line) = first_kernel(Some(opened), context.session).await {
        question.line(&line);
    }
    context.consent.permit_first(TOOL.groups, what, question).await
}

/// Without pip, pip itself comes first, and stays.
fn after_pip_was_added(error: Error) -> Error {
    let cause = format!("The environment had no pip, which was added first. {}", error.cause);
    Error { cause, ..error }
}

/// The edit that records the packages in the notebook, as it is now.
async fn in_notebook(
    installation: &Installation,
    record: RecordIn,
    opened: &OpenNotebook,
) -> Result<Option<ScriptEdit>, Error> {
    let before = opened.document().snapshot().await?;
    record_in_notebook(&before, &installation.packages, record, &installation.environment.version)
}

/// Records the packages in the notebook. They are installed already, so a failure is reported beside that.
async fn recorded(
    installation: &Installation,
    record: RecordIn,
    opened: &OpenNotebook,
    context: &Context<'_>,
) -> String {
    let recorded = async {
        // It may have been edited during the installation.
        let before = opened.document().snapshot().await?;
        let python = &installation.environment.version;
        let Some(edit) = record_in_notebook(&before, &installation.packages, record, python)? else {
            return Ok("The notebook already names them.".to_owned());
        };
        let saved = context.session.edit(opened, &before, edit.edits, edit.expected).await?.saved;
        Ok::<_, Error>(format!("Recorded in the notebook's inline script metadata; {saved}"))
    };
    recorded
        .await
        .unwrap_or_else(|error| format!("The packages could not be recorded in the notebook: {error}"))
}

/// What would change, where, and by which program.
fn shown_plan(installation: &Installation, plan: &Plan, opened: &OpenNotebook) -> Vec<String> {
    let (environment, installer) = (&installation.environment, &installation.installer);
    let mut lines = vec![format!(
        "Into the environment {} (Python {}) of {}, with {}:",
        environment.prefix,
        environment.version,
        one_line(opened.path()),
        installer.name()
    )];
    match &plan.changes {
        Some(changes) => lines.extend(some_of(changes.iter().map(change))),
        None => lines.push("The exact changes are known only after installation.".to_owned()),
    }
    if !plan.settings.is_empty() {
        lines.push(format!("Settings that apply: {}.", one_line(&plan.settings.join("; "))));
    }
    let without_hash = plan.without_hash();
    if !without_hash.is_empty() {
        let names: Vec<String> = some_of(without_hash.into_iter().map(str::to_owned)).collect();
        let names = names.join(", ");
        lines.push(format!(
            "The index has no hashes of {names}: it may serve other files under these versions."
        ));
    }
    lines.extend(installer.records().map(|files| format!("Also changes {files}.")));
    let builds_project = installer.builds_project(environment);
    lines.extend(builds_project.then(|| {
        "uv builds the project or its workspace for their metadata, which runs code of the folder.".to_owned()
    }));
    lines.push(match (installer.takes_wheels(), &plan.building) {
        (false, _) => "Conda packages may run code during installation.".to_owned(),
        (true, Building::Nothing) if builds_project => {
            "Other packages are installed only as wheels: none of their code runs.".to_owned()
        }
        (true, Building::Nothing) => "Only wheels are installed: no package code runs.".to_owned(),
        (true, Building::Packages(names)) => format!(
            "Builds {}, which runs the code of these packages; their dependencies are not known in advance.",
            names.join(", ")
        ),
        (true, Building::Dependencies) => {
            "Builds dependencies of these packages, which runs their code; the list of these dependencies is not known \
             in advance."
                .to_owned()
        }
    });
    lines
}

fn change(change: &PackageChange) -> String {
    format!("{} {change}", if change.is_replacement() { "~" } else { "+" })
}

fn question(
    tool: &str,
    plan: &[String],
    changes: Option<&[PackageChange]>,
    restarts: bool,
    reason: &str,
) -> Preview {
    let mut question =
        QuestionText::begin(&format!("Allow the agent to call {tool}, which installs packages?"));
    for line in plan {
        question.line(line);
    }
    if restarts {
        question.line("If modules that the kernel has loaded change, the kernel is restarted: all of its variables are lost.");
    }
    // All of it is shown, or it is said that it is not.
    if let Some(changes) = changes.filter(|changes| changes.len() > SHOWN_CHANGES) {
        question.source("all changes", &changes.iter().map(change).collect::<Vec<_>>().join("\n"));
    }
    if !reason.trim().is_empty() {
        question.says(Speaker::Agent);
        question.value("reason", reason.trim());
    }
    Preview { question, shown: Shown::default() }
}

/// Packages found in the environment after the installation.
fn done(installation: &Installation, changes: &[PackageChange]) -> String {
    let changes: Vec<String> = match changes {
        [] => vec!["nothing, although the installer reported no error".to_owned()],
        changes => some_of(changes.iter().map(PackageChange::to_string)).collect(),
    };
    let recorded =
        installation.installer.records().map(|files| format!(" Recorded in {files}.")).unwrap_or_default();
    let (name, prefix) = (installation.installer.name(), &installation.environment.prefix);
    format!("Installed with {name} into {prefix}: {}.{recorded}", changes.join(", "))
}

/// Which modules a cell can import now.
fn importable(installed: &BTreeMap<String, Installed>) -> Option<String> {
    let modules: Vec<&str> = installed.values().flat_map(|it| &it.importable).map(String::as_str).collect();
    (!modules.is_empty()).then(|| format!("Can be imported now: {}.", modules.join(", ")))
}

fn versions(names: &[String], installed: &BTreeMap<String, Installed>) -> String {
    let version = |name: &String| match installed.get(name) {
        Some(it) => format!("{name} {} is installed", it.version),
        None => format!("{name} is not installed"),
    };
    names.iter().map(version).collect::<Vec<_>>().join(", ")
}

/// The kernel has modules in memory that were replaced on disk.
async fn restarted(
    loaded: &[&str],
    restart: bool,
    kernel: &Arc<dyn Kernel>,
    context: &Context<'_>,
) -> Result<String, Error> {
    let loaded = loaded.join(", ");
    if !restart {
        return Ok(format!(
            "The kernel still has the old {loaded} in memory; restart_notebook loads the new one."
        ));
    }
    context.session.workspace().runner().restart(&**kernel).await?;
    Ok(format!("The kernel had the old {loaded} in memory and was restarted: the variables are lost."))
}

fn some_of(lines: impl ExactSizeIterator<Item = String>) -> impl Iterator<Item = String> {
    let more = lines.len().saturating_sub(SHOWN_CHANGES);
    lines.take(SHOWN_CHANGES).chain((more > 0).then(|| format!("and {more} more")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_all_changes_and_that_memory_is_cleared() {
        let changes: Vec<PackageChange> = (0..90)
            .map(|it| PackageChange { name: format!("p{it}"), old: None, new: Some("1".to_owned()) })
            .collect();
        let asked = |restarts| {
            let question = question("add_packages", &[], Some(&changes), restarts, "").question;
            calls::question::Question::Consent(question.finish()).text().to_owned()
        };
        assert!(asked(false).contains("p89") && !asked(false).contains("variables"));
        assert!(asked(true).contains("all of its variables are lost"));
        assert!(groups(true).contains(&Group::Delete) && !groups(false).contains(&Group::Delete));
    }

    #[test]
    fn long_plans_are_cut() {
        let lines = |count: usize| {
            some_of((0..count).map(|it| it.to_string()).collect::<Vec<_>>().into_iter()).collect::<Vec<_>>()
        };
        assert_eq!(lines(SHOWN_CHANGES).len(), SHOWN_CHANGES);
        assert_eq!(lines(SHOWN_CHANGES + 2).last().unwrap(), "and 2 more");
    }

    #[test]
    fn versions_say_what_is_there() {
        let six = Installed {
            version: "1.17.0".to_owned(),
            importable: vec!["six".to_owned()],
            loaded: Vec::new(),
        };
        let installed = BTreeMap::from([("six".to_owned(), six)]);
        assert_eq!(
            versions(&["six".to_owned(), "other".to_owned()], &installed),
            "six 1.17.0 is installed, other is not installed"
        );
        assert_eq!(importable(&installed).unwrap(), "Can be imported now: six.");
    }
}
