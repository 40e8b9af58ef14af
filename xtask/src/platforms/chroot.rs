//! A folder with a Debian of its own, in which programs run as on another machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::command;
use crate::project::Project;
use crate::provision::stamp::Stamp;
use crate::test::announce;

/// Its name in the cache.
pub(super) const FOLDER: &str = "debian";

/// Of Debian's releases, this one has a compiler that is new enough.
const RELEASE: &str = "sid";

const PACKAGES: [&str; 12] = [
    "ca-certificates",
    "cargo",
    "gcc",
    "gcc-aarch64-linux-gnu",
    "gcc-mingw-w64-x86-64-win32",
    "git",
    "libc6-dev",
    "libstd-rust-dev:arm64",
    "pkg-config",
    "python3",
    "rust-src",
    "rustc",
];

/// The options with which apt reads the packages of a release that changes every day.
const APT_OPTIONS: [&str; 2] = ["Acquire::Check-Valid-Until \"false\"", "APT::Install-Recommends \"false\""];

const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";

/// The keys with which Debian signs its packages. On other systems apt does not trust them by itself.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Mounts what programs expect, and the folders of this machine that are named before `--`, at the same paths. The mounts belong
/// to this process and what it starts, so nothing is left to be unmounted.
///
/// `$path` is the PATH of whoever starts the program. It may lack what is used here.
const ENTER: &str = r#"
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
    shift
done
shift
folder=$1; shift
exec chroot "$root" /bin/sh -euc 'cd "$1"; export PATH="$2"; shift 2; exec "$@"' sh "$folder" "$path" "$@"
"#;

pub(crate) struct Chroot {
    root: PathBuf,
    /// The script that runs a program in it.
    enter: PathBuf,
    project: PathBuf,
    /// Cargo's target folder on this machine, which has the tools for packages.
    target: PathBuf,
    /// Where Cargo's registry and target folder are, and whatever else is kept.
    pub(crate) cache: PathBuf,
}

impl Chroot {
    /// The chroot in `cache`, made unless it is there.
    pub(super) fn provide(project: &Project, cache: PathBuf) -> Result<Self> {
        let root = cache.join(FOLDER);
        let mirror = mirror();
        let stamp = Stamp::new(cache.join("debian.stamp"), format!("{RELEASE}\n{}\n", PACKAGES.join("\n")));
        if !stamp.is_fresh() {
            stamp.clear()?;
            announce(&format!("making a chroot of Debian in {} (2 minutes, 4 GB)", root.display()));
            if root.exists() {
                fs::remove_dir_all(&root).with_context(|| format!("{} can't be removed", root.display()))?;
            }
            let mut make = Command::new(mmdebstrap(&cache)?);
            make.args(["--mode=root", "--variant=apt", "--architectures=amd64,arm64"]);
            make.args(APT_OPTIONS.map(|option| format!("--aptopt={option}")));
            make.arg(format!("--include={}", PACKAGES.join(",")));
            make.arg(RELEASE).arg(&root).arg(source(&mirror, Path::new(KEYRING).exists()));
            command::run(make.stdin(Stdio::null()))?;
            stamp.set()?;
        }
        let enter = cache.join("enter.sh");
        fs::write(&enter, format!("path=$PATH\nPATH={PATH}\n{ENTER}"))
            .with_context(|| format!("{} can't be written", enter.display()))?;
        Ok(Self { root, enter, project: project.root.clone(), target: project.target.clone(), cache })
    }

