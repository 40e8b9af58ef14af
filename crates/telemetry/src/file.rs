//! Writes spans to a file, one line of OTLP JSON for each, which collectors can read:
//! <https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/>.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry_proto::tonic::trace::v1::TracesData;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

#[derive(Debug)]
pub(crate) struct FileExporter {
    file: File,
    path: PathBuf,
    resource: ResourceAttributesWithSchema,
    has_failed: AtomicBool,
}

impl FileExporter {
    /// Opens the file. Only its owner can read a new one.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = state::open_to_append(path)?;
        let (path, resource) = (path.to_owned(), ResourceAttributesWithSchema::default());
        Ok(Self { file, path, resource, has_failed: AtomicBool::new(false) })
    }

    fn write(&self, batch: Vec<SpanData>) -> io::Result<()> {
        let mut lines = Vec::new();
        for span in batch {
            let resource_spans = group_spans_by_resource_and_scope(vec![span], &self.resource);
            serde_json::to_writer(&mut lines, &TracesData { resource_spans })?;
            lines.push(b'\n');
        }
        // One write, so that the lines of several programs do not mix.
        (&self.file).write_all(&lines)
    }
}

impl SpanExporter for FileExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.write(batch).map_err(|error| {
            if !self.has_failed.swap(true, Ordering::Relaxed) {
                let path = self.path.display();
                tracing::warn!(%path, %error, "spans could not be written; further failures are not logged");
            }
            OTelSdkError::InternalFailure(error.to_string())
        })
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}
