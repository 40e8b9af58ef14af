//! One output as text.

use notebook::{Json, Output, Text, truncate};

use crate::bundle::{self, Rendered};
use crate::data_uri::without_data_uris;
use crate::terminal::{self, Terminal};
use crate::{image, size, traceback};

/// The end of a stream in which its last line is searched, in bytes.
const STREAM_END: usize = 16 * 1024;
/// Minimum length of each end of a long stream that is rendered for an excerpt, in bytes.
const RENDERED_END: usize = 64 * 1024;
/// In characters.
const MAX_LAST_LINE: usize = 200;

/// The whole readable text of one output, without trailing line breaks.
///
/// Streams, plain text and tracebacks appear as on a terminal: without escape sequences, with progress bars in their last
/// state, and with repeated lines counted. Of other contents the most informative MIME type is taken. Images are described
/// in one line.
pub fn full_text(output: &Output) -> String {
    match output {
        Output::Stream { text, .. } => printed(text.pieces()),
        Output::Display(bundle) | Output::Result { bundle, .. } => match bundle::render(bundle) {
            Rendered::Text(text) | Rendered::Illustrated(text, _) | Rendered::Description(text) => text,
            Rendered::Image(source) => {
                let lines = [Some(image::description(&source)), source.plain];
                lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
            }
        },
        Output::Error { name, value, traceback } => {
            without_data_uris(&traceback::traceback(name, value, traceback)).into_owned()
        }
        Output::Other(json) => unknown(json),
    }
}

/// Printed text as a terminal shows it.
pub(crate) fn printed<'t>(pieces: impl IntoIterator<Item = &'t str>) -> String {
    let mut text = String::new();
    pieces_text(pieces, |piece| text.push_str(piece));
    text
}

/// The place in `text`, as it was printed, behind which everything comes that `shown`, the start of what a terminal shows of it, lacks.
pub(crate) fn printed_offset(text: &str, shown: &str) -> usize {
    if text.starts_with(shown) {
        return shown.len();
    }
    let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let is_within = |end: &usize| printed([&text[..*end]]).len() <= shown.len();
    starts[..starts.partition_point(is_within)].last().copied().unwrap_or_default()
}

/// A piece of a stream.
pub(crate) enum Piece<'t> {
    Text(&'t str),
    /// Between the ends of a long stream, as it was printed.
    Between(&'t str),
}

/// Passes the readable text of a stream to `sink` piece by piece, for an excerpt with at most `kept` characters of both ends: of a long stream, only the ends are rendered.
pub(crate) fn stream_ends(text: &Text, kept: usize, mut sink: impl FnMut(Piece<'_>)) {
    let end = RENDERED_END.max(8 * kept);
    if text.len() <= 4 * end {
        return pieces_text(text.pieces(), |piece| sink(Piece::Text(piece)));
    }
    let tail = text.part(text.len() - end, text.len());
    let line = tail.find('\n').map_or(0, |at| at + 1);
    pieces_text([&*text.part(0, end)], |piece| sink(Piece::Text(piece)));
    sink(Piece::Between(&text.part(end, text.len() - tail.len() + line)));
    pieces_text([&tail[line..]], |piece| sink(Piece::Text(piece)));
}

fn pieces_text<'t>(pieces: impl IntoIterator<Item = &'t str>, mut sink: impl FnMut(&str)) {
    let mut terminal = Terminal::new(|piece: &str| sink(&without_data_uris(piece)));
    pieces.into_iter().for_each(|piece| terminal.write(piece));
    terminal.finish();
}

fn unknown(json: &Json) -> String {
    let kind =
        json.member("output_type").and_then(|kind| Some(kind.text()?.into_owned())).unwrap_or_default();
    format!("[output of the unknown type {kind:?}, {}]", size(json.as_str().len()))
}

/// The last line of a stream that is not empty, in at most 200 characters: for progress messages.
///
/// It reads only the end of the stream.
pub fn last_line(text: &Text) -> String {
    let mut end: Vec<&str> = Vec::new();
    let mut length = 0;
    for piece in text.pieces().rev() {
        let mut start = piece.len().saturating_sub(STREAM_END - length);
        while !piece.is_char_boundary(start) {
            start += 1;
        }
        length += piece.len() - start;
        end.push(&piece[start..]);
        if length >= STREAM_END {
            break;
        }
    }
    end.reverse();
    let end = terminal::render_pieces(end);
    let line = end.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    truncate(line, MAX_LAST_LINE).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_line_shows_the_state_of_a_progress_bar() {
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
    fn data_uris_are_short_in_every_kind_of_text() {
        let uri = format!("data:image/svg;base64,{}", "A".repeat(40_000));
        let stream = Output::Stream { name: "stdout".to_owned(), text: Text::from(&*format!("a {uri} b")) };
        let of = |mime: &str, text: &str| {
            let data = Json::from_value(&json!({ mime: text }));
            Output::Display(notebook::MimeBundle { data, metadata: Json::empty_object() })
        };
        let mut outputs = vec![stream];
        for mime in ["text/plain", "text/html", "text/markdown", "text/latex", "application/json", "text/x"] {
            outputs.push(of(mime, &format!("a {uri} b")));
        }
        for output in outputs {
            let text = full_text(&output);
            assert!(text.len() < 200, "{}", &text[..200]);
            assert!(text.contains("image/svg"), "{text}");
        }
    }

    #[test]
    fn an_unknown_output_is_described() {
        let output = Output::Other(Json::from_value(&json!({ "output_type": "hologram" })));
        assert_eq!(full_text(&output), "[output of the unknown type \"hologram\", 26 B]");
    }
}
