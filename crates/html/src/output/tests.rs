use serde_json::{Value, json};

use super::*;
use crate::testing::{assert_safe, attacks};
use crate::{Libraries, Library};

fn bundle(data: &Value) -> Output {
    Output::Display(MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() })
}

fn context() -> Context<'static> {
    Context::new(&notebook::Notebook::new(), &|model| (model == "m").then(|| "Depth: 7".to_owned()))
}

fn written(it: &Output) -> String {
    output(it, &context()).as_str().to_owned()
}

#[test]
fn the_form_from_which_a_person_learns_most_is_shown() {
    for (data, expected) in [
        (json!({ "text/plain": "a<b" }), "<pre tabindex=\"0\">a&lt;b</pre>"),
        (json!({ "text/plain": "x", "text/html": "<b>y</b>" }), "<div class=\"cb-html\"><b>y</b></div>"),
        (json!({ "text/plain": "x", "text/html": "<script>y</script>" }), "cb-static"),
        (json!({ "text/plain": "x", "text/html": " " }), "<pre tabindex=\"0\">x</pre>"),
        (
            json!({ "text/html": "<table class=\"dataframe\"><tr><td>1</table>" }),
            "<div class=\"cb-html cb-table\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">\
             <table><tbody><tr><td>1</td></tr></tbody></table></div>",
        ),
        (json!({ "text/markdown": "# x" }), "<div class=\"cb-markdown\"><h1 id=\"content-x\">x</h1>\n</div>"),
        (json!({ "text/latex": "$\\displaystyle x^2$", "text/plain": "x**2" }), "<math display=\"block\""),
        (json!({ "text/latex": "\\begin{align}a\\end{align}" }), "<mtable"),
        (
            json!({ "image/png": "iVBO\nRw==", "text/plain": "<Figure size 640x480 with 1 Axes>" }),
            "<img alt=\"Figure size 640x480 with 1 Axes\" src=\"data:image/png;base64,iVBORw==\">",
        ),
        (json!({ "image/png": "\"onerror=x" , "text/plain": "x" }), "<pre tabindex=\"0\">x</pre>"),
        (
            json!({ "image/svg+xml": ["<svg onload=x>", "</svg>"] }),
            "<img alt=\"Output image\" src=\"data:image/svg+xml;base64,PHN2ZyB4",
        ),
        (
            json!({ "application/json": { "a": "<b>" } }),
            "<details class=\"cb-json\" open><summary>JSON</summary><pre tabindex=\"0\">{\n  &quot;a&quot;: &quot;&lt;b&gt;&quot;\n}</pre>",
        ),
        (
            json!({ "application/vnd.jupyter.widget-view+json": { "model_id": "m" }, "text/plain": "IntSlider()" }),
            "<div class=\"cb-widget\"><pre tabindex=\"0\">Depth: 7</pre></div>",
        ),
        (
            json!({ "application/vnd.jupyter.widget-view+json": { "model_id": "x" }, "text/plain": "IntSlider()" }),
            "A widget in its initial state",
        ),
        (
            json!({ "application/javascript": "alert(1)", "text/plain": "<x>" }),
            "[application/javascript, 8 B, not run]",
        ),
        (json!({ "application/x-y": "abc" }), "[application/x-y, "),
    ] {
        let html = written(&bundle(&data));
        assert!(html.contains(expected), "{data}: {html}");
    }
}

#[test]
fn some_outputs_show_nothing() {
    for data in [
        json!({ "application/vnd.bokehjs_load.v0+json": "", "application/javascript": "x" }),
        json!({ "application/vnd.jupyter.widget-view+json": { "model_id": "x" } }),
        json!({}),
    ] {
        assert_eq!(written(&bundle(&data)), "", "{data}");
    }
    assert_eq!(written(&Output::Stream { name: "stdout".to_owned(), text: "".into() }), "");
}

