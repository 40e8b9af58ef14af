//! The list of variables, in the form in which the handler answers it: `answers.py`.

use std::collections::BTreeMap;

use globset::Glob;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::secrets::is_secret;

const HIDDEN: &str = "<hidden: its name looks like a secret>";
/// How many names of a kind are given that was not asked for.
const MAX_OTHERS: usize = 12;

/// One variable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) r#type: String,
    /// `data`, `function`, `class` or `module`; nothing is data.
    pub(super) kind: String,
    pub(super) size: String,
    pub(super) value: String,
}

#[derive(Deserialize)]
#[serde(default)]
struct Given {
    pattern: String,
    kinds: Vec<String>,
    limit: usize,
    sort: String,
}

impl Default for Given {
    fn default() -> Self {
        Self { pattern: String::new(), kinds: Vec::new(), limit: 50, sort: "name".to_owned() }
    }
}

/// The variables that were asked for, which are given in the order in which the kernel knows them.
pub(super) fn listed(rows: Vec<Row>, given: &Value) -> Value {
    let given = Given::deserialize(given).unwrap_or_default();
    let is_all = given.kinds.iter().any(|kind| kind == "all");
    let mut wanted = Vec::new();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let pattern = given.pattern.to_lowercase();
    let glob = Glob::new(&given.pattern).ok().filter(|_| pattern.contains(['*', '?']));
    let glob = glob.map(|glob| glob.compile_matcher());
    let is_match = |name: &str| match &glob {
        Some(glob) => glob.is_match(name),
        None if pattern.is_empty() => !name.starts_with('_'),
        None => name.to_lowercase().contains(&pattern),
    };
    for mut row in rows.into_iter().filter(|row| is_match(&row.name)) {
        if row.kind.is_empty() {
            "data".clone_into(&mut row.kind);
        }
        let is_wanted = given.kinds.contains(&row.kind) || (given.kinds.is_empty() && row.kind == "data");
        if !is_all && !is_wanted {
            others.entry(row.kind).or_default().push(row.name);
            continue;
        }
        if !row.value.is_empty() && is_secret(&row.name) {
            HIDDEN.clone_into(&mut row.value);
        }
        wanted.push(row);
    }
    match given.sort.as_str() {
        by @ ("size" | "name") => wanted.sort_by(|one, other| match by {
            "size" => items(&other.size).cmp(&items(&one.size)),
            _ => one.name.to_lowercase().cmp(&other.name.to_lowercase()),
        }),
        _ => wanted.reverse(),
    }
    let total = wanted.len();
    wanted.truncate(given.limit);
    let others: BTreeMap<String, Value> = others
        .into_iter()
        .map(|(kind, mut names)| {
            names.sort_unstable();
            let count = names.len();
            names.truncate(MAX_OTHERS);
            (kind, json!({ "count": count, "names": names }))
        })
        .collect();
    json!({ "total": total, "rows": wanted, "others": others })
}

/// How many items a size means, such as `3×4`.
fn items(size: &str) -> u64 {
    size.split('×').map(|part| part.parse::<u64>().unwrap_or(0)).fold(1, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, kind: &str, size: &str, value: &str) -> Row {
        let [name, kind, size, value] = [name, kind, size, value].map(str::to_owned);
        Row { name, r#type: "T".to_owned(), kind, size, value }
    }

    fn names(given: &Value) -> Vec<String> {
        let rows = vec![
            row("beta", "", "2×3", ""),
            row("Alpha", "data", "4", "1"),
            row("_hidden", "data", "", ""),
            row("api.token", "data", "", "hush"),
            row("area", "function", "", ""),
        ];
        let listed = listed(rows, given);
        assert!(!listed.to_string().contains("hush"), "{listed}");
        let rows = listed["rows"].as_array().unwrap();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn rows_are_chosen_by_pattern_kind_and_order() {
        assert_eq!(names(&json!({})), ["Alpha", "api.token", "beta"]);
        assert_eq!(names(&json!({ "sort": "size", "limit": 2 })), ["beta", "Alpha"]);
        assert_eq!(names(&json!({ "sort": "latest", "kinds": ["data", "function"] }))[0], "area");
        assert_eq!(names(&json!({ "pattern": "HID" })), ["_hidden"]);
        assert_eq!(names(&json!({ "pattern": "*a", "kinds": ["all"] })), ["Alpha", "area", "beta"]);
        assert_eq!(names(&json!({ "pattern": "?eta*" })), ["beta"]);
        let long = "*a".repeat(100) + "b";
        assert_eq!(names(&json!({ "pattern": long, "kinds": ["all"] })), [""; 0]);
        let others = &listed(vec![row("f", "function", "", "")], &json!({}))["others"];
        assert_eq!(*others, json!({ "function": { "count": 1, "names": ["f"] } }));
    }
}
