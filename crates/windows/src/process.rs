//! Processes by their id.

use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::{DuplicateHandle, INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, OpenProcess, OpenThread, PROCESS_SYNCHRONIZE, ResumeThread, THREAD_SUSPEND_RESUME,
    WaitForSingleObject,
};

use crate::{check, owned};

/// Whether a process runs that has this id and that this user may see.
pub fn is_alive(process: u32) -> bool {
    let Ok(handle) = open(process, PROCESS_SYNCHRONIZE) else { return false };
    // SAFETY: the handle is open.
    unsafe { WaitForSingleObject(handle.as_raw_handle(), 0) == WAIT_TIMEOUT }
}

/// A handle of this process, with which others can wait for its end, and do nothing else.
pub fn own_handle() -> io::Result<OwnedHandle> {
    let (is_inherited, options) = (0, 0);
    let mut handle = ptr::null_mut();
    // SAFETY: the handle of the current process is always valid, and the new one goes to a variable of ours.
    unsafe {
        let process = GetCurrentProcess();
        check(DuplicateHandle(
            process,
            process,
            process,
            &raw mut handle,
            PROCESS_SYNCHRONIZE,
            is_inherited,
            options,
        ))?;
        owned(handle)
    }
}

pub(crate) fn open(process: u32, access: u32) -> io::Result<OwnedHandle> {
    let is_inherited = 0;
    // SAFETY: any number may be asked for. The handle is new.
    unsafe { owned(OpenProcess(access, is_inherited, process)) }
}

/// Lets the threads of a process run that was started suspended.
pub(crate) fn resume(process: u32) -> io::Result<()> {
    // SAFETY: the handle is new.
    let snapshot = unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
        if snapshot == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        owned(snapshot)?
    };
    let dw_size = u32::try_from(size_of::<THREADENTRY32>()).map_err(io::Error::other)?;
    let mut entry = THREADENTRY32 { dwSize: dw_size, ..THREADENTRY32::default() };
    let mut count = 0;
    // SAFETY: the handle is open, and the entry has the size that it says.
    let mut has_entry = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) } != 0;
    while has_entry {
        if entry.th32OwnerProcessID == process {
            resume_thread(entry.th32ThreadID)?;
            count += 1;
        }
        // SAFETY: as above.
        has_entry = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) } != 0;
    }
    if count == 0 { Err(io::Error::other("the new process has no thread")) } else { Ok(()) }
}

fn resume_thread(thread: u32) -> io::Result<()> {
    let is_inherited = 0;
    // SAFETY: any number may be asked for. The handle is new.
    let handle = unsafe { owned(OpenThread(THREAD_SUSPEND_RESUME, is_inherited, thread))? };
    // SAFETY: the handle is open.
    if unsafe { ResumeThread(handle.as_raw_handle()) } == u32::MAX {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(u32::MAX));
    }
}
