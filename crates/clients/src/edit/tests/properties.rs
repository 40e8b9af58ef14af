use proptest::prelude::*;
use serde_json::Value;

use super::super::{read_at, without};
use super::{JSON, TOML, Target, YAML, block, documents, put, read, remove};

/// What a text says apart from our entry.
fn others(text: &str, target: Target) -> Value {
    let whole = read_at(text, target.format, &[]);
    without(whole.unwrap().unwrap_or_default(), &target.path())
}

/// How often each comment of the documents occurs.
fn comments(text: &str) -> [usize; 6] {
    ["/* ä */", "// c, }", "# c", "# d", "# no", "// no }"].map(|comment| text.matches(comment).count())
}

fn check(text: &str, target: Target) -> Result<(), TestCaseError> {
    let edited = match put(text, target, &block()) {
        Ok(edited) => edited,
        // Valid, and in a form that cannot be edited.
        Err(crate::EditObstacle::Form(_)) => return Ok(()),
        Err(refusal) => return Err(TestCaseError::fail(format!("{refusal}"))),
    };
    let entry = read(&edited, target).unwrap().unwrap_or_default();
    prop_assert_eq!(&entry["command"], "/bin/cellbridge");
    prop_assert_eq!(&entry["timeout"], 600);
    prop_assert_eq!(others(text, target), others(&edited, target));
    prop_assert_eq!(&put(&edited, target, &block()).unwrap(), &edited, "again");

    // Somebody has changed the file since: the entry goes, and all the rest stays.
    let removed = remove(&edited, target, &[]).unwrap();
    prop_assert_eq!(read(&removed, target).unwrap(), None);
    prop_assert_eq!(others(text, target), others(&removed, target));
    prop_assert_eq!(comments(text), comments(&removed), "{}", removed);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_entry_in_json_can_be_taken_back(text in documents::json()) {
        check(&text, JSON)?;
    }

    #[test]
    fn an_entry_in_toml_can_be_taken_back(text in documents::toml()) {
        check(&text, TOML)?;
    }

    #[test]
    fn an_entry_in_yaml_can_be_taken_back(text in documents::yaml()) {
        check(&text, YAML)?;
    }
}
