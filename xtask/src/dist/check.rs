//! `cargo xtask dist --check`: every package for this machine, installed as a person would, in a clean environment.

mod clean;
mod walk;

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use self::clean::Clean;
use super::index::{CHECKSUMS, REGISTRY_ENTRY};
use super::platform::{GLIBC, Platform};
use super::report::{PROGRAM_LIMIT, limit, megabytes};
use super::{Workshop, lint};
use crate::test::announce;
use crate::{command, provision};

pub(super) fn run(workshop: &Workshop) -> Result<()> {
    let platform = Platform::of_this_machine().context("no packages are made for this kind of machine")?;
    lint::sources(workshop)?;
    announce("server.json (skillsaw)");
    lint::skillsaw(workshop, &folder_with_entry(workshop)?)?;
    let kernel = provision::packaging_kernel(&workshop.project)?;
    announce("the archive, by install.sh");
    archive(workshop, &Clean::new(workshop, &kernel, "archive")?)?;
    announce("the bundle");
    bundle(workshop, platform, &Clean::new(workshop, &kernel, "bundle")?)?;
    announce("the wheel");
    let wheel = judge_wheel(workshop, platform, &Clean::new(workshop, &kernel, "wheel")?)?;
    announce("the wheel, `cellbridge install --all`, and the real clients (e2e/models)");
    walk::run(workshop, &wheel, &Clean::new(workshop, &kernel, "walk")?)?;
    announce("the source distribution (builds a wheel; some minutes)");
    source_distribution(workshop)?;
    // Last: a package that is too large may work all the same.
    sizes(workshop)?;
    announce("all packages for this machine work");
    Ok(())
}

fn sizes(workshop: &Workshop) -> Result<()> {
    for name in workshop.package_names()? {
        if let Some(limit) = limit(&name) {
            within(&name, std::fs::metadata(workshop.packages.join(&name))?.len(), limit)?;
        }
    }
    Ok(())
}

fn within(name: &str, bytes: u64, limit: u64) -> Result<()> {
    ensure!(bytes <= limit, "{name} has {}, more than {}", megabytes(bytes), megabytes(limit));
    Ok(())
}

/// The linter wants a folder of its own.
fn folder_with_entry(workshop: &Workshop) -> Result<PathBuf> {
    let folder = clean::fresh_folder(workshop, "registry")?;
    let entry = workshop.packages.join(REGISTRY_ENTRY);
    std::fs::copy(&entry, folder.join(REGISTRY_ENTRY))
        .with_context(|| format!("{} is missing: run `cargo xtask dist`", entry.display()))?;
    Ok(folder)
}

fn archive(workshop: &Workshop, clean: &Clean) -> Result<()> {
    ensure!(workshop.packages.join(CHECKSUMS).exists(), "{CHECKSUMS} is missing: run `cargo xtask dist`");
    let mut install = clean.command("/bin/sh");
    install.arg(workshop.project.root.join("install.sh"));
    // curl reads folders, too; e2e/packages has the tests with a server.
    install.env("CELLBRIDGE_BASE_URL", format!("file://{}", workshop.packages.display()));
    command::run(&mut install)?;
    let program = clean.home.join(".local/bin/cellbridge");
    within("the program", std::fs::metadata(&program)?.len(), PROGRAM_LIMIT)?;
    clean.judge(workshop, &program, &mut clean.command(&program))
}

fn bundle(workshop: &Workshop, platform: &Platform, clean: &Clean) -> Result<()> {
    let file = workshop.packages.join(platform.bundle());
    let opened = std::fs::File::open(&file).with_context(|| format!("{} is missing", file.display()))?;
    zip::ZipArchive::new(opened)?.extract(&clean.home)?;
    let manifest = clean.home.join("manifest.json");
    lint::bundle(workshop, &manifest)?;
    let manifest: Value = serde_json::from_slice(&std::fs::read(manifest)?)?;
    let config = &manifest["server"]["mcp_config"];
    let filled = |value: &Value| fill(value.as_str().unwrap_or_default(), clean);
    let program = filled(&config["command"]);
    let mut server = clean.command(&program);
    server.args(config["args"].as_array().into_iter().flatten().map(filled));
    let variables = config["env"].as_object().into_iter().flatten();
    server.envs(variables.map(|(name, value)| (name, filled(value))));
    clean.judge(workshop, &program, &mut server)
}

/// What a client puts in place of variables if the person has only chosen a folder.
fn fill(text: &str, clean: &Clean) -> String {
    text.replace("${__dirname}", &clean.home.to_string_lossy())
        .replace("${user_config.folder}", &clean.work.to_string_lossy())
        .replace("${user_config.read_only}", "false")
        .replace("${user_config.jupyter_url}", "")
        .replace("${user_config.jupyter_token}", "")
}

fn judge_wheel(workshop: &Workshop, platform: &Platform, clean: &Clean) -> Result<PathBuf> {
    let wheel = workshop.wheel()?;
    let audit = command::read(workshop.command("auditwheel")?.arg("show").arg(&wheel))?;
    let tag = format!("manylinux_{}_{}", GLIBC.replace('.', "_"), platform.architecture);
    ensure!(audit.contains(&format!("\"{tag}\"")), "auditwheel does not find {tag}:\n{audit}");

    for (judge, options) in [("twine", &["check", "--strict"][..]), ("abi3audit", &["--strict"][..])] {
        command::run(workshop.command(judge)?.args(options).arg(&wheel))?;
    }

    // Without an index: it needs no other package.
    let environment = clean.home.join("venv");
    command::run(clean.command(&workshop.tools.python).args(["-m", "venv"]).arg(&environment))?;
    let python = environment.join("bin/python");
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"];
    command::run(clean.command(&python).args(options).arg(&wheel))?;
    let program = environment.join("bin/cellbridge");
    clean.judge(workshop, &program, &mut clean.command(&program))?;
    let mut module = clean.command(&python);
    clean::judge_version(workshop, module.args(["-m", "cellbridge"]))?;
    let mut uvx = clean.command(workshop.uv());
    clean::judge_version(
        workshop,
        uvx.args(["tool", "run", "--offline", "--from"]).arg(&wheel).arg("cellbridge"),
    )?;
    Ok(wheel)
}

/// Builds a wheel from it without network: the crates are there, since the program was built.
fn source_distribution(workshop: &Workshop) -> Result<()> {
    let source = format!("cellbridge-{}.tar.gz", workshop.release.version);
    let source = workshop.package(|name| name == source)?;
    let folder = clean::fresh_folder(workshop, "source")?;
    let mut pip = workshop.command("python")?;
    pip.args(["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir"]).arg(folder).arg(source);
    // The time goes into what the test command builds as well.
    pip.env("CELLBRIDGE_PROFILE", "dev").env("CARGO_TARGET_DIR", &workshop.project.target);
    command::run(pip.env("CARGO_NET_OFFLINE", "true").stdin(Stdio::null()))
}
