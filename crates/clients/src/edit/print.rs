//! Values as JSON, in the style of the text around them.

use serde_json::Value;

/// How a new value is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Layout<'a> {
    OneLine,
    /// The indentation of the line on which the value begins, and what each level adds.
    Lines {
        indent: &'a str,
        unit: &'a str,
    },
}

pub(super) fn value(value: &Value, layout: Layout) -> String {
    match (value, layout) {
        (Value::Object(fields), Layout::Lines { indent, unit }) if !fields.is_empty() => {
            let inner = format!("{indent}{unit}");
            let lines = fields.iter().map(|(key, value)| {
                format!("{inner}{}", property(key, value, Layout::Lines { indent: &inner, unit }))
            });
            format!("{{\n{}\n{indent}}}", lines.collect::<Vec<_>>().join(",\n"))
        }
        (Value::Object(fields), _) if !fields.is_empty() => {
            let fields = fields.iter().map(|(key, value)| property(key, value, Layout::OneLine));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        (Value::Array(items), layout) => {
            let items = items.iter().map(|item| self::value(item, layout));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        (other, _) => other.to_string(),
    }
}

pub(super) fn property(key: &str, value: &Value, layout: Layout) -> String {
    format!("{}: {}", Value::from(key), self::value(value, layout))
}
