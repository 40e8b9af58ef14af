//! Finds the cells of a table in a line of plain text.

/// Something else stands where a cell was looked for.
pub(super) struct NotThere;

/// A text in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Its place, in characters.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The text as the line has it, if the HTML has another one.
    pub(super) exact: Option<String>,
    /// Whether a character that looks like a space stands between spaces beside it: it may belong to this text or to its neighbour.
    pub(super) is_beside_unusual: bool,
}

/// Where `cell` is the next text of the line, and `None` if it is empty.
///
/// In its HTML, pandas removes all kinds of spaces from both ends of a text, and writes each two spaces as two non-breaking ones.
pub(super) fn find(line: &[char], cell: &str, at: &mut usize) -> Result<Option<Found>, NotThere> {
    if cell.is_empty() {
        return Ok(None);
    }
    let is_space = |place: usize| line.get(place).is_some_and(|character| character.is_whitespace());
    let is_unusual = |place: usize| is_space(place) && line[place] != ' ';
    let Some(begin) = (*at..line.len()).find(|place| !is_space(*place)) else { return Err(NotThere) };
    let spelled = |text: &str| {
        let end = begin + text.chars().count();
        let is_there = line.get(begin..end)?.iter().copied().map(as_space).eq(text.chars().map(as_space));
        (is_there && (end == line.len() || is_space(end))).then_some((text.to_owned(), end))
    };
    // Left out rows are `...` in HTML, and as many dots as fit in plain text.
    let dots = || line[begin..].iter().take_while(|character| **character == '.').count();
    if let Some((text, end)) = spelled(cell).or_else(|| spelled(&bare(cell))) {
        let start = (*at..begin).rev().take_while(|place| is_unusual(*place)).last().unwrap_or(begin);
        let end = (end..line.len()).find(|place| !is_unusual(*place)).unwrap_or(line.len());
        let is_beside_unusual =
            (*at..start).chain((end..line.len()).take_while(|place| is_space(*place))).any(is_unusual);
        let exact: String = line[start..end].iter().collect();
        *at = end;
        let exact = (exact != text).then_some(exact);
        Ok(Some(Found { start, end, exact, is_beside_unusual }))
    } else if cell == "..." && (1..3).contains(&dots()) {
        *at = begin + dots();
        Ok(None)
    } else {
        Err(NotThere)
    }
}

fn as_space(character: char) -> char {
    if character == '\u{a0}' { ' ' } else { character }
}

/// A cell without the quotes and escapes that it has because of spaces or hidden characters in it.
pub(super) fn bare(cell: &str) -> String {
    let Some(inner) = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')) else {
        return cell.to_owned();
    };
    let mut text = String::new();
    let mut rest = inner;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let code = after.strip_prefix("u{").and_then(|code| code.split_once('}'));
        let character = code.and_then(|(digits, _)| char::from_u32(u32::from_str_radix(digits, 16).ok()?));
        match (character, code, after.chars().next()) {
            (Some(character), Some((_, after)), _) => {
                text.push(character);
                rest = after;
            }
            (_, _, Some(next)) => {
                text.push(match next {
                    't' => '\t',
                    'r' => '\r',
                    'n' => '\n',
                    '0' => '\0',
                    other => other,
                });
                rest = &after[next.len_utf8()..];
            }
            (_, _, None) => rest = "",
        }
    }
    text + rest
}
