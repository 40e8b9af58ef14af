//! Whether the outputs of a cell say the same as those of another run of it.

use std::borrow::Cow;
use std::ops::Range;
use std::time::SystemTime;

use notebook::{Json, MimeBundle, Output, Text};
use render::{full_text, is_same_image};

use crate::texts::are_same;

/// What is shown to people and machines, and not compared: its content is in another type, or made anew each time.
const HTML: &str = "text/html";
const SCRIPT: &str = "application/javascript";
/// The end of the type of a widget's view.
const WIDGET: &str = ".widget-view+json";

/// What the outputs of a cell say, in a form that can be compared.
struct Said<'o> {
    stdout: Text,
    stderr: Text,
    /// In their order.
    others: Vec<&'o Output>,
}

impl<'o> Said<'o> {
    fn of(outputs: &'o [Output]) -> Self {
        let mut said = Self { stdout: Text::default(), stderr: Text::default(), others: Vec::new() };
        for output in outputs {
            match output {
                Output::Stream { name, text } => {
                    let stream = if name == "stderr" { &mut said.stderr } else { &mut said.stdout };
                    text.pieces().for_each(|piece| stream.push(piece));
                }
                other => said.others.push(other),
            }
        }
        said
    }

    fn stdout(&self) -> String {
        full_text(&Output::Stream { name: "stdout".to_owned(), text: self.stdout.clone() })
    }
}

/// Whether both say the same. `after` was made `during` that time. What is printed to stderr does not count: warnings come and go.
pub fn are_same_outputs(before: &[Output], after: &[Output], during: &Range<SystemTime>) -> bool {
    let (before, after) = (Said::of(before), Said::of(after));
    before.others.len() == after.others.len()
        && are_same(&before.stdout(), &after.stdout(), during)
        && before.others.iter().zip(&after.others).all(|(one, other)| is_same_output(one, other, during))
}

fn is_same_output(before: &Output, after: &Output, during: &Range<SystemTime>) -> bool {
    match (before, after) {
        (
            Output::Display(before) | Output::Result { bundle: before, .. },
            Output::Display(after) | Output::Result { bundle: after, .. },
        ) => is_same_bundle(before, after, during),
        (Output::Error { name: before, value: was, .. }, Output::Error { name: after, value: is, .. }) => {
            before == after && are_same(was, is, during)
        }
        (before, after) => before == after,
    }
}

/// Text is compared as text, images as images. HTML is compared only where there is nothing else but the name of an object.
fn is_same_bundle(before: &MimeBundle, after: &MimeBundle, during: &Range<SystemTime>) -> bool {
    let types = |bundle: &MimeBundle| -> Vec<String> {
        let value = bundle.data.to_value();
        value.as_object().map(|object| object.keys().cloned().collect()).unwrap_or_default()
    };
    let (had, has) = (types(before), types(after));
    let is_hidden = |mime: &str| mime == SCRIPT || mime == HTML && !is_named_only(before);
    let is_content = |mime: &&String| !is_hidden(mime) && !mime.ends_with(WIDGET);
    let mut compared: Vec<&String> = had.iter().filter(is_content).collect();
    if compared.is_empty() && !has.iter().any(|mime| is_content(&mime)) {
        compared = had.iter().filter(|mime| *mime == HTML).collect();
    }
    let images = |types: &[String]| types.iter().filter(|mime| mime.starts_with("image/")).count();
    images(&had) == images(&has)
        && compared.iter().all(|mime| {
            let (Some(before), Some(after)) = (before.get(mime), after.get(mime)) else { return false };
            let text = |json: &Json| json.multiline_text().map(Cow::into_owned);
            match mime.as_str() {
                "image/svg+xml" | HTML => match (text(&before), text(&after)) {
                    (Some(before), Some(after)) => {
                        are_same(&without_ids(&before), &without_ids(&after), during)
                    }
                    _ => before == after,
                },
                mime if mime.starts_with("image/") => is_same_image(&before, &after),
                _ => match (text(&before), text(&after)) {
                    (Some(before), Some(after)) => are_same(&before, &after, during),
                    _ => are_same(before.as_str(), after.as_str(), during),
                },
            }
        })
}

/// Whether the text only names the class and address of an object, such as `<IPython.core.display.HTML object>`.
fn is_named_only(bundle: &MimeBundle) -> bool {
    let text = bundle.get("text/plain").and_then(|json| json.multiline_text().map(Cow::into_owned));
    text.is_some_and(|text| text.starts_with('<') && text.ends_with('>') && text.contains(" object"))
}

