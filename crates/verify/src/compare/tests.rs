//! Planted changes and false alarms, most of them on outputs that libraries really made.

use std::io::Cursor;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageBuffer, ImageFormat, Luma};
use notebook::{Json, MimeBundle, Output};
use serde_json::{Value, json};

use super::{Comparison, Rerun, compare, difference, without_pages};

/// Files that matplotlib, pandas, altair and others have written.
macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../fixtures/", $name))
    };
}

macro_rules! picture {
    ($name:literal) => {
        STANDARD.encode(include_bytes!(concat!("../../fixtures/", $name)))
    };
}

fn printed(name: &str, text: &str) -> Output {
    Output::Stream { name: name.to_owned(), text: text.into() }
}

fn shown(data: &Value) -> Output {
    Output::Display(MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() })
}

fn html(html: &str) -> Output {
    shown(&json!({ "text/html": html, "text/plain": "<IPython.core.display.HTML object>" }))
}

fn of(mime: &str, content: impl Into<Value>) -> Output {
    shown(&json!({ mime: content.into() }))
}

fn failed(value: &str) -> Output {
    let value = value.to_owned();
    Output::Error { name: "ValueError".to_owned(), traceback: vec![value.clone()], value }
}

/// The minute until 2026-11-23 12:00:00 UTC.
fn compared(before: &[Output], after: &[Output]) -> Comparison {
    compared_with(before, after, "")
}

fn compared_with(before: &[Output], after: &[Output], source: &str) -> Comparison {
    let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_435_200);
    compare(before, after, &Rerun::new(end - Duration::from_secs(60)..end, [source]))
}

fn assert_same(before: &Output, after: &Output) {
    let compared = compared(std::slice::from_ref(before), std::slice::from_ref(after));
    assert_eq!(compared, Comparison::Same, "{before:?}\n{after:?}");
}

fn lines(before: &Output, after: &Output) -> String {
    let (before, after) = (std::slice::from_ref(before), std::slice::from_ref(after));
    match compared(before, after) {
        Comparison::Different { lines } => difference(before, after, &lines),
        other => panic!("{other:?}\n{before:?}\n{after:?}"),
    }
}

#[test]
fn streams_are_joined_and_progress_is_folded() {
    let same = |before: &[Output], after: &[Output]| compared(before, after) == Comparison::Same;
    assert!(same(
        &[printed("stdout", "a\n"), printed("stderr", "w"), printed("stdout", "b\n")],
        &[printed("stdout", "a\nb\n")]
    ));
    assert!(same(&[printed("stdout", " 10%\r 60%\r100%\n")], &[printed("stdout", " 33%\r100%\n")]));
    assert!(same(&[printed("stdout", "\u{1b}[32mok\u{1b}[0m")], &[printed("stdout", "ok")]));
    assert!(!same(&[printed("stdout", "a")], &[printed("stdout", "b")]));
    assert!(!same(&[printed("stdout", "a")], &[]));
}

#[test]
fn results_and_errors_are_compared_by_what_they_say() {
    let bundle =
        MimeBundle { data: Json::from_value(&json!({ "text/plain": "1" })), metadata: Json::empty_object() };
    let result = |count| Output::Result { execution_count: Some(count), bundle: bundle.clone() };
    assert_same(&result(1), &result(7));
    assert_same(&result(1), &Output::Display(bundle.clone()));
    assert_same(&failed("at 0x7f0102030405"), &failed("at 0x7f0102030499"));
    assert!(lines(&failed("one"), &failed("two")).contains("-ValueError: one\n+ValueError: two"));
}

#[test]
fn a_difference_is_shown_once() {
    let table = |value: &str| of("text/plain", format!("   a\n0  {value}\n1  5"));
    assert_eq!(lines(&table("1"), &table("2")), "@@ -1,3 +1,3 @@\n    a\n-0  1\n+0  2\n 1  5\n");
    let printed = |text: &str| printed("stdout", text);
    assert_eq!(lines(&printed("a"), &printed("b")), "@@ -1 +1 @@\n-a\n+b\n");
}

