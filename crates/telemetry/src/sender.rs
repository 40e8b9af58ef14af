//! Spans on their way to a collector, which may be slow, or not there.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use reqwest::{Certificate, Client, redirect};
use tokio::runtime::Builder;
use url::{Host, Url};

use crate::settings::Collector;

/// The largest answer that is read; there is next to nothing in one.
const LARGEST_ANSWER: usize = 64 * 1024;

/// Posts batches, from the one thread that makes them.
#[derive(Debug)]
pub(crate) struct Sender {
    collector: Collector,
    /// Made for the first batch: certificates take milliseconds.
    client: OnceLock<Client>,
    /// Whether the last attempt reached nobody.
    is_down: AtomicBool,
    has_complained: AtomicBool,
}

impl Sender {
    pub(crate) fn new(collector: Collector) -> Self {
        let (is_down, has_complained) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { collector, client: OnceLock::new(), is_down, has_complained }
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
        *request.timeout_mut() = Some(self.collector.patience);
        // Of its own, on a thread of the library's: neither agents nor kernels ever wait for it.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut response = client.execute(request).await?;
            let status = response.status();
            let mut answer = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                answer.extend_from_slice(&chunk);
                if answer.len() > LARGEST_ANSWER {
                    return Err("the answer is too long".into());
                }
            }
            let mut whole = Response::new(Bytes::from(answer));
            *whole.status_mut() = status;
            Ok(whole)
        })
    }

    /// Says why nothing arrives, once. Neither headers nor what an address may hold beside the host.
    fn complain(&self, reason: &str) {
        if !self.has_complained.swap(true, Ordering::Relaxed) {
            let collector = self.collector.url.origin().ascii_serialization();
            tracing::warn!(collector, reason, "spans could not be sent; this is said once");
        }
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        match self.post(request) {
            Ok(response) => {
                self.is_down.store(false, Ordering::Relaxed);
                if !response.status().is_success() {
                    self.complain(&format!("it answered {}", response.status()));
                }
                Ok(response)
            }
            Err(error) => {
                self.complain(&innermost(&*error));
                if self.is_down.swap(true, Ordering::Relaxed) {
                    // Unlike an error, this is not tried again: the next batch is the next attempt.
                    let mut gone = Response::new(Bytes::new());
                    *gone.status_mut() = reqwest::StatusCode::INTERNAL_SERVER_ERROR;
                    return Ok(gone);
                }
                Err(error)
            }
        }
    }
}

/// What is at the bottom of an error; what stands above it repeats the address.
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
        // Nobody looks after connections between two batches.
        .pool_max_idle_per_host(0)
        .http1_only();
    if is_loopback(&collector.url) {
        client = client.no_proxy();
    }
    // The process's choice, if another part has made one, is as good.
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
