//! Outputs as nbformat 4 has them, in the result of a call.

use notebook::{MimeBundle, Output};
use place::{Answer, Error, ErrorKind, NextStep};
use serde_json::json;
use serde_json::value::RawValue;

/// The maximum size of all outputs: a result has them twice, as text and as structured content.
const MAX_BYTES: usize = 5_000_000;
const CUT: &str =
    "The outputs exceeded 5 MB: the rest was left out. Write large results to files, or show a part.";

/// The result of a call: the list of outputs, or `null`, then the notes.
pub(super) fn result(outputs: &[Output], mut notes: Vec<String>, is_error: bool) -> Result<Answer, Error> {
    let (mut list, mut room) = (Vec::new(), MAX_BYTES);
    let mut is_cut = false;
    for output in outputs {
        let mut written = written(output, usize::MAX);
        if written.len() > room {
            is_cut = true;
            // A character may be written with six. Without its error, the code would seem to have succeeded.
            written = match output {
                Output::Stream { .. } if room > 1000 => self::written(output, room / 6 - 20),
                Output::Error { .. } => self::written(output, 1000),
                _ => continue,
            };
        }
        room = room.saturating_sub(written.len());
        list.push(written);
    }
    notes.extend(is_cut.then(|| CUT.to_owned()));
    let list = if list.is_empty() { "null".to_owned() } else { format!("[{}]", list.join(",")) };
    let texts = [&list].into_iter().chain(&notes);
    let content = json!(texts.map(|text| json!({ "type": "text", "text": text })).collect::<Vec<_>>());
    let result =
        format!(r#"{{"content":{content},"structuredContent":{{"result":{list}}},"isError":{is_error}}}"#);
    RawValue::from_string(result).map(Answer::Result).map_err(|error| {
        let cause = "The outputs of the code cannot be written as JSON.";
        Error::new(ErrorKind::Internal, cause, NextStep::ReportBug).with_source(error)
    })
}

/// The output as JSON, with so many bytes of each text.
fn written(output: &Output, room: usize) -> String {
    let text = |text: &str| json!(text[..text.floor_char_boundary(room)]);
    let mime = |kind: &str, bundle: &MimeBundle| {
        let (data, metadata) = (bundle.data.to_value(), bundle.metadata.to_value());
        json!({ "output_type": kind, "data": data, "metadata": metadata })
    };
    let output = match output {
        Output::Stream { name, text: printed } => {
            json!({ "output_type": "stream", "name": name, "text": text(&printed.as_str()) })
        }
        Output::Display(bundle) => mime("display_data", bundle),
        Output::Result { execution_count, bundle } => {
            let mut result = mime("execute_result", bundle);
            result["execution_count"] = json!(execution_count);
            result
        }
        Output::Error { name, value, traceback } => {
            let traceback = if room == usize::MAX { &traceback[..] } else { &[] };
            json!({ "output_type": "error", "ename": text(name), "evalue": text(value), "traceback": traceback })
        }
        Output::Other(json) => return json.as_str().to_owned(),
    };
    output.to_string()
}

#[cfg(test)]
mod tests {
    use notebook::Json;
    use serde_json::Value;

    use super::*;

    fn answer(outputs: &[Output], notes: &[&str]) -> Value {
        let notes = notes.iter().map(|note| (*note).to_owned()).collect();
        let Ok(Answer::Result(result)) = result(outputs, notes, false) else { panic!("no result") };
        serde_json::from_str(result.get()).unwrap()
    }

    fn bundle(data: &Value) -> MimeBundle {
        MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() }
    }

    fn stream(text: &str) -> Output {
        Output::Stream { name: "stdout".to_owned(), text: text.into() }
    }

    fn error() -> Output {
        let (name, value) = ("ValueError".to_owned(), "no".to_owned());
        Output::Error { name, value, traceback: vec!["line".to_owned()] }
    }

    #[test]
    fn outputs_are_those_of_nbformat_as_text_and_as_structured_content() {
        let result =
            Output::Result { execution_count: Some(3), bundle: bundle(&json!({ "text/plain": "2" })) };
        let image = Output::Display(bundle(&json!({ "image/png": "aGk=" })));
        let answer = answer(&[stream("hi\n"), image, result, error()], &["A note."]);
        let expected = json!([
            { "output_type": "stream", "name": "stdout", "text": "hi\n" },
            { "output_type": "display_data", "data": { "image/png": "aGk=" }, "metadata": {} },
            { "output_type": "execute_result", "execution_count": 3, "data": { "text/plain": "2" }, "metadata": {} },
            { "output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["line"] },
        ]);
        assert_eq!(answer["structuredContent"]["result"], expected);
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
        assert_eq!(answer["content"][1], json!({ "type": "text", "text": "A note." }));
        assert_eq!(answer["isError"], false);
    }

    #[test]
    fn no_outputs_are_null() {
        let answer = answer(&[], &[]);
        assert_eq!(answer["content"], json!([{ "type": "text", "text": "null" }]));
        assert_eq!(answer["structuredContent"], json!({ "result": null }));
    }

    #[test]
    fn outputs_are_cut_in_words_but_an_error_stays() {
        let image = Output::Display(bundle(&json!({ "image/png": "x".repeat(MAX_BYTES) })));
        let answer = answer(&[stream("before"), image, stream(&"\u{1}".repeat(MAX_BYTES)), error()], &[]);
        let outputs = answer["structuredContent"]["result"].as_array().unwrap();
        let types: Vec<_> = outputs.iter().map(|it| it["output_type"].as_str().unwrap()).collect();
        assert_eq!(types, ["stream", "stream", "error"]);
        assert!(answer["content"][0]["text"].as_str().unwrap().len() < MAX_BYTES + 10_000);
        assert_eq!(answer["content"][1]["text"], CUT);
    }
}
