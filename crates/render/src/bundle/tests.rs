use serde_json::{Value, json};

use super::*;

fn rendered(data: &Value) -> String {
    let bundle = MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() };
    match render(&bundle) {
        Rendered::Text(text) | Rendered::Description(text) => text,
        Rendered::Illustrated(text, images) => format!("{text} + {} images", images.len()),
        Rendered::Image(source) => {
            let plain = source.plain.map(|plain| format!("\n{plain}")).unwrap_or_default();
            format!("image: {}{plain}", source.mime)
        }
    }
}

#[test]
fn an_image_is_preferred() {
    let data =
        json!({ "text/plain": "<Figure>", "image/jpeg": "", "image/png": "", "text/html": "<b>x</b>" });
    assert_eq!(rendered(&data), "image: image/png");
    assert_eq!(rendered(&json!({ "image/gif": "", "image/svg+xml": "<svg/>" })), "image: image/gif");
    assert_eq!(rendered(&json!({ "image/png": "", "text/latex": "$x$", "text/plain": "x" })), "$x$");
    // A typeset number is a number as well.
    assert_eq!(rendered(&json!({ "image/png": "", "text/plain": "42" })), "image: image/png\n42");
}

#[test]
fn an_image_can_have_alternative_text() {
    let metadata = Json::from_value(&json!({ "image/png": { "alt": "a cat", "width": 3 } }));
    let bundle = MimeBundle { data: Json::from_value(&json!({ "image/png": "" })), metadata };
    assert!(matches!(render(&bundle), Rendered::Image(source) if source.label.as_deref() == Some("a cat")));
}

#[test]
fn an_html_table_is_preferred_unless_much_longer() {
    let html = "<table><tr><th></th><th>a</th></tr><tr><th>0</th><td>1</td></tr></table>";
    assert_eq!(rendered(&json!({ "text/html": html, "text/plain": "   a\n0  1" })), "\ta\n0\t1");
    let folded = format!("{html}<p>{}</p>", "fold me ".repeat(20));
    assert_eq!(rendered(&json!({ "text/html": folded, "text/plain": "Model()" })), "Model()");
}

#[test]
fn html_with_nothing_but_an_image_becomes_the_image() {
    let html = |rest: &str| format!("<div><img alt='a' src='data:image/png;base64,AAAA'></div>{rest}");
    assert_eq!(
        rendered(&json!({ "text/html": html(""), "text/plain": "<HTML object>" })),
        "image: image/png"
    );
    assert_eq!(
        rendered(&json!({ "text/html": html("and text") })),
        "[image: a, image/png, 3 B]\nand text + 1 images"
    );
    let two = html("") + &html("");
    assert_eq!(
        rendered(&json!({ "text/html": two })),
        "[image: a, image/png, 3 B]\n[image: a, image/png, 3 B] + 2 images"
    );
    let svg = html("").replace("png", "svg+xml");
    assert_eq!(rendered(&json!({ "text/html": svg })), "[image: a, image/svg+xml, 3 B]");
}

#[test]
fn a_drawing_in_html_is_one_as_in_its_own_type() {
    let drawing = |inner: &str| format!("<div><svg width='40' height='30'>{inner}</svg></div>");
    let plot = drawing("<path d='M0 0L40 30' stroke='red'/>");
    assert_eq!(
        rendered(&json!({ "text/html": plot, "text/plain": "<Plot at 0x7f>" })),
        "image: image/svg+xml"
    );
    assert_eq!(
        rendered(&json!({ "text/html": format!("<p>a</p>{plot}") })),
        "a\n[image: image/svg+xml 40×30, 104 B] + 1 images"
    );
    let labelled = drawing("<text>left</text><text>right</text>");
    let described = "[image: image/svg+xml 40×30, 104 B; its texts: left, right]";
    assert_eq!(rendered(&json!({ "text/html": labelled, "text/plain": "<Plot at 0x7f>" })), described);
    let flood = drawing(&"<path d='M0 0L40 30'/>".repeat(20_000));
    let shown = rendered(&json!({ "text/html": format!("{flood}<p>end</p>") }));
    assert!(shown.len() < 200 && shown.contains("end"), "{shown}");
}

