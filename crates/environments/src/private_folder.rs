//! Folders into which only their user may look.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

/// Makes a folder, and those above it, where there are none.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
