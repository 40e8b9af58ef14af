//! Exports spans with OpenTelemetry: those with the target [`runs::TRACED`] go to a collector, to a file, or to
//! both.
//!
//! The OpenTelemetry SDK sends batches on threads that it starts. Without a collector and a file there are no such
//! threads, and no spans.

mod collector;
mod file;
mod settings;
#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, Key, KeyValue, global};
use opentelemetry_otlp::{RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use runs::TRACED;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::registry::LookupSpan;

use crate::collector::CollectorClient;
use crate::file::FileExporter;
pub use crate::settings::Settings;

/// The targets of our own log: the crates of this program that log. Libraries log whole messages, with the contents of notebooks.
const LOGGED: [&str; 25] = [
    "_native",
    "cellbridge",
    "calls",
    "colab",
    "colab_machines",
    "doctor",
    "environments",
    "files",
    "front_door",
    "jupyter",
    "keeper",
    "kernel",
    "local",
    "mcp",
    "page",
    "place",
    "recorder",
    "rest",
    "run_logs",
    "runs",
    "telemetry",
    "transports",
    "verify",
    "workspace",
    "ydoc",
];

/// Those targets, with a level.
pub fn logged(level: LevelFilter) -> impl Iterator<Item = (&'static str, LevelFilter)> {
    LOGGED.into_iter().map(move |target| (target, level))
}

/// The pause between two writes to the file.
const WRITE_INTERVAL: Duration = Duration::from_millis(500);

/// The running export of spans.
#[derive(Debug, Clone)]
pub struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Opens the file and prepares the client of the collector; `None` if neither is configured. Contacts nobody.
    pub fn start(settings: &mut Settings) -> io::Result<Option<Self>> {
        let (file, collector) = (settings.file.take(), settings.collector.take());
        if file.is_none() && collector.is_none() {
            return Ok(None);
        }
        let mut provider = SdkTracerProvider::builder().with_resource(resource());
        if let Some(path) = file {
            let refused = |error: io::Error| {
                io::Error::new(error.kind(), format!("cannot write spans to {}: {error}", path.display()))
            };
            let exporter = FileExporter::open(&path).map_err(refused)?;
            let batches = BatchConfigBuilder::default().with_scheduled_delay(WRITE_INTERVAL).build();
            provider = provider.with_span_processor(
                BatchSpanProcessor::builder(exporter).with_batch_config(batches).build(),
            );
        }
        if let Some(collector) = collector {
            let exporter = SpanExporter::builder()
                .with_http()
                .with_endpoint(collector.url.as_str())
                .with_protocol(collector.protocol)
                .with_timeout(collector.timeout)
                .with_retry_policy(RetryPolicy::recommended())
                .with_http_client(CollectorClient::new(collector))
                .build();
            match exporter {
                Ok(exporter) => provider = provider.with_batch_exporter(exporter),
                // The error may hold the address, which may hold a password.
                Err(_) => settings.note("the settings of the collector are invalid; no spans are sent"),
            }
        }
        // An agent that traces sends the parent of a call's span.
        global::set_text_map_propagator(TraceContextPropagator::new());
        Ok(Some(Self { provider: provider.build() }))
    }

    /// The layer for the subscriber.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let scope =
            InstrumentationScope::builder("cellbridge").with_version(env!("CARGO_PKG_VERSION")).build();
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer_with_scope(scope))
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(
                FilterFn::new(|metadata| metadata.target() == TRACED).with_max_level_hint(LevelFilter::INFO),
            )
    }

    /// Sends the spans that have ended. Blocks for a few seconds at most.
    pub fn flush(&self) {
        // The exporter has logged the failure.
        let _ = self.provider.force_flush();
    }

    /// Sends the remaining spans and ends the export. Blocks no longer than `timeout`.
    pub fn end(&self, timeout: Duration) {
        let _ = self.provider.shutdown_with_timeout(timeout);
    }
}

/// Describes this process in every span. Without a name from the environment, the SDK's starts with `unknown_service`.
fn resource() -> Resource {
    let mut resource = Resource::builder();
    let name = Resource::builder().build().get(&Key::new("service.name"));
    if name.is_none_or(|name| name.as_str().starts_with("unknown_service")) {
        resource = resource.with_service_name("cellbridge");
    }
    let instance = uuid::Uuid::new_v4().to_string();
    resource
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("service.instance.id", instance))
        .build()
}
