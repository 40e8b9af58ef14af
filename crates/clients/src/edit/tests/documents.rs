//! Configurations as people write them, at random.

#![expect(clippy::format_collect, reason = "short texts, and easier to read")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Line ends, a byte order mark, and whether the last line ends, on top of a text with `\n`.
fn dressed(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (text, any::<[bool; 3]>()).prop_map(|(text, [has_bom, is_crlf, is_cut])| {
        let text = if is_cut { text.trim_end().to_owned() } else { text };
        let text = if is_crlf { text.replace('\n', "\r\n") } else { text };
        if has_bom { format!("\u{feff}{text}") } else { text }
    })
}

fn json_space() -> impl Strategy<Value = String> {
    let part = select(vec!["", "", " ", "\n", "\n  ", "\t", " /* ä */ ", " // c, }\n", "\n\n"]);
    vec(part, 0..3).prop_map(|parts| parts.concat())
}

/// An object with distinct keys, in any layout.
fn json_object(
    keys: &'static [&'static str],
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let members = vec((value, [json_space(), json_space(), json_space(), json_space()]), 0..=keys.len());
    (members, json_space(), any::<bool>()).prop_map(|(members, space, has_trailing_comma)| {
        let count = members.len();
        let members = members.into_iter().enumerate().map(|(index, (value, [a, b, c, d]))| {
            let comma = if index + 1 < count || has_trailing_comma { "," } else { "" };
            format!("{a}\"{}\"{b}:{c}{value}{d}{comma}", keys[index])
        });
        format!("{{{}{space}}}", members.collect::<String>())
    })
}

pub(super) fn json() -> impl Strategy<Value = String> {
    let leaf = select(vec!["1", "\"// no }\"", "null", "[1, 2,]", "{}", "-1.5e3", "\"a\\\"ä\""])
        .prop_map(str::to_owned);
    let server = json_object(&["command", "args", "x"], leaf);
    let servers = json_object(&["a", "b"], server).boxed();
    let root = (any::<bool>(), json_object(&["first", "second"], servers.clone()), servers);
    let root = root.prop_flat_map(|(has_servers, other, servers)| {
        (json_space(), json_space(), any::<bool>()).prop_map(move |(before, after, is_last)| {
            let text = match (has_servers, is_last) {
                (false, _) => other.clone(),
                (true, true) => format!("{{\"x\": {other}, \"mcpServers\": {servers}}}"),
                (true, false) => format!("{{\n    \"mcpServers\": {servers}, \"x\": {other}\n}}"),
            };
            format!("{before}{text}{after}")
        })
    });
    dressed(prop_oneof![8 => root, 1 => json_space()])
}

pub(super) fn toml() -> impl Strategy<Value = String> {
    let value = select(vec![
        "1",
        "\"# no\"",
        "'x'",
        "[1, # c\n 2,\n]",
        "{ a = 1 }",
        "\"\"\"\n[t]\n\"\"\"",
        "1979-05-27",
        "1.5",
    ]);
    let line = (value, select(vec!["", " # c", "  "]), select(vec!["", "  ", "# c\n", "\n"]));
    let lines = vec(line, 0..3).prop_map(|lines| {
        let lines = lines.into_iter().enumerate();
        lines
            .map(|(index, (value, after, before))| format!("{before}k{index} = {value}{after}\n"))
            .collect::<String>()
    });
    let headers = vec![
        "[a]",
        "[ a.b ]",
        "[[list]]",
        "[mcp_servers.other]",
        "[mcp_servers.\"x y\".env]",
        "[mcp_servers]",
        "[z] # c",
    ];
    let sections = proptest::sample::subsequence(headers, 0..=7).prop_shuffle();
    let text = (lines.clone(), sections, vec(lines, 7)).prop_map(|(first, headers, bodies)| {
        let sections = headers.into_iter().zip(bodies).map(|(header, body)| format!("{header}\n{body}"));
        format!("{first}{}", sections.collect::<String>())
    });
    dressed(text)
}

pub(super) fn yaml() -> impl Strategy<Value = String> {
    let value = select(vec![
        " 1",
        " text # c",
        " 'a: b'",
        " \"ä\\n\"",
        "",
        " [1, 2]",
        " {a: 1}",
        " |\n      line\n      # no\n",
        " >-\n      x\n\n",
        "\n      - 1\n      - 2",
        "\n      deep: true",
        " null",
    ]);
    let line = (value, select(vec!["", "    # c\n", "\n"]));
    let entry = vec(line, 1..3).prop_map(|lines| {
        let lines = lines.into_iter().enumerate();
        lines.map(|(index, (value, before))| format!("{before}    k{index}:{value}\n")).collect::<String>()
    });
    let entries = vec(entry, 1..3).prop_map(|entries| {
        let entries = entries.into_iter().enumerate();
        entries.map(|(index, entry)| format!("  e{index}:\n{entry}")).collect::<String>()
    });
    let extensions = prop_oneof![
        4 => entries.prop_map(|entries| format!("extensions:\n{entries}")),
        1 => select(vec!["extensions:\n", "extensions: {}\n", "extensions: {} # c\n", "extensions: # c\n", ""]).prop_map(str::to_owned),
    ];
    let around = select(vec!["", "# c\n", "a: 1\n", "b: [x]\n\n", "list:\n- 1\n- 2\n", "text: |\n  x\n"]);
    let after = select(vec!["", "# d\n", "c: 1\n", "d:\n  - 1\n", "\n\n"]);
    dressed(
        (around, extensions, after)
            .prop_map(|(before, extensions, after)| format!("{before}{extensions}{after}")),
    )
}
