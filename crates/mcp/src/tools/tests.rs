mod messages;

use super::*;
use crate::permissions::Permissions;
use shared::given::tests::given;
use shared::waiting::RunArguments;

const ALL: Capabilities = Capabilities { can_connect: true, can_show: true };

fn definitions() -> impl Iterator<Item = Value> {
    list(ALL).map(|(_, listed)| serde_json::from_str(listed.definition.get()).unwrap())
}

#[test]
fn only_available_tools_are_listed() {
    let names = |capabilities| -> Vec<_> { list(capabilities).map(|(tool, _)| tool.name).collect() };
    let without = |one: &str| -> Vec<_> { names(ALL).into_iter().filter(|name| *name != one).collect() };
    assert_eq!(names(ALL).len(), TOOLS.len());
    assert_eq!(names(Capabilities { can_connect: false, ..ALL }), without("connect_to_jupyter"));
    assert_eq!(names(Capabilities { can_show: false, ..ALL }), without("open_in_browser"));
}

#[test]
fn definitions_match_their_snapshots() {
    for definition in definitions() {
        let name = definition["name"].as_str().unwrap().to_owned();
        insta::assert_json_snapshot!(name, definition);
    }
}

#[test]
fn the_whole_list_costs_a_model_at_most_5000_tokens() {
    let bytes: usize = definitions()
        .map(|definition| {
            let text = |member: &str| definition[member].as_str().unwrap().len();
            text("name") + text("description") + definition["inputSchema"].to_string().len()
        })
        .sum();
    assert!(bytes / 4 <= 5000, "{} tokens", bytes / 4);
}

#[test]
fn older_names_lead_to_tools_and_are_not_listed() {
    for name in older_names::all() {
        assert!(find(name).is_some(), "{name}");
        assert!(TOOLS.iter().all(|tool| tool.name != name), "{name} is listed");
    }
}

#[test]
fn each_tool_needs_its_permission() {
    let reader = Permissions { read: true, write: false, execute: false };
    let writer = Permissions { write: true, ..reader };
    let runner = Permissions { execute: true, ..reader };
    for (name, expected) in [
        ("read_notebook", [true, true, true]),
        ("use_notebook", [true, true, true]),
        ("insert_cell", [false, true, false]),
        ("delete_cell", [false, true, false]),
        ("execute_cell", [false, false, true]),
        ("restart_notebook", [false, false, true]),
        ("unuse_notebook", [false, false, true]),
        ("interrupt_kernel", [false, false, true]),
    ] {
        let permission = find(name).unwrap().permission;
        let is_allowed = [reader, writer, runner].map(|user| user.permit(permission, name).is_ok());
        assert_eq!(is_allowed, expected, "{name}");
    }
}

#[test]
fn an_edit_that_runs_needs_the_permission_to_execute() {
    let writer = Permissions { read: true, write: true, execute: false };
    let permit = |user, values| given(&values).read::<RunArguments>().unwrap().permit(user, "insert_cell");
    assert!(permit(writer, json!({})).is_ok());
    let refusal = permit(writer, json!({ "run": true })).unwrap_err();
    assert!(refusal.cause.contains("insert_cell with run"), "{refusal}");
    assert!(permit(Permissions::default(), json!({ "run": true })).is_ok());
}

#[test]
fn read_only_tools_need_only_the_permission_to_read() {
    for tool in TOOLS.iter().filter(|tool| matches!(tool.effect, Effect::Reads)) {
        assert_eq!(tool.permission, Permission::Read, "{}", tool.name);
    }
}
