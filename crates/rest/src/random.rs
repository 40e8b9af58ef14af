//! Random names of temporary files.

use crate::{Kind, RestError, Result};

/// Eight random hexadecimal digits.
pub(crate) fn digits() -> Result<String> {
    let number = getrandom::u32().map_err(|error| {
        let cause = format!("The operating system returned no random bytes: {error}.");
        RestError::new(Kind::Server, cause, "Try again.").with_source(error)
    })?;
    Ok(format!("{number:08x}"))
}
