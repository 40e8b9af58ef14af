use std::fs;

/// Closes every file that this process inherited, except standard input, output and error.
///
/// A client that waits until nobody holds its pipes would wait for a keeper as long as that lives. Call it first: what this
/// process has opened itself is closed, too.
#[expect(unsafe_code, reason = "a file that no value of ours owns can be closed only by its number")]
pub fn close_inherited_descriptors() {
    // On Linux a link to `/proc/self/fd`, on macOS a file system of its own.
    let Ok(entries) = fs::read_dir("/dev/fd") else { return };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // Collected first: reading the folder needs a file, which is closed by then.
    let numbers: Vec<i32> = numbers.filter(|number| *number > 2).collect();
    for number in numbers {
        // SAFETY: nothing in this process owns a file yet, as the caller promises, so nothing uses it after this.
        let _ = unsafe { rustix::io::try_close(number) };
    }
}
