//! The targets, and what compiling for each takes.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Windows,
    Macos,
    Arm64,
    Musl,
}

impl Target {
    /// As Rust names it.
    pub(super) fn triple(self) -> &'static str {
        match self {
            Self::Windows => "x86_64-pc-windows-gnu",
            Self::Macos => "aarch64-apple-darwin",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
            Self::Musl => "x86_64-unknown-linux-musl",
        }
    }

    /// The options of Cargo that choose what is compiled for it.
    pub(super) fn chosen(self) -> &'static [&'static str] {
        match self {
            // A static program can load no native module.
            Self::Musl => &["--package", "cli", "--bins"],
            _ => &["--package", "cli", "--bins", "--package", "python", "--lib"],
        }
    }

    /// Whether Debian has the compiled standard library.
    pub(super) fn has_standard_library(self) -> bool {
        self == Self::Arm64
    }

    /// Whether zig compiles C code of dependencies, because the chroot has no compiler or no headers for the system.
    pub(super) fn needs_zig(self) -> bool {
        self != Self::Windows
    }
}
