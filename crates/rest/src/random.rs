//! Cryptographically secure random bytes.

use crate::{Kind, RestError, Result};

pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        RestError::new(
            Kind::Server,
            format!("The operating system returned no random bytes: {error}."),
            "Try again.",
        )
        .with_source(error)
    })?;
    Ok(bytes)
}
