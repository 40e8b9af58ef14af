//! Reads HTML and SVG tag by tag.
//!
//! Only the tokenizer of `html5ever` is used. A tree would take ten times the memory and recursion, and nothing here needs
//! one.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tag, TokenSink, Tokenizer, TokenizerOpts};

/// The bytes that the tokenizer gets at once.
const CHUNK: usize = 64 * 1024;

/// Tokenizes the first `limit` bytes of `text`. Returns the sink and the number of bytes that were not read.
pub(crate) fn read<S: TokenSink<Handle = ()>>(sink: S, text: &str, limit: usize) -> (S, usize) {
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let read = &text[..boundary(text, limit)];
    let mut rest = read;
    while !rest.is_empty() {
        // A character has at most four bytes, so a chunk is never empty.
        let (chunk, after) = rest.split_at(boundary(rest, CHUNK));
        queue.push_back(StrTendril::from_slice(chunk));
        rest = after;
        // Only a sink that wants scripts to be run interrupts the tokenizer, and ours do not.
        let _ = tokenizer.feed(&queue);
    }
    tokenizer.end();
    (tokenizer.sink, text.len() - read.len())
}

/// The last character boundary up to `limit`.
fn boundary(text: &str, limit: usize) -> usize {
    let limit = limit.min(text.len());
    (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

pub(crate) fn attribute(tag: &Tag, name: &str) -> Option<String> {
    tag.attrs.iter().find(|found| &*found.name.local == name).map(|found| found.value.to_string())
}
