//! What this machine must have, said before anything is downloaded.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::{command, provision};

/// The chroot takes 3, the crates 1, what is compiled 3 for each system.
const GIGABYTES: u64 = 14;
/// Where both are there, for one system.
const GIGABYTES_TO_COMPILE: u64 = 4;

/// Programs that are called besides Cargo.
const PROGRAMS: [&str; 6] = ["apt-get", "chroot", "df", "dpkg", "mount", "unshare"];

pub(super) fn check(cache: &Path) -> Result<()> {
    for program in PROGRAMS {
        ensure!(
            command::on_path(program).is_some(),
            "{program} is missing; this task needs a machine with Debian, or one like it"
        );
    }
    ensure!(
        provision::is_root(),
        "making a chroot and mounting folders in it needs root; run this as root, in a container for example"
    );
    let chroot_exists = cache.join(super::chroot::FOLDER).exists();
    let needed = if chroot_exists { GIGABYTES_TO_COMPILE } else { GIGABYTES };
    let free = free_bytes(cache)?;
    ensure!(
        free >= needed << 30,
        "{} has {} GB free, and {needed} are needed; name a folder with more space",
        cache.display(),
        free >> 30
    );
    Ok(())
}

fn free_bytes(folder: &Path) -> Result<u64> {
    let answer = command::read(Command::new("df").args(["--output=avail", "--block-size=1"]).arg(folder))?;
    parse(&answer).with_context(|| format!("df says {answer:?} of {}", folder.display()))
}

/// Reads a heading and a number below it.
fn parse(answer: &str) -> Option<u64> {
    answer.lines().nth(1)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn what_df_prints_is_read() {
        assert_eq!(parse("       Avail\n57982058496"), Some(57_982_058_496));
        assert_eq!(parse("Avail"), None);
    }
}