#[test]
fn of_widgets_as_they_were_at_first_the_class_is_compared() {
    let widget = |id: &str, plain: &str| {
        let view = json!({ "model_id": id });
        shown(&json!({ "application/vnd.jupyter.widget-view+json": view, "text/plain": plain }))
    };
    assert_same(&widget("a", "Output()"), &widget("b", "Output(outputs=({'text': 'x'},))"));
    for (before, after) in [
        ("Output()", "IntSlider(value=3)"),
        ("3 (0–100)", "4 (0–100)"),
        ("  0%|          | 0/4", "  0%|          | 0/5"),
        ("FigureWidget({'data': [1]})", "FigureWidget({'data': [2]})"),
    ] {
        let found = compared(&[widget("a", before)], &[widget("b", after)]);
        assert!(matches!(found, Comparison::Different { .. }), "{before} {after}");
    }
    let plain = |text: &str| of("text/plain", text);
    let found = compared(&[plain("Output()")], &[plain("Output(outputs=())")]);
    assert!(matches!(found, Comparison::Different { .. }), "a call that no widget shows is data");
}

#[test]
fn types_that_depend_on_the_front_end_may_be_missing() {
    let both = json!({ "text/html": "<b>1</b>", "text/plain": "1" });
    assert_eq!(lines(&shown(&both), &of("text/plain", "1")), "-text/html");
    assert_eq!(lines(&of("text/plain", "1"), &shown(&both)), "+text/html");
    let (chart, figure) = ("application/vnd.plotly.v1+json", json!({ "data": [] }));
    let with_html = shown(&json!({ chart: figure, "text/html": "<b>1</b>", "text/plain": "Figure()" }));
    assert_same(&with_html, &shown(&json!({ chart: figure, "text/plain": "Figure()" })));
    let widget = |id: &str| {
        shown(
            &json!({ "application/vnd.jupyter.widget-view+json": { "model_id": id }, "text/plain": "Button()" }),
        )
    };
    assert_same(&widget("a"), &widget("b"));
    let pictured = json!({ "text/plain": "x", "image/png": "aGk=" });
    assert!(lines(&of("text/plain", "x"), &shown(&pictured)).ends_with("\n+image/png"));
    let object = json!({ "text/html": "<b>1</b>", "text/plain": "<IPython.core.display.HTML object>" });
    lines(&shown(&object), &of("text/plain", "<IPython.core.display.HTML object>"));
}

