//! Debian's packages: installed by ourselves as root on Debian, otherwise named in one command for the person.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::command;

/// Installs `packages`, or fails with the command that does.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if !(is_debian() && is_root()) {
        bail!("missing on this machine: {}; run: {}", packages.join(", "), command_for(packages));
    }
    update()?;
    println!("xtask: installing {}", packages.join(" "));
    command::run(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))
        .with_context(|| format!("run: {}", command_for(packages)))
}

/// Fetches the package lists once in a run; a fresh image has none.
fn update() -> Result<()> {
    static UPDATED: OnceLock<()> = OnceLock::new();
    if UPDATED.get().is_none() {
        command::run(apt_get().args(["update", "-q"]))?;
        UPDATED.get_or_init(|| ());
    }
    Ok(())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

pub(crate) fn is_root() -> bool {
    command::read(Command::new("id").arg("-u")).is_ok_and(|user| user == "0")
}

fn is_debian() -> bool {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    names_debian(&release) && command::on_path("apt-get").is_some()
}

/// Debian itself only: Ubuntu's `chromium` package is a pointer to a snap.
fn names_debian(os_release: &str) -> bool {
    os_release.lines().any(|line| line.trim() == "ID=debian" || line.trim() == "ID=\"debian\"")
}

/// The one command for this machine, as far as its package manager is known.
fn command_for(packages: &[&str]) -> String {
    let manager = ["apt-get", "dnf", "pacman", "brew"].into_iter().find(|it| command::on_path(it).is_some());
    translated(manager.unwrap_or("apt-get"), packages)
}

fn translated(manager: &str, packages: &[&str]) -> String {
    let (install, table): (&str, &[(&str, &str)]) = match manager {
        "dnf" => ("sudo dnf install -y", &[("xvfb", "xorg-x11-server-Xvfb"), ("python3-venv", "python3")]),
        "pacman" => ("sudo pacman -S --needed", &[("xvfb", "xorg-server-xvfb"), ("python3-venv", "python")]),
        "brew" => ("brew install", &[("xvfb", "xquartz"), ("python3-venv", "python")]),
        _ => ("sudo apt-get update && sudo apt-get install -y --no-install-recommends", &[]),
    };
    let own_name = |package: &&str| {
        let renamed = table.iter().find(|(debian, _)| debian == package);
        renamed.map_or((*package).to_owned(), |(_, own)| (*own).to_owned())
    };
    let names: Vec<String> = packages.iter().map(own_name).collect();
    format!("{install} {}", names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{names_debian, translated};

    #[test]
    fn ubuntu_is_not_debian() {
        assert!(names_debian("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n"));
        assert!(!names_debian("ID=ubuntu\nID_LIKE=debian\n"));
        assert!(!names_debian(""));
    }

    #[test]
    fn the_command_uses_the_names_of_the_machine() {
        assert_eq!(
            translated("dnf", &["chromium", "xvfb"]),
            "sudo dnf install -y chromium xorg-x11-server-Xvfb"
        );
        assert_eq!(
            translated("apt-get", &["xdotool"]),
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends xdotool"
        );
    }
}