    /// Installs further packages, unless there is `file`, which one of them has.
    pub(super) fn install(&self, file: &str, packages: &[&str]) -> Result<()> {
        // It may be a link, which leads somewhere only inside.
        if self.root.join(file).symlink_metadata().is_ok() {
            return Ok(());
        }
        announce(&format!("installing {} in the chroot", packages.join(" ")));
        fs::copy("/etc/resolv.conf", self.root.join("etc/resolv.conf"))
            .context("the chroot would find no server without this machine's resolv.conf")?;
        let apt = |arguments: &[&str]| {
            let mut apt = self.command("apt-get");
            command::run(apt.args(["-q", "-y"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
        };
        apt(&["update"])?;
        apt(&[&["install"], packages].concat())
    }

    /// A program of the chroot, or of a folder that both have, at the project's root.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        self.command_in(&self.project, &[], program)
    }

    /// The same, in `folder`, and with further folders of this machine.
    pub(super) fn command_in(
        &self,
        folder: impl AsRef<Path>,
        further: &[&Path],
        program: impl AsRef<Path>,
    ) -> Command {
        let mut command = Command::new("/usr/bin/unshare");
        command.args(["--mount", "--propagation", "private", "/bin/sh", "-eu"]).arg(&self.enter);
        command.arg(&self.root).args([&self.project, &self.target, &self.cache]).args(further).arg("--");
        command.arg(folder.as_ref());
        command.arg(program.as_ref()).stdin(Stdio::null()).env_clear();
        command.env("PATH", PATH);
        command.env("HOME", self.cache.join("home"));
        command.env("CARGO_HOME", self.cargo_home());
        command.env("CARGO_TARGET_DIR", self.build_folder());
        // What is compiled once and then kept needs no second form.
        command.env("CARGO_INCREMENTAL", "0");
        // Debian's compiler is a stable one, which has no `-Z` without this.
        command.env("RUSTC_BOOTSTRAP", "1");
        if let Some(jobs) = std::env::var_os("CARGO_BUILD_JOBS") {
            command.env("CARGO_BUILD_JOBS", jobs);
        }
        command
    }

    /// Cargo's target folder.
    pub(crate) fn build_folder(&self) -> PathBuf {
        self.cache.join("build")
    }

    pub(crate) fn cargo_home(&self) -> PathBuf {
        self.cache.join("cargo")
    }

    /// The sources of the compiler's libraries.
    pub(super) fn library(&self) -> Result<PathBuf> {
        let sources = self.root.join("usr/src");
        let entries =
            fs::read_dir(&sources).with_context(|| format!("{} can't be read", sources.display()))?;
        let mut libraries = entries.flatten().map(|entry| entry.path().join("library"));
        libraries
            .find(|folder| folder.join("Cargo.lock").is_file())
            .with_context(|| format!("{} holds no sources of Rust", sources.display()))
    }
}

/// The script that makes chroots: the machine's, otherwise unpacked from its package.
fn mmdebstrap(cache: &Path) -> Result<PathBuf> {
    if let Some(program) = command::on_path("mmdebstrap") {
        return Ok(program);
    }
    let folder = cache.join("mmdebstrap");
    let program = folder.join("usr/bin/mmdebstrap");
    if !program.is_file() {
        fs::create_dir_all(&folder)?;
        command::run(Command::new("apt-get").args(["download", "mmdebstrap"]).current_dir(&folder))
            .context("mmdebstrap can't be downloaded; `apt-get update` may help")?;
        let package = fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
        let package = package
            .into_iter()
            .find(|path| path.extension().is_some_and(|it| it == "deb"))
            .context("apt-get has downloaded nothing")?;
        command::run(Command::new("dpkg").arg("--extract").arg(&package).arg(&folder))?;
    }
    Ok(program)
}

/// Where packages come from, in the form of apt.
fn source(mirror: &str, has_keyring: bool) -> String {
    let options = if has_keyring { format!("[signed-by={KEYRING}] ") } else { String::new() };
    format!("deb {options}{mirror} {RELEASE} main")
}

/// Where this machine gets its own packages of Debian.
fn mirror() -> String {
    let mut texts = vec![fs::read_to_string("/etc/apt/sources.list").unwrap_or_default()];
    let folder = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    texts.extend(folder.filter_map(|entry| fs::read_to_string(entry.path()).ok()));
    texts.iter().find_map(|text| mirror_in(text)).unwrap_or_else(|| DEFAULT_MIRROR.to_owned())
}

/// The address of Debian's packages in a file of apt, of either form.
fn mirror_in(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut words = lines
        .filter(|line| line.starts_with("URIs:") || line.starts_with("deb "))
        .flat_map(str::split_whitespace);
    let is_debian = |word: &&str| word.starts_with("http") && word.trim_end_matches('/').ends_with("/debian");
    words.find(is_debian).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{mirror_in, source};

    #[test]
    fn packages_are_checked_with_the_keys_of_debian() {
        let (signed, plain) = (source("http://one/debian", true), source("http://one/debian", false));
        let options = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ";
        assert_eq!(signed, format!("deb {options}http://one/debian sid main"));
        assert_eq!(plain, "deb http://one/debian sid main");
    }

    #[test]
    fn the_mirror_is_that_of_debian_itself() {
        let new = "Types: deb\n# http://old/debian\nURIs: http://one/debian-security\nTypes: deb\nURIs: http://one/debian\n";
        assert_eq!(mirror_in(new).as_deref(), Some("http://one/debian"));
        let old = "deb [signed-by=/x] https://two/debian/ bookworm main\n";
        assert_eq!(mirror_in(old).as_deref(), Some("https://two/debian/"));
        assert_eq!(mirror_in("URIs: https://deb.nodesource.com/node_20.x"), None);
    }
}
