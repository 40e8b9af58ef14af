//! Kernels and interpreters: which a new notebook gets here, and why others are not used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use environments::{
    ActivatedEnvironment, BrokenKernelspec, Defect, EnvironmentState, FoundEnvironment, FoundKernelspec,
    KernelInspection, ManagedState, NextKernel, PackagedClient, ProcessEnv,
};

use super::finding::{Check, Finding, command};
use super::machine::Machine;

/// How long each Python may take to reply.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

/// The variables that Codex passes on; desktop programs do not have those of a shell either.
const PASSED_ON: [&str; 4] = ["HOME", "LANG", "PATH", "TMPDIR"];

const CHECK: Check = Check::Kernels;

struct Facts {
    root: PathBuf,
    /// What a new notebook gets with the variables of this process, and with those that every client passes on.
    next: NextKernel,
    next_if_hidden: NextKernel,
    kernelspecs: Vec<FoundKernelspec>,
    unreadable: Vec<String>,
    environments: Vec<FoundEnvironment>,
    activated: Vec<ActivatedEnvironment>,
    on_path: Option<FoundEnvironment>,
    managed: ManagedState,
    has_uv: bool,
    has_default_prefix: bool,
}

pub(crate) async fn check(machine: &Machine) -> Vec<Finding> {
    let mut all = match &machine.root {
        Ok(root) => findings(&gather(root, &machine.kernel_env).await),
        Err(problem) => vec![CHECK.error("folder", format!("{problem}; name another one with --root."))],
    };
    all.extend(PackagedClient::find(&machine.process_env.variables).iter().filter_map(packaged));
    all
}

/// What kernels do not inherit of a client that comes with its own libraries.
fn packaged(client: &PackagedClient) -> Option<Finding> {
    let (variables, folder) = (&client.variables, client.folder.display());
    let first = variables.first()?;
    let message = format!(
        "This process runs in {} {} ({folder}): {} reach kernels without the paths in it. To pass one unchanged: \
         --kernel-env {first}.",
        if client.kind == "AppImage" { "an" } else { "a" },
        client.kind,
        variables.join(", "),
    );
    Some(CHECK.ok(client.kind, message))
}

async fn gather(root: &Path, process_env: &ProcessEnv) -> Facts {
    let inspect =
        |process_env: ProcessEnv| KernelInspection::new(root.to_path_buf(), process_env, QUERY_TIMEOUT);
    let (here, hidden) = (inspect(process_env.clone()), inspect(passed_on(process_env)));
    let (next, next_if_hidden, (kernelspecs, unreadable)) =
        tokio::join!(here.next(), hidden.next(), here.kernelspecs());
    Facts {
        root: root.to_path_buf(),
        next,
        next_if_hidden,
        kernelspecs,
        unreadable,
        environments: here.environments(),
        activated: here.activated(),
        on_path: here.on_path(),
        managed: here.managed(),
        has_uv: process_env.find_program("uv").is_some(),
        has_default_prefix: root.join(".venv").symlink_metadata().is_ok(),
    }
}

fn passed_on(process_env: &ProcessEnv) -> ProcessEnv {
    let is_passed_on = |name: &str| PASSED_ON.contains(&name);
    let variables = process_env.variables.iter().filter(|(name, _)| name.to_str().is_some_and(is_passed_on));
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    ProcessEnv { variables, home: process_env.home.clone() }
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let mut all = vec![facts.next_kernel()];
    all.extend(facts.environments.iter().map(|found| facts.environment(found)));
    all.extend(facts.activated.iter().map(|found| facts.activated(found)));
    all.extend(facts.hidden());
    all.extend(facts.on_path());
    all.extend(facts.kernelspecs.iter().map(|found| facts.kernelspec(found)));
    all.extend(facts.unreadable.iter().map(|cause| CHECK.warning("kernelspec", format!("{cause}."))));
    all.extend(facts.managed());
    all
}

impl Facts {
    fn next_kernel(&self) -> Finding {
        const SUBJECT: &str = "new notebook";
        match &self.next {
            NextKernel::Existing { name, program } => {
                let broken = self.kernelspecs.iter().any(|found| {
                    matches!(&found.program, Err(BrokenKernelspec::NoKernel(python)) if python == program)
                });
                if broken {
                    let message = format!("It gets {}, which has no ipykernel.", program.display());
                    let fix = self.install(program, true);
                    return CHECK.error(SUBJECT, message).fixed_by(fix);
                }
                CHECK.ok(SUBJECT, format!("It gets the kernel {name}, which is {}.", program.display()))
            }
            NextKernel::Made { with } => CHECK.ok(
                SUBJECT,
                format!(
                    "There is no Python kernel yet. The first notebook creates an environment with {}, which needs \
                     the network.",
                    with.display()
                ),
            ),
            NextKernel::None => {
                let message = "There is no Python kernel, and neither uv nor a Python to create one. Install one of \
                               them (docs.astral.sh/uv, python.org).";
                let has_other = self.kernelspecs.iter().any(|found| found.program.is_ok());
                if has_other { CHECK.warning(SUBJECT, message) } else { CHECK.error(SUBJECT, message) }
            }
        }
    }

    fn environment(&self, found: &FoundEnvironment) -> Finding {
        self.state(found.prefix.display().to_string(), "this environment of the folder", found, "another one")
    }

    /// An environment that a shell has activated, and this process sees.
    fn activated(&self, found: &ActivatedEnvironment) -> Finding {
        let (subject, prefix) = (found.variable, &found.prefix);
        let Some(state) = found.state.clone() else {
            let message = format!("{} is not used: it is not a Python environment.", prefix.display());
            return CHECK.warning(subject, message);
        };
        let what = format!("the activated environment {}", prefix.display());
        self.state(subject, &what, &FoundEnvironment { prefix: prefix.clone(), state }, "one of the folder")
    }

