//! Describes a series of values briefly.

use std::borrow::Cow;

use notebook::{Json, truncate};

use super::parts::MAX_PARTS;
use crate::base64_json;

/// A series with at most this many values, in at most `MAX_LISTED_CHARACTERS`, is listed.
const MAX_LISTED: usize = 12;
const MAX_LISTED_CHARACTERS: usize = 120;
/// The longest first or last value in a summary, in characters.
const MAX_END: usize = 41;
/// Of a table with more rows only the number of rows is given.
const MAX_ROWS: usize = 100_000;

/// All values of a short series, else their number and range. `None` if it is not a series.
pub(super) fn series(json: &Json) -> Option<String> {
    if let Some(numbers) = typed(json) {
        let shape = json.member("shape");
        let shape = shape.as_ref().and_then(Json::text).map(|shape| shape.replace(", ", "×"));
        return Some(numeric(&numbers, shape));
    }
    if !json.as_str().starts_with('[') {
        return None;
    }
    Some(summary(&json.elements().collect::<Vec<_>>()))
}

fn summary(values: &[Json]) -> String {
    if values.len() <= MAX_LISTED {
        let all: Vec<String> = values.iter().map(written).collect();
        let all = format!("[{}]", all.join(", "));
        if all.chars().count() <= MAX_LISTED_CHARACTERS {
            return all;
        }
    }
    let kind = |value: &Json| value.as_str().bytes().next().unwrap_or_default();
    let shown: Vec<&Json> = values.iter().filter(|value| kind(value) != b'n').collect();
    if shown.iter().all(|value| matches!(kind(value), b'-' | b'0'..=b'9')) {
        return numeric(
            &values.iter().map(|value| value.decode().unwrap_or(f64::NAN)).collect::<Vec<_>>(),
            None,
        );
    }
    if shown.iter().all(|value| kind(value) == b'[') {
        let rows: Vec<Vec<Option<f64>>> = shown.iter().filter_map(|row| row.decode().ok()).collect();
        if let Some(width) = rows.first().map(Vec::len).filter(|_| rows.len() == values.len()) {
            let numbers: Vec<f64> =
                rows.into_iter().flatten().map(|number| number.unwrap_or(f64::NAN)).collect();
            return numeric(&numbers, Some(format!("{}×{width}", values.len())));
        }
    }
    let end = |value: Option<&&Json>| {
        let text = value.map(|value| written(value)).unwrap_or_default();
        truncate(&text, MAX_END).into_owned()
    };
    format!("{} values {}…{}", values.len(), end(shown.first()), end(shown.last()))
}

fn numeric(numbers: &[f64], shape: Option<String>) -> String {
    if numbers.len() <= MAX_LISTED && shape.is_none() {
        let all: Vec<String> = numbers.iter().map(|value| number(*value)).collect();
        return format!("[{}]", all.join(", "));
    }
    let finite = || numbers.iter().copied().filter(|value| value.is_finite());
    let (smallest, largest) = (finite().reduce(f64::min), finite().reduce(f64::max));
    let count = shape.unwrap_or_else(|| numbers.len().to_string());
    match (smallest, largest) {
        (Some(smallest), Some(largest)) => {
            let missing = numbers.len() - finite().count();
            let missing = if missing > 0 { format!(" ({missing} missing)") } else { String::new() };
            format!("{count} values {}…{}{missing}", number(smallest), number(largest))
        }
        _ => format!("{count} values"),
    }
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

/// A number with at most six digits.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded != 0.0 && !(1e-5..1e15).contains(&rounded.abs()) {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

/// A value as JSON without unnecessary escapes.
fn written(value: &Json) -> String {
    let text = value.as_str();
    if let Ok(value) = text.parse::<f64>() {
        return number(value);
    }
    if text.contains("\\u") { value.to_value().to_string() } else { text.to_owned() }
}

/// Describes a list of objects as a table: the number of rows, and each column.
pub(crate) fn columns(records: &Json) -> String {
    let records: Vec<_> = records.elements().collect();
    let rows = if records.len() == 1 { "1 row".to_owned() } else { format!("{} rows", records.len()) };
    if records.is_empty() || records.len() > MAX_ROWS {
        return rows;
    }
    let mut columns: Vec<(Cow<'_, str>, Vec<Json>)> = Vec::new();
    for record in &records {
        for (place, (name, value)) in record.members().enumerate() {
            // Nearly all records have the same members in the same order.
            let place = match columns.get(place) {
                Some((found, _)) if *found == name => Some(place),
                _ => columns.iter().position(|(found, _)| *found == name),
            };
            match place {
                Some(place) => columns[place].1.push(value),
                None if columns.len() < MAX_PARTS => columns.push((name, vec![value])),
                None => {}
            }
        }
    }
    let columns: Vec<String> =
        columns.into_iter().map(|(name, values)| format!("{name} {}", summary(&values))).collect();
    if columns.is_empty() { rows } else { format!("{rows}: {}", columns.join("; ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described(value: &serde_json::Value) -> String {
        series(&Json::from_value(value)).unwrap_or_default()
    }

    #[test]
    fn a_short_series_is_listed() {
        assert_eq!(described(&json!([1, 2.5, null, "a"])), "[1, 2.5, null, \"a\"]");
        assert_eq!(described(&json!([0.1 + 0.2, 1e-9, 1e30])), "[0.3, 1e-9, 1e30]");
        assert_eq!(described(&json!([])), "[]");
        let escaped = Json::parse(bytes::Bytes::from_static(br#"["K\u00f6ln", "\n"]"#)).unwrap();
        assert_eq!(series(&escaped).unwrap(), "[\"Köln\", \"\\n\"]");
    }

    #[test]
    fn a_long_series_is_summarized() {
        let numbers: Vec<f64> = (0..100).map(|n| f64::from(n) / 3.0).collect();
        assert_eq!(described(&json!(numbers)), "100 values 0…33");
        let names: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
        assert_eq!(described(&json!(names)), "100 values \"n0\"…\"n99\"");
        let mut gaps = vec![json!(null); 20];
        gaps[3] = json!(7);
        assert_eq!(described(&json!(gaps)), "20 values 7…7 (19 missing)");
        assert_eq!(described(&json!(vec![json!([1, 2, null]); 30])), "30×3 values 1…2 (30 missing)");
        assert_eq!(described(&json!(vec![json!(null); 30])), "30 values");
    }

    #[test]
    fn typed_arrays_are_decoded() {
        assert_eq!(described(&json!({ "dtype": "i1", "bdata": "AQL/" })), "[1, 2, -1]");
        assert_eq!(
            described(&json!({ "dtype": "u2", "bdata": "AQACAAMABAA=", "shape": "2, 2" })),
            "2×2 values 1…4"
        );
        assert_eq!(described(&json!({ "dtype": "c16", "bdata": "AQL/" })), "");
        assert_eq!(described(&json!(7)), "");
    }

    #[test]
    fn a_table_is_described_by_column() {
        let records = json!([{ "a": 1, "b": "x" }, { "a": 2 }, { "b": "y", "c": null }]);
        let text = columns(&Json::from_value(&records));
        assert_eq!(text, "3 rows: a [1, 2]; b [\"x\", \"y\"]; c [null]");
        assert_eq!(columns(&Json::from_value(&json!([]))), "0 rows");
        assert_eq!(columns(&Json::from_value(&json!([1]))), "1 row");
    }
}
