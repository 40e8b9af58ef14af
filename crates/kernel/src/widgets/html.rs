use notebook::markup::{HtmlString, State, Token, Tokens};

/// The text of HTML, a line for each block and each row of a table.
pub(super) fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut tokens = Tokens::of(html);
    let mut skipped: Option<HtmlString> = None;
    while let Some(token) = tokens.next() {
        match token {
            Token::StartTag(tag) => match &**tag.name {
                b"script" | b"style" if !tag.self_closing => {
                    tokens.set_state(State::RawText);
                    skipped = Some(tag.name);
                }
                b"li" => {
                    line(&mut text);
                    text.push_str("- ");
                }
                b"td" | b"th" if !text.is_empty() && !text.ends_with('\n') => text.push('\t'),
                b"img" => {
                    let description = tag.attributes.get(b"alt".as_slice());
                    let description = description.map(|alt| decoded(alt)).unwrap_or_default();
                    text.push_str(&if description.is_empty() {
                        "[image]".to_owned()
                    } else {
                        format!("[image: {description}]")
                    });
                }
                name if is_block(name) => line(&mut text),
                _ => {}
            },
            Token::EndTag(tag) if skipped.as_ref() == Some(&tag.name) => skipped = None,
            Token::EndTag(tag) if is_block(&tag.name) => line(&mut text),
            Token::String(part) if skipped.is_none() => add_words(&mut text, &decoded(&part)),
            _ => {}
        }
    }
    text.trim_matches('\n').trim_end().to_owned()
}

fn is_block(name: &[u8]) -> bool {
    let names =
        ["br", "p", "div", "tr", "table", "ul", "ol", "li", "hr", "pre", "h1", "h2", "h3", "h4", "h5", "h6"];
    names.iter().any(|block| block.as_bytes() == name)
}

fn line(text: &mut String) {
    text.truncate(text.trim_end_matches([' ', '\t']).len());
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Adds text in which white space counts as one space, as a browser shows it.
fn add_words(text: &mut String, part: &str) {
    for char in part.chars() {
        let is_space = matches!(char, ' ' | '\t' | '\n' | '\r' | '\u{c}');
        if !is_space {
            text.push(char);
        } else if !text.is_empty() && !text.ends_with([' ', '\n', '\t']) {
            text.push(' ');
        }
    }
}

fn decoded(bytes: &HtmlString) -> String {
    String::from_utf8_lossy(bytes).replace(['\u{a0}', '\u{2007}'], " ")
}
