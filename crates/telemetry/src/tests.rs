use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use tracing::dispatcher::with_default;
use tracing::{Dispatch, info, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;

/// The lines of a file to which the spans of `work` were written.
fn written(path: &Path, work: impl FnOnce()) -> Vec<Value> {
    let mut settings = Settings::read(|_| None, Some(path.to_owned()));
    let telemetry = Telemetry::start(&mut settings).unwrap().unwrap();
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    with_default(&Dispatch::new(subscriber), work);
    telemetry.end(Duration::from_secs(10));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn span(line: &Value) -> &Value {
    let spans = line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 1);
    &spans[0]
}

fn attribute<'a>(of: &'a Value, key: &str) -> &'a Value {
    let attributes = of["attributes"].as_array().unwrap();
    attributes.iter().find(|attribute| attribute["key"] == key).map_or(&Value::Null, |found| &found["value"])
}

#[test]
fn a_line_is_a_span_as_otlp_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let lines = written(&folder.path().join("spans.jsonl"), || {
        let parent = info_span!(target: TRACED, "parent", "otel.kind" = "server", "error.type" = "x", "otel.status_code" = "ERROR");
        parent.in_scope(|| {
            let child = info_span!(target: TRACED, "child", count = 3_i64, "otel.name" = "a child");
            info!(target: TRACED, parent: &child, "kernel.started");
        });
    });
    let [child, parent] = &lines[..] else { panic!("{lines:?}") };
    let resource = &child["resourceSpans"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), &json!({ "stringValue": "cellbridge" }));
    assert_eq!(attribute(resource, "service.version")["stringValue"], env!("CARGO_PKG_VERSION"));
    assert_eq!(child["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"], "cellbridge");

    let (child, parent) = (span(child), span(parent));
    let is_hex = |value: &Value, digits: usize| {
        let text = value.as_str().unwrap();
        text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    assert!(is_hex(&child["traceId"], 32) && is_hex(&child["spanId"], 16), "{child}");
    assert_eq!(child["traceId"], parent["traceId"]);
    assert_eq!(child["parentSpanId"], parent["spanId"]);
    assert_eq!(parent["parentSpanId"], "");
    assert_eq!(child["name"], "a child");
    let nanoseconds = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
    assert!(nanoseconds(&child["startTimeUnixNano"]) <= nanoseconds(&child["endTimeUnixNano"]));
    assert_eq!(attribute(child, "count"), &json!({ "intValue": "3" }));
    assert_eq!(child["events"][0]["name"], "kernel.started");
    // SPAN_KIND_SERVER and STATUS_CODE_ERROR.
    assert_eq!(parent["kind"], 2);
    assert_eq!(parent["status"]["code"], 2);
}

#[test]
fn log_lines_and_other_spans_are_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let lines = written(&folder.path().join("spans.jsonl"), || {
        info_span!(target: TRACED, "traced").in_scope(|| {
            tracing::error!("a secret");
            info_span!("other").in_scope(|| info_span!(target: TRACED, "inner").in_scope(|| ()));
        });
    });
    let names: Vec<_> = lines.iter().map(|line| span(line)["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["inner", "traced"]);
    assert!(!format!("{lines:?}").contains("secret"));
    assert_eq!(span(&lines[0])["parentSpanId"], span(&lines[1])["spanId"]);
}

#[test]
fn the_file_is_appended_to_and_only_its_owner_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spans.jsonl");
    let once = || drop(info_span!(target: TRACED, "once"));
    assert_eq!(written(&path, once).len(), 1);
    assert_eq!(written(&path, once).len(), 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/spans.jsonl");
    let error = Telemetry::start(&mut Settings::read(|_| None, Some(path.clone()))).unwrap_err();
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
}

#[test]
fn without_a_collector_and_a_file_nothing_starts() {
    assert!(Telemetry::start(&mut Settings::read(|_| None, None)).unwrap().is_none());
}

#[test]
fn an_absent_collector_does_not_delay_the_end() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = format!("http://{unused}");
    let read = |name: &str| (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| address.clone());
    let telemetry = Telemetry::start(&mut Settings::read(read, None)).unwrap().unwrap();
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    with_default(&Dispatch::new(subscriber), || drop(info_span!(target: TRACED, "lost")));
    let begun = std::time::Instant::now();
    telemetry.end(Duration::from_secs(30));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn all_crates_that_log_are_logged() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut logging = BTreeSet::new();
    for folder in std::fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let target = match name {
            "cli" => "cellbridge",
            "python" => "_native",
            _ => name,
        };
        if sources(&folder.join("src")).any(|source| source.contains("tracing::")) {
            logging.insert(target.to_owned());
        }
    }
    let missing: Vec<_> = logging.iter().filter(|name| !LOGGED.contains(&name.as_str())).collect();
    assert!(logging.len() > 15 && missing.is_empty(), "{missing:?} of {logging:?}");
}

fn sources(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let sources: Vec<String> = entries
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path).collect()
            } else {
                vec![std::fs::read_to_string(&path).unwrap_or_default()]
            }
        })
        .collect();
    sources.into_iter()
}
