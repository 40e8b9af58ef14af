//! The middle of the house never names a place, so that a new place needs no change there.

use super::code::TokenKind;
use super::model::{Finding, House};
use super::paths;

const RULE: &str = "places";

const NAMELESS: [&str; 2] = ["mcp", "workspace"];

/// Words that can only mean a place.
const WORDS: [&str; 2] = ["colab", "jupyter"];

/// Names of the interface that existing prompts rely on, whatever the place.
const INTERFACE: [&str; 5] =
    ["jupyter_cite", "connect_to_jupyter", "jupyter_url", "jupyter_token", "jupyter-mcp-server"];

/// An everyday word: a place only where it is a crate.
const CRATE: &str = "local";

/// Checks words, strings and paths of the sources; comments may say what they like.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let members = house.members.iter().filter(|member| NAMELESS.contains(&member.name.as_str()));
    for (member, source) in
        members.flat_map(|member| member.sources.iter().map(move |source| (member, source)))
    {
        let finding = |line, place| Finding {
            path: source.path.clone(),
            line,
            rule: RULE,
            advice: format!(
                "{} never names a place ({place}); let the composition root pass it in",
                member.name
            ),
        };
        for token in source.code.tokens() {
            if matches!(token.kind, TokenKind::Word | TokenKind::Literal) {
                let mut text = token.text.to_lowercase();
                for name in INTERFACE {
                    text = text.replace(name, "");
                }
                findings.extend(
                    WORDS.iter().filter(|word| text.contains(*word)).map(|word| finding(token.line, word)),
                );
            }
        }
        let paths = paths::named(&source.code);
        findings.extend(
            paths.iter().filter(|path| path.begins_with(&[CRATE])).map(|path| finding(path.line, &CRATE)),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::model::samples::{house, member};
    use super::*;

    fn lines(name: &str, text: &str) -> Vec<usize> {
        check(&house([member(name).with_source(text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn names_of_places_are_found_in_code_and_strings() {
        assert_eq!(
            lines("mcp", "use colab::Page;\nstruct JupyterHub;\nconst X: &str = \"open Colab\";"),
            [1, 2, 3]
        );
        assert_eq!(
            lines("workspace", "fn f() {\n let x = local::store();\n}\nuse local::{Folder, Store};"),
            [2, 4, 4]
        );
    }

    #[test]
    fn comments_tests_and_the_everyday_word_are_fine() {
        let good =
            "//! For Colab.\n/// As in Jupyter.\nfn f() { /* colab */ let local = 1; self::local::go(); }";
        assert_eq!(lines("mcp", good), [0; 0]);
        assert_eq!(lines("workspace", "#[cfg(test)]\nmod tests { const X: &str = \"colab\"; }"), [0; 0]);
    }

    #[test]
    fn names_of_the_interface_are_fine_and_nothing_around_them() {
        assert_eq!(
            lines("mcp", "const A: &str = \"jupyter_cite\";\nconst B: &str = \"jupyter_cited in colab\";"),
            [2]
        );
        assert_eq!(lines("mcp", "const A: &str = \"jupyter\";"), [1]);
    }

    #[test]
    fn the_places_themselves_and_the_roots_may_name_them() {
        assert_eq!(lines("colab", "struct Colab;"), [0; 0]);
        assert_eq!(lines("cli", "use colab::Page;"), [0; 0]);
    }
}
