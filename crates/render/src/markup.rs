//! HTML and SVG, tag by tag.
//!
//! Only the tokenizer of `html5ever` is used. A tree would cost ten times the memory, and depth, and nothing that is
//! read here needs one.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tag, TokenSink, Tokenizer, TokenizerOpts};

/// How much is handed to the tokenizer at once.
const CHUNK: usize = 64 * 1024;

/// Hands the first `longest` bytes of `text` to `sink`; gives it back, with how many bytes it was not handed.
pub(crate) fn read<S: TokenSink<Handle = ()>>(sink: S, text: &str, longest: usize) -> (S, usize) {
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let read = &text[..boundary(text, longest)];
    let mut rest = read;
    while !rest.is_empty() {
        // A character has at most four bytes, so that a chunk is never empty.
        let (chunk, after) = rest.split_at(boundary(rest, CHUNK));
        queue.push_back(StrTendril::from_slice(chunk));
        rest = after;
        // A sink that never asks for a script to be run never interrupts the tokenizer.
        let _ = tokenizer.feed(&queue);
    }
    tokenizer.end();
    (tokenizer.sink, text.len() - read.len())
}

/// The last place up to `limit` between two characters.
fn boundary(text: &str, limit: usize) -> usize {
    let limit = limit.min(text.len());
    (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

pub(crate) fn attribute(tag: &Tag, name: &str) -> Option<String> {
    tag.attrs.iter().find(|found| &*found.name.local == name).map(|found| found.value.to_string())
}
