//! Shows arbitrary HTML of an output and arbitrary Markdown of a cell, and looks for what could run or load something.
#![no_main]

use html::Context;
use libfuzzer_sys::fuzz_target;
use notebook::markup::{State, Token, Tokens};
use notebook::{CellType, Edit, Json, MimeBundle, NewCell, Notebook, Output};

const FORBIDDEN: [&str; 12] = [
    "script", "object", "embed", "base", "meta", "link", "form", "frame", "frameset", "applet", "portal",
    "template",
];

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut notebook = Notebook::new();
    let cell = NewCell::new(CellType::Markdown, &*text);
    let Ok(_) = notebook.apply(&Edit::Insert { index: 0, cell }) else { return };
    let no_widgets = |_: &str| None;
    let context = Context::new(&notebook, &no_widgets);
    check(html::cell(0, &notebook.cells()[0], &context).as_str());
    for mime in ["text/html", "image/svg+xml", "text/markdown", "text/latex"] {
        let data = Json::from_value(&serde_json::json!({ mime: text }));
        let output = Output::Display(MimeBundle { data, metadata: Json::empty_object() });
        check(html::output(&output, &context).as_str());
    }
});

fn check(html: &str) {
    let mut tokens = Tokens::of(html);
    while let Some(token) = tokens.next() {
        let Token::StartTag(tag) = token else { continue };
        let name = String::from_utf8_lossy(&tag.name).to_ascii_lowercase();
        assert!(!FORBIDDEN.contains(&&*name), "<{name}> in {html}");
        let attribute = |wanted: &str| {
            let mut all = tag.attributes.iter();
            all.find(|(name, _)| ***name == *wanted.as_bytes())
                .map(|(_, it)| String::from_utf8_lossy(it).into_owned())
        };
        if name == "iframe" {
            assert_eq!(attribute("sandbox").as_deref(), Some("allow-scripts"), "{html}");
        }
        for (name, value) in &tag.attributes {
            assert!(!name.to_ascii_lowercase().starts_with(b"on"), "{html}");
            let value: Vec<u8> = value.iter().copied().filter(|it| *it > b' ').collect();
            assert!(!value.to_ascii_lowercase().starts_with(b"javascript:"), "{html}");
        }
        match &*name {
            "style" | "xmp" | "noembed" | "noframes" => tokens.set_state(State::RawText),
            "title" | "textarea" => tokens.set_state(State::RcData),
            _ => {}
        }
    }
}
