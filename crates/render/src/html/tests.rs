use proptest::prelude::*;

use super::*;

fn text(html: &str) -> String {
    readable(html).text
}

#[test]
fn whitespace_is_collapsed_and_blocks_start_lines() {
    assert_eq!(
        text("<p>One\n  two <b>th</b>ree</p><div>four<br>five</div>six"),
        "One two three\nfour\nfive\nsix"
    );
    assert_eq!(text("a&amp;b &lt;c&gt; &eacute;&nbsp;&#8364;"), "a&b <c> é\u{a0}€");
    assert_eq!(text("  <div><div> x </div></div>  "), "x");
    assert_eq!(text(""), "");
}

#[test]
fn scripts_and_styles_are_removed() {
    let html = "<style>p{}</style>a<script>if (a < b) '<p>no</p>'</script>b<template><p>c</p></template>";
    assert_eq!(text(html), "ab");
    assert_eq!(text("<script>if (a<b) c = \"'\"; d = '<!--'</script>b<style>a<b \"</style>c"), "bc");
    assert_eq!(text("<script>never closed <p>a</p>"), "");
    assert_eq!(text("<title>T</title><textarea><b></textarea>x"), "T <b>x");
}

#[test]
fn lists_and_headings_look_like_markdown() {
    let html = "<h2>Steps</h2><ol><li>One<li>Two<ul><li>Deep</ul><li>Three</ol><hr>end";
    assert_eq!(text(html), "## Steps\n1. One\n2. Two\n  - Deep\n3. Three\n---\nend");
}

#[test]
fn preformatted_text_keeps_its_whitespace() {
    assert_eq!(text("<pre>  a\n    b</pre>c  d"), "  a\n    b\nc d");
}

#[test]
fn a_link_becomes_its_text_and_url() {
    assert_eq!(text("see <a href='https://example.org/x'>docs</a>."), "see docs (https://example.org/x).");
    assert_eq!(text("<a href='https://example.org'>https://example.org</a>"), "https://example.org");
    assert_eq!(text("<a href='#top'>up</a> <a href='javascript:x()'>run</a>"), "up run");
}

#[test]
fn media_are_described() {
    assert_eq!(text("<img src='data:image/png;base64,AAAA' alt='a dot'>"), "[image: a dot, image/png, 3 B]");
    assert_eq!(text("<img src='plot.png'>"), "[image: plot.png]");
    assert_eq!(
        text("<iframe src='https://example.org/map'>no <b>frames</iframe>x"),
        "[iframe: https://example.org/map]x"
    );
    let audio =
        "<audio controls><source src='data:audio/wav;base64,AAAA' type='audio/wav'/>none</audio>after";
    assert_eq!(text(audio), "[media: audio/wav, 3 B]after");
    assert_eq!(text("<audio src='a.wav'><div>never closed"), "[audio: a.wav]\nnever closed");
    assert_eq!(text("<video src='a.mp4'></video>"), "[video: a.mp4]");
}

#[test]
fn a_drawing_is_described_with_its_texts() {
    let html = "<svg><style>a{}</style><path d='M0'/><text>left</text><text>right</text></svg>after";
    assert_eq!(text(html), "[image: image/svg+xml, 113 B; its texts: left, right]after");
    assert_eq!(text("<svg><style/><text>t</text></svg>"), "[image: image/svg+xml, 68 B; its texts: t]");
    // Only a browser can draw HTML.
    assert_eq!(text("<svg><foreignObject><p>a</p></foreignObject></svg>b"), "a\n[drawing] b");
    // One that has no end.
    assert_eq!(text("<svg width='90'><text>a"), "a");
}

#[test]
fn a_drawing_is_read_as_it_is_written() {
    let found = |html: &str| readable(html).images;
    let body = "<linearGradient id='ä\r\n&lt;'/><svg width=\"1\"></svg><path d='M0 0L90 90'/>";
    for (before, size) in
        [("", "width='90' height='90'"), ("ü\r\n<b>&amp;<!-- <svg> --></b>", "viewBox='0 0 90 90'")]
    {
        let html = format!("{before}<SVG {size}>{body}</SVG>");
        assert_eq!(
            found(&html),
            [format!(
                "data:image/svg+xml;utf8,<svg xmlns=\"http://www.w3.org/2000/svg\" {size}>{body}</SVG>"
            )]
        );
    }
    let svg = "<svg width='90' xmlns='http://www.w3.org/2000/svg'><path d='M0'/></svg>";
    assert_eq!(found(&format!("<script>'<svg>'</script>{svg}")), [format!("data:image/svg+xml;utf8,{svg}")]);
    let linked = "<svg width='90' xmlns='http://www.w3.org/2000/svg'><use xlink:href='#a'/></svg>";
    let [file] = &found(linked)[..] else { panic!() };
    assert!(file.contains("<svg xmlns:xlink=\"http://www.w3.org/1999/xlink\" width="), "{file}");
    let in_cell = format!("<table><tr><td>a</td><td>{svg}</td></tr></table>");
    assert_eq!(text(&in_cell), "a\t[image: image/svg+xml, 71 B]");
}

