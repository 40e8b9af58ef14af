//! Renders outputs of a kernel for a language model.
//!
//! Everything here is pure, but for the memory of [`ShownOutputs`]: outputs in, text and images out, under one [`Budget`] for a whole reply.

mod base64_json;
mod budget;
mod bundle;
mod chars;
mod chart;
mod data_uri;
mod excerpt;
mod fence;
mod html;
mod image;
mod merge;
mod offsets;
mod output;
mod page;
mod reply;
mod shown_outputs;
mod svg;
mod terminal;
mod text_ends;
mod traceback;

pub use base64_json::decode_base64;
pub use budget::Budget;
pub use chart::Chart;
pub use data_uri::without_data_uris;
pub use excerpt::shortened;
pub use fence::quoted;
pub use merge::{merged, with_widget_texts};
pub use output::{full_text, last_line};
pub(crate) use page::paged;
pub use page::{page, paged_source};
pub use reply::{Part, Priority, Reply};
pub use shown_outputs::{Digest, ShownOutputs};
pub use svg::svg_file;
pub use terminal::{Colour, Style, StyledText, render as terminal_text, styled};
pub use traceback::is_rule;

/// A number of bytes in words: `12 kB`.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..999_500 => format!("{} kB", (bytes + 500) / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
