//! No file is in the repository that a program has left behind, and none that `cargo fmt` does not see.

use std::collections::BTreeSet;
use std::path::Path;

use super::Finding;
use crate::command;
use crate::project::Project;

const RULE: &str = "files";

/// What the root holds; a path that ends with `/` is a folder.
const ROOTS: &[&str] = &[
    ".agents/",
    ".cargo/",
    ".ci/",
    ".claude-plugin/",
    ".config/",
    ".containerignore",
    ".github/",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "Containerfile",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "bench/",
    "clippy.toml",
    "crates/",
    "docs/",
    "e2e/",
    "fuzz/",
    "install.sh",
    "packaging/",
    "patches/",
    "plugins/",
    "pyproject.toml",
    "python/",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "xtask/",
];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let list = |options: &[&str]| {
        let mut git = project.command("git");
        git.args(["ls-files", "-z"]).args(options);
        // Unknown if the sources came without their history.
        command::read(&mut git).unwrap_or_default()
    };
    // `git add --force` takes ignored files. The person's own ignored files are theirs, so only our lists count.
    let ignored = list(&["--cached", "--ignored", "--exclude-per-directory=.gitignore"]);
    let in_repository = list(&["--cached", "--others", "--exclude-standard"]);
    let ignored: BTreeSet<&str> = paths(&ignored).collect();
    let foreign = paths(&in_repository).filter(|path| !has_root(path) && !ignored.contains(path));
    let foreign = foreign.map(|path| {
        let advice = "is in no known folder; move it, remove it, or add its root to xtask/src/tidy/files.rs";
        Finding::new(path, RULE, advice)
    });
    let ignored = ignored.iter().map(|path| {
        let advice = "is in the repository although .gitignore names it; run `git rm --cached` on it";
        Finding::new(*path, RULE, advice)
    });
    let sources =
        paths(&in_repository).filter(|path| Path::new(path).extension().is_some_and(|end| end == "rs"));
    let hidden = sources.filter(|path| {
        std::fs::read_to_string(project.root.join(path)).is_ok_and(|text| hides_modules(&text))
    });
    let hidden = hidden.map(|path| {
        let advice = "declares modules in a macro, where rustfmt does not find them; write each `mod`";
        Finding::new(path, RULE, advice)
    });
    ignored.chain(foreign).chain(hidden).collect()
}

/// Whether a macro makes the names of modules, so that their files are never formatted.
fn hides_modules(source: &str) -> bool {
    source.lines().any(|line| line.trim_start_matches(['$', '(', ' ']).starts_with(concat!("mod ", "$")))
}

fn paths(listed: &str) -> impl Iterator<Item = &str> {
    listed.split('\0').filter(|path| !path.is_empty())
}

fn has_root(path: &str) -> bool {
    let is_root = |root: &&str| if root.ends_with('/') { path.starts_with(*root) } else { path == *root };
    ROOTS.iter().any(is_root)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(root: &Path, arguments: &[&str]) {
        command::read(Command::new("git").args(arguments).current_dir(root)).unwrap();
    }

    fn found(files: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &["init", "--quiet"]);
        std::fs::write(root.join(".gitignore"), include_str!("../../../.gitignore")).unwrap();
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        git(root, &["add", "--force", "--all"]);
        let findings = check(&Project { root: root.to_owned(), target: root.join("target") });
        findings.into_iter().map(|finding| finding.location).collect()
    }

    #[test]
    fn what_programs_leave_behind_is_found() {
        for file in [
            ".jupyter_ystore.db",
            "e2e/inside/.jupyter_ystore.db",
            "docs/history.sqlite3",
            "docs/history.sqlite-wal",
            "docs/.ipynb_checkpoints/a-checkpoint.md",
            "docs/.virtual_documents/a.py",
            "docs/Untitled.ipynb",
            "crates/cli/src/main.rs~",
            "crates/cli/src/.main.rs.swp",
            "crates/cli/src/main.rs.orig",
            "crates/cli/src/#main.rs#",
            "crates/cli/src/.#main.rs",
            "crates/cli/src/main.rs.bak",
            "docs/.DS_Store",
            "docs/.env",
            "crates/.idea/workspace.xml",
            "e2e/support/__pycache__/a.cpython-312.pyc",
            "e2e/junit.log",
            "crates/render/src/a.snap.new",
        ] {
            assert_eq!(found(&[file]), [file]);
        }
        // A root that nobody has named.
        assert_eq!(found(&["notes.txt", "scratch/a.rs"]), ["notes.txt", "scratch/a.rs"]);
    }

    #[test]
    fn modules_named_by_a_macro_are_found() {
        assert!(hides_modules(&format!("macro_rules! m {{\n        $(mod {}name;)*\n}}", '$')));
        assert!(!hides_modules("mod a;\n// mod b"));
    }

    #[test]
    fn sources_and_notebooks_for_tests_are_kept() {
        let files = [
            "README.md",
            "crates/notebook/tests/corpus/crlf.ipynb",
            "crates/ydoc/tests/data/history.update",
            "python/cellbridge/_native.pyi",
            ".github/workflows/test.yml",
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
