//! Nothing prints or reads the environment below the composition roots; what needs them takes them as arguments.

use super::code::Code;
use super::floors::floor;
use super::model::{Finding, House};
use super::paths;

const RULE: &str = "silence";

const PRINTING: [&str; 5] = ["println", "print", "eprintln", "eprint", "dbg"];

/// Macros that read the environment of the build.
const BUILD_ENVIRONMENT: [&str; 2] = ["env", "option_env"];

/// The floor of the composition roots.
const ROOTS: u8 = 5;

/// Checks the sources of the floors below the roots.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let below = house.members.iter().filter(|member| floor(&member.name).is_some_and(|own| own < ROOTS));
    let sources = below.flat_map(|member| &member.sources);
    let finding = |path: &str, (line, advice)| Finding { path: path.to_owned(), line, rule: RULE, advice };
    sources
        .flat_map(|source| noises(&source.code).into_iter().map(|noise| finding(&source.path, noise)))
        .collect()
}

fn noises(code: &Code) -> Vec<(usize, String)> {
    let mut noises = Vec::new();
    for (name, argument) in code.macro_calls() {
        let macro_name = name.text.as_str();
        if PRINTING.contains(&macro_name) {
            noises.push((
                name.line,
                format!("replace {macro_name}! by a log line (tracing) or a returned value"),
            ));
        }
        let about_the_package = argument.is_some_and(|it| it.text.starts_with("\"CARGO_PKG_"));
        if BUILD_ENVIRONMENT.contains(&macro_name) && !about_the_package {
            noises.push((
                name.line,
                format!("{macro_name}! may name CARGO_PKG_* only; take the value as an argument"),
            ));
        }
    }
    for path in paths::named(code) {
        // The constants tell of the platform, not of the environment.
        if path.begins_with(&["std", "env"]) && !path.begins_with(&["std", "env", "consts"]) {
            noises.push((
                path.line,
                "don't read the environment here; take the value as an argument".to_owned(),
            ));
        }
    }
    noises
}

#[cfg(test)]
mod tests {
    use super::super::model::samples::{house, member, places};
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&house([member("colab").with_source(text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn printing_is_found() {
        assert_eq!(
            lines("fn f() {\n  println!(\"x\");\n  std::eprint![\"x\"];\n  if dbg! { 1 } == 1 {}\n}"),
            [2, 3, 4]
        );
    }

    #[test]
    fn reads_of_the_environment_are_found() {
        assert_eq!(lines("use std::env;"), [1]);
        assert_eq!(lines("use std::{\n fmt,\n env as surroundings,\n};"), [3]);
        assert_eq!(lines("fn f() {\n ::std::env::var_os(\"HOME\");\n}"), [2]);
        assert_eq!(
            lines("const USER: &str =\n env!(\"USER\");\nconst X: Option<&str> = option_env!(\"X\");"),
            [2, 3]
        );
    }

    #[test]
    fn quiet_code_is_fine() {
        assert_eq!(
            lines("//! println!(\"x\")\n/// `std::env::var`\n// dbg!(1)\nfn f() { let s = \"println!()\"; }"),
            [0; 0]
        );
        assert_eq!(lines("const V: &str = env!(\"CARGO_PKG_VERSION\");\nuse std::env::consts::OS;"), [0; 0]);
        assert_eq!(
            lines("fn f() { write!(out, \"x\"); my::env::var(); let print = 1; print != 2; }"),
            [0; 0]
        );
    }

    #[test]
    fn test_code_may_print() {
        assert_eq!(lines("#[cfg(test)]\nmod tests { use std::env; fn f() { println!(); } }"), [0; 0]);
        assert_eq!(lines("#![cfg(test)]\nfn f() { println!(); }"), [0; 0]);
        assert_eq!(lines("#[cfg(test)]\nfn f() { println!(); }\nfn g() {\n println!(); }"), [4]);
        assert_eq!(lines("#[cfg(not(test))]\nfn f() { println!(); }"), [2]);
    }

    #[test]
    fn the_roots_and_the_tools_may_print() {
        let loud = |name| member(name).with_source("fn f() { println!(\"{:?}\", std::env::args()); }");
        assert_eq!(check(&house([loud("cli"), loud("testkit"), loud("xtask")])), []);
        assert_eq!(places(&check(&house([loud("mcp")]))).len(), 2);
    }
}