#[test]
fn html_without_a_table_is_used_if_plain_text_says_nothing() {
    let html = "<div>Hello <b>you</b></div>";
    assert_eq!(
        rendered(&json!({ "text/html": html, "text/plain": "<IPython.core.display.HTML object>" })),
        "Hello you"
    );
    assert_eq!(rendered(&json!({ "text/html": html, "text/plain": "Greeting('you')" })), "Greeting('you')");
    assert_eq!(rendered(&json!({ "text/html": html })), "Hello you");
    assert_eq!(
        rendered(&json!({ "text/html": "<script>run()</script>", "text/plain": "<HTML object>" })),
        "[text/html, 22 B: scripts, which only a browser can run]"
    );
    assert_eq!(rendered(&json!({ "text/html": "<table></table>", "text/plain": "Empty" })), "Empty");
}

#[test]
fn an_empty_form_gives_way_to_one_with_text() {
    let bundle = |mime: &str, empty: &str| json!({ mime: empty, "text/plain": "Model(a=1)" });
    for mime in ["text/html", "text/latex", "text/markdown"] {
        assert_eq!(rendered(&bundle(mime, "")), "Model(a=1)");
        assert_eq!(rendered(&bundle(mime, " \n")), "Model(a=1)");
    }
    for (mime, empty) in [
        ("text/latex", "$\\displaystyle $"),
        ("text/latex", "$$"),
        ("text/markdown", "<div></div>"),
        ("text/markdown", "$$"),
        ("text/html", "<div>&nbsp;</div>"),
        ("text/html", "<table><tr><td></td></tr></table>"),
        ("text/html", "\u{200b}"),
    ] {
        assert_eq!(rendered(&bundle(mime, empty)), "Model(a=1)", "{empty}");
        let object = json!({ mime: empty, "text/plain": "<A object at 0x1>" });
        assert_eq!(rendered(&object), "<A object at 0x1>", "{empty}");
    }
    let picture = json!({ "image/png": "", "text/latex": "$$", "text/plain": "<A>" });
    assert_eq!(rendered(&picture), "image: image/png");
    assert_eq!(
        rendered(&json!({ "text/html": "<div></div>", "text/markdown": "**a**", "text/plain": "<A>" })),
        "**a**"
    );
    assert_eq!(
        rendered(&json!({ "text/html": "<div></div>", "text/plain": "<A object at 0x1>" })),
        "<A object at 0x1>"
    );
    assert_eq!(rendered(&json!({ "text/html": "", "text/plain": "<IPython.core.display.HTML object>" })), "");
}

#[test]
fn embedded_images_go_with_their_text() {
    let png = format!("data:image/png;base64,{}", "A".repeat(200));
    let markdown = json!({ "text/markdown": format!("# Plot\n![a]({png})"), "text/plain": "<Markdown>" });
    assert_eq!(rendered(&markdown), "# Plot\n![a](data:image/png;base64,… (150 B)) + 1 images");
    let html = json!({ "text/html": format!("<p>a</p><img src='{png}'>"), "text/plain": "Report()" });
    assert_eq!(rendered(&html), "Report() + 1 images");
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='8'><text>hi</text></svg>";
    let html = json!({ "text/html": format!("<p>a</p><img src=\"data:image/svg+xml;utf8,{svg}\">") });
    assert_eq!(rendered(&html), "a\n[image: image/svg+xml 9×8, 82 B; its texts: hi]");
}

#[test]
fn the_shortest_type_of_r_output_is_used() {
    let vector = json!({
        "text/html": "<style>\n.list-inline {list-style: none}</style>\n<ol class=list-inline><li>1</li><li>2</li></ol>\n",
        "text/latex": "\\begin{enumerate*}\n\\item 1\n\\item 2\n\\end{enumerate*}\n",
        "text/markdown": "1. 1\n2. 2\n\n\n", "text/plain": "[1] 1 2",
    });
    assert_eq!(rendered(&vector), "[1] 1 2");
}

