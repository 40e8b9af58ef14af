//! Files: which one it is, and putting one in the place of another.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{GetSecurityInfo, SE_FILE_OBJECT, SetSecurityInfo};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetSecurityDescriptorControl, PROTECTED_DACL_SECURITY_INFORMATION,
    SE_DACL_PROTECTED, UNPROTECTED_DACL_SECURITY_INFORMATION,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_ARCHIVE, FILE_ATTRIBUTE_HIDDEN, FILE_ATTRIBUTE_NORMAL,
    FILE_ATTRIBUTE_NOT_CONTENT_INDEXED, FILE_ATTRIBUTE_SYSTEM, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_WRITE_ATTRIBUTES, FileBasicInfo, GetFileInformationByHandle, GetFileInformationByHandleEx,
    MoveFileExW, READ_CONTROL, SetFileAttributesW, SetFileInformationByHandle, WRITE_DAC,
};

use crate::{check, check_code, while_busy};

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
    let times = basic_info(file)?;
    let index = u64::from(known.nFileIndexHigh) << 32 | u64::from(known.nFileIndexLow);
    Ok(Identity { volume: known.dwVolumeSerialNumber.into(), index, changed: times.ChangeTime })
}

/// Puts the file `new` in the place of `old`, which exists, in one step: at any moment there is one of the two. Tries again while
/// another program holds one of them.
///
/// It keeps the attributes, the creation time and, as far as this user may, the access control list of `old`. Unlike with
/// `ReplaceFileW`, which takes two steps, other streams (such as the mark of a file from the internet), the id by which shortcuts find
/// a file, and encryption or compression that the folder does not have are lost.
pub fn replace(new: &Path, old: &Path) -> io::Result<()> {
    while_busy(|| {
        copy_attributes(old, new)?;
        // Some file systems have no such lists.
        let _ = copy_access(old, new);
        fs::rename(new, old)
    })
}

/// Names a temporary file `path`. Fails if there is one of that name, and tries again while another program holds the file.
pub fn move_new(temporary: &Path, path: &Path) -> io::Result<()> {
    let (wide_temporary, wide_path) = (wide(temporary)?, wide(path)?);
    let flags = 0;
    while_busy(|| {
        make_ordinary(&wide_temporary)?;
        // SAFETY: the texts end with a NUL.
        check(unsafe { MoveFileExW(wide_temporary.as_ptr(), wide_path.as_ptr(), flags) })
    })
}

/// Gives the file `new` the creation time and the attributes of `old`, except the mark of temporary files.
fn copy_attributes(old: &Path, new: &Path) -> io::Result<()> {
    const KEPT: u32 = FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_SYSTEM | FILE_ATTRIBUTE_NOT_CONTENT_INDEXED;
    let known = basic_info(&open_for_metadata(old)?)?;
    let info = FILE_BASIC_INFO {
        CreationTime: known.CreationTime,
        // Programs that back up files look for this one.
        FileAttributes: known.FileAttributes & KEPT | FILE_ATTRIBUTE_ARCHIVE,
        // Times of zero stay as they are.
        ..FILE_BASIC_INFO::default()
    };
    let file = File::options().access_mode(FILE_WRITE_ATTRIBUTES).open(new)?;
    let size = u32::try_from(size_of_val(&info)).map_err(io::Error::other)?;
    // SAFETY: the handle is open, and the pointer and the size are those of the structure that this class of information takes.
    check(unsafe {
        SetFileInformationByHandle(file.as_raw_handle(), FileBasicInfo, (&raw const info).cast(), size)
    })
}

/// Gives the file `new` the access control list of `old`.
fn copy_access(old: &Path, new: &Path) -> io::Result<()> {
    let open = |path, access| File::options().access_mode(access).open(path);
    let (old, new) = (open(old, READ_CONTROL)?, open(new, READ_CONTROL | WRITE_DAC)?);
    let (mut list, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
    let (mut control, mut revision) = (0, 0);
    // SAFETY: the handles are open, the other pointers are null or to variables of ours, and the list is a part of the descriptor,
    // which is freed once after its last use.
    unsafe {
        check_code(GetSecurityInfo(
            old.as_raw_handle(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION,
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut list,
            ptr::null_mut(),
            &raw mut descriptor,
        ))?;
        let set = check(GetSecurityDescriptorControl(descriptor, &raw mut control, &raw mut revision))
            .and_then(|()| {
                // Whether the folder's list applies as well.
                let inheritance = if control & SE_DACL_PROTECTED == 0 {
                    UNPROTECTED_DACL_SECURITY_INFORMATION
                } else {
                    PROTECTED_DACL_SECURITY_INFORMATION
                };
                check_code(SetSecurityInfo(
                    new.as_raw_handle(),
                    SE_FILE_OBJECT,
                    DACL_SECURITY_INFORMATION | inheritance,
                    ptr::null_mut(),
                    ptr::null_mut(),
                    list,
                    ptr::null(),
                ))
            });
        LocalFree(descriptor);
        set
    }
}

fn basic_info(file: &File) -> io::Result<FILE_BASIC_INFO> {
    let mut info = FILE_BASIC_INFO::default();
    let size = u32::try_from(size_of_val(&info)).map_err(io::Error::other)?;
    // SAFETY: the handle is open, and the pointer and the size are those of the structure that this class of information fills.
    check(unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), FileBasicInfo, (&raw mut info).cast(), size)
    })?;
    Ok(info)
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
    use windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_TEMPORARY;

    use super::*;
    use crate::{is_busy, is_wine};

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
    fn a_new_file_keeps_what_belongs_to_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let [new, old] = ["new", "old"].map(|name| folder.path().join(name));
        for (file, attributes) in [(&old, FILE_ATTRIBUTE_HIDDEN), (&new, FILE_ATTRIBUTE_TEMPORARY)] {
            fs::write(file, "1").unwrap();
            // SAFETY: the text ends with a NUL.
            check(unsafe { SetFileAttributesW(wide(file).unwrap().as_ptr(), attributes) }).unwrap();
        }
        let created = basic_info(&open_for_metadata(&old).unwrap()).unwrap().CreationTime;
        copy_access(&old, &new).unwrap();
        replace(&new, &old).unwrap();
        let kept = basic_info(&open_for_metadata(&old).unwrap()).unwrap();
        assert_eq!(kept.FileAttributes, FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_ARCHIVE);
        assert!(is_wine() || kept.CreationTime == created);
    }

    #[test]
    fn a_file_that_cannot_be_replaced_is_left_with_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let [new, old] = ["new", "old"].map(|name| folder.path().join(name));
        for file in [&new, &old] {
            fs::write(file, file.to_str().unwrap()).unwrap();
        }
        for file in [&new, &old] {
            let held = File::options().read(true).share_mode(0).open(file).unwrap();
            assert!(is_busy(&replace(&new, &old).unwrap_err()));
            drop(held);
            for file in [&new, &old] {
                assert_eq!(fs::read_to_string(file).unwrap(), file.to_str().unwrap());
            }
        }
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
        replace(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"2");
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
