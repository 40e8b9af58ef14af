mod arguments;
mod messages;
mod search;

use calls::arguments::given::Given;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::TOOLS;
use crate::list::{asked, find, list, offered};
use calls::arguments::older_names;
use calls::permissions::{Access, Group, Offer, Permission, Permissions, Policy};
use calls::tool::{Capabilities, Effect};

/// The arguments of a call of the tool `t`.
pub(crate) fn given(values: &Value) -> Given {
    let params = to_raw_value(&json!({ "name": "t", "arguments": values })).unwrap();
    Given::from_params("t", &params).unwrap()
}

const ALL: Capabilities = Capabilities::ALL;

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
    assert_eq!(names(Capabilities { can_consent: false, ..ALL }), without("add_packages"));
    let machines = ["list_machines", "start_machine", "stop_machine"];
    let mut others = names(ALL);
    others.retain(|name| !machines.contains(name));
    assert_eq!(names(Capabilities { has_machines: false, ..ALL }), others);
}

/// A line for each tool; `docs/tools.md` shows them to people.
#[test]
fn definitions_match_their_snapshot() {
    let lines: Vec<_> = definitions().map(|definition| definition.to_string()).collect();
    insta::assert_snapshot!("definitions", lines.join("\n"));
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
        ("unuse_notebook", [true, true, true]),
        ("interrupt_kernel", [false, false, true]),
    ] {
        let permission = find(name).unwrap().permission;
        let is_allowed = [reader, writer, runner].map(|user| user.permit(permission, name).is_ok());
        assert_eq!(is_allowed, expected, "{name}");
    }
}

#[test]
fn the_person_can_be_asked_about_each_tool_that_does_more_than_read() {
    for tool in TOOLS.iter().filter(|tool| tool.permission != Permission::Read) {
        for group in tool.groups {
            let policy = Policy { asked: vec![asked(group.name()).unwrap()], ..Policy::default() };
            let access = Access { policy: &policy, permissions: Permissions::default(), tool: tool.name };
            let refused = access.permit_unasked(tool.groups, tool.permission, tool.name);
            assert!(refused.is_err(), "{} {}", tool.name, group.name());
        }
    }
    for (name, offer) in [
        ("delete", Some(Offer::Group(Group::Delete))),
        ("run ", Some(Offer::Group(Group::Run))),
        ("execute_ipython", Some(Offer::Tool("execute_code"))),
        ("read", None),
        ("none", None),
    ] {
        assert_eq!(asked(name).ok(), offer, "{name}");
    }
    assert!(offered("delete").is_err(), "nothing is offered by it");
}

#[test]
fn tools_are_offered_by_group_by_name_and_by_older_names() {
    for (name, offer) in [
        ("read", Some(Offer::Group(Group::Read))),
        (" kernels ", Some(Offer::Group(Group::Kernels))),
        ("read_cell", Some(Offer::Tool("read_cell"))),
        ("execute_ipython", Some(Offer::Tool("execute_code"))),
        ("", None),
        ("Read", None),
        ("get_cells", None),
    ] {
        assert_eq!(offered(name).ok(), offer, "{name:?}");
    }
}

#[test]
fn under_read_only_no_tool_is_offered_that_writes_or_runs() {
    let policy = Policy { is_read_only: true, ..Policy::default() };
    for tool in TOOLS {
        assert!(!tool.groups.is_empty(), "{} belongs to no group", tool.name);
        assert_eq!(tool.is_offered(&policy), tool.permission == Permission::Read, "{}", tool.name);
        assert!(
            tool.permission == Permission::Read || !matches!(tool.effect, Effect::Reads),
            "{}",
            tool.name
        );
    }
}

#[test]
fn read_only_tools_need_only_the_permission_to_read() {
    for tool in TOOLS.iter().filter(|tool| matches!(tool.effect, Effect::Reads)) {
        assert_eq!(tool.permission, Permission::Read, "{}", tool.name);
    }
}
