//! JSON in few words: its data as numbers of values and their ranges, without what only styles a chart.

use notebook::{Json, truncate};

use crate::base64_json;

/// A longer list is summarized, and a longer object or list of objects is cut.
const MAX_LISTED: usize = 12;
const MAX_PARTS: usize = 40;
/// The longest single value, in characters.
const MAX_VALUE: usize = 80;
/// The deepest nesting that is read.
const MAX_DEPTH: usize = 8;
/// Members of charts that say nothing about their data.
const STYLE: &str = include_str!("outline/style.txt");

/// A value with all within it.
pub(crate) fn outline(json: &Json) -> String {
    within(json, MAX_DEPTH)
}

fn within(json: &Json, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return "…".to_owned() };
    if let Some(numbers) = typed(json) {
        let shape = json.member("shape").and_then(|shape| Some(shape.text()?.replace(", ", "×")));
        return range(&numbers, shape);
    }
    if json.is_object() {
        let members = json.members().filter(|(name, _)| !STYLE.lines().any(|it| it == name));
        let members = members.map(|(name, value)| format!("{name}: {}", within(&value, depth)));
        return format!("{{{}}}", members.take(MAX_PARTS).collect::<Vec<_>>().join(", "));
    }
    let elements: Vec<Json> = json.elements().collect();
    let first = elements.iter().find(|value| value.as_str() != "null");
    let is_number =
        |value: &Json| matches!(value.as_str().as_bytes().first(), Some(b'-' | b'0'..=b'9' | b'n'));
    match first {
        _ if !json.as_str().starts_with('[') => truncate(json.as_str(), MAX_VALUE).into_owned(),
        Some(first) if elements.len() > MAX_PARTS && first.is_object() => {
            format!("{} like {}", elements.len(), within(first, depth))
        }
        Some(first) if elements.len() > MAX_LISTED && is_number(first) && elements.iter().all(is_number) => {
            range(&elements.iter().map(|value| value.decode().unwrap_or(f64::NAN)).collect::<Vec<_>>(), None)
        }
        Some(first) if elements.len() > MAX_LISTED && !first.is_object() => {
            format!("{} values like {}", elements.len(), within(first, depth))
        }
        _ => {
            format!("[{}]", elements.iter().map(|value| within(value, depth)).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The number of numbers, or their shape, with the smallest and the largest of them.
fn range(numbers: &[f64], shape: Option<String>) -> String {
    let finite = || numbers.iter().copied().filter(|value| value.is_finite());
    let ends = [finite().reduce(f64::min), finite().reduce(f64::max)].map(|end| end.map(short));
    let [least, most] = ends.map(Option::unwrap_or_default);
    let missing = numbers.len() - finite().count();
    let missing = if missing > 0 { format!(" ({missing} missing)") } else { String::new() };
    format!("{} values {least}…{most}{missing}", shape.unwrap_or_else(|| numbers.len().to_string()))
}

/// A number with at most six digits.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    let is_plain = rounded == 0.0 || (1e-5..1e15).contains(&rounded.abs());
    if is_plain { rounded.to_string() } else { format!("{rounded:e}") }
}

/// Plotly's form for arrays of numpy: `{"dtype": "f8", "bdata": "…", "shape": "20, 30"}`.
#[allow(clippy::cast_lossless, clippy::cast_precision_loss, reason = "six digits are shown")]
fn typed(json: &Json) -> Option<Vec<f64>> {
    let dtype: String = json.member("dtype")?.decode().ok()?;
    let data = base64_json::decode(&json.member("bdata")?, usize::MAX / 2)?;
    macro_rules! numbers {
        ($number:ty) => {{
            let (chunks, _) = data.as_chunks::<{ size_of::<$number>() }>();
            chunks.iter().map(|bytes| <$number>::from_le_bytes(*bytes) as f64).collect()
        }};
    }
    Some(match dtype.as_str() {
        "f8" => numbers!(f64),
        "f4" => numbers!(f32),
        "i1" => numbers!(i8),
        "u1" | "uc" => numbers!(u8),
        "i2" => numbers!(i16),
        "u2" => numbers!(u16),
        "i4" => numbers!(i32),
        "u4" => numbers!(u32),
        "i8" => numbers!(i64),
        "u8" => numbers!(u64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_is_summarized_and_style_left_out() {
        for (value, expected) in [
            (json!([1, 2.5, null, "a"]), "[1, 2.5, null, \"a\"]"),
            (json!((0..100).map(|n| f64::from(n) / 3.0).collect::<Vec<_>>()), "100 values 0…33"),
            (json!((0..100).map(|n| format!("n{n}")).collect::<Vec<_>>()), "100 values like \"n0\""),
            (json!(vec![json!({ "a": 1, "b": [2] }); 50]), "50 like {a: 1, b: [2]}"),
            (json!({ "dtype": "i1", "bdata": "AQL/" }), "3 values -1…2"),
            (json!({ "dtype": "u2", "bdata": "AQACAAMABAA=", "shape": "2, 2" }), "2×2 values 1…4"),
            (
                json!({ "type": "bar", "marker": { "color": "red" }, "x": ["a"] }),
                "{type: \"bar\", x: [\"a\"]}",
            ),
            (json!([[1e-9, null], []]), "[[1e-9, null], []]"),
        ] {
            assert_eq!(outline(&Json::from_value(&value)), expected);
        }
        let mut gaps = vec![json!(null); 20];
        gaps[3] = json!(1e30);
        assert_eq!(outline(&Json::from_value(&json!(gaps))), "20 values 1e30…1e30 (19 missing)");
        let mut deep = json!(1);
        (0..100).for_each(|_| deep = json!({ "layer": [deep.clone()] }));
        assert!(outline(&Json::from_value(&deep)).contains('…'));
    }
}
