//! Pages of the documents that are generated from this program's own tables. A test compares each; `cargo xtask docs`
//! writes them.

mod migration;
mod settings;

use std::path::Path;

/// Everything below this line is generated.
const MARK: &str = "<!-- Everything below is generated: run `cargo xtask docs`. -->\n";

/// Compares the generated part of a page, or writes it for `cargo xtask docs`.
fn check(page: &str, generated: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(&file).unwrap();
    let by_hand = text.split_once(MARK).expect("the page has the line above the generated part").0;
    let expected = format!("{by_hand}{MARK}{generated}");
    if std::env::var_os("CELLBRIDGE_PAGES").is_some() {
        std::fs::write(&file, expected).unwrap();
    } else {
        assert!(text == expected, "docs/{page} is out of date: run `cargo xtask docs`");
    }
}

/// Text within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
