//! `IJulia`: silent and empty, with an expression for its user, which it answers as plain text.

use std::time::Duration;

use super::list::Row;
use crate::Client;
use crate::memory::MemoryError;
use crate::memory::silent::{hex_answer, silent_expression};
use crate::messages::Channel;

/// Fields end with `\x1f` and rows with `\x1e`, all of it in hexadecimal digits: `Text` is shown as it is, a string would be
/// quoted and cut. Only of built-in types more is asked than the name of the type.
const EXPRESSION: &str = r#"let text = IOBuffer()
    for name in names(Main)
        isdefined(Main, name) && !startswith(string(name), '#') || continue
        value = getfield(Main, name)
        kind = value isa Module ? "module" : value isa Type ? "class" : value isa Function ? "function" : "data"
        size = value isa Array ? join(Base.size(value), '×') : value isa Union{String, Dict, Set, Tuple} ? string(length(value)) : ""
        shown = value isa Union{Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float32, Float64, Symbol, Nothing} ?
            repr(value) : value isa String ? repr(first(value, 60)) : ""
        print(text, name, '\x1f', kind, '\x1f', nameof(typeof(value)), '\x1f', size, '\x1f', shown, '\x1e')
    end
    Text(bytes2hex(take!(text)))
end"#;

pub(super) async fn rows(client: &Client, waited: Duration) -> Result<Vec<Row>, MemoryError> {
    let request = silent_expression(EXPRESSION.to_owned());
    let reply = client
        .ask("execute_request", Channel::Shell, request, waited)
        .await
        .map_err(MemoryError::between_runs)?;
    let text = hex_answer(&reply).and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(read(&text.ok_or(MemoryError::Unsupported)?))
}

fn read(text: &str) -> Vec<Row> {
    let rows = text.split_terminator('\x1e').map(|row| row.split('\x1f').map(str::to_owned).collect());
    rows.filter_map(|fields: Vec<String>| {
        let [name, kind, r#type, size, value] = fields.try_into().ok()?;
        Some(Row { name, r#type, kind, size, value })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_rows_are_separated() {
        let rows = read("x\x1fdata\x1fInt64\x1f\x1f42\x1em\x1fdata\x1fArray\x1f2×3\x1f\x1e");
        let shown: Vec<_> = rows.iter().map(|row| [&row.name, &row.r#type, &row.size, &row.value]).collect();
        assert_eq!(shown, [["x", "Int64", "", "42"], ["m", "Array", "2×3", ""]]);
        assert_eq!(read("broken"), []);
    }
}
