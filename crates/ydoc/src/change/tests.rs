use proptest::prelude::*;

use super::*;

/// Makes the changes as a text without others would.
fn made(old: &str, new: &str, changes: &[TextChange]) -> String {
    let mut text = old.to_owned();
    for change in changes.iter().rev() {
        text.replace_range(change.old.clone(), &new[change.new.clone()]);
    }
    text
}

fn replaced<'a>(old: &'a str, new: &'a str) -> Vec<(&'a str, &'a str)> {
    let changes = between(old, new);
    changes.into_iter().map(|change| (&old[change.old], &new[change.new])).collect()
}

#[test]
fn only_what_differs_is_replaced() {
    assert_eq!(replaced("same", "same"), []);
    assert_eq!(replaced("", "new"), [("", "new")]);
    assert_eq!(replaced("old", ""), [("old", "")]);
    assert_eq!(replaced("a = 1\nb = 2\nc = 3\n", "a = 5\nb = 2\nc = 7\n"), [("1", "5"), ("3", "7")]);
    assert_eq!(replaced("a\nc\n", "a\nb\nc\n"), [("", "b\n")]);
    assert_eq!(replaced("long_name = 1", "long_names = 1 + 2"), [("", "s"), ("", " + 2")]);
}

#[test]
fn unrelated_words_are_replaced_as_a_whole() {
    assert_eq!(replaced("abcabc", "xbxxbx").len(), 1);
}

#[test]
fn characters_are_never_split() {
    // They share the first bytes of their encoding.
    assert_eq!(replaced("\u{1f600}", "\u{1f601}"), [("\u{1f600}", "\u{1f601}")]);
    assert_eq!(replaced("xé", "xè"), [("é", "è")]);
    assert_eq!(around("éa", "èa"), [TextChange { old: 0..2, new: 0..2 }]);
}

#[test]
fn a_long_text_is_compared_in_bounded_time() {
    let line = |n: usize| format!("{} = {n}\n", "x".repeat(n % 90));
    let old: String = (0..20_000).map(line).collect();
    let new: String = (0..20_000).map(|n| line(n * 7 + 1)).collect();
    assert!(old.len() + new.len() > 1_000_000);
    let start = Instant::now();
    assert_eq!(made(&old, &new, &between(&old, &new)), new);
    assert!(start.elapsed() < Duration::from_secs(5));
}

proptest! {
    #[test]
    fn the_changes_turn_one_text_into_the_other(
        old in "[ab\\néè\u{1f600}\u{1f601}]{0,40}",
        new in "[ab\\néè\u{1f600}\u{1f601}]{0,40}",
    ) {
        for changes in [between(&old, &new), around(&old, &new)] {
            prop_assert_eq!(made(&old, &new, &changes), &*new);
            let mut end = 0;
            for change in changes {
                prop_assert!(change.old.start >= end);
                prop_assert!(!change.old.is_empty() || !change.new.is_empty());
                end = change.old.end;
            }
        }
    }
}
