//! What charts of all libraries have.

use notebook::Json;

use crate::html::readable;

/// The most traces, views or columns that are described.
pub(super) const MAX_PARTS: usize = 40;

/// A title: a string, or an object with a member `text`.
pub(super) fn title(json: &Json) -> Option<String> {
    let member = json.member("text");
    let text = json.multiline_text().or_else(|| member.as_ref()?.multiline_text())?;
    let text = readable(&text).text;
    (!text.is_empty()).then_some(text)
}
