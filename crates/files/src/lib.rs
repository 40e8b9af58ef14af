//! The files of a folder: paths that stay in it, files that are replaced whole, and notebooks that other programs edit as well.
//!
//! [`Root`] confines paths, [`FileStore`] opens notebooks as documents, and the functions read, write, list and copy files of any
//! kind. Nothing here starts a program.

mod copy;
mod letter_case;
mod listing;
mod nearest;
mod on_disk;
mod open_handles;
mod real_path;
mod replacement;
mod root;
mod stamp;
mod store;
mod transfer;
#[cfg(any(windows, test))]
mod windows_path;

pub use copy::copy_folder;
pub use letter_case::uppercase;
pub use listing::{list, notebooks};
pub use on_disk::on_disk;
pub use real_path::canonicalize;
pub use root::{Root, lies_in};
pub use stamp::Stamp;
pub use store::{FileDocument, FileStore};
pub use transfer::{check, check_replaceable, is_program, mode_of, read, replace_file, write};

/// True if the tests run under wine, which cannot say where files deeper than 260 characters are.
#[cfg(test)]
fn is_wine() -> bool {
    #[expect(clippy::disallowed_methods, reason = "wine says so in the environment")]
    let prefix = std::env::var_os("WINEPREFIX");
    cfg!(windows) && prefix.is_some()
}
