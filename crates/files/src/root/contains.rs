//! Tells if a program lies in a folder: what came with a served folder is started only for a run.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::real_path::canonicalize;

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

/// Whether a path lies in a folder, ends in it, or leads through it on the way. So does a relative path, whose meaning depends on the
/// working directory, and one with too many links.
///
/// Examples for the folder `/work`:
/// - `/work/.venv/bin/python`, though it is a link to `/usr/bin/python3`, which finds `/work/.venv/pyvenv.cfg`.
/// - `/home/ada/bin/python`, if it is a link to `/work/python`.
/// - `/opt/tools/uv`, if `/opt/tools` is a link to `/work/tools`, which is one to `/usr/bin`.
pub fn lies_in(folder: &Path, path: &Path) -> bool {
    let real_folder = canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let is_in = |path: &Path| path.starts_with(&real_folder) || path.starts_with(folder);
    if !path.is_absolute() || is_in(path) {
        return true;
    }
    let mut rest: VecDeque<OsString> = parts(path).collect();
    let (mut reached, mut links) = (PathBuf::new(), 0);
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            reached.pop();
            continue;
        }
        let next = reached.join(&part);
        if is_in(&next) {
            return true;
        }
        let Ok(target) = fs::read_link(&next) else {
            reached = next;
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return true;
        }
        if target.is_absolute() {
            reached = PathBuf::new();
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            rest.push_front(part);
        }
    }
    // Only the system knows if case or the form of Unicode counts.
    canonicalize(path).is_ok_and(|path| is_in(&path))
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter(|part| *part != Component::CurDir).map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_into_the_folder_out_of_it_and_through_it_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for name in ["work/bin", "other/bin"] {
            fs::create_dir_all(at(name)).unwrap();
            fs::write(at(name).join("tool"), "").unwrap();
        }
        symlink(at("other/bin/tool"), at("work/bin/out")).unwrap();
        symlink("../../work/bin/tool", at("other/bin/in")).unwrap();
        symlink(at("work/bin"), at("other/linked")).unwrap();
        symlink(at("other/bin"), at("work/through")).unwrap();
        symlink("work/through", at("bent")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("work", at("served")).unwrap();
        let inside =
            ["work/bin/tool", "work/bin/out", "work/none", "other/bin/in", "other/linked/tool", "bent/tool"];
        for path in inside.iter().chain(&["loop", "other/../work/bin/tool", "served/bin/tool"]) {
            for root in ["work", "served"] {
                assert!(lies_in(&at(root), &at(path)), "{path} in {root}");
            }
        }
        for path in ["other/bin/tool", "other/none", "works", "none/../other/bin/tool"] {
            assert!(!lies_in(&at("work"), &at(path)), "{path}");
        }
        assert!(
            lies_in(&at("work"), Path::new("bin/tool")) && lies_in(Path::new("/"), &at("other/bin/tool"))
        );
    }
}
