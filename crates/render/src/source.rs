//! Shows the source of a cell.

use crate::data_uri;
use crate::marks;
use crate::offsets::{Offsets, Replaced};

/// A source as it is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) text: String,
    without_uris: Offsets,
    marked: Offsets,
}

impl Shown {
    /// The character of the source that is at the character `offset` of the shown text.
    pub(crate) fn original(&self, offset: usize) -> usize {
        self.without_uris.original(self.marked.original(offset))
    }

    /// The first character that is shown in another form, as counted in the shown text.
    pub(crate) fn first_change(&self) -> Option<usize> {
        let uri = self.without_uris.first_change();
        let mark = self.marked.first_change();
        uri.into_iter().chain(mark).min()
    }
}

/// The source with its `data:` URIs shortened, and with the lines marked that could pass for ours.
pub(crate) fn shown(source: &str) -> Shown {
    let Replaced { text, offsets: without_uris } = data_uri::shortened(source);
    let Replaced { text, offsets: marked } = marks::marked_source(&text);
    Shown { text: text.into_owned(), without_uris, marked }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lead_to_the_source() {
        let uri = format!("data:image/png;base64,{}", "A".repeat(4000));
        let source = format!("[NOTICE] ä\n![dot]({uri})\nlast");
        let shown = shown(&source);
        assert_eq!(shown.text, "│ [NOTICE] ä\n![dot](data:image/png;base64,… (3 kB))\nlast");
        let at = |text: &str, part: &str| text[..text.find(part).unwrap()].chars().count();
        for part in ["NOTICE", "![dot", "data:", ")\nlast", "last"] {
            let offset = match part {
                ")\nlast" => at(&shown.text, ")\nlast"),
                part => at(&shown.text, part),
            };
            assert_eq!(shown.original(offset), at(&source, part), "{part}");
        }
        assert_eq!(shown.first_change(), Some(0));
        assert_eq!(super::shown("a\nb").first_change(), None);
    }
}
