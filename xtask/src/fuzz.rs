//! Runs the fuzz targets of `fuzz/` with cargo-fuzz on the stable toolchain.

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

use crate::command;
use crate::project::Project;
use crate::test::announce;
use crate::tool::Tool;

const CARGO_FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };

/// Runs one target, or each in turn, for `seconds`.
pub(crate) fn run(target: Option<&str>, seconds: u32) -> Result<()> {
    let project = Project::find()?;
    let chosen = choose(&targets()?, target)?;
    for name in chosen {
        announce(&format!("fuzzing {name} for {seconds} s"));
        let mut fuzz = CARGO_FUZZ.command(&project)?;
        fuzz.args(["fuzz", "run", "--fuzz-dir", "fuzz", "--features", &name, "--sanitizer", "none"]);
        fuzz.arg("--target-dir").arg(project.target.join("fuzz")).arg(&name);
        fuzz.args(["--".to_owned(), format!("-max_total_time={seconds}")]);
        // Coverage flags are unstable; link-time optimisation only slows the build, and a crash needs its symbols.
        fuzz.env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .env("CARGO_PROFILE_RELEASE_STRIP", "none");
        command::run(&mut fuzz).with_context(|| format!("fuzz target {name}"))?;
    }
    Ok(())
}

/// The names of the binaries of the `fuzz` crate.
fn targets() -> Result<Vec<String>> {
    let metadata = MetadataCommand::new().current_dir(env!("CARGO_MANIFEST_DIR")).no_deps().exec()?;
    let package = metadata.packages.iter().find(|package| package.name.as_str() == "fuzz");
    let package = package.context("the workspace has no crate named fuzz")?;
    Ok(package.targets.iter().filter(|target| target.is_bin()).map(|target| target.name.clone()).collect())
}

fn choose(known: &[String], wanted: Option<&str>) -> Result<Vec<String>> {
    match wanted {
        None => Ok(known.to_vec()),
        Some(name) if known.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("no fuzz target is named {name}; there are: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let known = ["handshake".to_owned(), "envelope".to_owned()];
        assert_eq!(choose(&known, None).unwrap(), known);
        assert_eq!(choose(&known, Some("envelope")).unwrap(), ["envelope"]);
        let error = choose(&known, Some("nothing")).unwrap_err().to_string();
        assert!(error.ends_with("there are: handshake, envelope"), "{error}");
    }
}
