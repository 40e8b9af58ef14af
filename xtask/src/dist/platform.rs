//! The systems for which there could be packages.

/// The oldest glibc that the programs for Linux run with, as Python's `manylinux2014` wheels do.
pub(super) const GLIBC: &str = "2.17";

/// A system, by its Rust target.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Platform {
    pub(super) triple: &'static str,
    /// The bundle's name for it; the system is named as Node names it.
    pub(super) system: &'static str,
    pub(super) architecture: &'static str,
    /// Why its packages are not published: they are made if `--target` names it, in a folder of their own.
    pub(super) obstacle: Option<&'static str>,
}

const NO_MAC: &str = "run on no Mac yet";

pub(super) const PLATFORMS: [Platform; 5] = [
    Platform { triple: "x86_64-unknown-linux-gnu", system: "linux", architecture: "x86_64", obstacle: None },
    Platform {
        triple: "aarch64-unknown-linux-gnu",
        system: "linux",
        architecture: "aarch64",
        obstacle: None,
    },
    Platform {
        triple: "aarch64-apple-darwin",
        system: "darwin",
        architecture: "aarch64",
        obstacle: Some(NO_MAC),
    },
    Platform {
        triple: "x86_64-apple-darwin",
        system: "darwin",
        architecture: "x86_64",
        obstacle: Some(NO_MAC),
    },
    Platform {
        triple: "x86_64-pc-windows-gnu",
        system: "win32",
        architecture: "x86_64",
        obstacle: Some("run under wine only, and on no Windows yet"),
    },
];

/// A target with the oldest glibc, as cargo-zigbuild names it.
pub(crate) fn with_oldest_glibc(triple: &str) -> String {
    format!("{triple}.{GLIBC}")
}

impl Platform {
    /// The machine's own.
    pub(super) fn of_this_machine() -> Option<&'static Self> {
        let system = match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        };
        let architecture = std::env::consts::ARCH;
        PLATFORMS.iter().find(|platform| platform.system == system && platform.architecture == architecture)
    }

    /// The one with this Rust target.
    pub(super) fn named(triple: &str) -> Option<&'static Self> {
        PLATFORMS.iter().find(|platform| platform.triple == triple)
    }

    /// The target as cargo-zigbuild names it: for Linux with the oldest glibc.
    pub(super) fn zig_target(&self) -> String {
        if self.is_linux() { with_oldest_glibc(self.triple) } else { self.triple.to_owned() }
    }

    pub(super) fn is_linux(&self) -> bool {
        self.system == "linux"
    }

    pub(super) fn program(&self) -> &'static str {
        if self.system == "win32" { "cellbridge.exe" } else { "cellbridge" }
    }

    /// How the names of its wheels end, where Python has its own name for the architecture.
    pub(super) fn wheel_ending(&self) -> String {
        let architecture = match (self.system, self.architecture) {
            ("darwin", "aarch64") => "arm64",
            ("win32", "x86_64") => "amd64",
            (_, architecture) => architecture,
        };
        format!("_{architecture}.whl")
    }

    pub(super) fn archive(&self) -> String {
        format!("cellbridge-{}.tar.gz", self.triple)
    }

    pub(super) fn bundle(&self) -> String {
        format!("cellbridge-{}-{}.mcpb", self.system, self.architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_platforms_share_a_package() {
        for (index, platform) in PLATFORMS.iter().enumerate() {
            for other in &PLATFORMS[..index] {
                assert_ne!(platform.archive(), other.archive());
                assert_ne!(platform.bundle(), other.bundle());
            }
        }
    }

    #[test]
    fn the_install_script_knows_each_platform_that_has_a_program() {
        let script = include_str!("../../../install.sh");
        for platform in &PLATFORMS {
            assert_eq!(script.contains(platform.triple), platform.obstacle.is_none(), "{}", platform.triple);
        }
    }
}
