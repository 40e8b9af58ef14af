//! Converts outputs of nbformat 3 to nbformat 4.

use std::borrow::Cow;

use bytes::Bytes;

use crate::Json;

pub(super) fn upgrade_output(output: &Json) -> Json {
    let output_type =
        output.member("output_type").as_ref().and_then(Json::text).unwrap_or_default().into_owned();
    match &*output_type {
        "pyout" | "display_data" => upgrade_bundle(output, output_type == "pyout"),
        "pyerr" => {
            let mut members = others(output, &["output_type", "metadata"]);
            members.push(("output_type".into(), Json::string("error")));
            Json::object(&members)
        }
        "stream" => {
            let mut members = others(output, &["stream", "metadata"]);
            members.push(("name".into(), output.member("stream").unwrap_or(Json::string("stdout"))));
            Json::object(&members)
        }
        _ => output.clone(),
    }
}

fn upgrade_bundle(output: &Json, is_result: bool) -> Json {
    let metadata = output.member("metadata").filter(Json::is_object).unwrap_or(Json::empty_object());
    let mut own = vec!["output_type", "metadata"];
    let mut members = vec![
        (
            Cow::Borrowed("output_type"),
            Json::string(if is_result { "execute_result" } else { "display_data" }),
        ),
        ("metadata".into(), Json::object(&with_mime_types(metadata.members().collect()))),
    ];
    if is_result {
        own.push("prompt_number");
        let count = output.member("prompt_number").unwrap_or(Json::from_static("null"));
        members.push(("execution_count".into(), count));
    }
    let mut data = with_mime_types(others(output, &own));
    for (_, content) in data.iter_mut().filter(|(mime, _)| mime == "application/json") {
        // In nbformat 3 this is JSON in a string.
        let text = content.multiline_text().map(|text| Bytes::from(text.into_owned()));
        *content = text.and_then(|text| Json::parse(text).ok()).unwrap_or(content.clone());
    }
    members.push(("data".into(), Json::object(&data)));
    Json::object(&members)
}

fn others<'a>(output: &'a Json, names: &[&str]) -> Vec<(Cow<'a, str>, Json)> {
    output.members().filter(|(name, _)| !names.contains(&&**name)).collect()
}

fn with_mime_types(mut members: Vec<(Cow<'_, str>, Json)>) -> Vec<(Cow<'_, str>, Json)> {
    for (name, _) in &mut members {
        let mime = match &**name {
            "text" => "text/plain",
            "html" => "text/html",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "jpeg" => "image/jpeg",
            "latex" => "text/latex",
            "json" => "application/json",
            "javascript" => "application/javascript",
            _ => continue,
        };
        *name = mime.into();
    }
    members
}
