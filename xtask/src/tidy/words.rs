//! Words that the code of some crates may not contain.

use std::path::Path;

use anyhow::{Context, Result};

use super::{Finding, layers};

struct Rule {
    name: &'static str,
    crates: Crates,
    /// In lower case.
    words: &'static [&'static str],
    exceptions: &'static [&'static str],
    /// The modules that may contain them, and those below them.
    modules: &'static [&'static str],
    advice: &'static str,
}

/// The crates that a rule is about.
enum Crates {
    /// All of the program, but these.
    AllBut(&'static [&'static str]),
    /// Those that only compute, but these.
    PureBut(&'static [&'static str]),
    These(&'static [&'static str]),
}

impl Crates {
    fn names(&self) -> Vec<&'static str> {
        match self {
            Self::AllBut(others) => layers::program().filter(|name| !others.contains(name)).collect(),
            Self::PureBut(others) => layers::PURE.into_iter().filter(|name| !others.contains(name)).collect(),
            Self::These(names) => names.to_vec(),
        }
    }
}

const RULES: [Rule; 5] = [
    Rule {
        name: "places",
        crates: Crates::These(&[
            "calls",
            "mcp",
            "packages",
            "place",
            "recorder",
            "runs",
            "tools",
            "verify",
            "workspace",
        ]),
        words: &["colab", "jupyter"],
        // Names that existing prompts and configurations rely on, whatever the place.
        exceptions: &[
            "jupyter_cite",
            // What kernels import or read when they start.
            "jupyter_client",
            "(\"jupyter_\")",
            "connect_to_jupyter",
            "jupyter_url",
            "jupyter_token",
            "jupyter-mcp-server",
            "`jupyter lab`",
            // The words by which people and models search for a tool.
            "jupyter notebook",
            "jupyter server, jupyterhub or",
            "jupyter server",
            "cluster, jupyterlab",
            "notebook in jupyterlab",
            "google colab",
            "notebook to colab",
            "colab machine",
            "colab runtime",
            "`cellbridge colab login`",
        ],
        modules: &[],
        advice: "this crate never names a place, so that a new place needs no change here; let cli or python \
                 pass it in",
    },
    Rule {
        name: "pure",
        crates: Crates::PureBut(&["operations"]),
        words: &["std::fs", "std::net", "fs::", "net::", "std::{"],
        exceptions: &[],
        modules: &[],
        advice: "this crate only computes: it takes bytes, and does not read files or open connections (write one \
                 `use` for each module of std)",
    },
    Rule {
        name: "build-environment",
        crates: Crates::AllBut(&[]),
        words: &["env!("],
        exceptions: &["env!(\"cargo_pkg_", "env!(\"out_dir\")"],
        modules: &[],
        advice: "env! may read only CARGO_PKG_* and OUT_DIR; take the value as an argument",
    },
    Rule {
        name: "terminal",
        crates: Crates::AllBut(&["keeper", "terminal", "windows"]),
        words: &["io::stdout", "io::stderr", "print!(", "println!(", "eprint", "indicatif", "/dev/tty"],
        exceptions: &[],
        modules: &[],
        advice: "what is printed may hold control characters of others; print it with the crate terminal, which makes them visible",
    },
    Rule {
        name: "temporary",
        crates: Crates::AllBut(&[]),
        words: &["tempdir(", "tempdir_in(", "tempdir::", "env::temp_dir"],
        exceptions: &[],
        modules: &["crates/state/src/lib"],
        advice: "others could read a folder with the default mode; make it in the module that this rule names, which \
                 gives it the mode 0700",
    },
];

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for rule in &RULES {
        for member in rule.crates.names() {
            check_folder(root, &root.join("crates").join(member).join("src"), rule, &mut findings)?;
        }
    }
    Ok(findings)
}

/// Checks what a shipped build contains: not `tests.rs`, nor what is in a folder `tests`.
fn check_folder(root: &Path, folder: &Path, rule: &Rule, findings: &mut Vec<Finding>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))? {
        let path = entry?.path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if is_test {
            continue;
        }
        if path.is_dir() {
            check_folder(root, &path, rule, findings)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let file = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            let is_of_module = |module: &str| {
                file.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            if rule.modules.iter().copied().any(is_of_module) {
                continue;
            }
            let lines = lines_with(&std::fs::read_to_string(&path)?, rule);
            let finding = |line| Finding::new(format!("{file}:{line}"), rule.name, rule.advice);
            findings.extend(lines.into_iter().map(finding));
        }
    }
    Ok(())
}

