//! Which folders and sockets only this user can use.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use state::{is_own, is_private, only_we_write};
use tokio::net::UnixStream;

use crate::kernel_file::KERNEL_FILE;
use crate::state_folder::StateFolder;

/// Which folders of keepers are not used because others could have changed them, a sentence each: without that, their kernels
/// would just not be there.
pub fn unused_folders(state: &StateFolder) -> Vec<String> {
    let Some(parent) = state.of_keepers() else { return Vec::new() };
    let above = parent.parent().filter(|above| fs::metadata(above).is_ok_and(|it| !only_we_write(&it)));
    if let Some(path) = above.or(Some(&*parent).filter(|parent| parent.exists() && !is_private(parent))) {
        return vec![unused(
            path,
            "kernels stop with their server, and kernels from earlier servers are not found",
        )];
    }
    let entries = fs::read_dir(&parent).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_unused = |path: &PathBuf| path.join(KERNEL_FILE).exists() && !is_private(path);
    entries.filter(is_unused).map(|path| unused(&path, "its kernel is not found")).collect()
}

fn unused(path: &Path, effect: &str) -> String {
    let shown = path.display();
    let (cause, remedy) = match fs::symlink_metadata(path) {
        Ok(it) if it.is_symlink() => ("it is a symbolic link".to_owned(), "remove it".to_owned()),
        Ok(it) if !is_own(&it) => ("it belongs to another user".to_owned(), "remove it".to_owned()),
        Ok(it) => {
            let mode = it.mode() & 0o777;
            (format!("others can use it (mode {mode:o})"), format!("`chmod 700 {shown}`"))
        }
        Err(error) => (error.to_string(), "check it".to_owned()),
    };
    format!(
        "The folder {shown} is not used, because {cause}: {effect}. If its content is unchanged, {remedy}."
    )
}

/// Whether the process at the other end belongs to this user.
pub fn is_own_process(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::folder::KeeperFolder;

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_not_used_because_others_can_use_it_is_named() {
        let temporary = tempfile::tempdir().unwrap();
        let state = StateFolder::at(temporary.path());
        assert!(unused_folders(&state).is_empty(), "there is nothing");
        let folder = KeeperFolder::named(&state, "one").unwrap();
        folder.create().unwrap();
        fs::write(folder.path.join(KERNEL_FILE), "{}").unwrap();
        assert!(unused_folders(&state).is_empty());
        let loosen = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        loosen(&folder.path, 0o755);
        let said = unused_folders(&state).concat();
        assert!(said.contains(&format!("The folder {} is not used", folder.path.display())), "{said}");
        assert!(said.contains("others can use it (mode 755)"), "{said}");
        let parent = folder.path.parent().unwrap();
        loosen(parent, 0o755);
        let said = unused_folders(&state).concat();
        assert!(said.contains(&format!("`chmod 700 {}`", parent.display())), "{said}");
        loosen(parent, 0o700);
        loosen(&folder.path, 0o700);
        assert!(unused_folders(&state).is_empty());
        loosen(parent.parent().unwrap(), 0o777);
        let said = unused_folders(&state).concat();
        assert!(said.contains("cellbridge is not used") && said.contains("mode 777"), "{said}");
    }
}
