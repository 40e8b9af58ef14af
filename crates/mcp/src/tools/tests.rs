mod messages;

use super::*;

const ALL: Abilities = Abilities { can_connect: true, can_show: true };

#[test]
fn what_is_not_possible_is_not_listed() {
    let names = |abilities| -> Vec<_> { list(abilities).map(|tool| tool.name.as_str()).collect() };
    let without = |one: &str| -> Vec<_> { names(ALL).into_iter().filter(|name| *name != one).collect() };
    assert_eq!(names(ALL).len(), TOOLS.len());
    assert_eq!(names(Abilities { can_connect: false, ..ALL }), without("connect_to_jupyter"));
    assert_eq!(names(Abilities { can_show: false, ..ALL }), without("open_in_browser"));
}

#[test]
fn each_tool_stands_in_its_snapshot() {
    for tool in list(ALL) {
        let definition: Value = serde_json::from_str(tool.definition.get()).unwrap();
        assert_eq!(definition["name"], tool.name.as_str());
        insta::assert_json_snapshot!(tool.name.as_str(), definition);
    }
}

#[test]
fn the_whole_list_costs_a_model_at_most_5000_tokens() {
    let bytes: usize = list(ALL)
        .map(|tool| {
            let definition: Value = serde_json::from_str(tool.definition.get()).unwrap();
            let text = |member: &str| definition[member].as_str().unwrap().len();
            text("name") + text("description") + definition["inputSchema"].to_string().len()
        })
        .sum();
    assert!(bytes / 4 <= 5000, "{} tokens", bytes / 4);
}

#[test]
fn every_older_name_leads_to_a_tool() {
    for name in older_names::all() {
        assert!(known(older_names::translate(name).unwrap()).is_some(), "{name}");
        assert!(known(name).is_none(), "{name} is listed");
    }
}