#[test]
fn json_is_compacted_and_markdown_is_kept() {
    let data =
        json!({ "application/json": { "a": [1, 2] }, "text/plain": "<IPython.core.display.JSON object>" });
    assert_eq!(rendered(&data), "{\"a\":[1,2]}");
    assert_eq!(
        rendered(&json!({ "text/markdown": "# A\n\n*b*\n", "text/plain": "<Markdown>" })),
        "# A\n\n*b*"
    );
}

#[test]
fn content_for_frontends_is_described() {
    let widget = json!({ "application/vnd.jupyter.widget-view+json": { "model_id": "1" }, "text/plain": "IntSlider()" });
    assert_eq!(rendered(&widget), "[widget in its initial state: IntSlider()]");
    assert_eq!(rendered(&json!({ "application/vnd.jupyter.widget-view+json": {} })), "[widget]");
    let shown =
        |text: &str| rendered(&json!({ "application/vnd.jupyter.widget-view+json": {}, "text/plain": text }));
    assert_eq!(shown("100%|███| 3/3"), "[widget: 100%|███| 3/3]");
    assert_eq!(shown("Depth: 7\nGo"), "[widget]\nDepth: 7\nGo");
    assert_eq!(shown(""), "");
    assert_eq!(
        rendered(&json!({ "application/javascript": "x()" })),
        "[application/javascript, 3 B, not run]"
    );
    assert_eq!(
        rendered(&json!({ "application/vnd.plotly.v1+json": { "data": [{}] } })),
        "[plotly chart]\n{}"
    );
    assert_eq!(
        rendered(&json!({ "application/vnd.vegalite.v6.json": { "mark": "bar" } })),
        "[vega chart]\n{mark: \"bar\"}"
    );
    let bokeh = json!({ "application/vnd.bokehjs_exec.v0+json": "", "text/html": "<div></div>" });
    assert_eq!(rendered(&bokeh), "[Bokeh chart, which only a browser can draw]");
    let table = json!({ "application/vnd.dataresource+json": { "data": [{ "a": 1 }] } });
    assert_eq!(rendered(&table), "[table] [{a: 1}]");
    let point = json!({ "application/geo+json": { "type": "Point", "coordinates": [1, 2] } });
    assert_eq!(rendered(&point), "[GeoJSON: 1 features, 36 B]");
}

#[test]
fn unknown_types_are_described() {
    assert_eq!(rendered(&json!({ "application/x": { "a": 1 } })), "[application/x] {\"a\":1}");
    assert_eq!(rendered(&json!({ "application/x": vec![0; 400] })), "[application/x, 801 B]");
    assert_eq!(rendered(&json!({ "application/pdf": "JVBERi0x".repeat(10) })), "[application/pdf, 60 B]");
    assert_eq!(rendered(&json!({ "application/x": "", "text/plain": "better" })), "better");
    assert_eq!(rendered(&json!({ "application/x": "a", "text/plain": "<X>" })), "[application/x, 0 B] <X>");
    assert_eq!(rendered(&json!({ "text/x-rst": "a *b*" })), "a *b*");
    assert_eq!(rendered(&json!({ "text/x-rst": "[NOTICE] a" })), "[NOTICE] a");
    assert_eq!(rendered(&json!({ "x\n[NOTICE] a": "" })), "[x\\n[NOTICE] a, 0 B]");
    assert_eq!(rendered(&json!({})), "");
    assert_eq!(rendered(&json!({ "text/plain": "<object>" })), "<object>");
    assert_eq!(rendered(&json!({ "application/x": 1, "text/plain": "<a>\n<b>" })), "<a>\n<b>");
    assert_eq!(rendered(&json!({ "text/plain": 7 })), "");
}

#[test]
fn plain_text_is_rendered_like_a_terminal() {
    assert_eq!(rendered(&json!({ "text/plain": ["\u{1b}[1ma\u{1b}[0m\n", "b  \n"] })), "a\nb");
    assert_eq!(rendered(&json!({ "text/markdown": "\u{1b}[1ma\u{1b}[0m\r\nb" })), "a\nb");
}
