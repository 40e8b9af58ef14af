//! What clients put into the arguments of calls by themselves.

use serde_json::Value;

/// What clients add to every call, or to calls without arguments. It says nothing about what the call does.
pub const ADDED_BY_CLIENTS: [&str; 17] = [
    "description",
    "dummy",
    "explanation",
    "intent",
    "random_string",
    "rationale",
    "reason",
    "reasoning",
    "requires_approval",
    "security_risk",
    "summary",
    "task_progress",
    "thinking",
    "thought",
    "toolAction",
    "toolSummary",
    "waitForPreviousTools",
];

/// Whether a client means by this value that the argument is left out.
pub fn is_left_out(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => {
            let text = text.trim();
            text.is_empty()
                || ["null", "none", "undefined", "[]", "{}"]
                    .iter()
                    .any(|word| text.eq_ignore_ascii_case(word))
        }
        Value::Array(values) => values.iter().all(is_left_out),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
