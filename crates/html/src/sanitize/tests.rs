use proptest::prelude::*;

use super::*;
use crate::testing::{assert_safe, attacks};

fn written(html: &str) -> String {
    output(html).html.as_str().to_owned()
}

#[test]
fn harmless_html_stays() {
    for html in [
        "<p>a <b>b</b> <i>c</i><br>d</p>",
        "<ul><li>a</li><li>b<ol start=\"3\"><li>c</li></ol></li></ul>",
        "<table><thead><tr><th scope=\"col\">a</th></tr></thead><tbody><tr><td colspan=\"2\">b</td></tr></tbody></table>",
        "<details open=\"\"><summary>a</summary><p>b</p></details>",
        "<span style=\"color:red;\">a</span>",
        "<progress value=\"3\" max=\"10\" aria-label=\"Progress\"></progress>",
        "<audio controls=\"\"><source src=\"data:audio/wav;base64,AA\"></audio>",
        "<img alt=\"a\" src=\"data:image/png;base64,AA==\">",
    ] {
        assert_eq!(written(html), html);
    }
}

#[test]
fn what_is_written_is_on_a_list() {
    for (html, expected) in [
        ("a<script>b</script>c", "ac"),
        ("<blink>a</blink>", "a"),
        ("<div class=x id=y data-z=1 onclick=w>a</div>", "<div>a</div>"),
        ("<main><nav>a</nav></main>", "<div><div>a</div></div>"),
        ("<a href=javascript:x>a</a>", "<a>a</a>"),
        ("<a href=#x>a</a>", "<a href=\"#content-x\">a</a>"),
        ("<center>a</center>", "<div style=\"text-align:center;\">a</div>"),
        ("<button>Take back</button>", ""),
        ("<!-- a -->b", "b"),
        (
            "<img src=\"data:image/png;base64,AA==\">",
            "<img alt=\"Image\" src=\"data:image/png;base64,AA==\">",
        ),
        ("<td>a", "a"),
        ("a &lt;b&gt; &amp;amp;", "a &lt;b&gt; &amp;amp;"),
        (
            "<svg width=1></svg>",
            "<img alt=\"Drawing\" src=\"data:image/svg+xml;base64,\
          PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPTE+PC9zdmc+\">",
        ),
    ] {
        assert_eq!(written(html), expected, "{html}");
    }
}

#[test]
fn elements_close_where_a_browser_closes_them() {
    for (html, expected) in [
        ("<p>a<div>b</p>c", "<p>a</p><div>bc</div>"),
        ("<p>a<p>b", "<p>a</p><p>b</p>"),
        ("<b><i>a</b>b</i>", "<b><i>a</i></b>b"),
        ("<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</li></ul>"),
        ("<li><div><li>a", "<div><div><div>a</div></div></div>"),
        ("<a>b<a>c</a></a>", "<a>b</a><a>c</a>"),
        ("</div></p>a", "a"),
        (
            "<table><tr><td>a<td>b<tr><td>c</table>d",
            "<table><tbody><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></tbody></table>d",
        ),
        ("<table><td>a", "<table><tbody><tr><td>a</td></tr></tbody></table>"),
        (
            "<table>x<tr>y<td>a<table><tr><td>b</table>c</table>",
            "<table><tbody><tr><td>a<table><tbody><tr><td>b</td></tr></tbody></table>c</td></tr></tbody></table>",
        ),
        ("<table><tr><td></div></p></b>a", "<table><tbody><tr><td>a</td></tr></tbody></table>"),
    ] {
        assert_eq!(written(html), expected, "{html}");
    }
}

#[test]
fn a_block_in_text_is_valid() {
    for (html, expected) in [
        ("<b>a<div>b</div>c</b>", "<b>a<span class=\"cb-block\">b</span>c</b>"),
        ("<i><p>a<p>b</i>", "<i><span class=\"cb-block\">a</span><span class=\"cb-block\">b</span></i>"),
        ("<b><div><ul><li>a", "<b><span class=\"cb-block\"></span></b><ul><li>a</li></ul>"),
        ("<b>a<table><td>b", "<b>a</b><table><tbody><tr><td>b</td></tr></tbody></table>"),
        ("<b>a<hr>", "<b>a</b><hr>"),
        ("<a><div>a</div></a>", "<a><div>a</div></a>"),
        ("<b><a><div>a", "<b><a><span class=\"cb-block\">a</span></a></b>"),
        (
            "<details><summary><div>a</div></summary>b</details>",
            "<details><summary><span class=\"cb-block\">a</span></summary>b</details>",
        ),
        ("<table><caption><table><caption>a", "<table><caption>a</caption></table>"),
        (
            "<table><caption><table><td>a",
            "<table><caption></caption><tbody><tr><td>a</td></tr></tbody></table>",
        ),
    ] {
        assert_eq!(written(html), expected, "{html}");
    }
}

#[test]
fn a_style_sheet_becomes_styles() {
    let html = "<style type=text/css>#T_1 th{text-align:left}#T_1_row0_col0{background-color:#ff0;color:#000}</style>\
                <table id=T_1><tr><th>a</th><td id=T_1_row0_col0 class='data row0'>1</td></tr></table>";
    assert_eq!(
        written(html),
        "<table><tbody><tr><th style=\"text-align:left;\">a</th><td style=\"background-color:#ff0;color:#000;\">1</td>\
         </tr></tbody></table>"
    );
}

#[test]
fn deep_nesting_ends() {
    for tag in ["div", "b", "ul><li", "table><tr><td", "svg", "button", "p", "span"] {
        let html = format!("{}x", format!("<{tag}>").repeat(5_000));
        assert_safe(&written(&html), tag);
    }
}

#[test]
fn attacks_are_harmless() {
    for attack in attacks() {
        for html in [
            attack.clone(),
            format!("<p>a{attack}b</p>"),
            format!("<table><tr><td>{attack}</table>"),
            format!("<ul>{attack}"),
        ] {
            assert_safe(&written(&html), &html);
        }
    }
}

/// Tags that change how a browser reads what follows.
const TAGS: &str = "<a> </a> <b> </b> <p> </p> <div> </div> <li> </li> <ul> </ul> <table> </table> <tr> </tr> <td> </td> \
     <th> <tbody> </tbody> <caption> </caption> <colgroup> <col> <svg> </svg> <math> </math> <mtext> \
     <style> </style> <title> </title> <select> </select> <option> <template> </template> <form> </form> \
     <h1> </h1> <h2> <pre> </pre> <dl> <dt> <dd> <details> </details> <summary> <button> </button> <font> \
     </font> <nobr> <i> </i> <br> </br> <hr> <script> </script> <noscript> </noscript> <textarea> \
     </textarea> <iframe> </iframe> <foreignObject> <desc> <ruby> <rt> <center> <body> </body> <html> \
     </html> <audio> <source> <video> <main> <ol> </ol> <thead> <tfoot> <blockquote> <s>";
/// Other parts that do.
const PARTS: &[&str] = &[
    "<img src=x onerror=alert(1)>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "x",
    " ",
    "\n",
    "\"",
    "'",
    "<",
    ">",
    "&",
    "&lt;",
    "<a title='</div>'>",
    "<span hidden>",
    "</table",
    "<cb-slot n=0>",
];

fn markup() -> impl Strategy<Value = String> {
    let part = prop::sample::select(TAGS.split(' ').chain(PARTS.iter().copied()).collect::<Vec<_>>());
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_markup_is_harmless(html in markup()) {
        assert_safe(&written(&html), &html);
    }

    #[test]
    fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let html = String::from_utf8_lossy(&bytes);
        assert_safe(&written(&html), &html);
    }
}
