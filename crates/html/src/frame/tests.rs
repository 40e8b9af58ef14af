use notebook::Json;
use serde_json::json;

use super::*;
use crate::testing::{attacks, parsed};

fn bundle(data: &serde_json::Value) -> MimeBundle {
    MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() }
}

fn libraries() -> Libraries {
    let mut libraries = Libraries::default();
    for library in Library::ALL {
        libraries.insert(library, vec!["/* it */".to_owned()]);
    }
    libraries
}

fn framed(data: &serde_json::Value) -> Fragment {
    let mut html = Fragment::default();
    let output = Interactive::of(&bundle(data)).unwrap();
    write(&output, &libraries(), &mut html).unwrap();
    html
}

/// The document in the only frame, as the browser gets it.
fn document(html: &Fragment) -> String {
    let page = parsed(html.as_str());
    let frames = page.all("iframe");
    assert_eq!((frames.len(), page.all("body")[0].children.len()), (1, 1), "{}", html.as_str());
    assert_eq!(frames[0].attribute("sandbox"), Some("allow-scripts"));
    let names: Vec<_> = frames[0].attributes.iter().map(|(name, _)| &**name).collect();
    let known = ["class", "sandbox", "loading", "title", "data-library", "srcdoc"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    frames[0].attribute("srcdoc").unwrap().to_owned()
}

#[test]
fn charts_are_drawn_in_frames() {
    for (data, library) in [
        (json!({ "application/vnd.plotly.v1+json": { "data": [] } }), Library::Plotly),
        (json!({ "application/vnd.vegalite.v5+json": { "mark": "bar" } }), Library::Vega),
        (json!({ "application/vnd.vegalite.v6.json": { "mark": "bar" } }), Library::Vega),
        (
            json!({ "application/vnd.bokehjs_exec.v0+json": "", "text/html": "<div id=a></div>", "application/javascript": "x" }),
            Library::Bokeh,
        ),
    ] {
        let html = framed(&data);
        assert_eq!(html.libraries.iter().collect::<Vec<_>>(), [&library]);
        let document = parsed(&document(&html));
        let scripts = document.all("script");
        assert_eq!(scripts.len(), 3, "{data}");
        for script in &scripts[..2] {
            assert!(html.scripts.contains(&script_hash(&script.text)));
        }
        let policy = document.all("meta")[1].attribute("content").unwrap();
        assert!(policy.starts_with("default-src 'none'"));
    }
}

#[test]
fn a_missing_library_is_named() {
    let output = Interactive::of(&bundle(&json!({ "application/vnd.plotly.v1+json": {} }))).unwrap();
    let mut html = Fragment::default();
    assert_eq!(write(&output, &Libraries::default(), &mut html), Err(Library::Plotly));
    assert!(html.is_empty());
}

#[test]
fn altairs_html_is_a_chart() {
    let html = "<div id=\"x\"></div><script>(function(spec, o){ vegaEmbed(d, spec, o) })({\"$schema\": \
                \"https://vega.github.io/schema/vega-lite/v5.json\", \"mark\": \"bar\"}, {\"mode\": \"vega-lite\"});</script>";
    let chart = Interactive::of(&bundle(&json!({ "text/html": html }))).unwrap();
    let Interactive::Chart(Chart::Vega(specification)) = &chart else { panic!("{chart:?}") };
    assert_eq!(specification.to_value()["mark"], "bar");
}

#[test]
fn plotlys_html_is_a_chart() {
    let html = "<div id=x></div><script>Plotly.newPlot( \"x\", [{\"y\": [2, 1]}], {\"title\": \"T\"}, {}).then(f)</script>";
    let chart = Interactive::of(&bundle(&json!({ "text/html": html }))).unwrap();
    let Interactive::Chart(Chart::Plotly(figure)) = &chart else { panic!("{chart:?}") };
    assert_eq!(figure.to_value(), json!({ "data": [{ "y": [2, 1] }], "layout": { "title": "T" } }));
    let loader =
        bundle(&json!({ "text/html": "<script type=module>import 'https://cdn.plot.ly/x.min.js'</script>" }));
    assert!(Interactive::of(&loader).unwrap().shows_nothing());
}

#[test]
fn scripts_from_elsewhere_need_the_network() {
    for (html, expected) in [
        ("<script src=\"https://cdn.plot.ly/plotly-2.35.2.min.js\"></script>", true),
        (
            "<script type=module>import {D} from 'https://www.unpkg.com/dt_for_itables@2.0.13/dt_bundle.js';</script>",
            true,
        ),
        ("<script>p = {\"vega\": \"https://cdn.jsdelivr.net/npm/vega@5?noext\"}</script>", true),
        ("<script>x = 'https://example.org/a.json'; y = 'https://example.org/page'</script>", false),
    ] {
        let output = Interactive::of(&bundle(&json!({ "text/html": html }))).unwrap();
        assert_eq!(output.needs_network(), expected, "{html}");
    }
}

#[test]
fn html_without_scripts_needs_no_frame() {
    for html in [
        "<p>a</p>",
        "<p title='<script>'>a</p>",
        "&lt;script&gt;",
        "<script type=\"application/json\">{}</script>",
    ] {
        assert!(Interactive::of(&bundle(&json!({ "text/html": html }))).is_none(), "{html}");
    }
    assert!(Interactive::of(&bundle(&json!({ "text/html": "<script>x</script>" }))).is_some());
}

/// A browser runs exactly the scripts whose hashes the page's policy names.
#[test]
fn each_script_of_an_output_is_named_by_its_hash() {
    let html = framed(
        &json!({ "text/html": "<p onclick=\"a('&amp;')\">x</p><script>\r\nb && c\u{0}\r</script><script type=module>d" }),
    );
    for script in ["a('&')", "\nb && c\u{fffd}\n"] {
        assert!(html.scripts.contains(&script_hash(script)), "{script:?}");
    }
    let document = parsed(&document(&html));
    let texts: Vec<_> = document.all("script").iter().map(|script| script.text.clone()).collect();
    assert_eq!(texts[1], "\nb && c\u{fffd}\n");
}

#[test]
fn nothing_leaves_its_frame() {
    for attack in attacks() {
        for data in [
            json!({ "application/vnd.plotly.v1+json": { "data": [attack], "layout": { "title": attack } } }),
            json!({ "application/vnd.vegalite.v5+json": { "mark": attack } }),
            json!({ "application/vnd.bokehjs_exec.v0+json": "", "text/html": attack, "application/javascript": attack }),
            json!({ "text/html": format!("{attack}<script>x</script>") }),
        ] {
            if let Some(output) = Interactive::of(&bundle(&data)) {
                let mut html = Fragment::default();
                write(&output, &libraries(), &mut html).unwrap();
                let document = document(&html);
                // What the page gives the frame is not changed by what the notebook gives it.
                if !matches!(output, Interactive::Html(_) | Interactive::Bokeh(..)) {
                    let found = parsed(&document);
                    let data: Vec<_> = found
                        .all("script")
                        .into_iter()
                        .filter(|it| it.attribute("id") == Some("data"))
                        .collect();
                    assert!(serde_json::from_str::<serde_json::Value>(&data[0].text).is_ok(), "{document}");
                    assert_eq!(found.all("script").len(), 3, "{document}");
                }
            }
        }
    }
}
