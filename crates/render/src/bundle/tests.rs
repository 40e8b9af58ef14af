use serde_json::{Value, json};

use super::*;

fn shown_of(data: &Value) -> String {
    let bundle = MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() };
    match shown(&bundle) {
        Shown::Text(text) | Shown::Told(text) => text,
        Shown::Picture(picture) => picture.with_plain(format!("picture: {}", picture.mime)),
    }
}

#[test]
fn a_picture_goes_first() {
    let data =
        json!({ "text/plain": "<Figure>", "image/jpeg": "", "image/png": "", "text/html": "<b>x</b>" });
    assert_eq!(shown_of(&data), "picture: image/png");
    assert_eq!(shown_of(&json!({ "image/gif": "", "image/svg+xml": "<svg/>" })), "picture: image/gif");
    assert_eq!(shown_of(&json!({ "image/png": "", "text/latex": "$x$", "text/plain": "x" })), "$x$");
    // A typeset number is a number as well.
    assert_eq!(shown_of(&json!({ "image/png": "", "text/plain": "42" })), "picture: image/png\n42");
}

#[test]
fn a_picture_may_have_a_label() {
    let metadata = Json::from_value(&json!({ "image/png": { "alt": "a cat", "width": 3 } }));
    let bundle = MimeBundle { data: Json::from_value(&json!({ "image/png": "" })), metadata };
    assert!(matches!(shown(&bundle), Shown::Picture(picture) if picture.label.as_deref() == Some("a cat")));
}

#[test]
fn a_table_in_html_is_preferred_where_it_is_not_much_longer() {
    let html = "<table><tr><th></th><th>a</th></tr><tr><th>0</th><td>1</td></tr></table>";
    assert_eq!(shown_of(&json!({ "text/html": html, "text/plain": "   a\n0  1" })), "\ta\n0\t1");
    let folded = format!("{html}<p>{}</p>", "fold me ".repeat(20));
    assert_eq!(shown_of(&json!({ "text/html": folded, "text/plain": "Model()" })), "Model()");
}

#[test]
fn html_that_only_frames_an_image_is_the_image() {
    let html = |rest: &str| format!("<div><img alt='a' src='data:image/png;base64,AAAA'></div>{rest}");
    assert_eq!(
        shown_of(&json!({ "text/html": html(""), "text/plain": "<HTML object>" })),
        "picture: image/png"
    );
    assert_eq!(shown_of(&json!({ "text/html": html("and text") })), "[image: a, image/png, 3 B]\nand text");
    let two = html("") + &html("");
    assert_eq!(
        shown_of(&json!({ "text/html": two })),
        "[image: a, image/png, 3 B]\n[image: a, image/png, 3 B]"
    );
    let svg = html("").replace("png", "svg+xml");
    assert_eq!(shown_of(&json!({ "text/html": svg })), "[image: a, image/svg+xml, 3 B]");
}

#[test]
fn html_without_a_table_is_taken_only_where_plain_text_says_nothing() {
    let html = "<div>Hello <b>you</b></div>";
    assert_eq!(
        shown_of(&json!({ "text/html": html, "text/plain": "<IPython.core.display.HTML object>" })),
        "Hello you"
    );
    assert_eq!(shown_of(&json!({ "text/html": html, "text/plain": "Greeting('you')" })), "Greeting('you')");
    assert_eq!(shown_of(&json!({ "text/html": html })), "Hello you");
    assert_eq!(
        shown_of(&json!({ "text/html": "<script>run()</script>", "text/plain": "<HTML object>" })),
        "[text/html, 22 B: scripts, which only a browser runs]"
    );
    assert_eq!(shown_of(&json!({ "text/html": "<table></table>", "text/plain": "Empty" })), "Empty");
}