    /// An environment, named `what` in a sentence; notebooks may get `other` instead.
    fn state(
        &self,
        subject: impl Into<String>,
        what: &str,
        found: &FoundEnvironment,
        other: &str,
    ) -> Finding {
        let name = format!("T{}", &what[1..]);
        match &found.state {
            EnvironmentState::Ready(python) if self.is_next(python) => {
                CHECK.ok(subject, format!("Notebooks get {what}."))
            }
            EnvironmentState::Ready(_) => {
                CHECK.ok(subject, format!("{name} has a kernel; {other} takes precedence."))
            }
            EnvironmentState::NoKernel { interpreter, has_pip } => CHECK
                .warning(subject, format!("{name} is not used: it has no ipykernel."))
                .fixed_by(self.install(interpreter, *has_pip)),
            EnvironmentState::Defective(defect) => {
                let finding = CHECK.warning(subject, format!("{name} is not used: {defect}."));
                match defect {
                    Defect::NoPython => finding.fixed_by(self.make_again(&found.prefix)),
                    _ => finding,
                }
            }
        }
    }

    /// What a client's server sees less than this process.
    fn hidden(&self) -> Option<Finding> {
        if self.next == self.next_if_hidden {
            return None;
        }
        let chosen = self.activated.iter().find(
            |found| matches!(&found.state, Some(EnvironmentState::Ready(python)) if self.is_next(python)),
        );
        let subject = chosen.map_or("variables", |found| found.variable);
        let message = format!(
            "Clients that do not pass on this shell's variables (Codex, desktop programs) hide this environment: \
             notebooks then get {}.",
            described(&self.next_if_hidden)
        );
        let finding = CHECK.warning(subject, message);
        Some(match chosen {
            Some(found) => self.linked(finding, &found.prefix),
            None => finding,
        })
    }

    /// An activated environment of which a client has hidden the variable, but not the `PATH`.
    fn on_path(&self) -> Option<Finding> {
        let found = self.on_path.as_ref()?;
        let is_known = self.activated.iter().any(|it| it.prefix == found.prefix)
            || self.environments.iter().any(|it| it.prefix == found.prefix);
        if is_known {
            return None;
        }
        let prefix = found.prefix.display();
        match &found.state {
            EnvironmentState::Ready(python) if !self.is_next(python) => {
                let finding = CHECK.warning(
                    "PATH",
                    format!(
                        "The environment {prefix} is on PATH, but no variable names it, perhaps because the client hides \
                         VIRTUAL_ENV: another kernel takes precedence."
                    ),
                );
                Some(self.linked(finding, &found.prefix))
            }
            EnvironmentState::Defective(_) => None,
            _ => Some(self.state("PATH", &format!("the environment {prefix} on PATH"), found, "")),
        }
    }

    /// The finding with the command that links the environment into the folder, where none is.
    fn linked(&self, finding: Finding, prefix: &Path) -> Finding {
        if self.has_default_prefix {
            return finding;
        }
        let link = self.root.join(".venv");
        finding.fixed_by(command(["ln", "-s", &prefix.to_string_lossy(), &link.to_string_lossy()]))
    }

    fn kernelspec(&self, found: &FoundKernelspec) -> Finding {
        let subject = format!("kernelspec {}", found.name);
        match &found.program {
            Ok(program) => CHECK.ok(subject, format!("It runs {}.", program.display())),
            Err(BrokenKernelspec::NoProgram(program)) => CHECK
                .warning(subject, format!("It is not used: its program {program:?} does not exist."))
                .fixed_by(command(["jupyter", "kernelspec", "remove", &found.name])),
            Err(BrokenKernelspec::NoKernel(python)) => {
                let message = format!("It is not used: {} has no ipykernel.", python.display());
                CHECK.warning(subject, message).fixed_by(self.install(python, true))
            }
        }
    }

    fn managed(&self) -> Option<Finding> {
        const SUBJECT: &str = "own environment";
        match &self.managed {
            ManagedState::Ready(python) => {
                Some(CHECK.ok(SUBJECT, format!("Cellbridge's own environment is {}.", python.display())))
            }
            ManagedState::Unfinished(folder) => {
                let message = format!(
                    "The environment in {} is incomplete; the next use creates it again.",
                    folder.display()
                );
                Some(CHECK.warning(SUBJECT, message))
            }
            ManagedState::NotMade(_) => None,
            ManagedState::NoFolder => {
                Some(CHECK.warning(SUBJECT, "There is no home folder for an environment; set HOME."))
            }
        }
    }

    /// Whether notebooks get this interpreter's environment: it has the same interpreter under several names.
    fn is_next(&self, python: &Path) -> bool {
        matches!(&self.next, NextKernel::Existing { program, .. } if program.parent() == python.parent())
    }

    fn install(&self, python: &Path, has_pip: bool) -> String {
        let python = python.to_string_lossy();
        if has_pip || !self.has_uv {
            command([&*python, "-m", "pip", "install", "ipykernel"])
        } else {
            command(["uv", "pip", "install", "--python", &python, "ipykernel"])
        }
    }

    fn make_again(&self, prefix: &Path) -> String {
        let prefix = prefix.to_string_lossy();
        if self.has_uv {
            command(["uv", "venv", "--clear", &prefix])
        } else {
            command(["python3", "-m", "venv", "--clear", &prefix])
        }
    }
}

fn described(next: &NextKernel) -> String {
    match next {
        NextKernel::Existing { program, .. } => program.display().to_string(),
        NextKernel::Made { with } => format!("an environment that is first created with {}", with.display()),
        NextKernel::None => "no kernel".to_owned(),
    }
}

#[cfg(test)]
mod tests;