#[test]
fn json_is_compared_by_value() {
    let json = |text: &str| {
        let data = format!("{{\"application/json\": {text}}}");
        Output::Display(MimeBundle {
            data: Json::parse(data.into_bytes().into()).unwrap(),
            metadata: Json::empty_object(),
        })
    };
    for (before, after) in [
        (r#"{"a": 1, "b": [1, 2]}"#, r#"{"b":[1,2],"a":1}"#),
        (r#"{"a": 1.0}"#, r#"{"a": 1.00}"#),
        (r#"{"a": 1.0, "b": 1e3}"#, r#"{"a": 1, "b": 1000.0}"#),
        (r#""\u00e4""#, r#""ä""#),
        ("[\n  1,\n  null\n]", "[1, null]"),
        (r#"{"data": [{"uid": "a1b2c3", "y": [1]}]}"#, r#"{"data": [{"uid": "d4e5f6", "y": [1]}]}"#),
        (r#"{"data": [{"y": [1]}]}"#, r#"{"data": [{"uid": "d4e5f6", "y": [1]}]}"#),
        (
            r#"{"id": "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "of": "1b4e28ba-2fa1-41d2-883f-0016d3cca427"}"#,
            r#"{"id": "6fa459ea-ee8a-4ca4-894e-db77e160355e", "of": "6fa459ea-ee8a-4ca4-894e-db77e160355e"}"#,
        ),
        (r#"{"roots": [{"id": "p1001"}], "a": "p1001"}"#, r#"{"roots": [{"id": "p1201"}], "a": "p1201"}"#),
        (r#"{"made": "2025-01-01T10:00:00"}"#, r#"{"made": "2026-11-23T09:00:00"}"#),
    ] {
        assert_same(&json(before), &json(after));
    }
    for (before, after, words) in [
        (r#"{"y": [1, 2, 3]}"#, r#"{"y": [1, 2, 4]}"#, "-y[2] 3\n+y[2] 4"),
        (r#"{"y": [1, 2, 3]}"#, r#"{"y": [1, 2]}"#, "-y 3 elements\n+y 2 elements"),
        (r#"{"a": null}"#, r#"{"a": 0}"#, "-a null\n+a 0"),
        (r#"{"a": "x"}"#, r#"{"a": "y"}"#, "-a x\n+a y"),
        (r#"{"a": 1}"#, r#"{"b": 1}"#, "-a\n+b"),
        (r#"{"id": "DEU"}"#, r#"{"id": "FRA"}"#, "-id DEU\n+id FRA"),
        (r#"{"a": 0.1}"#, r#"{"a": 0.2}"#, "-a 0.1\n+a 0.2"),
        (
            r#"{"sha": "9e107d9d372bb6826bd81d3542a419d6"}"#,
            r#"{"sha": "e4d909c290d0fb1ca068ffaddf22cbd0"}"#,
            "-sha",
        ),
        (
            r#"{"roots": [{"id": "p1001"}, {"id": "p1002"}], "a": "p1001"}"#,
            r#"{"roots": [{"id": "p1201"}, {"id": "p1202"}], "a": "p1202"}"#,
            "-a p1001\n+a p1202",
        ),
    ] {
        let lines = lines(&json(before), &json(after));
        assert!(lines.contains(words), "{lines}");
    }
}

#[test]
fn charts_as_json_are_compared_by_value() {
    let chart = fixture!("altair.json");
    let changed = |from: &str, to: &str| {
        assert!(chart.contains(from));
        shown(&serde_json::from_str(&chart.replace(from, to)).unwrap())
    };
    let saved = changed("data", "data");
    assert_same(&saved, &changed("3cef9b3b97646b6eace428d0015a9df5", "0cef9b3b97646b6eace428d0015a9df5"));
    assert_same(&saved, &changed("param_1e9efca18e7a2868", "param_12"));
    assert!(lines(&saved, &changed("\"a\": 2.5", "\"a\": 2.75")).contains("[1].a 2.5\n"));
    let plotly = |y: &Value| shown(&json!({ "application/vnd.plotly.v1+json": { "data": [{ "y": y }] } }));
    assert_same(&plotly(&json!([1, 2])), &plotly(&json!([1.0, 2.0])));
    lines(&plotly(&json!([1, 2])), &plotly(&json!([1, 3])));
    lines(
        &plotly(&json!({"dtype": "f8", "bdata": "AAAA"})),
        &plotly(&json!({"dtype": "f8", "bdata": "AAAB"})),
    );
    let place = |x: f64| of("application/geo+json", json!({ "type": "Point", "coordinates": [x, 5] }));
    assert_same(&place(45.0), &place(45.0));
    lines(&place(45.0), &place(45.5));
}

/// What a library writes in another process, where these ids are other ones.
fn in_another_process(content: &str, ids: &[(&str, &str)]) -> String {
    ids.iter().fold(content.to_owned(), |content, (id, other)| {
        assert!(content.contains(id), "{id}");
        content.replace(id, other)
    })
}

const ANIMATION: (&str, &[(&str, &str)]) =
    (fixture!("anim.html"), &[("3eb567491a4b4d2bacdbfbf1b15be9bb", "d11ded7a7bc541fb9cf37d2473a4102e")]);

/// What libraries write in two processes is the same, and no change of what it says is.
#[test]
fn html_of_libraries_is_compared_by_its_content() {
    for (name, one, ids, changes) in [
        (
            "a styled table",
            fixture!("styler.html"),
            &[("eacd4", "20848")][..],
            &[
                (">2.500000<", ">2.510000<"),
                ("background-color: yellow", "background-color: red"),
                ("_row2_col1 {", "_row1_col1 {"),
                ("class=\"data row1 col1\" >2", "class=\"data row1 col1\" >22"),
            ][..],
        ),
        (
            "an estimator",
            fixture!("sklearn.html"),
            &[("sk-container-id-2", "sk-container-id-3")],
            &[
                ("<td class=\"value\">False", "<td class=\"value\">True"),
                ("<div>LinearRegression", "<div>Ridge"),
            ],
        ),
        (
            "altair",
            fixture!("altair.html"),
            &[("8f5e06df811547519cdbc1d8fbadad72", "16bf5346484a4a24b010ba96e76214f0")],
            &[("\"a\": 2.5", "\"a\": 2.6"), ("\"type\": \"point\"", "\"type\": \"line\"")],
        ),
        (
            "plotly",
            fixture!("plotly.html"),
            &[("6c5bc307-9268-405b-8800-7535cc8c338b", "e2fbb0b4-f17a-4a1d-8eb1-08bcede2bfb1")],
            &[("[1,2,3]", "[1,2,4]"), ("scatter", "bar")],
        ),
        (
            "bokeh",
            fixture!("bokeh.html"),
            &[
                ("94ff87af-7b45-43c3-bab2-cd46242b54ae", "cb3f4ecb-ab1b-41ca-ad8f-29f536f4a24e"),
                ("fe8f5aed-c543-4985-82d7-c950456455e8", "f66c8344-d94f-401a-83d2-8171d4a15f8b"),
                ("\"p10", "\"p11"),
            ],
            &[("[\"y\",[1,2,3]]", "[\"y\",[1,2,4]]"), ("#1f77b4", "#1f77b5")],
        ),
        (
            "a map",
            fixture!("folium.html"),
            &[
                ("fa550642c33f3b37a1b29ab3bdcee16f", "5edb38bd2cc24fb1e4740a4e9f9e1a41"),
                ("870b7eca3b4b1efb15388e52c2fe72f3", "1932902ef5566a10192f7a6e1801f9ba"),
                ("81dbaa98bbf373dbffd8b57f77d47f8a", "a4216eaa95453a90e4d6aed27143de24"),
                ("2fe7545c31f8de1a0a32a71ec975a76f", "415934476d59acce36307e12bcddd811"),
                ("31aa56c3b92ce75eb83939afff645c85", "67161adb123f7a6a896f4d7c88dadaa4"),
            ],
            &[("[45.0, 5.0]", "[46.0, 5.0]"), ("&gt;x&lt;", "&gt;y&lt;")],
        ),
        (
            "an animation",
            ANIMATION.0,
            ANIMATION.1,
            &[
                ("new Array(2)", "new Array(3)"),
                ("Next frame", "Next"),
                ("slider_id, 200.0", "slider_id, 100.0"),
            ],
        ),
        (
            "a drawing",
            fixture!("line.svg"),
            &[
                ("13:28:52.419265", "13:28:53.549118"),
                ("mc897a9696f", "mae461f2284"),
                ("p97d44e3ccb", "p4f59bc74d4"),
            ],
            &[(">ab<", ">ac<"), ("fill: #1f77b4", "fill: #ff7f0e")],
        ),
    ] {
        let output = if name == "a drawing" { |it: &str| of("image/svg+xml", it) } else { html };
        let two = in_another_process(one, ids);
        assert_same(&output(one), &output(&two));
        for (from, to) in changes {
            assert!(two.contains(from), "{name}: {from}");
            let words = lines(&output(one), &output(&two.replacen(from, to, 1)));
            assert!(words.contains("\n+") && words.contains('-'), "{name}: {words}");
        }
    }
}

#[test]
fn another_frame_of_an_animation_is_another_animation() {
    let (one, ids) = ANIMATION;
    let two = in_another_process(one, ids);
    let start = two.find("frames[1]").unwrap();
    let (end, other) = (&two[start..], &two[two.find("frames[0]").unwrap()..start]);
    let frames = format!(
        "{}{}{}",
        &two[..start],
        other.replace("frames[0]", "frames[1]"),
        &end[end.find("\"\n\n").unwrap() + 1..]
    );
    let words = lines(&html(one), &html(&frames));
    assert!(words.contains("<script> picture 2 of 2 differs around x "), "{words}");
}

#[test]
fn html_may_differ_in_ids_only() {
    for (before, after) in [
        ("<h1 id=\"m1a2b3c4d5e6f\">100</h1>", "<h1 id=\"mffb3c4d5e6f0\">100</h1>"),
        ("<b id=1>x</b>", "<b id=140123456789>x</b>"),
        ("<b>1</b>  <i>2</i>", "<b>1</b>\n<i>2</i>"),
        ("<!-- a --><b>1</b>", "<b>1</b><!-- b -->"),
        ("<p a='1' b='2'>x", "<p b=2 a=1>x"),
        ("<p>at 0x7f01a2b3c4d5</p>", "<p>at 0x7fffa2b3c4d5</p>"),
        ("<p title='<A at 0x7f01a2b3c4d5>'>", "<p title='<A at 0x7fffa2b3c4d5>'>"),
        ("<p>made on 2024-02-29</p>", "<p>made on 2026-11-22</p>"),
        (
            "<div id='1b4e28ba-2fa1-41d2-883f-0016d3cca427'></div><script>f('1b4e28ba-2fa1-41d2-883f-0016d3cca427')</script>",
            "<div id='6fa459ea-ee8a-4ca4-894e-db77e160355e'></div><script>f('6fa459ea-ee8a-4ca4-894e-db77e160355e')</script>",
        ),
        (
            "<script>var map_0f3b6c7a95d04b7d8a50d1f4f1e8a9c2 = 1</script>",
            "<script>var map_a1bb6c7a95d04b7d8a50d1f4f1e8a9c2 = 1</script>",
        ),
        (
            "<div id=abcdefghij></div><style>#abcdefghij {}</style>",
            "<div id=klmnopqrst></div><style>#klmnopqrst {}</style>",
        ),
    ] {
        assert_same(&html(before), &html(after));
    }
}

#[test]
fn other_differences_of_html_are_told() {
    for (before, after, words) in [
        ("<h1>100</h1>", "<h1>999</h1>", "-<h1> 100\n+<h1> 999"),
        ("<td>1</td>", "<th>1</th>", "-<td>\n+<th>"),
        (
            "<b style='color: red'>x</b>",
            "<b style='color: blue'>x</b>",
            "-<b style> color: red\n+<b style> color: blue",
        ),
        ("<img src='a.png'>", "<img src='b.png'>", "-<img src> a.png\n+<img src> b.png"),
        ("<li>1<li>2", "<li>1<li>2<li>3", "+<li> 3"),
        (
            "<script>plot([1, 2])</script>",
            "<script>plot([1, 3])</script>",
            "-<script> plot([1, 2])\n+<script> plot([1, 3])",
        ),
        (
            "<i id=x1></i><i id=x2></i><script>show('x1')</script>",
            "<i id=y1></i><i id=y2></i><script>show('y2')</script>",
            "+<script> show('y2')",
        ),
        ("<pre>a  b</pre>", "<pre>a b</pre>", "-<pre> a  b\n+<pre> a b"),
        ("<pre>a\n b</pre>", "<pre>a\nb</pre>", "<pre>"),
        ("<p>9e107d9d372bb6826bd81d3542a419d6</p>", "<p>e4d909c290d0fb1ca068ffaddf22cbd0</p>", "-<p> 9e1"),
        ("<iframe srcdoc='<b>1</b>'></iframe>", "<iframe srcdoc='<b>2</b>'></iframe>", "-<b> 1\n+<b> 2"),
        ("<b class='cls-1a'>x</b>", "<b class='cls-2b'>x</b>", "-<b class>"),
    ] {
        let lines = lines(&html(before), &html(after));
        assert!(lines.contains(words), "{lines}");
    }
    // Nothing but the HTML of a table has the rows that the text leaves out.
    let frame = |html: &str| shown(&json!({ "text/html": html, "text/plain": "0 ... 9" }));
    lines(&frame("<td>0<td>5<td>9"), &frame("<td>0<td>6<td>9"));
}

/// What the code contains literally is not what a run has made.
#[test]
fn constants_of_the_code_do_not_change_with_a_run() {
    let text = |text: &str| printed("stdout", text);
    for (source, before, after) in [
        (
            "print('order 5e3f2898-69e3-4a0d-820a-c4e87987dbce')",
            text("order 5e3f2899-69e3-4a0d-820a-c4e87987dbce"),
            text("order 5e3f2898-69e3-4a0d-820a-c4e87987dbce"),
        ),
        ("print(['/tmp/a/test.csv'])", text("['/tmp/a/dev.csv']"), text("['/tmp/a/test.csv']")),
        ("print('half-life 4.5 s')", text("half-life 9.5 s"), text("half-life 4.5 s")),
        ("print('12.5 MB/s')", text("99.5 MB/s"), text("12.5 MB/s")),
        ("print('release of 2026-11-23')", text("release of 2026-11-22"), text("release of 2026-11-23")),
        ("HTML('<p id=\"row5\">')", html("<p id='row7'>"), html("<p id='row5'>")),
        ("HTML('<p>4.5 s')", html("<p>9.5 s</p>"), html("<p>4.5 s</p>")),
        ("JSON({'t': '4.5 s'})", of("application/json", "9.5 s"), of("application/json", "4.5 s")),
    ] {
        let (before, after) = ([before], [after]);
        assert_eq!(compared(&before, &after), Comparison::Same, "{source}");
        let found = compared_with(&before, &after, source);
        assert!(matches!(found, Comparison::Different { .. }), "{source}");
    }
}

#[test]
fn a_script_may_differ_in_ids_only() {
    let script = |text: &str| of("application/javascript", text);
    assert_same(
        &script("load(\"1b4e28ba-2fa1-41d2-883f-0016d3cca427\")"),
        &script("load(\"6fa459ea-ee8a-4ca4-894e-db77e160355e\")"),
    );
    lines(&script("alert(1)"), &script("alert(2)"));
}

fn png(content: impl Into<Value>) -> Output {
    shown(&json!({ "image/png": content.into(), "text/plain": "<Figure size 640x480 with 1 Axes>" }))
}

#[test]
fn a_picture_drawn_by_another_version_is_close_and_that_is_said() {
    for (name, before, after) in [
        ("text without hinting", picture!("title.png"), picture!("title_hinting.png")),
        ("text with other hinting", picture!("title.png"), picture!("title_light.png")),
        ("lines beside the pixels", picture!("title.png"), picture!("title_unsnapped.png")),
        ("points without hinting", picture!("scatter.png"), picture!("scatter_hinting.png")),
        ("points beside the pixels", picture!("scatter.png"), picture!("scatter_unsnapped.png")),
        ("a heat map without hinting", picture!("heat.png"), picture!("heat_hinting.png")),
        ("numbers without hinting", picture!("confusion.png"), picture!("confusion_hinting.png")),
        ("another margin", picture!("tight.png"), picture!("tight_hinting.png")),
    ] {
        assert_eq!(compared(&[png(before)], &[png(after)]), Comparison::Close { pictures: 1 }, "{name}");
    }
    let jpeg = |content: String| of("image/jpeg", content);
    assert_eq!(
        compared(&[jpeg(picture!("title.jpg"))], &[jpeg(picture!("title_recoded.jpg"))]),
        Comparison::Close { pictures: 1 }
    );
    let page = |content: String| html(&format!("<p>x</p><img src=\"data:image/png;base64,{content}\">"));
    let (one, other) = (page(picture!("scatter.png")), page(picture!("scatter_hinting.png")));
    assert_eq!(compared(&[one.clone(), one], &[other.clone(), other]), Comparison::Close { pictures: 2 });
    assert_same(&png(picture!("title.png")), &png(picture!("title.png") + "\n"));
}

#[test]
fn a_small_change_of_a_picture_is_a_difference_and_its_place_is_told() {
    for (name, before, after, words) in [
        ("two digits of a title", picture!("title.png"), picture!("title_other.png"), "y 1"),
        ("one digit of a title", picture!("title.png"), picture!("title_digit.png"), "x 10"),
        ("a moved point", picture!("scatter.png"), picture!("scatter_moved.png"), "of 129×100"),
        ("a cell of a heat map", picture!("heat.png"), picture!("heat_cell.png"), "of 115×100"),
        (
            "a digit of a confusion matrix",
            picture!("confusion.png"),
            picture!("confusion_digit.png"),
            "of 115×100",
        ),
        ("digits of light gray", picture!("faint.png"), picture!("faint_digits.png"), "x 3"),
        ("a faint grid", picture!("faint.png"), picture!("faint_grid.png"), "of 130×100"),
        ("one of 5000 points", picture!("dense.png"), picture!("dense_moved.png"), "of 130×100"),
        ("another picture", picture!("heat.png"), picture!("confusion.png"), "of 115×100"),
        ("another size", picture!("heat.png"), picture!("title.png"), "115×100 became 158×115"),
    ] {
        let lines = lines(&png(before), &png(after));
        assert!(lines.contains("image/png:\n differs ") && lines.contains(words), "{name}: {lines}");
    }
    let jpeg = |content: String| of("image/jpeg", content);
    lines(&jpeg(picture!("title.jpg")), &jpeg(picture!("title_other.jpg")));
    let gif = |content: String| of("image/gif", content);
    let words = lines(&gif(picture!("moving.gif")), &gif(picture!("moving_other.gif")));
    assert!(words.contains("differs in frame 3, around x 0–23, y 14–19 of 24×24"), "{words}");
    lines(&png("aGk="), &png("aGg="));
    lines(&png(picture!("title.png")), &png("not base64!"));
    let page = |content: String| html(&format!("<img src='data:image/png;base64,{content}'>"));
    let words = lines(&page(picture!("scatter.png")), &page(picture!("scatter_moved.png")));
    assert!(words.contains("<img src> picture differs around"), "{words}");
}

/// A gray picture whose pixels in these columns and rows have that value.
fn drawn(side: u32, x: Range<u32>, y: Range<u32>, value: u8) -> Output {
    let color = |at_x, at_y| if x.contains(&at_x) && y.contains(&at_y) { value } else { 0 };
    let picture = ImageBuffer::from_fn(side, side, |x, y| Luma([color(x, y)]));
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    png(STANDARD.encode(bytes.into_inner()))
}

#[test]
fn each_pixel_of_data_shown_as_a_picture_counts() {
    let small = drawn;
    for (before, after) in [
        (small(28, 5..6, 5..6, 250), small(28, 5..6, 5..6, 0)),
        (small(28, 5..6, 5..6, 250), small(28, 6..7, 5..6, 250)),
        (small(28, 5..7, 5..9, 250), small(28, 5..9, 5..7, 250)),
        (small(200, 50..53, 50..51, 255), small(200, 51..52, 49..52, 255)),
    ] {
        lines(&before, &after);
    }
    // Two bytes after each of these are the hundredths of a second that a frame is shown.
    let mut slow = include_bytes!("../../fixtures/moving.gif").to_vec();
    let frame = slow.windows(3).position(|bytes| bytes == [0x21, 0xf9, 4]).unwrap();
    slow[frame + 4] = 90;
    let gif = |content: String| of("image/gif", content);
    let words = lines(&gif(picture!("moving.gif")), &gif(STANDARD.encode(slow)));
    assert!(words.contains("differs in duration: ") && words.contains("became 900 ms"), "{words}");
}

#[test]
fn help_in_a_pager_is_not_an_output_of_other_runners() {
    let page = of("text/plain", "Signature: f(x)");
    let fresh = [of("image/png", "aGk="), page.clone()];
    assert_eq!(without_pages(&fresh, 1).len(), 1);
    assert_eq!(without_pages(&fresh, 2).len(), 2);
    assert_eq!(without_pages(&[page.clone(), page], 0).len(), 0);
    assert_eq!(without_pages(&[failed("x")], 0).len(), 1);
}