/// The lines that break the rule. Comments and a module of tests at the file's end may say anything.
fn lines_with(text: &str, rule: &Rule) -> Vec<usize> {
    let mut found = Vec::new();
    let mut is_test_only = false;
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        let is_module = line.starts_with("mod ") || line.starts_with("pub") && line.contains(" mod ");
        if is_test_only && is_module && line.ends_with('{') {
            break;
        }
        is_test_only = is_cfg_test(line) || is_test_only && line.starts_with("#[");
        if line.starts_with("//") {
            continue;
        }
        // Options are named by their program, not by a place.
        let mut code =
            line.to_lowercase().split(' ').filter(|word| !is_option(word)).collect::<Vec<_>>().join(" ");
        for exception in rule.exceptions {
            code = code.replace(exception, "");
        }
        let is_broken = rule.words.iter().any(|word| {
            code.match_indices(word).any(|(start, _)| {
                // `offs::x` does not name `fs::`, but `notcolab` names a place.
                !word.ends_with("::")
                    || !code[..start].ends_with(|it: char| it.is_alphanumeric() || it == '_')
            })
        });
        if is_broken {
            found.push(number);
        }
    }
    found
}

fn is_option(word: &str) -> bool {
    word.trim_start_matches(|it: char| !it.is_alphanumeric() && it != '-').starts_with("--")
}

fn is_cfg_test(line: &str) -> bool {
    line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: usize, text: &str) -> Vec<usize> {
        lines_with(text, &RULES[rule])
    }

    #[test]
    fn names_of_places_are_found_in_code_and_strings() {
        assert_eq!(
            lines(0, "use colab::Page;\nstruct JupyterHub;\nconst X: &str = \"open Colab\";"),
            [1, 2, 3]
        );
        assert_eq!(lines(0, "const B: &str = \"jupyter_cite jupyter\";"), [1]);
        assert_eq!(lines(0, "//! For Colab.\n/// As in Jupyter.\nconst A: &str = \"jupyter_cite\";"), [0; 0]);
    }

    #[test]
    fn files_and_sockets_are_found_in_pure_crates() {
        assert_eq!(
            lines(1, "use std::fs;\nstd::fs::read(x)\nuse std::{fs, fmt};\nfs::read(x)"),
            [1, 2, 3, 4]
        );
        assert_eq!(lines(1, "use std::net::TcpStream;"), [1]);
        assert_eq!(lines(1, "// std::fs::read\noffs::read(subnet::x);"), [0; 0]);
    }

    #[test]
    fn the_build_environment_is_found() {
        assert_eq!(lines(2, "env!(\"USER\")\nenv!(\"CARGO_PKG_VERSION\")\noption_env!(\"X\")"), [1, 3]);
    }

    #[test]
    fn only_the_crate_terminal_writes_to_the_terminal() {
        assert_eq!(
            lines(3, "println!(\"x\");\nstd::io::stderr().lock();\neprint!(\"x\");\nsay(\"x\")"),
            [1, 2, 3]
        );
    }

    #[test]
    fn a_module_may_be_an_exception() -> Result<()> {
        let root = tempfile::tempdir()?;
        for file in ["lib.rs", "lib/unix.rs", "lib_files.rs"] {
            let file = root.path().join("crates/state/src").join(file);
            std::fs::create_dir_all(file.parent().unwrap())?;
            std::fs::write(file, "tempfile::tempdir();")?;
        }
        let mut findings = Vec::new();
        check_folder(root.path(), &root.path().join("crates/state/src"), &RULES[4], &mut findings)?;
        let locations: Vec<_> = findings.iter().map(|finding| finding.location.as_str()).collect();
        assert_eq!(locations, ["crates/state/src/lib_files.rs:1"]);
        Ok(())
    }

    #[test]
    fn folders_for_temporary_files_are_found() {
        let text = "tempfile::tempdir()?;\nBuilder::new().tempdir_in(x)\nTempDir::new()\nstd::env::temp_dir()\nx.temp_dir()";
        assert_eq!(lines(4, text), [1, 2, 3, 4]);
    }

    #[test]
    fn tests_may_name_anything_and_what_follows_their_declaration_may_not() {
        assert_eq!(lines(0, "#[cfg(test)]\nmod tests {\n    const X: &str = \"colab\";\n}"), [0; 0]);
        assert_eq!(lines(0, "#[cfg(test)]\n#[cfg(unix)]\npub(crate) mod tests {\n    use colab::X;"), [0; 0]);
        assert_eq!(lines(0, "#[cfg(test)]\nmod tests;\nuse colab::X;"), [3]);
        assert_eq!(lines(0, "#[cfg(not(test))]\nmod x {\n    use colab::X;\n}"), [3]);
    }

    #[test]
    fn files_of_tests_are_left_out() -> Result<()> {
        let root = tempfile::tempdir()?;
        for file in ["src/tests.rs", "src/a/tests/b.rs", "src/a/testsuite.rs"] {
            let file = root.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap())?;
            std::fs::write(file, "use colab::X;")?;
        }
        let mut findings = Vec::new();
        check_folder(root.path(), &root.path().join("src"), &RULES[0], &mut findings)?;
        let locations: Vec<_> = findings.iter().map(|finding| finding.location.as_str()).collect();
        assert_eq!(locations, ["src/a/testsuite.rs:1"]);
        Ok(())
    }
}
