//! The bound of every wait.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// How long a test waits for anything before it fails. Generous: it is a bound, not a measurement.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Waits for `future`, and fails with the name of what was awaited when it does not come.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(TIMEOUT, future).await.with_context(|| format!("waited {TIMEOUT:?} for {what}"))
}