#[test]
fn icons_are_no_pictures() {
    for icon in [
        "<svg><path d='M0'/></svg>",
        "<svg width='24' height='24'><path d='M0'/></svg>",
        "<svg viewBox='0 0 24 24'><path d='M0'/></svg>",
        "<svg width='100%' style='display:none'><symbol/></svg>",
        "<svg aria-hidden='true' viewBox='0 0 512 512'><path d='M0'/></svg>",
        "<svg class='icon xr-icon' viewBox='0 0 512 512'><use href='#a'/></svg>",
    ] {
        let page = readable(&format!("a{icon}b"));
        assert_eq!((&*page.text, page.images.len()), ("a b", 0), "{icon}");
    }
}

#[test]
fn table_cells_are_separated_by_tabs() {
    let html = "before<table><thead><tr><th></th><th>a</th><th>b \n c</th></tr></thead>\
                <tr><th>0</th><td>1</td><td></td></tr><tr><td colspan=3></td></tr></table><p>2 rows</p>";
    let readable = readable(html);
    assert!(readable.has_table);
    assert_eq!(readable.text, "before\n\ta\tb c\n0\t1\n2 rows");
}

#[test]
fn optional_tags_can_be_omitted() {
    assert_eq!(text("<table><tr><td>a<td>b<tr><td>c<td>d</table>"), "a\tb\nc\td");
    assert_eq!(text("<td>a</td><td>b</td>"), "a b");
    assert_eq!(text("<table><td>a</table></table></table>b"), "a\nb");
    assert_eq!(text("<table>stray<tr><td>a"), "stray\na");
}

#[test]
fn spanning_cells_keep_the_columns_aligned() {
    let html = "<table><tr><th rowspan=2>r</th><th colspan=2>c</th><th>x</th></tr>\
                <tr><td>1</td><td>2</td><td>3</td></tr><tr><td>4</td><td>5</td></tr></table>";
    assert_eq!(text(html), "r\tc\t\tx\n\t1\t2\t3\n4\t5");
    let html = "<table><tr><td>a</td><td rowspan=3>b</td></tr><tr></tr><tr><td>c</td><td>d</td></tr>\
                <tr><td>e</td><td>f</td><td>g</td></tr><tr><td>h</td><td>i</td></tr></table>";
    assert_eq!(text(html), "a\tb\nc\t\td\ne\tf\tg\nh\ti");
}

#[test]
fn huge_spans_are_bounded() {
    let html = "<table>".to_owned() + &"<tr><td colspan=1000 rowspan=65534>a<td>b</tr>".repeat(300);
    assert!(text(&html).len() < 100 * html.len());
}

#[test]
fn a_table_within_a_cell_becomes_its_text() {
    let html = "<table><caption>Outer</caption><tr><td>k</td><td>in: <table><tr><td>1</td><td>2</td></tr>\
                <tr><td>3</td><td>4</td></tr></table></td><td>l</td></tr></table>";
    assert_eq!(text(html), "Outer\nk\tin: 1 2; 3 4;\tl");
}

#[test]
fn deep_nesting_is_fast() {
    let html = "<div><table><tr><td>".repeat(100_000) + "deep";
    assert!(text(&html).ends_with("deep"));
    let lists = "<ul><li>".repeat(10_000);
    assert!(text(&lists).len() < 30 * 10_000);
}

#[test]
fn html_that_is_too_long_is_noted() {
    let html = "<p>ö</p>".repeat(2000);
    let text = readable_up_to(&html, 23).text;
    assert_eq!(text, "ö\nö\nö\n… (18 kB of HTML not read)");
}

proptest! {
    #[test]
    fn no_html_panics(html in "(<(/?(t[rdh]|table|a|svg|li|ul|pre|style|img|x)( (row|col)span=[0-9])?>)?|[a ö\n&;]){0,60}") {
        let text = text(&html);
        prop_assert!(text.trim_end() == text);
    }
}
