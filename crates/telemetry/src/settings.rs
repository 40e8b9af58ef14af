//! Where spans go, from the environment.
//!
//! The variables are those of <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/> and
//! <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>. Headers, compression, sampling, limits and batches
//! are read by the library itself.

use std::path::PathBuf;
use std::time::Duration;

use opentelemetry_otlp::Protocol;
use url::Url;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where spans go.
#[derive(Debug)]
pub struct Settings {
    pub(crate) file: Option<PathBuf>,
    pub(crate) collector: Option<Collector>,
    notes: Vec<String>,
}

/// A receiver of spans over HTTP.
#[derive(Debug, PartialEq)]
pub(crate) struct Collector {
    pub(crate) url: Url,
    pub(crate) protocol: Protocol,
    pub(crate) timeout: Duration,
    /// Certificates to trust in addition to the system's.
    pub(crate) certificates: Option<PathBuf>,
}

impl Settings {
    /// Reads the settings: `variable` returns the value of an environment variable, and `file` is the file for spans.
    pub fn read(variable: impl Fn(&str) -> Option<String>, file: Option<PathBuf>) -> Self {
        let variable = |name: &str| {
            let value = variable(name).map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        let mut notes = Vec::new();
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            if file.is_some() {
                notes.push("OTEL_SDK_DISABLED is set, so no spans are written to the file".to_owned());
            }
            return Self { file: None, collector: None, notes };
        }
        let collector = collector(&variable).unwrap_or_else(|note| {
            notes.push(format!("{note}; no spans are sent"));
            None
        });
        Self { file, collector, notes }
    }

    pub(crate) fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    /// The settings that have no effect, one line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The collector, if one is configured. The error names the wrong variable but not its value: addresses can hold
/// passwords.
fn collector(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Collector>, String> {
    let first = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, variable(name)?)));
    let of_traces = first(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"]);
    let exporters = variable("OTEL_TRACES_EXPORTER");
    // By the standard, spans go to localhost if nothing is configured. On a person's own machine they go nowhere.
    let (name, address) = match (exporters.as_deref(), of_traces) {
        (Some("none"), _) | (None, None) => return Ok(None),
        (Some(exporters), _) if !exporters.split(',').any(|exporter| exporter.trim() == "otlp") => {
            return Err("OTEL_TRACES_EXPORTER may only be otlp or none; --otel-file writes spans to a file"
                .to_owned());
        }
        (_, Some(named)) => named,
        (Some(_), None) => ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318".to_owned()),
    };
    let invalid = || format!("{name} is not an http or https address");
    let mut url = Url::parse(&address).map_err(|_| invalid())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(invalid());
    }
    if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
        let path = format!("{}/v1/traces", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    let protocol = match first(["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"]) {
        None => Protocol::HttpBinary,
        Some((name, protocol)) => match protocol.as_str() {
            "http/protobuf" => Protocol::HttpBinary,
            "http/json" => Protocol::HttpJson,
            "grpc" => {
                return Err(format!(
                    "{name} is grpc, which is not supported: use http/protobuf and the collector's port for it (4318)"
                ));
            }
            _ => return Err(format!("{name} may only be http/protobuf or http/json")),
        },
    };
    let timeout = first(["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"]);
    let timeout = timeout.and_then(|(_, milliseconds)| milliseconds.parse().ok());
    let certificates = first(["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"]);
    Ok(Some(Collector {
        url,
        protocol,
        timeout: timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis),
        certificates: certificates.map(|(_, path)| path.into()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Settings {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::read(value, Some("spans.jsonl".into()))
    }

    fn address(variables: &[(&str, &str)]) -> Option<String> {
        let settings = read(variables);
        assert_eq!(settings.notes(), [""; 0], "{variables:?}");
        settings.collector.map(|collector| collector.url.to_string())
    }

    #[test]
    fn nothing_is_sent_by_default() {
        assert_eq!(address(&[]), None);
        assert_eq!(address(&[("OTEL_SERVICE_NAME", "x"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b")]), None);
        assert_eq!(address(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
        let none = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"), ("OTEL_TRACES_EXPORTER", "none")];
        assert_eq!(address(&none), None);
    }

    #[test]
    fn the_address_for_traces_is_used_unchanged_and_the_common_one_extended() {
        let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1/base/");
        assert_eq!(address(&[common]).as_deref(), Some("http://a:1/base/v1/traces"));
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://b/x?y=1");
        assert_eq!(address(&[common, own]).as_deref(), Some("https://b/x?y=1"));
        assert_eq!(
            address(&[("OTEL_TRACES_EXPORTER", "otlp")]).as_deref(),
            Some("http://localhost:4318/v1/traces")
        );
    }

    #[test]
    fn invalid_settings_are_noted_without_their_value() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1");
        for (variables, said) in [
            (&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")][..], "http/protobuf"),
            (
                &[endpoint, ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "smoke")],
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            ),
            (&[endpoint, ("OTEL_TRACES_EXPORTER", "console")], "OTEL_TRACES_EXPORTER"),
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "secret@a:1")], "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ] {
            let settings = read(variables);
            assert_eq!(settings.collector, None);
            assert!(settings.file.is_some(), "the file needs no collector");
            let [note] = settings.notes() else { panic!("{:?}", settings.notes()) };
            assert!(note.contains(said) && !note.contains("secret"), "{note}");
        }
    }

    #[test]
    fn everything_can_be_switched_off() {
        let settings = read(&[("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1")]);
        assert!(settings.file.is_none() && settings.collector.is_none());
        assert_eq!(settings.notes().len(), 1);
    }

    #[test]
    fn protocol_and_timeout_are_read() {
        let collector = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
        ]);
        let collector = collector.collector.unwrap();
        assert_eq!(collector.protocol, Protocol::HttpJson);
        assert_eq!(collector.timeout, Duration::from_millis(1500));
    }
}
