//! How much memory a process holds.

use tokio::process::Command;

/// The resident memory of a process in bytes; `None` if it is gone, or the system does not say.
pub(crate) async fn resident_bytes(process: u32) -> Option<u64> {
    if cfg!(target_os = "linux") {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        return kibibytes(
            status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim_end_matches("kB"),
        );
    }
    let mut command = Command::new("/bin/ps");
    command.args(["-o", "rss=", "-p"]).arg(process.to_string());
    kibibytes(&String::from_utf8_lossy(&command.output().await.ok()?.stdout))
}

/// A number of KiB, in bytes.
fn kibibytes(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn this_process_holds_megabytes_and_one_that_is_gone_holds_nothing() {
        let own = resident_bytes(std::process::id()).await.unwrap();
        assert!((1 << 20..1 << 36).contains(&own), "{own}");
        assert_eq!(resident_bytes(u32::MAX).await, None);
    }

    #[test]
    fn what_ps_prints_is_read() {
        assert_eq!(kibibytes("  2048\n"), Some(2 << 20));
        assert_eq!(kibibytes(""), None);
    }
}
