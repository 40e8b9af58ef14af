//! Job objects: a process with all that it starts, ended together.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::ptr;

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED, PROCESS_SET_QUOTA, PROCESS_TERMINATE,
};

use crate::process::{open, resume};
use crate::{check, owned};

/// With these flags a process is started for [`Job::adopt`]: it does nothing until then, has no console window, and gets no
/// Ctrl+C that is meant for this program.
pub const CREATION_FLAGS: u32 = CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW;

/// Processes that end when this is dropped. They end, too, however this program ends: then the system closes the handle, which
/// nobody inherits.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// A job without processes.
    pub fn new() -> io::Result<Self> {
        // SAFETY: both pointers may be null. The handle is new.
        let job = unsafe { owned(CreateJobObjectW(ptr::null(), ptr::null()))? };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let size = u32::try_from(size_of_val(&limits)).map_err(io::Error::other)?;
        let pointer: *const c_void = ptr::from_ref(&limits).cast();
        // SAFETY: the pointer and the size are those of the structure that this class of information takes.
        check(unsafe {
            SetInformationJobObject(job.as_raw_handle(), JobObjectExtendedLimitInformation, pointer, size)
        })?;
        Ok(Self(job))
    }

    /// Takes the process, which was started with [`CREATION_FLAGS`], and lets it run. The caller holds a handle of it, so that
    /// no other process can have its id.
    pub fn adopt(&self, process: u32) -> io::Result<()> {
        let handle = open(process, PROCESS_SET_QUOTA | PROCESS_TERMINATE)?;
        // SAFETY: both handles are open.
        check(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), handle.as_raw_handle()) })?;
        // Not before: the `python.exe` of a virtual environment starts the real Python at once, which would not be in the job.
        resume(process)
    }

    /// Ends all processes at once.
    pub fn end(&self) -> io::Result<()> {
        // SAFETY: the handle is open.
        check(unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) })
    }
}

#[cfg(test)]
mod tests {
    use std::os::windows::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that runs until it is ended, because its input does not end.
    fn waiting() -> Child {
        let mut command = Command::new("cmd.exe");
        command.args(["/d", "/q", "/k"]).creation_flags(CREATION_FLAGS);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_process_ends_with_its_job() {
        for is_dropped in [true, false] {
            let (job, mut child) = (Job::new().unwrap(), waiting());
            job.adopt(child.id()).unwrap();
            assert!(crate::is_alive(child.id()));
            if is_dropped {
                drop(job);
            } else {
                job.end().unwrap();
            }
            child.wait().unwrap();
            assert!(!crate::is_alive(child.id()));
        }
    }

    #[test]
    fn a_process_runs_when_it_is_adopted() {
        let mut command = Command::new("cmd.exe");
        command.args(["/d", "/c", "exit 7"]).creation_flags(CREATION_FLAGS);
        let (job, mut child) = (Job::new().unwrap(), command.spawn().unwrap());
        assert!(child.try_wait().unwrap().is_none());
        job.adopt(child.id()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
}
