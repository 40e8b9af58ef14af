//! Which styles a notebook may give its text.

/// The properties that change a box, its border and its text, and move nothing over anything else.
const PROPERTIES: &str = include_str!("style.txt");

/// The functions that make a colour or a bar in a cell's background.
const FUNCTIONS: [&str; 5] = ["rgb", "rgba", "hsl", "hsla", "linear-gradient"];

/// Longer values are no styles of text.
const MAX_VALUE: usize = 400;

/// The declarations that are allowed, each with its semicolon.
pub(crate) fn declarations(style: &str) -> String {
    let mut allowed = String::new();
    let (mut has_background, mut has_colour) = (false, false);
    for (name, value) in style.split(';').filter_map(|part| part.split_once(':')) {
        let name = name.trim().to_ascii_lowercase();
        let value = value.trim().to_ascii_lowercase();
        let value = value.strip_suffix("!important").unwrap_or(&value).trim_end();
        if !PROPERTIES.lines().any(|it| it == name) || !is_allowed(&name, value) {
            continue;
        }
        has_background |= name.starts_with("background") && value != "transparent";
        has_colour |= name == "color";
        allowed.push_str(&format!("{name}:{value};"));
    }
    // Whoever chose a background had dark text on it.
    if has_background && !has_colour {
        allowed.push_str("color:#111;");
    }
    allowed
}

fn is_allowed(name: &str, value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"#%.,() +-".contains(&byte);
    if value.is_empty() || value.len() > MAX_VALUE || !value.bytes().all(is_plain) {
        return false;
    }
    let functions_are_known = value.match_indices('(').all(|(at, _)| {
        let start =
            value[..at].rfind(|c: char| !c.is_ascii_alphanumeric() && c != '-').map_or(0, |at| at + 1);
        FUNCTIONS.contains(&&value[start..at])
    });
    // Brackets that do not match would change how the next declarations are read.
    let is_balanced = value.matches('(').count() == value.matches(')').count();
    functions_are_known && is_balanced && (name != "display" || value == "none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_declarations_stay() {
        for (style, expected) in [
            ("color: Red", "color:red;"),
            ("color:#fff; position:fixed; top:0", "color:#fff;"),
            (
                "background-color: rgb(1, 2, 3); color: #000000",
                "background-color:rgb(1, 2, 3);color:#000000;",
            ),
            ("background-color:yellow", "background-color:yellow;color:#111;"),
            (
                "background: linear-gradient(90deg, #d65f5f 50.0%, transparent 50.0%)",
                "background:linear-gradient(90deg, #d65f5f 50.0%, transparent 50.0%);color:#111;",
            ),
            ("width: 10em !important", "width:10em;"),
            ("display:none", "display:none;"),
            ("display:flex", ""),
            ("background:url(https://x/)", ""),
            ("background:u\\72l(x)", ""),
            ("color:expression(alert(1))", ""),
            ("color:red}body{display:none", ""),
            ("width:calc(100vw)", ""),
            ("color:rgb(1", ""),
            ("color:var(--cb-ink)", ""),
            ("font-family:'x'", ""),
            ("margin-left:-100px", ""),
            ("--cb-ink:red", ""),
            ("behavior:x", ""),
            ("color:/**/red", ""),
            ("color", ""),
        ] {
            assert_eq!(declarations(style), expected, "{style:?}");
        }
    }
}