/// Markup without the ids that matplotlib and others make anew each time: letters and ten or more hexadecimal digits.
fn without_ids(markup: &str) -> String {
    let is_id = |word: &str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic() && !c.is_ascii_hexdigit());
        digits.len() >= 10 && digits.chars().all(|c| c.is_ascii_hexdigit())
    };
    let words = markup.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words
        .map(|word| {
            let end = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len();
            if is_id(&word[..end]) { format!("#{}", &word[end..]) } else { word.to_owned() }
        })
        .collect()
}

/// What outputs say, as text for people: the difference between two of these explains why they are not the same.
pub fn readable(outputs: &[Output]) -> String {
    let said = Said::of(outputs);
    let mut parts = vec![said.stdout()];
    parts.extend(said.others.iter().map(|output| match output {
        Output::Error { name, value, .. } => format!("{name}: {value}"),
        output => full_text(output),
    }));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn printed(name: &str, text: &str) -> Output {
        Output::Stream { name: name.to_owned(), text: text.into() }
    }

    fn shown(data: &Value) -> Output {
        let bundle = MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() };
        Output::Display(bundle)
    }

    fn failed(value: &str) -> Output {
        Output::Error {
            name: "ValueError".to_owned(),
            value: value.to_owned(),
            traceback: vec![value.to_owned()],
        }
    }

    fn same(before: &[Output], after: &[Output]) -> bool {
        are_same_outputs(before, after, &(SystemTime::now()..SystemTime::now()))
    }

    #[test]
    fn streams_are_joined_and_progress_is_folded() {
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
    fn text_goes_before_html_and_widgets() {
        let frame = |html: &str, plain: &str| shown(&json!({ "text/html": html, "text/plain": [plain] }));
        assert!(same(&[frame("<table id=1>", "x")], &[frame("<table id=2>", "x")]));
        assert!(!same(&[frame("<table>", "x")], &[frame("<table>", "y")]));
        let html = |html: &str| shown(&json!({ "text/html": html }));
        assert!(!same(&[html("<b>1</b>")], &[html("<b>2</b>")]));
        let object = |html: &str| frame(html, "<IPython.core.display.HTML object>");
        assert!(!same(&[object("<h1>100</h1>")], &[object("<h1>999</h1>")]));
        let named = |id: &str| object(&format!("<h1 id=\"{id}\">100</h1>"));
        assert!(same(&[named("m1a2b3c4d5e6f")], &[named("mffb3c4d5e6f0")]));
        let widget = |id: &str| {
            shown(
                &json!({ "application/vnd.jupyter.widget-view+json": { "model_id": id }, "text/plain": "Button()" }),
            )
        };
        assert!(same(&[widget("a")], &[widget("b")]));
        let plot = |x: i32| {
            shown(&json!({ "application/vnd.plotly.v1+json": { "data": [x] }, "text/html": x.to_string() }))
        };
        assert!(same(&[plot(1)], &[plot(1)]) && !same(&[plot(1)], &[plot(2)]));
        assert!(!same(
            &[shown(&json!({ "text/plain": "x" }))],
            &[shown(&json!({ "text/plain": "x", "image/png": "aGk=" }))]
        ));
    }

    #[test]
    fn a_result_and_a_display_are_the_same_whatever_their_number() {
        let bundle = MimeBundle {
            data: Json::from_value(&json!({ "text/plain": "1" })),
            metadata: Json::empty_object(),
        };
        let result = |count| Output::Result { execution_count: Some(count), bundle: bundle.clone() };
        assert!(same(&[result(1)], &[result(7)]) && same(&[result(1)], &[Output::Display(bundle.clone())]));
    }

    #[test]
    fn errors_are_compared_by_name_and_message() {
        assert!(same(&[failed("at 0x7f0102030405")], &[failed("at 0x7f0102030499")]));
        assert!(!same(&[failed("one")], &[failed("two")]));
        assert_eq!(readable(&[printed("stdout", "x\n"), failed("one")]), "x\nValueError: one");
    }

    #[test]
    fn vector_images_may_have_other_ids() {
        let svg = |id: &str, x: i32| {
            shown(&json!({ "image/svg+xml": format!("<g id=\"{id}\"><path d=\"M {x}\"/></g>") }))
        };
        assert!(same(&[svg("m1a2b3c4d5e6f", 1)], &[svg("mffb3c4d5e6f0", 1)]));
        assert!(!same(&[svg("m1a2b3c4d5e6f", 1)], &[svg("m1a2b3c4d5e6f", 2)]));
    }
}
