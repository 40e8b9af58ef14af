//! Chromium and the programs that drive it on a machine without a screen.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::apt;
use crate::command;

/// Names the browser instead of the one on `PATH`.
const OVERRIDE: &str = "CELLBRIDGE_CHROMIUM";

const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome-stable"];

/// Debian's package and the program it is needed for.
const COMPANIONS: [(&str, &str); 3] = [("xvfb", "Xvfb"), ("xdotool", "xdotool"), ("openssl", "openssl")];

/// The browser's path, once all four programs are there.
pub(crate) fn provide() -> Result<PathBuf> {
    let chosen = std::env::var_os(OVERRIDE).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    if let Some(path) = &chosen
        && !path.is_file()
    {
        bail!("{OVERRIDE} names {}, which is no file; correct it or unset it", path.display());
    }
    let present = |program: &str| command::on_path(program).is_some();
    let missing = missing(chosen.is_some(), present);
    if !missing.is_empty() {
        apt::install(&missing)?;
    }
    chosen
        .or_else(|| CHROMIUM.into_iter().find_map(command::on_path))
        .with_context(|| format!("no chromium on PATH; set {OVERRIDE} to a browser"))
}

/// The packages to install.
fn missing(browser_chosen: bool, present: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut packages = Vec::new();
    if !browser_chosen && !CHROMIUM.into_iter().any(&present) {
        packages.push("chromium");
    }
    packages
        .extend(COMPANIONS.into_iter().filter(|(_, program)| !present(program)).map(|(package, _)| package));
    packages
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn only_what_is_absent_is_installed() {
        assert_eq!(missing(false, |_| false), ["chromium", "xvfb", "xdotool", "openssl"]);
        assert_eq!(missing(true, |_| false), ["xvfb", "xdotool", "openssl"]);
        assert_eq!(missing(false, |program| program != "Xvfb"), ["xvfb"]);
        assert_eq!(missing(false, |program| program != "chromium"), [""; 0]);
    }
}
