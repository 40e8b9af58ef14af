mod documents;
mod properties;

use serde_json::{Map, Value, json};

use super::{EditObstacle, Target, put, read, remove};
use crate::client::Format;
use crate::entry::Block;

const JSON: Target = Target { format: Format::Json, keys: &["mcpServers"], name: "cellbridge" };
const TOML: Target = Target { format: Format::Toml, keys: &["mcp_servers"], name: "cellbridge" };
const YAML: Target = Target { format: Format::Yaml, keys: &["extensions"], name: "cellbridge" };

fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn block() -> Block {
    Block {
        fields: fields(&json!({ "command": "/bin/cellbridge", "args": ["--read-only", "it's \"x\""] })),
        defaults: fields(&json!({ "timeout": 600 })),
        obsolete: vec!["url".to_owned()],
        inputs: Vec::new(),
    }
}

fn put_text(text: &str, target: Target) -> String {
    put(text, target, &block()).unwrap()
}

#[test]
fn keys_that_the_person_added_stay() {
    let json = "{\"mcpServers\": {\n  \"cellbridge\": {\n    \"url\": \"x\", // ours\n    \"timeout\": 5,\n    \"mine\": {\"a\": 1} // theirs\n  }\n}}";
    insta::assert_snapshot!(put_text(json, JSON));
    let toml =
        "[mcp_servers.cellbridge] # ours\nurl = \"x\"\ntimeout = 5\nmine = [1] # theirs\n\n[other]\na = 1\n";
    insta::assert_snapshot!(put_text(toml, TOML));
    let yaml = "extensions:\n  cellbridge:\n    url: x\n    timeout: 5\n    mine: [1] # theirs\n  other:\n    a: 1\n";
    insta::assert_snapshot!(put_text(yaml, YAML));
}

#[test]
fn values_that_changed_are_replaced_and_nothing_else() {
    let other = Block { fields: fields(&json!({ "command": "/new", "args": [] })), ..block() };
    for target in [JSON, TOML, YAML] {
        let first = put_text("", target);
        let second = put(&first, target, &other).unwrap();
        let expected = json!({ "command": "/new", "args": [], "timeout": 600 });
        assert_eq!(read(&second, target).unwrap(), Some(expected), "{second}");
        assert_eq!(put(&second, target, &other).unwrap(), second);
    }
}

#[test]
fn a_value_of_another_type_on_the_way_is_left_alone() {
    let of = |text: &str, target| put(text, target, &block()).unwrap_err();
    for text in
        ["{\"mcpServers\": []}", "{\"mcpServers\": null}", "[]", "{\"mcpServers\": {\"cellbridge\": 1}}"]
    {
        assert!(matches!(of(text, JSON), EditObstacle::OtherType(_)), "{text}");
    }
    for text in ["mcp_servers = 1", "mcp_servers.cellbridge = 1", "[[mcp_servers]]"] {
        assert!(matches!(of(text, TOML), EditObstacle::OtherType(_)), "{text}");
    }
    for text in ["- a", "extensions: []", "extensions: text", "extensions:\n  cellbridge: 1"] {
        let refusal = of(text, YAML);
        assert!(matches!(refusal, EditObstacle::OtherType(_) | EditObstacle::Form(_)), "{text}: {refusal}");
    }
}

#[test]
fn a_text_that_cannot_be_parsed_is_left_alone() {
    for (target, text) in [
        (JSON, "{\"a\": 1"),
        (JSON, "{'a': 1}"),
        (JSON, "{\"a\": 1} {}"),
        (TOML, "a = "),
        (TOML, "a = 1\na = 2"),
        (YAML, "a: [1"),
        (YAML, "a: b: c"),
    ] {
        let refusal = put(text, target, &block()).unwrap_err();
        assert!(matches!(refusal, EditObstacle::Unparsable(_)), "{text}: {refusal}");
    }
}

#[test]
fn a_key_that_occurs_twice_is_left_alone() {
    let refusal = put("{\"mcpServers\": {}, \"mcpServers\": {}}", JSON, &block()).unwrap_err();
    assert_eq!(refusal, EditObstacle::Duplicate("mcpServers".to_owned()));
    let twice = "{\"mcpServers\": {\"cellbridge\": {}, \"cellbridge\": {\"a\": 1}}}";
    assert!(put(twice, JSON, &block()).is_err() && remove(twice, JSON, &[]).is_err());
}

