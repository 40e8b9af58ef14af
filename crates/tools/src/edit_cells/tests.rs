//! Reading the edits of a call, and renaming after them.

use std::collections::BTreeMap;

use notebook::{CellRef, CellType, Edit, NewCell, Notebook};
use serde_json::{Value, json};

use super::Arguments;
use super::edits::{CellEdit, NOTHING_CHANGED, SourceEdit};
use super::renaming::rename_in;
use crate::tests::given;

fn edits(values: &Value) -> Result<Vec<CellEdit>, String> {
    given(&json!({ "edits": values })).read::<Arguments>().map(|it| it.edits.0).map_err(|error| error.cause)
}

#[test]
fn an_edit_replaces_a_source_or_a_part_of_it() {
    let read = edits(&json!([
        { "cell_index": 1, "cell_source": "" },
        { "id": "ab", "old_string": "x", "new_string": "", "cell_source": "" },
    ]))
    .unwrap();
    assert!(matches!(&read[0].change, SourceEdit::Source(source) if source.is_empty()));
    assert!(
        matches!(&read[1].change, SourceEdit::Part { old, new, all: false } if old == "x" && new.is_empty())
    );
    assert_eq!(read[1].cell.index(|cell| Ok(usize::from(*cell == CellRef::Id("ab".into())))).unwrap(), 1);
}

#[test]
fn what_is_wrong_with_an_edit_names_it() {
    for (wrong, expected) in [
        (json!({ "cell_source": "x" }), "cell_index or cell_id is needed"),
        (json!({ "cell_index": 0 }), "needs cell_source"),
        (json!({ "cell_index": 0, "old_string": "x" }), "new_string"),
        (json!({ "cell_index": 0, "old_string": "x", "new_string": "x" }), "the same"),
        (json!({ "cell_index": 0, "old_string": "x", "new_string": "y", "cell_source": "z" }), "not both"),
        (json!({ "cell_index": 0, "new_source": "x" }), "no argument \"new_source\""),
        (
            json!({ "cell_index": 0, "find": "x", "replacement": "y" }),
            "no argument \"find\"; did you mean \"old_string\"? An edit has no argument \"replacement\"; did you \
             mean \"new_string\"?",
        ),
    ] {
        let cause = edits(&json!([{ "cell_index": 0, "cell_source": "x" }, wrong])).unwrap_err();
        assert!(cause.starts_with("edits[1]: ") && cause.contains(expected), "{wrong}: {cause}");
    }
}

#[test]
fn a_name_is_renamed_after_the_edits() {
    let mut notebook = Notebook::new();
    for (index, source) in ["a = 1", "b = a # a", "print(b)"].into_iter().enumerate() {
        notebook.apply(&Edit::Insert { index, cell: NewCell::new(CellType::Code, source) }).unwrap();
    }
    let mut sources = BTreeMap::from([(2, "print(a, b)".to_owned())]);
    let notes = rename_in(&notebook, &mut sources, "a", "total").unwrap();
    assert_eq!(
        sources.into_iter().collect::<Vec<_>>(),
        [(0, "total = 1".to_owned()), (1, "b = total # a".into()), (2, "print(total, b)".into())]
    );
    assert_eq!(
        notes,
        ["Rename a to total: 3 place(s).", "a stays as text, attribute or local variable: cell 1, line 1."]
    );
    let refused = rename_in(&notebook, &mut BTreeMap::new(), "a", "b").unwrap_err().to_string();
    assert!(refused.contains("already a name in") && refused.ends_with(NOTHING_CHANGED), "{refused}");
}