#[test]
fn what_r_writes_in_every_form_is_taken_in_the_shortest() {
    let vector = json!({
        "text/html": "<style>\n.list-inline {list-style: none}</style>\n<ol class=list-inline><li>1</li><li>2</li></ol>\n",
        "text/latex": "\\begin{enumerate*}\n\\item 1\n\\item 2\n\\end{enumerate*}\n",
        "text/markdown": "1. 1\n2. 2\n\n\n", "text/plain": "[1] 1 2",
    });
    assert_eq!(shown_of(&vector), "[1] 1 2");
}

#[test]
fn json_is_compact_and_markdown_is_as_it_is() {
    let data =
        json!({ "application/json": { "a": [1, 2] }, "text/plain": "<IPython.core.display.JSON object>" });
    assert_eq!(shown_of(&data), "{\"a\":[1,2]}");
    assert_eq!(
        shown_of(&json!({ "text/markdown": "# A\n\n*b*\n", "text/plain": "<Markdown>" })),
        "# A\n\n*b*"
    );
}

#[test]
fn what_a_front_end_draws_is_told() {
    let widget = json!({ "application/vnd.jupyter.widget-view+json": { "model_id": "1" }, "text/plain": "IntSlider()" });
    assert_eq!(shown_of(&widget), "[widget, as it was at first: IntSlider()]");
    assert_eq!(shown_of(&json!({ "application/vnd.jupyter.widget-view+json": {} })), "[widget]");
    assert_eq!(
        shown_of(&json!({ "application/javascript": "x()" })),
        "[application/javascript, 3 B, not run]"
    );
    assert_eq!(
        shown_of(&json!({ "application/vnd.plotly.v1+json": { "data": [{}] } })),
        "[plotly chart]\nscatter"
    );
    assert_eq!(
        shown_of(&json!({ "application/vnd.vegalite.v6.json": { "mark": "bar" } })),
        "[vega-lite chart]\nbar"
    );
    let bokeh = json!({ "application/vnd.bokehjs_exec.v0+json": "", "text/html": "<div></div>" });
    assert_eq!(shown_of(&bokeh), "[chart of Bokeh, which only a browser draws]");
    let table = json!({ "application/vnd.dataresource+json": { "data": [{ "a": 1 }] } });
    assert_eq!(shown_of(&table), "[table] 1 row: a [1]");
    let point = json!({ "application/geo+json": { "type": "Point", "coordinates": [1, 2] } });
    assert_eq!(shown_of(&point), "[GeoJSON: 1 Point]");
}

#[test]
fn unknown_types_are_named() {
    assert_eq!(shown_of(&json!({ "application/x": { "a": 1 } })), "[application/x] {\"a\":1}");
    assert_eq!(shown_of(&json!({ "application/x": vec![0; 400] })), "[application/x, 801 B]");
    assert_eq!(shown_of(&json!({ "application/pdf": "JVBERi0x".repeat(10) })), "[application/pdf, 60 B]");
    assert_eq!(shown_of(&json!({ "application/x": "", "text/plain": "better" })), "better");
    assert_eq!(shown_of(&json!({ "application/x": "a", "text/plain": "<X>" })), "[application/x, 0 B] <X>");
    assert_eq!(shown_of(&json!({ "text/x-rst": "a *b*" })), "a *b*");
    assert_eq!(shown_of(&json!({})), "");
    assert_eq!(shown_of(&json!({ "text/plain": "<object>" })), "<object>");
    assert_eq!(shown_of(&json!({ "application/x": 1, "text/plain": "<a>\n<b>" })), "<a>\n<b>");
    assert_eq!(shown_of(&json!({ "text/plain": 7 })), "");
}

#[test]
fn plain_text_is_cleaned() {
    assert_eq!(shown_of(&json!({ "text/plain": ["\u{1b}[1ma\u{1b}[0m\n", "b  \n"] })), "a\nb");
    assert_eq!(shown_of(&json!({ "text/markdown": "\u{1b}[1ma\u{1b}[0m\r\nb" })), "a\nb");
}
