//! How the tools take arguments that models call by other names.

use calls::arguments::names;
use serde_json::{Value, json};

use super::given;
use crate::list::find;

/// The arguments of a call as its tool reads them, or why they are refused.
fn settled(tool: &str, values: &Value) -> Result<Value, String> {
    let mut given = given(values);
    let found = find(tool).unwrap();
    names::settle(found.name, &found.schema, found.only_reads(), &mut given).map_err(|error| error.cause)?;
    Ok(given.values().clone().into())
}

#[test]
fn a_notebook_is_named_in_many_ways() {
    for written in names::NOTEBOOK {
        let named = settled("delete_cell", &json!({ written: "b.ipynb" })).unwrap();
        assert_eq!(named, json!({ "notebook_name": "b.ipynb" }), "{written}");
        let opened = settled("use_notebook", &json!({ written: "b.ipynb" })).unwrap();
        let parameter = if written == "notebook_name" { written } else { "notebook_path" };
        assert_eq!(opened, json!({ parameter: "b.ipynb" }), "{written}");
    }
    let copied = settled("copy_notebook", &json!({ "notebook_path": "a.ipynb", "to": "b.ipynb" })).unwrap();
    assert_eq!(copied, json!({ "from": "a.ipynb", "to": "b.ipynb" }));
    // It has a path of another kind.
    let inspected = json!({ "name": "x", "path": ".shape" });
    assert_eq!(settled("inspect_variable", &inspected).unwrap(), inspected);
}

#[test]
fn a_source_has_many_names() {
    for written in names::SOURCE {
        let named = settled("overwrite_cell_source", &json!({ "cell_index": 0, written: "x" })).unwrap();
        assert_eq!(named, json!({ "cell_index": 0, "cell_source": "x" }), "{written}");
    }
    assert_eq!(settled("execute_code", &json!({ "source": "x" })).unwrap(), json!({ "code": "x" }));
    let two = json!({ "source": "x", "cell_source": "y" });
    assert!(settled("insert_cell", &two).unwrap_err().contains("the two values differ"));
}

#[test]
fn a_cell_named_in_the_singular_and_the_plural_must_be_one() {
    for (values, is_accepted) in [
        (json!({ "cell_indices": [0], "cell_index": 0 }), true),
        (json!({ "cell_indices": [0], "cell_index": 1 }), false),
        (json!({ "cell_ids": ["c0"], "cell_id": "c1" }), false),
        (json!({ "cell_ids_to_delete": "c0", "cell_id": "c0" }), true),
    ] {
        assert_eq!(settled("delete_cell", &values).is_ok(), is_accepted, "{values}");
    }
}

#[test]
fn one_notebook_is_named_twice_and_two_are_refused() {
    let both = json!({ "notebook_name": "b", "notebook_path": "data/b.ipynb" });
    assert_eq!(settled("read_notebook", &both).unwrap(), json!({ "notebook_name": "b" }));
    let two = json!({ "notebook_name": "a", "path": "b.ipynb" });
    let cause = settled("delete_cell", &two).unwrap_err();
    assert!(cause.contains("name two"), "{cause}");
}

#[test]
fn what_a_tool_does_not_have_is_refused_with_the_nearest() {
    for (tool, name, expected) in [
        ("delete_cell", "preveiw", "delete_cell has no argument \"preveiw\"; did you mean \"preview\"?"),
        ("delete_cell", "indices", "did you mean \"cell_indices\"?"),
        ("edit_cell_source", "id", "did you mean \"cell_id\"?"),
        ("read_cell", "cell_number", "did you mean \"cell_index\"?"),
        ("delete_cell", "index", "did you mean \"cell_indices\"?"),
        ("delete_cell", "dry_run", "did you mean \"preview\"?"),
        ("run_cells", "start", "did you mean \"from\"?"),
        ("read_notebook", "start", "did you mean \"start_index\"?"),
        ("move_cell", "from_index", "did you mean \"source_index\"?"),
        ("execute_cell", "preview_only", "did you mean \"preview\"?"),
        ("execute_code", "qqq", "It takes: code, timeout"),
        ("list_kernels", "qqq", "It takes none"),
        ("execute_code", "preview", "execute_code has no preview."),
        ("delete_cell", "_path", "delete_cell has no argument \"_path\""),
        ("delete_cell", "_cell_indices", "did you mean \"cell_indices\"?"),
    ] {
        let cause = settled(tool, &json!({ name: true })).unwrap_err();
        assert!(cause.contains(expected), "{tool} {name}: {cause}");
    }
}

#[test]
fn what_clients_add_is_ignored() {
    for name in place::ADDED_BY_CLIENTS.into_iter().chain(["_meta", "__x"]) {
        assert_eq!(settled("list_kernels", &json!({ name: "because" })).unwrap(), json!({}), "{name}");
    }
    assert_eq!(settled("read_cell", &json!({ "preview": true })).unwrap(), json!({}));
    assert_eq!(settled("get_run", &json!({ "notebook_name": "a" })).unwrap(), json!({}));
    // Here it is the tool's own.
    let asked = json!({ "packages": ["six"], "reason": "to test" });
    assert_eq!(settled("add_packages", &asked).unwrap(), asked);
}

#[test]
fn what_is_empty_is_not_given() {
    for empty in [json!(null), json!(""), json!([]), json!({}), json!("null"), json!([""]), json!([{}])] {
        assert_eq!(settled("list_kernels", &json!({ "filter": empty })).unwrap(), json!({}), "{empty}");
    }
}