#[test]
fn forms_that_cannot_hold_a_further_table_are_left_alone() {
    for text in ["mcp_servers = { other = { command = \"x\" } }", "mcp_servers.cellbridge.command = \"x\""] {
        assert!(put(text, TOML, &block()).is_err(), "{text}");
    }
    for text in ["extensions: {other: {a: 1}}", "a: 1\n---\nb: 2\n"] {
        let refusal = put(text, YAML, &block()).unwrap_err();
        assert!(matches!(refusal, EditObstacle::Form(_) | EditObstacle::OtherType(_)), "{text}: {refusal}");
    }
}

#[test]
fn an_entry_is_removed_from_whatever_the_person_made_of_it() {
    for (target, text, expected) in [
        (JSON, "{\"mcpServers\": {\"cellbridge\": {}, \"b\": 1}}", "{\"mcpServers\": {\"b\": 1}}"),
        (JSON, "{\"mcpServers\": {\"b\": 1, \"cellbridge\": {}}}", "{\"mcpServers\": {\"b\": 1}}"),
        (
            JSON,
            "{\"mcpServers\": {\n  \"b\": 1, // c\n  \"cellbridge\": {}}}",
            "{\"mcpServers\": {\n  \"b\": 1 // c\n}}",
        ),
        (
            JSON,
            "{\"mcpServers\": {\n  \"cellbridge\": {}, // c\n  \"b\": 1,\n}}",
            "{\"mcpServers\": {\n  // c\n  \"b\": 1,\n}}",
        ),
        (JSON, "{\"mcpServers\": {\n  \"cellbridge\": {}\n}}", "{}"),
        (JSON, "{\"mcpServers\": {\n  \"cellbridge\": {} // c\n}}", "{\"mcpServers\": {\n  // c\n}}"),
        (
            TOML,
            "a = 1\n\n[mcp_servers.cellbridge]\ncommand = \"x\"\n# c\n[mcp_servers.cellbridge.env]\nA = \"1\" # d\n\n[b]\n",
            "a = 1\n# c\n\n[b]\n",
        ),
        (
            TOML,
            "[mcp_servers]\ncellbridge = { command = \"x\" }\nb = { command = \"y\" }\n",
            "[mcp_servers]\nb = { command = \"y\" }\n",
        ),
        (
            TOML,
            "mcp_servers.cellbridge.command = \"x\"\nmcp_servers.b.command = \"y\"\n",
            "mcp_servers.b.command = \"y\"\n",
        ),
        (YAML, "extensions:\n  cellbridge:\n    a: 1\n", ""),
        (YAML, "extensions: # c\n  cellbridge:\n    a: 1\n", "extensions: {} # c\n"),
        (
            YAML,
            "extensions:\n  cellbridge:\n    a: 1\n    # c\n  b:\n    a: |\n      x\n",
            "extensions:\n    # c\n  b:\n    a: |\n      x\n",
        ),
    ] {
        assert_eq!(remove(text, target, &[]).unwrap(), expected);
    }
}

#[test]
fn inputs_are_added_once_and_removed() {
    let servers = Target { keys: &["servers"], ..JSON };
    let input = json!({ "id": "jupyter-token", "password": true });
    let block = Block { inputs: vec![input], ..block() };
    for text in [
        "",
        "{}",
        "{\n  // c\n  \"inputs\": [{\"id\": \"mine\"}],\n  \"servers\": {}\n}\n",
        "{\"inputs\": []}",
    ] {
        let edited = put(text, servers, &block).unwrap();
        assert_eq!(put(&edited, servers, &block).unwrap(), edited);
        let removed = remove(&edited, servers, &["jupyter-token".to_owned()]).unwrap();
        assert!(
            !removed.contains("jupyter-token") && removed.contains("mine") == text.contains("mine"),
            "{removed}"
        );
        assert_eq!(removed.contains("inputs"), text.contains("mine"), "{removed}");
    }
}
