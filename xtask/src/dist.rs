//! `cargo xtask dist`: all packages that this machine can make, in `target/packages`.

mod archive;
mod build;
mod bundle;
mod check;
mod crates;
mod elsewhere;
mod frameworks;
mod index;
mod lint;
mod oldest;
mod platform;
mod release;
mod report;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use self::archive::Entry;
use self::build::Toolchain;
pub(crate) use self::platform::with_oldest_glibc;
use self::platform::{PLATFORMS, Platform};
use self::release::Release;
use crate::command;
use crate::project::Project;
use crate::provision::{self, Environment};
use crate::test::announce;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    /// The Rust target to make packages for, if it is not this machine. Those for systems on which the program has not run go into
    /// target/untried, and are not published
    #[arg(long, value_parser = PLATFORMS.map(|platform| platform.triple))]
    target: Option<String>,
    /// The folder of the toolchain of `cargo xtask platforms`, which is used where this machine's compiler has no standard library
    /// for the target; below the target folder if this is left out
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Instead, run what target/packages holds in a clean environment
    #[arg(long, conflicts_with_all = ["target", "cache"])]
    check: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// A part of the work, as the workflows need it.
#[derive(clap::Subcommand)]
enum Part {
    /// Lint what packages are made from: scripts, workflows, plugins
    Lint,
    /// Write the checksums and server.json over what target/packages holds
    Index,
    /// Write the crates as they are published, into target/packaging/crates
    Crates,
    /// Check that this commit can be released under a tag
    Ready { tag: String },
}

/// Where packages are made, and with what.
pub(crate) struct Workshop {
    project: Project,
    release: Release,
    /// The environment with the pinned tools.
    tools: Environment,
    /// The folder of the finished packages. Not `target/dist`, which is Cargo's for the profile `dist`.
    packages: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let workshop = Workshop::find()?;
    match &options.part {
        Some(Part::Lint) => lint::sources(&workshop),
        Some(Part::Index) => index::write(&workshop),
        Some(Part::Crates) => crates::pack(&workshop),
        Some(Part::Ready { tag }) => workshop.release.check_tag(&workshop.project, tag),
        None if options.check => check::run(&workshop),
        None => make(workshop, options),
    }
}

fn make(mut workshop: Workshop, options: &Options) -> Result<()> {
    let platform = options
        .target
        .as_deref()
        .map_or_else(Platform::of_this_machine, Platform::named)
        .context("no packages are made for this kind of machine; choose another with --target")?;
    let toolchain = Toolchain::choose(&workshop, platform, options.cache.as_deref())?;
    if platform.obstacle.is_some() {
        workshop.packages = workshop.project.target.join("untried");
        std::fs::create_dir_all(&workshop.packages)?;
    }
    let workshop = &workshop;
    workshop.forget_other_versions()?;
    announce(&format!("the program for {} (some minutes)", platform.triple));
    let program = toolchain.program(workshop, platform)?;
    announce("the archive and the bundle");
    write_archive(workshop, platform, &program)?;
    bundle::make(workshop, platform, &program)?;
    announce("the wheel (maturin)");
    toolchain.wheel(workshop, platform, &program)?;
    archive::recompress(&workshop.wheel_for(platform)?)?;
    if platform.obstacle.is_none() {
        announce("the source distribution");
        build::source_distribution(workshop)?;
        announce("the crates (cargo package)");
        crates::pack(workshop)?;
        index::write(workshop)?;
    }
    report::print(workshop, platform, &oldest::asked(workshop)?)
}

/// The program with its licences, for `install.sh`, `cargo binstall` and whoever downloads it.
fn write_archive(workshop: &Workshop, platform: &Platform, program: &Path) -> Result<()> {
    let root = &workshop.project.root;
    let mut entries = vec![Entry::from_file(program, platform.program(), 0o755)?];
    for name in ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        entries.push(Entry::from_file(&root.join(name), name, 0o644)?);
    }
    archive::write_tar_gz(&workshop.packages.join(platform.archive()), &mut entries)
}

impl Workshop {
    pub(crate) fn find() -> Result<Self> {
        let project = Project::find()?;
        let release = Release::read(&project)?;
        let packages = project.target.join("packages");
        std::fs::create_dir_all(&packages)
            .with_context(|| format!("{} can't be made", packages.display()))?;
        Ok(Self { tools: provision::packaging(&project)?, project, release, packages })
    }

    pub(crate) fn uv(&self) -> PathBuf {
        self.tools.programs.join("uv")
    }

    /// The finished wheel for this machine.
    pub(crate) fn wheel(&self) -> Result<PathBuf> {
        let platform =
            Platform::of_this_machine().context("no packages are made for this kind of machine")?;
        self.wheel_for(platform)
    }

    fn wheel_for(&self, platform: &Platform) -> Result<PathBuf> {
        let ending = platform.wheel_ending();
        self.package(|name| name.ends_with(&ending))
    }

    /// The first package whose name fits.
    fn package(&self, is_it: impl Fn(&str) -> bool) -> Result<PathBuf> {
        let name = self.package_names()?.into_iter().find(|name| is_it(name));
        let packages = self.packages.display();
        let missing = || format!("{packages} lacks a package for this machine: run `cargo xtask dist`");
        Ok(self.packages.join(name.with_context(missing)?))
    }

    /// One of the pinned tools, at the project's root.
    fn command(&self, program: &str) -> Result<Command> {
        let mut command = self.project.command(self.tools.programs.join(program));
        command.env("PATH", command::path_with(&self.tools.programs)?);
        Ok(command)
    }

    /// The files in the folder of packages, in order.
    fn package_names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.packages)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Removes Python packages of other versions, which would be published with this one's.
    fn forget_other_versions(&self) -> Result<()> {
        for name in self.package_names()? {
            if is_of_another_version(&name, &self.release.version) {
                std::fs::remove_file(self.packages.join(&name))?;
            }
        }
        Ok(())
    }
}

/// Only the names of Python packages hold a version.
fn is_of_another_version(name: &str, version: &str) -> bool {
    let rest =
        name.strip_prefix("cellbridge-").filter(|rest| rest.starts_with(|it: char| it.is_ascii_digit()));
    rest.is_some_and(|rest| {
        !rest.strip_prefix(version).is_some_and(|end| end.starts_with('-') || end == ".tar.gz")
    })
}

#[cfg(test)]
mod tests {
    use super::is_of_another_version;

    #[test]
    fn python_packages_of_other_versions_are_found() {
        for name in ["cellbridge-0.1.0-cp310-abi3-linux_x86_64.whl", "cellbridge-0.1.0.tar.gz"] {
            assert!(!is_of_another_version(name, "0.1.0"), "{name}");
            assert!(is_of_another_version(name, "0.1"), "{name}");
            assert!(is_of_another_version(name, "0.1.01"), "{name}");
        }
        for name in
            ["cellbridge-x86_64-unknown-linux-gnu.tar.gz", "cellbridge-linux-x86_64.mcpb", "SHA256SUMS"]
        {
            assert!(!is_of_another_version(name, "0.1.0"), "{name}");
        }
    }
}
