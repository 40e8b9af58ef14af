//! What a person sees of widgets, and what is saved.

use bytes::Bytes;
use notebook::Json;
use serde_json::{Value, json};

use super::*;
use crate::messages::{Channel, Message};

fn message(kind: &str, content: &Value, buffers: &[&'static [u8]]) -> Message {
    let [header, parent, content] =
        [&json!({ "msg_type": kind }), &json!({}), content].map(|part| part.to_string().into());
    let buffers = buffers.iter().map(|buffer| Bytes::from_static(buffer)).collect();
    Message::read(Channel::Iopub, header, parent, content).unwrap().with_buffers(buffers)
}

fn open(widgets: &mut Widgets, id: &str, name: &str, mut state: Value) {
    state["_model_name"] = format!("{name}Model").into();
    let content = json!({ "comm_id": id, "target_name": "jupyter.widget", "data": { "state": state } });
    widgets.handle(&message("comm_open", &content, &[])).unwrap();
}

fn update(widgets: &mut Widgets, id: &str, state: &Value) -> bool {
    let content = json!({ "comm_id": id, "data": { "method": "update", "state": state } });
    widgets.handle(&message("comm_msg", &content, &[])).unwrap()
}

/// The text of a model without children.
fn shown(name: &str, state: Value) -> String {
    let mut widgets = Widgets::default();
    open(&mut widgets, "a", name, state);
    widgets.text("a").unwrap()
}

/// A bar of tqdm with three of four steps done.
fn tqdm() -> Widgets {
    let mut widgets = Widgets::default();
    open(&mut widgets, "left", "HTML", json!({ "value": "" }));
    open(&mut widgets, "bar", "FloatProgress", json!({ "value": 0.0, "min": 0.0, "max": 4.0 }));
    open(&mut widgets, "right", "HTML", json!({ "value": "" }));
    open(&mut widgets, "layout", "Layout", json!({}));
    let children = ["IPY_MODEL_left", "IPY_MODEL_bar", "IPY_MODEL_right"];
    open(&mut widgets, "box", "HBox", json!({ "children": children, "layout": "IPY_MODEL_layout" }));
    update(&mut widgets, "bar", &json!({ "value": 3.0 }));
    update(&mut widgets, "left", &json!({ "value": "Rows &lt;1&gt;:\u{2007}75%" }));
    update(&mut widgets, "right", &json!({ "value": "\u{2007}3/4 [00:01&lt;00:00,\u{2007}2.5it/s]" }));
    widgets
}

#[test]
fn a_bar_of_tqdm_reads_as_in_a_terminal() {
    let mut widgets = tqdm();
    assert_eq!(widgets.text("box").unwrap(), "Rows <1>: 75% |███████   | 3/4 [00:01<00:00, 2.5it/s]");
    update(&mut widgets, "bar", &json!({ "bar_style": "danger" }));
    assert!(widgets.text("box").unwrap().contains("| (danger) 3/4"));
    update(&mut widgets, "layout", &json!({ "visibility": "hidden" }));
    assert_eq!(widgets.text("box").unwrap(), "");
}

#[test]
fn controls_show_their_value() {
    let range = |value: Value| json!({ "description": "n", "value": value, "min": 0, "max": 9 });
    let options =
        |index: Value| json!({ "description": "Kind:", "_options_labels": ["a", "b"], "index": index });
    let cases = [
        ("IntSlider", range(json!(5)), "n: 5 (0–9)"),
        ("FloatSlider", range(json!(2.0)), "n: 2 (0–9)"),
        ("IntRangeSlider", range(json!([2, 5])), "n: 2, 5 (0–9)"),
        ("IntProgress", range(json!(3)), "n: |███       | 3/9"),
        ("FloatProgress", json!({ "value": 2.0, "min": 1.0, "max": 3.0 }), "|█████     | 2 (1–3)"),
        ("FloatProgress", json!({ "value": 2.0, "min": 0.0, "max": 0.0 }), "|          | 2/0"),
        ("BoundedIntText", range(json!(7)), "n: 7 (0–9)"),
        ("Text", json!({ "value": "Ada", "description": "Name" }), "Name: Ada"),
        ("Text", json!({ "value": "", "description": "Name" }), "Name"),
        ("Password", json!({ "value": "secret" }), "••••••••"),
        ("Label", json!({ "value": "a < b" }), "a < b"),
        ("HTML", json!({ "value": "<b>a</b> &lt; <i>b</i>" }), "a < b"),
        ("Dropdown", options(json!(1)), "Kind: b (of a, b)"),
        ("RadioButtons", options(json!(null)), "Kind: (nothing selected) (of a, b)"),
        ("SelectMultiple", options(json!([0, 1])), "Kind: a, b (of a, b)"),
        ("Checkbox", json!({ "value": true, "description": "Fast" }), "[x] Fast"),
        ("ToggleButton", json!({ "value": false, "description": "Fast" }), "[ ] Fast"),
        ("Button", json!({ "description": "Run" }), "[Run]"),
        ("Button", json!({ "description": "", "icon": "play" }), "[play]"),
        ("DatePicker", json!({ "value": { "year": 2026, "month": 10, "date": 5 } }), "2026-11-05"),
        ("Image", json!({ "format": "png" }), "[image png]"),
        (
            "Output",
            json!({ "outputs": [
            { "output_type": "stream", "text": "one\n" },
            { "output_type": "display_data", "data": { "text/plain": "two" } },
            { "output_type": "error", "ename": "E", "evalue": "three" },
        ] }),
            "one\ntwo\nE: three",
        ),
        ("Canvas", json!({ "value": "x" }), "Canvas: x"),
        ("MPLCanvas", json!({}), "MPLCanvas"),
    ];
    for (name, state, text) in cases {
        assert_eq!(shown(name, state), text, "{name}");
    }
}

#[test]
fn a_widget_in_an_output_widget_is_shown_and_kept_as_it_is_now() {
    let mut widgets = Widgets::default();
    open(&mut widgets, "age", "IntSlider", json!({ "value": 1, "description": "Age", "min": 0, "max": 9 }));
    let shown = |id: &str| {
        let data = json!({ "text/plain": "IntSlider(value=1)", VIEW: { "model_id": id } });
        json!({ "output_type": "display_data", "data": data })
    };
    open(&mut widgets, "out", "Output", json!({ "outputs": [shown("age"), shown("unknown")] }));
    update(&mut widgets, "age", &json!({ "value": 7 }));
    assert_eq!(widgets.text("out").unwrap(), "Age: 7 (0–9)\nIntSlider(value=1)");
    let saved = widgets.saved(&["out".to_owned()]).unwrap();
    assert_eq!(saved["state"]["age"]["state"]["value"], 7);
    widgets.handle(&message("comm_close", &json!({ "comm_id": "age" }), &[])).unwrap();
    assert_eq!(widgets.text("out").unwrap(), "IntSlider(value=1)", "what is closed is gone");
    let saved = widgets.saved(&["out".to_owned()]).unwrap();
    assert_eq!(saved["state"]["out"]["state"]["outputs"], json!([shown("unknown")]));
    let html = json!({ "text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>n</b> is 2" });
    open(
        &mut widgets,
        "html",
        "Output",
        json!({ "outputs": [{ "output_type": "display_data", "data": html }] }),
    );
    assert_eq!(widgets.text("html").unwrap(), "n is 2");
    open(&mut widgets, "loop", "Output", json!({ "outputs": [shown("loop")] }));
    assert_eq!(widgets.text("loop").unwrap(), "");
}

#[test]
fn html_is_text() {
    let cases = [
        ("a<br>b<p>c</p>d", "a\nb\nc\nd"),
        ("<table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table>", "x\ty\n1\t2"),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
        ("<style>b { color: red }</style>a<script>alert('<b>')</script>b", "ab"),
        ("a\n   b &amp; c&nbsp;d", "a b & c d"),
        ("<img src='data:…' alt='A plot'> <img src=x>", "[image: A plot] [image]"),
        ("<b>open", "open"),
    ];
    for (html, text) in cases {
        assert_eq!(html::text_of(html), text, "{html}");
    }
}

#[test]
fn boxes_show_their_children() {
    let mut widgets = Widgets::default();
    open(&mut widgets, "a", "Label", json!({ "value": "one" }));
    open(&mut widgets, "b", "Label", json!({ "value": "two" }));
    let children = json!(["IPY_MODEL_a", "IPY_MODEL_b", "IPY_MODEL_unknown"]);
    open(&mut widgets, "row", "HBox", json!({ "children": children }));
    open(&mut widgets, "column", "VBox", json!({ "children": children }));
    open(
        &mut widgets,
        "tab",
        "Tab",
        json!({ "children": children, "titles": ["X", ""], "selected_index": 1 }),
    );
    let titles = json!({ "0": "X", "1": "Y" });
    open(
        &mut widgets,
        "folds",
        "Accordion",
        json!({ "children": children, "_titles": titles, "selected_index": null }),
    );
    open(&mut widgets, "stack", "Stack", json!({ "children": children, "selected_index": 0 }));
    let text = |id: &str| widgets.text(id).unwrap();
    assert_eq!(text("row"), "one two");
    assert_eq!(text("column"), "one\ntwo");
    assert_eq!(text("tab"), "X | [2] | 3\ntwo");
    assert_eq!(text("folds"), "X | Y | 3");
    assert_eq!(text("stack"), "one");
    open(
        &mut widgets,
        "loop",
        "HBox",
        json!({ "children": ["IPY_MODEL_loop", "IPY_MODEL_loop", "IPY_MODEL_a"] }),
    );
    assert!(widgets.text("loop").unwrap().starts_with("one"));
}

#[test]
fn the_state_is_saved_as_a_front_end_does() {
    let mut widgets = tqdm();
    open(&mut widgets, "elsewhere", "Label", json!({ "value": "not shown" }));
    open(&mut widgets, "secret", "Password", json!({ "value": "hunter2" }));
    let content = json!({
        "comm_id": "image", "target_name": "jupyter.widget",
        "data": { "state": { "_model_name": "ImageModel", "_model_module": "m", "_model_module_version": "2" }, "buffer_paths": [["value"]] },
    });
    widgets.handle(&message("comm_open", &content, &[b"\xff\0"])).unwrap();
    open(
        &mut widgets,
        "link",
        "DirectionalLink",
        json!({ "source": ["IPY_MODEL_bar", "value"], "target": ["IPY_MODEL_x", "value"] }),
    );
    let saved = widgets.saved(&["box".to_owned(), "image".to_owned(), "secret".to_owned()]).unwrap();
    assert_eq!((&saved["version_major"], &saved["version_minor"]), (&json!(2), &json!(0)));
    let ids: Vec<_> = saved["state"].as_object().unwrap().keys().collect();
    assert_eq!(ids, ["left", "bar", "right", "layout", "box", "secret", "image", "link"]);
    assert_eq!(saved["state"]["bar"]["state"]["value"], json!(3.0));
    assert_eq!(saved["state"]["secret"]["state"].get("value"), None);
    let image = &saved["state"]["image"];
    assert_eq!((&image["model_name"], &image["model_module"]), (&json!("ImageModel"), &json!("m")));
    assert_eq!(image["model_module_version"], "2");
    assert_eq!(image["buffers"], json!([{ "data": "/wA=", "encoding": "base64", "path": ["value"] }]));

    let metadata = saved_widgets(None, Some(&Json::from_value(&saved)), &["box".to_owned()]).unwrap();
    let ids = metadata.to_value()["application/vnd.jupyter.widget-state+json"]["state"].clone();
    assert_eq!(
        ids.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["left", "bar", "right", "layout", "box", "link"]
    );
    assert!(widget_text(&metadata, "box").unwrap().contains("75% |███████   | 3/4"));
    assert_eq!(widget_text(&metadata, "image"), None);
}

#[test]
fn what_the_notebook_has_stays_while_it_is_shown() {
    let state = |models: Value| json!({ "state": models, "version_major": 2, "version_minor": 0 });
    let label = |value: &str| json!({ "model_name": "LabelModel", "state": { "_model_name": "LabelModel", "value": value } });
    let present = json!({
        "application/vnd.jupyter.widget-state+json": state(json!({ "a": label("old"), "b": label("of another cell"), "c": label("gone") })),
        "other": 1,
    });
    let present = Json::from_value(&present);
    let new = Json::from_value(&state(json!({ "a": label("new") })));
    let shown = ["a".to_owned(), "b".to_owned()];
    let merged = saved_widgets(Some(&present), Some(&new), &shown).unwrap();
    assert_eq!(widget_text(&merged, "a").unwrap(), "new");
    assert_eq!(widget_text(&merged, "b").unwrap(), "of another cell");
    assert_eq!(widget_text(&merged, "c"), None);
    assert_eq!(saved_widgets(Some(&present), None, &[]).unwrap().as_str(), r#"{"other":1}"#);
    assert_eq!(saved_widgets(None, None, &shown), None);
}

#[test]
fn what_another_program_keeps_in_its_own_form_stays() {
    let colab = json!({ "application/vnd.jupyter.widget-state+json": { "a": { "model_name": "LabelModel", "state": {} } } });
    let shown = ["n".to_owned()];
    let new = json!({ "state": { "n": { "model_name": "LabelModel", "state": {} } } });
    let (colab, new) = (Json::from_value(&colab), Json::from_value(&new));
    assert_eq!(saved_widgets(Some(&colab), None, &shown).as_ref(), Some(&colab));
    let both = saved_widgets(Some(&colab), Some(&new), &shown).unwrap();
    let state = &both.to_value()["application/vnd.jupyter.widget-state+json"];
    assert_eq!(
        (&state["a"]["model_name"], &state["state"]["n"]["model_name"]),
        (&json!("LabelModel"), &json!("LabelModel"))
    );
    let back = restored_widgets(Some(&both), &earlier_widgets(Some(&colab), Some(&both)).unwrap(), &[]);
    assert_eq!(back.unwrap().to_value(), colab.to_value());
    let list = Json::from_value(&json!([1]));
    assert_eq!(saved_widgets(Some(&list), None, &shown), Some(list));
    assert!(uses_model(Some(&both), &shown, "n") && !uses_model(Some(&both), &shown, "a"));
}

#[test]
fn a_closed_widget_is_no_longer_saved() {
    let mut widgets = Widgets::default();
    open(&mut widgets, "a", "IntSlider", json!({ "value": 7, "min": 0, "max": 100 }));
    let shown = ["a".to_owned()];
    let save = |present: Option<&Json>, widgets: &Widgets| {
        saved_widgets(present, widgets.saved(&shown).map(|state| Json::from_value(&state)).as_ref(), &shown)
    };
    let saved = save(None, &widgets);
    assert!(widget_text(saved.as_ref().unwrap(), "a").is_some());
    widgets.handle(&message("comm_close", &json!({ "comm_id": "a" }), &[])).unwrap();
    assert_eq!(save(saved.as_ref(), &widgets), None);
}

#[test]
fn the_store_is_bounded() {
    let mut widgets = Widgets::default();
    for index in 0..2100 {
        open(&mut widgets, &format!("w{index}"), "Label", json!({ "value": "x" }));
    }
    assert_eq!(widgets.text("w0"), None);
    assert!(widgets.text("w2099").is_some());
    // What is closed goes first.
    widgets.handle(&message("comm_close", &json!({ "comm_id": "w2050" }), &[])).unwrap();
    assert_eq!(widgets.text("w2050").unwrap(), "");
    open(&mut widgets, "new", "Label", json!({ "value": "x" }));
    assert_eq!((widgets.text("w2050"), widgets.text("w101").is_some()), (None, true));
    let large = "x".repeat(3 * 1024 * 1024);
    for index in 0..10 {
        open(&mut widgets, &format!("large{index}"), "Label", json!({ "value": large }));
    }
    let kept = (0..10).filter(|index| widgets.text(&format!("large{index}")).is_some()).count();
    assert_eq!(kept, 5);
    update(&mut widgets, "large9", &json!({ "value": "x".repeat(5 * 1024 * 1024) }));
    assert_eq!(widgets.text("large9"), None);
    widgets.clear();
    assert_eq!(widgets.saved(&["large8".to_owned()]), None);
}

#[test]
fn other_comms_and_malformed_messages_change_nothing() {
    let mut widgets = Widgets::default();
    let other =
        json!({ "comm_id": "x", "target_name": "bokeh", "data": { "state": { "_model_name": "A" } } });
    assert!(!widgets.handle(&message("comm_open", &other, &[])).unwrap());
    for content in [
        json!({}),
        json!({ "comm_id": 5, "data": [1] }),
        json!({ "comm_id": "x", "data": { "method": "update" } }),
    ] {
        assert!(!widgets.handle(&message("comm_msg", &content, &[])).unwrap(), "{content}");
    }
    assert!(widgets.handle(&message("comm_msg", &json!(5), &[])).is_err());
    // Of a model that was opened before, too little is known to show it.
    assert!(update(&mut widgets, "x", &json!({ "value": 1 })));
    assert_eq!((widgets.text("x"), widgets.saved(&["x".to_owned()])), (None, None));
}

/// What is shown after each moment of a recording of ipywidgets 8.1.9 and tqdm 4.70.1, whose lines are messages of a kernel.
fn play(recording: &str) -> String {
    let mut widgets = Widgets::default();
    let (mut shown, mut log) = (Vec::new(), String::new());
    for line in recording.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let kind = line["kind"].as_str().unwrap();
        let buffers = if line["buffers"].is_array() { &[&b"binary"[..]][..] } else { &[] };
        widgets.handle(&message(kind, &line["content"], buffers)).unwrap();
        if let Some(id) = line["content"]["data"][VIEW]["model_id"].as_str() {
            shown.push((id.to_owned(), String::new()));
        }
        for (id, last) in &mut shown {
            let text = widgets.text(id).unwrap();
            if *last != text {
                log.push_str(&format!("{id}: {}\n", text.replace('\n', "\n    ")));
                *last = text;
            }
        }
    }
    log
}

#[test]
fn a_bar_of_tqdm_moves() {
    insta::assert_snapshot!(play(include_str!("recorded/tqdm.jsonl")));
}

#[test]
fn the_controls_of_ipywidgets_are_shown() {
    insta::assert_snapshot!(play(include_str!("recorded/controls.jsonl")));
}

#[test]
fn an_output_widget_takes_outputs() {
    let mut widgets = Widgets::default();
    open(&mut widgets, "out", "Output", json!({ "outputs": [], "msg_id": "" }));
    open(&mut widgets, "bar", "IntProgress", json!({}));
    assert!(widgets.is_output("out") && !widgets.is_output("bar") && !widgets.is_output("nothing"));
    let print = |text: &str| Output::Stream { name: "stdout".to_owned(), text: text.into() };
    assert!(widgets.capture("out", &print("one\n")) && widgets.capture("out", &print("two\n")));
    let error =
        Output::Error { name: "ValueError".to_owned(), value: "no".to_owned(), traceback: Vec::new() };
    assert!(widgets.capture("out", &error));
    assert_eq!(widgets.text("out").unwrap(), "one\ntwo\nValueError: no");
    let saved = widgets.saved(&["out".to_owned()]).unwrap();
    let outputs = &saved["state"]["out"]["state"]["outputs"];
    assert_eq!(outputs[0], json!({ "output_type": "stream", "name": "stdout", "text": "one\ntwo\n" }));
    assert_eq!(outputs[1]["ename"], "ValueError");
    assert!(!widgets.clear_captured("out", true), "with the next output");
    assert!(widgets.capture("out", &print("three")));
    assert_eq!(widgets.text("out").unwrap(), "three");
    assert!(widgets.clear_captured("out", false));
    assert_eq!(widgets.text("out").unwrap(), "");
}

#[test]
fn all_models_can_be_saved() {
    let mut widgets = tqdm();
    open(&mut widgets, "apart", "IntSlider", json!({ "value": 3 }));
    let content = json!({ "comm_id": "apart", "data": {} });
    widgets.handle(&message("comm_close", &content, &[])).unwrap();
    let all = widgets.saved_all().unwrap();
    let names: Vec<_> = all["state"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["left", "bar", "right", "layout", "box", "apart"]);
    assert_eq!((&all["version_major"], &all["version_minor"]), (&json!(2), &json!(0)));
    assert_eq!(Widgets::default().saved_all(), None);
    assert!(all_widgets(&all).member("application/vnd.jupyter.widget-state+json").is_some());
}
