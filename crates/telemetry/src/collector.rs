//! The HTTP client for a collector, which may be slow or absent.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use reqwest::{Certificate, Client, redirect};
use tokio::runtime::Builder;
use url::{Host, Url};

use crate::settings::Collector;

/// The largest answer that is read, in bytes; real ones are tiny.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Posts batches on the exporter's thread.
///
/// The async client of `opentelemetry-http` needs a running runtime, and this thread has none; the blocking one needs
/// another feature of reqwest and starts a thread of its own.
#[derive(Debug)]
pub(crate) struct CollectorClient {
    collector: Collector,
    /// Built for the first batch: reading certificates takes milliseconds.
    client: OnceLock<Client>,
    /// Whether the last attempt failed.
    is_down: AtomicBool,
    has_warned: AtomicBool,
}

impl CollectorClient {
    pub(crate) fn new(collector: Collector) -> Self {
        let (is_down, has_warned) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { collector, client: OnceLock::new(), is_down, has_warned }
    }

    fn client(&self) -> Result<&Client, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = build(&self.collector)?;
        Ok(self.client.get_or_init(|| client))
    }

    fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client()?;
        let mut request = reqwest::Request::try_from(request)?;
        *request.timeout_mut() = Some(self.collector.timeout);
        // This is a thread of the SDK, so that blocking it delays neither agents nor kernels. It has no runtime.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut response = client.execute(request).await?;
            let status = response.status();
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk);
                if body.len() > MAX_ANSWER_BYTES {
                    return Err("the answer is too long".into());
                }
            }
            let mut whole = Response::new(Bytes::from(body));
            *whole.status_mut() = status;
            Ok(whole)
        })
    }

    /// Logs once why spans are not sent. Names only the collector's origin: headers and the rest of the address may hold
    /// secrets.
    fn warn_once(&self, reason: &str) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            let collector = self.collector.url.origin().ascii_serialization();
            tracing::warn!(collector, reason, "spans could not be sent; further failures are not logged");
        }
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        match self.post(request) {
            Ok(response) => {
                self.is_down.store(false, Ordering::Relaxed);
                if !response.status().is_success() {
                    self.warn_once(&format!("it answered {}", response.status()));
                }
                Ok(response)
            }
            Err(error) => {
                self.warn_once(&innermost(&*error));
                if self.is_down.swap(true, Ordering::Relaxed) {
                    // The SDK retries errors at once, but not this answer: the next batch is the next attempt.
                    let mut answer = Response::new(Bytes::new());
                    *answer.status_mut() = reqwest::StatusCode::INTERNAL_SERVER_ERROR;
                    return Ok(answer);
                }
                Err(error)
            }
        }
    }
}

/// The innermost cause of an error; the outer ones repeat the address.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    match deepest.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_timeout() => "it does not answer".to_owned(),
        Some(_) => "the request failed".to_owned(),
        None => deepest.to_string(),
    }
}

fn build(collector: &Collector) -> Result<Client, HttpError> {
    let mut client = Client::builder()
        .redirect(redirect::Policy::none())
        .referer(false)
        // A connection does not outlive the runtime of its batch.
        .pool_max_idle_per_host(0)
        .http1_only();
    if is_loopback(&collector.url) {
        client = client.no_proxy();
    }
    // Fails if a provider is installed already; any will do.
    drop(rustls::crypto::ring::default_provider().install_default());
    if collector.url.scheme() == "http" && is_loopback(&collector.url) {
        client = client.tls_certs_only([]);
    } else if let Some(file) = &collector.certificates {
        client = client.tls_certs_merge(Certificate::from_pem_bundle(&std::fs::read(file)?)?);
    }
    Ok(client.build()?)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}
