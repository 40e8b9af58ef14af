//! Files that other programs hold for a moment.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_LOCK_VIOLATION, ERROR_SHARING_VIOLATION, WIN32_ERROR,
};

/// How long another program may hold a file that is needed, and how often that is tried.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Repeats `work` while another program holds a file: virus scanners, indexers and programs that copy to a cloud look at each new
/// file for a moment.
pub fn while_busy<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let end = Instant::now() + BUSY_TIMEOUT;
    loop {
        match work() {
            Err(error) if is_busy(&error) && Instant::now() < end => sleep(BUSY_PAUSE),
            result => return result,
        }
    }
}

/// Whether another program holds the file, or may: Windows says "access denied" in some of these cases.
pub fn is_busy(error: &io::Error) -> bool {
    is_held(error) || has_code(error, ERROR_ACCESS_DENIED)
}

/// Whether Windows says that another program holds the file.
pub fn is_held(error: &io::Error) -> bool {
    has_code(error, ERROR_SHARING_VIOLATION) || has_code(error, ERROR_LOCK_VIOLATION)
}

fn has_code(error: &io::Error, code: WIN32_ERROR) -> bool {
    error.raw_os_error() == Some(code.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: WIN32_ERROR) -> io::Error {
        io::Error::from_raw_os_error(code.cast_signed())
    }

    #[test]
    fn work_is_repeated_while_others_hold_the_file() {
        let mut errors = vec![
            io::ErrorKind::NotFound.into(),
            error(ERROR_LOCK_VIOLATION),
            error(ERROR_SHARING_VIOLATION),
            error(ERROR_ACCESS_DENIED),
        ];
        let result = while_busy(|| errors.pop().map_or(Ok(()), Err));
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::NotFound, "which is no reason to try again");
        let held = while_busy(|| -> io::Result<()> { Err(error(ERROR_SHARING_VIOLATION)) });
        assert!(is_held(&held.unwrap_err()));
    }
}
