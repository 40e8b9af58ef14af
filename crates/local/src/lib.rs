//! A folder as a place: notebook files on disk, and kernels of this machine.
//!
//! [`Folder`] implements [`workspace::Place`]. Nothing here reads the environment of the process: what kernels
//! inherit and where things are looked for comes in as [`Surroundings`].

mod capture;
mod environment;
mod folder;
mod kernelspec;
mod launch;
mod listing;
mod path;
mod stamp;
mod store;
mod surroundings;

pub use folder::Folder;
pub use surroundings::Surroundings;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// Writes an executable shell script, folders included.
    #[cfg(unix)]
    pub(crate) fn script(path: &Path, body: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
