//! Files: which one it is, and putting one in the place of another.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_NORMAL, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS,
    FileBasicInfo, GetFileInformationByHandle, GetFileInformationByHandleEx, MoveFileExW,
    REPLACEFILE_IGNORE_ACL_ERRORS, REPLACEFILE_IGNORE_MERGE_ERRORS, ReplaceFileW, SetFileAttributesW,
};

use crate::check;

/// Before longer paths the system wants this prefix, as the standard library gives it to them. It leaves room for a short name.
const MAX_PLAIN_PATH: usize = 247;
const VERBATIM: &str = r"\\?\";

/// Which file it is, whatever its name, and when anything of it last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub volume: u64,
    pub index: u64,
    /// In steps of 100 nanoseconds. Unlike the time of the last modification, programs rarely set it.
    pub changed: i64,
}

/// Opens a file or a folder only to ask about it. Nobody is kept from using it.
pub fn open_for_metadata(path: &Path) -> io::Result<File> {
    // Folders can be opened with this flag only.
    File::options().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

pub fn identity(file: &File) -> io::Result<Identity> {
    let mut known = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the structure is ours.
    check(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut known) })?;
    let mut times = FILE_BASIC_INFO::default();
    let size = u32::try_from(size_of_val(&times)).map_err(io::Error::other)?;
    // SAFETY: the pointer and the size are those of the structure that this class of information fills.
    check(unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), FileBasicInfo, (&raw mut times).cast(), size)
    })?;
    let index = u64::from(known.nFileIndexHigh) << 32 | u64::from(known.nFileIndexLow);
    Ok(Identity { volume: known.dwVolumeSerialNumber.into(), index, changed: times.ChangeTime })
}

/// Puts the file `new` in the place of `old`, which exists. It keeps the permissions, attributes and creation time of `old`.
pub fn replace(new: &Path, old: &Path) -> io::Result<()> {
    let (wide_new, wide_old) = (wide(new)?, wide(old)?);
    make_ordinary(&wide_new)?;
    let flags = REPLACEFILE_IGNORE_ACL_ERRORS | REPLACEFILE_IGNORE_MERGE_ERRORS;
    // SAFETY: the texts end with a NUL; the other pointers may be null.
    check(unsafe {
        ReplaceFileW(wide_old.as_ptr(), wide_new.as_ptr(), ptr::null(), flags, ptr::null(), ptr::null())
    })
}

/// Names a temporary file `path`. Fails if there is one of that name.
pub fn move_new(temporary: &Path, path: &Path) -> io::Result<()> {
    let (wide_temporary, wide_path) = (wide(temporary)?, wide(path)?);
    make_ordinary(&wide_temporary)?;
    let flags = 0;
    // SAFETY: the texts end with a NUL.
    check(unsafe { MoveFileExW(wide_temporary.as_ptr(), wide_path.as_ptr(), flags) })
}

/// Temporary files are marked as such, and programs that copy to a cloud pass them over. `path` ends with a NUL.
fn make_ordinary(path: &[u16]) -> io::Result<()> {
    // SAFETY: the text ends with a NUL.
    check(unsafe { SetFileAttributesW(path.as_ptr(), FILE_ATTRIBUTE_NORMAL) })
}

/// A path as the system takes it, with a NUL at its end.
pub(crate) fn wide(path: &Path) -> io::Result<Vec<u16>> {
    let units = |path: &OsStr| path.encode_wide().collect::<Vec<u16>>();
    let mut text = units(path.as_os_str());
    if text.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if text.len() > MAX_PLAIN_PATH && !text.starts_with(&units(VERBATIM.as_ref())) {
        let absolute = units(std::path::absolute(path)?.as_os_str());
        let share = absolute.strip_prefix(&*units(r"\\".as_ref()));
        let prefix = if share.is_some() { r"\\?\UNC\" } else { VERBATIM };
        text = units(prefix.as_ref());
        text.extend(share.unwrap_or(&absolute));
    }
    text.push(0);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::is_wine;

    fn identity_of(path: &Path) -> Identity {
        identity(&open_for_metadata(path).unwrap()).unwrap()
    }

    #[test]
    fn a_file_is_the_same_under_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other, moved] = ["one", "other", "moved"].map(|name| folder.path().join(name));
        fs::write(&one, "1").unwrap();
        fs::write(&other, "1").unwrap();
        let first = identity_of(&one);
        assert_ne!(first.index, identity_of(&other).index);
        fs::rename(&one, &moved).unwrap();
        assert_eq!((first.volume, first.index), (identity_of(&moved).volume, identity_of(&moved).index));
        assert!(identity(&open_for_metadata(folder.path()).unwrap()).is_ok());
    }

    #[test]
    fn a_file_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let [new, old] = ["new", "old"].map(|name| folder.path().join(name));
        fs::write(&new, "new").unwrap();
        assert!(replace(&new, &old).is_err(), "there is none");
        fs::write(&old, "old").unwrap();
        replace(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"new");
        assert!(!new.exists());
    }

    #[test]
    fn a_file_gets_a_name_that_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let [new, other, path] = ["new", "other", "path"].map(|name| folder.path().join(name));
        for file in [&new, &other] {
            fs::write(file, "1").unwrap();
        }
        move_new(&new, &path).unwrap();
        assert_eq!(move_new(&other, &path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(path.exists() && other.exists() && !new.exists());
    }

    #[test]
    fn paths_of_any_length_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join(["a", "b", "c"].map(|name| name.repeat(100)).join(r"\"));
        fs::create_dir_all(&deep).unwrap();
        let [new, old] = ["new", "old"].map(|name| deep.join(name));
        fs::write(&new, "1").unwrap();
        move_new(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"1");
        fs::write(&new, "2").unwrap();
        match replace(&new, &old) {
            Ok(()) => assert_eq!(fs::read(&old).unwrap(), b"2"),
            // It finds no file by a long path.
            Err(error) => assert!(is_wine(), "{error}"),
        }
    }

    #[test]
    fn long_paths_get_a_prefix() {
        let text = |path: &str| String::from_utf16(&wide(Path::new(path)).unwrap()).unwrap();
        let long = "a".repeat(300);
        assert_eq!(text(r"C:\short"), "C:\\short\0");
        for (path, expected) in [
            (format!(r"C:\b\..\{long}"), format!(r"\\?\C:\{long}")),
            (format!(r"\\server\share\{long}"), format!(r"\\?\UNC\server\share\{long}")),
            (format!(r"\\?\C:\{long}"), format!(r"\\?\C:\{long}")),
        ] {
            assert_eq!(text(&path), format!("{expected}\0"));
        }
    }
}