#[test]
fn charts_have_a_static_form() {
    let plotly =
        json!({ "data": [{ "type": "scatter", "y": [1, 2] }], "layout": { "title": { "text": "T" } } });
    let described = output(
        &bundle(&json!({ "application/vnd.plotly.v1+json": plotly, "text/html": "<script>x</script>" })),
        &context(),
    );
    assert!(
        described.as_str().contains("[plotly chart &quot;T&quot;]")
            && described.as_str().contains("<figcaption>")
    );
    assert_eq!(described.interactive(), 1);
    let pictured =
        written(&bundle(&json!({ "application/vnd.plotly.v1+json": plotly, "image/png": "iVBORw==" })));
    assert!(pictured.contains("<img") && !pictured.contains("figcaption"), "{pictured}");
    let chart =
        "<div></div><script>f()({\"$schema\": \"vega\"})</script>".replace("f()", "(d => { vegaEmbed(d) })");
    let altair = written(&bundle(&json!({ "text/html": chart, "text/plain": "alt.Chart(...)" })));
    assert!(altair.contains("cb-static") && altair.contains("[vega"), "{altair}");
    let itables = "<table><tr><td>Loading ITables</td></tr></table><script type=module>import 'https://www.unpkg.com/x'</script>";
    let itables = written(&bundle(&json!({ "text/html": itables })));
    assert!(itables.contains("need the network") && !itables.contains("Loading"), "{itables}");
    let fallback = "<table hidden><tr><td>Loading ITables</td></tr></table><table><tr><td>7</td></tr></table><script>x</script>";
    assert!(written(&bundle(&json!({ "text/html": fallback }))).contains("<td>7</td>"));
    let init = "<div>This is the <code>init_notebook_mode</code> cell from ITables v2.2.2<br>(you should not see this message - is your \
                notebook <it>trusted</it>?)</div><script>x</script>";
    assert_eq!(written(&bundle(&json!({ "text/html": init }))), "");
    assert_eq!(written(&bundle(&json!({ "text/html": "<span>Loading BokehJS ...</span>" }))), "");
    let libraries = Libraries::default();
    let mut live = context();
    live.libraries = Some(&libraries);
    let framed = output(&bundle(&json!({ "text/html": "<p>static</p><script>x</script>" })), &live);
    let fallback = framed.as_str().split("<div class=\"cb-fallback\">").nth(1).unwrap();
    assert!(fallback.contains("<p>static</p>") && !fallback.contains("script"), "{fallback}");
    let colab = json!({ "text/html": "<div><table class=\"dataframe\"><tr><td>1</table><button>x</button><script>y</script></div>" });
    let colab = output(&bundle(&colab), &context());
    assert!(colab.as_str().contains("<td>1</td>") && colab.interactive() == 0, "{colab:?}");
}

#[test]
fn streams_are_as_on_a_terminal() {
    let stream =
        |name: &str, text: &str| written(&Output::Stream { name: name.to_owned(), text: text.into() });
    assert_eq!(
        stream("stdout", "10%\r100%\n"),
        "<div class=\"cb-output\"><pre tabindex=\"0\">100%</pre></div>"
    );
    assert!(stream("stderr", "x").contains("aria-label=\"Standard error\""));
}

/// Each attack in every form that an output has.
#[test]
fn attacks_are_harmless() {
    let mut libraries = Libraries::default();
    libraries.insert(Library::Plotly, vec!["x".to_owned()]);
    for attack in attacks() {
        let mut outputs = vec![
            Output::Stream { name: attack.clone(), text: (&*attack).into() },
            Output::Error { name: attack.clone(), value: attack.clone(), traceback: vec![attack.clone(); 4] },
            Output::Other(Json::from_value(&json!({ "output_type": attack }))),
        ];
        for mime in [
            "text/plain",
            "text/html",
            "text/markdown",
            "text/latex",
            "image/svg+xml",
            "image/png",
            "application/json",
            "application/javascript",
            "application/pdf",
            &*attack,
            "application/vnd.vega.v5+json",
        ] {
            outputs.push(bundle(&json!({ mime: attack })));
            outputs.push(bundle(&json!({ mime: attack, "text/plain": attack })));
        }
        let figure = json!({ "data": [{ "name": attack, "type": attack }], "layout": { "title": attack } });
        outputs.push(bundle(&json!({ "application/vnd.plotly.v1+json": figure })));
        outputs.push(bundle(
            &json!({ "application/vnd.vegalite.v5+json": { "mark": attack, "title": attack } }),
        ));
        outputs.push(bundle(&json!({
            "application/vnd.jupyter.widget-view+json": { "model_id": attack }, "text/plain": attack,
        })));
        let about = json!({ "image/png": { "alt": attack, "width": attack } });
        let (data, metadata) =
            (Json::from_value(&json!({ "image/png": "iVBORw==" })), Json::from_value(&about));
        outputs.push(Output::Display(MimeBundle { data, metadata }));
        for it in outputs {
            let context = Context { language: Some("python".to_owned()), ..context() };
            assert_safe(output(&it, &context).as_str(), &format!("{it:?}"));
        }
    }
}

#[test]
fn of_a_longer_text_only_the_end_is_shown() {
    let lines: Vec<_> = (0..100).map(|line| format!("line {line} ü\n")).collect();
    let text = lines.concat();
    let printed = Output::Stream { name: "stdout".to_owned(), text: text.as_str().into() };
    let shown = |longest_text| output(&printed, &Context { longest_text, ..context() }).as_str().to_owned();
    assert!(shown(usize::MAX).contains("line 0 ü"));
    let end = shown(100);
    assert!(
        end.contains(">line 91 ü\nline 92") && end.contains("line 99 ü") && !end.contains("line 90"),
        "{end}"
    );
    assert!(end.contains("900 characters before this are not shown."), "{end}");
    assert!(shown(3).contains("ü"));
}
