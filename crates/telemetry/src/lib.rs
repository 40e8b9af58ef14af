//! Spans of OpenTelemetry: what is traced by `tracing` under the target [`workspace::TRACED`] goes to a collector, to a
//! file, or to both.
//!
//! Batches leave on threads of the library's. Where nothing is asked for, there are none, and spans are never made.

mod lines;
mod sender;
mod settings;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue, global};
use opentelemetry_otlp::{RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::registry::LookupSpan;
use workspace::TRACED;

use crate::lines::Lines;
use crate::sender::Sender;
pub use crate::settings::Settings;

/// How often lines are written.
const WRITE_EVERY: Duration = Duration::from_millis(500);

/// The file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write spans to {path}: {source}")]
pub struct StartError {
    path: PathBuf,
    source: io::Error,
}

/// Spans that go somewhere.
#[derive(Debug, Clone)]
pub struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Opens the ways out; `None` if there are none. Contacts nobody.
    pub fn start(settings: &mut Settings) -> Result<Option<Self>, StartError> {
        let (file, collector) = (settings.file.take(), settings.collector.take());
        if file.is_none() && collector.is_none() {
            return Ok(None);
        }
        let mut provider = SdkTracerProvider::builder().with_resource(resource(settings));
        if let Some(path) = file {
            let lines = Lines::open(&path).map_err(|source| StartError { path, source })?;
            let batches = BatchConfigBuilder::default().with_scheduled_delay(WRITE_EVERY).build();
            provider = provider
                .with_span_processor(BatchSpanProcessor::builder(lines).with_batch_config(batches).build());
        }
        if let Some(collector) = collector {
            let exporter = SpanExporter::builder()
                .with_http()
                .with_endpoint(collector.url.as_str())
                .with_protocol(collector.protocol)
                .with_timeout(collector.patience)
                .with_retry_policy(RetryPolicy::recommended())
                .with_http_client(Sender::new(collector))
                .build();
            match exporter {
                Ok(exporter) => provider = provider.with_batch_exporter(exporter),
                // What it says may hold the address.
                Err(_) => settings.note("the collector's settings cannot be used; no spans are sent"),
            }
        }
        // Agents that trace, too, say in a call what it is a part of.
        global::set_text_map_propagator(TraceContextPropagator::new());
        Ok(Some(Self { provider: provider.build() }))
    }

    /// What a subscriber has to be given.
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

    /// Sees off what has ended so far. Blocks, for some seconds at the most.
    pub fn flush(&self) {
        // What stood in the way was said in the log.
        let _ = self.provider.force_flush();
    }

    /// Sees off everything, and ends. Blocks no longer than `patience`.
    pub fn end(&self, patience: Duration) {
        let _ = self.provider.shutdown_with_timeout(patience);
    }
}

/// Who it is that tells all this.
fn resource(settings: &Settings) -> Resource {
    let mut resource = Resource::builder();
    if !settings.names_service {
        resource = resource.with_service_name("cellbridge");
    }
    let instance = uuid::Uuid::new_v4().to_string();
    resource
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("service.instance.id", instance))
        .build()
}
