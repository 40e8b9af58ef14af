//! What the exit code of a process says on Windows.

/// How Windows or this program has ended it, or the code that it chose.
pub(super) fn describe(code: u32) -> String {
    let meaning = match code {
        // Signed, codes of errors are large negative numbers, which nobody looks up.
        0xC000_0005 => "crashed: access violation",
        0xC000_001D => "crashed: illegal instruction",
        0xC000_00FD => "crashed: stack overflow",
        0xC000_0374 => "crashed: the heap is corrupted",
        0xC000_0409 => "ended itself after a fatal error",
        0xC000_0135 => "cannot start: a DLL is missing",
        0xC000_0142 => "cannot start: a DLL has failed to load",
        0xC000_0017 | 0xC000_012D => "out of memory",
        0xC000_013A => "ended by Ctrl+C or a closed console",
        0xC000_0000.. => "crashed",
        _ => return format!("exit code {code}"),
    };
    format!("{meaning} (exit code {code:#X})")
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn codes_of_the_system_are_explained() {
        assert_eq!(describe(1), "exit code 1");
        assert_eq!(describe(0xC000_0005), "crashed: access violation (exit code 0xC0000005)");
        assert_eq!(describe(0xC000_013A), "ended by Ctrl+C or a closed console (exit code 0xC000013A)");
        assert_eq!(describe(0xC000_0420), "crashed (exit code 0xC0000420)");
    }
}
