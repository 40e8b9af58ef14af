//! One output as text.

use notebook::{Json, Output, Text};

use crate::bundle::{self, Shown};
use crate::extent::first;
use crate::terminal::{self, Terminal};
use crate::{image, size, traceback};

/// How much of the end of a stream is looked at for its last line, in bytes.
const END: usize = 16 * 1024;
/// The longest last line, in characters.
const LINE: usize = 200;

/// The whole readable text of one output, without line breaks at its end.
///
/// Streams, plain text and tracebacks are cleaned of escapes, with progress bars at their last state and repeated
/// lines counted; of other contents the form that tells a model most is taken; images are described in a line.
pub fn full_text(output: &Output) -> String {
    match output {
        Output::Stream { text, .. } => terminal::shown_pieces(text.pieces()),
        Output::Display(bundle) | Output::Result { bundle, .. } => match bundle::shown(bundle) {
            Shown::Text(text) | Shown::Told(text) => text,
            Shown::Picture(picture) => picture.with_plain(image::description(&picture)),
        },
        Output::Error { name, value, traceback } => traceback::traceback(name, value, traceback),
        Output::Other(json) => other(json),
    }
}

/// The same for a stream, handed on piece by piece.
pub(crate) fn stream_text(text: &Text, sink: impl FnMut(&str)) {
    let mut terminal = Terminal::new(sink);
    text.pieces().for_each(|piece| terminal.write(piece));
    terminal.finish();
}

/// An output of a type that nbformat does not know.
pub(crate) fn other(json: &Json) -> String {
    let kind =
        json.member("output_type").and_then(|kind| Some(kind.text()?.into_owned())).unwrap_or_default();
    format!("[output of the unknown type {kind:?}, {}]", size(json.as_str().len()))
}

/// The last line of a stream that is not empty, cleaned, at most 200 characters: for progress messages.
///
/// Looks at the end of the stream only, however long it is.
pub fn last_line(text: &Text) -> String {
    let mut end: Vec<&str> = Vec::new();
    let mut length = 0;
    for piece in text.pieces().rev() {
        let mut start = piece.len().saturating_sub(END - length);
        while !piece.is_char_boundary(start) {
            start += 1;
        }
        length += piece.len() - start;
        end.push(&piece[start..]);
        if length >= END {
            break;
        }
    }
    end.reverse();
    let shown = terminal::shown_pieces(end);
    let line = shown.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= LINE { line.to_owned() } else { format!("{}…", first(line, LINE - 1)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_line_is_the_state_of_a_progress_bar() {
        assert_eq!(last_line(&Text::from("start\n 10%\r 20%\r 30%")), "30%");
        assert_eq!(last_line(&Text::from("epoch 1\n\x1b[32mepoch 2\x1b[0m\n\n  \n")), "epoch 2");
        assert_eq!(last_line(&Text::default()), "");
    }

    #[test]
    fn the_last_line_of_a_long_stream_is_found_at_its_end() {
        let mut text = Text::default();
        (0..100_000).for_each(|n| text.push(&format!("zeile {n} ä\n")));
        assert_eq!(last_line(&text), "zeile 99999 ä");
        text.push(&"ä".repeat(100_000));
        let line = last_line(&text);
        assert_eq!(line.chars().count(), 200);
        assert!(line.ends_with("ä…"));
    }

    #[test]
    fn an_unknown_output_is_named() {
        let output = Output::Other(Json::from_value(&json!({ "output_type": "hologram" })));
        assert_eq!(full_text(&output), "[output of the unknown type \"hologram\", 26 B]");
    }
}
