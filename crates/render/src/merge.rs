//! Joins streams that a kernel flushed piece by piece.

use std::borrow::Cow;

use notebook::{Json, Output, WIDGET_VIEW};

/// `outputs` with adjacent streams of the same name joined, as Jupyter's own frontends store them.
///
/// Some servers and older files store an output for every flush; a progress bar is then hundreds of outputs, none of which
/// can be read alone. Code that shows outputs and pages through them must do both on the merged ones.
pub fn merged(outputs: &[Output]) -> Cow<'_, [Output]> {
    let continues = |pair: &[Output]| match pair {
        [Output::Stream { name, .. }, Output::Stream { name: next, .. }] => name == next,
        _ => false,
    };
    if !outputs.windows(2).any(continues) {
        return Cow::Borrowed(outputs);
    }
    let mut merged: Vec<Output> = Vec::new();
    for output in outputs {
        match (merged.last_mut(), output) {
            (Some(Output::Stream { name, text }), Output::Stream { name: next, text: more })
                if name == next =>
            {
                more.pieces().for_each(|piece| text.push(piece));
            }
            _ => merged.push(output.clone()),
        }
    }
    Cow::Owned(merged)
}

/// `outputs` in which each widget has the plain text that `text_of` knows for its model: a front end saves the state of widgets
/// beside the cells, and in their outputs only what they were at first.
pub fn with_widget_texts<'a>(
    outputs: &'a [Output],
    text_of: &dyn Fn(&str) -> Option<String>,
) -> Cow<'a, [Output]> {
    let known = |output: &Output| {
        let (Output::Display(bundle) | Output::Result { bundle, .. }) = output else { return None };
        let model = bundle.data.member(WIDGET_VIEW)?.member("model_id")?.text()?.into_owned();
        let mut data = bundle.data.to_value();
        data.as_object_mut()?.insert("text/plain".to_owned(), text_of(&model)?.into());
        let mut output = output.clone();
        if let Output::Display(bundle) | Output::Result { bundle, .. } = &mut output {
            bundle.data = Json::from_value(&data);
        }
        Some(output)
    };
    let texts: Vec<Option<Output>> = outputs.iter().map(known).collect();
    if texts.iter().all(Option::is_none) {
        return Cow::Borrowed(outputs);
    }
    Cow::Owned(
        texts
            .into_iter()
            .zip(outputs)
            .map(|(known, output)| known.unwrap_or_else(|| output.clone()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: &str, text: &str) -> Output {
        Output::Stream { name: name.to_owned(), text: text.into() }
    }

    #[test]
    fn widgets_get_the_text_of_their_state() {
        let data = serde_json::json!({ WIDGET_VIEW: { "model_id": "m" }, "text/plain": "IntSlider()" });
        let bundle = notebook::MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() };
        let outputs = [stream("a", "1"), Output::Display(bundle)];
        let shown = with_widget_texts(&outputs, &|model| (model == "m").then(|| "Depth: 7".to_owned()));
        assert_eq!(crate::full_text(&shown[1]), "[widget: Depth: 7]");
        assert!(matches!(with_widget_texts(&outputs, &|_| None), Cow::Borrowed(_)));
    }

    #[test]
    fn adjacent_streams_of_one_name_are_joined() {
        let outputs =
            [stream("a", "1"), stream("a", "2"), stream("b", "3"), stream("a", "4"), stream("a", "5")];
        assert_eq!(*merged(&outputs), [stream("a", "12"), stream("b", "3"), stream("a", "45")]);
        let single = [stream("a", "1"), stream("b", "2")];
        assert!(matches!(merged(&single), Cow::Borrowed(_)));
    }
}
