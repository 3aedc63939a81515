//! A tmpfs, and other mounts, that only this process and its children see.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// Mounts an empty tmpfs on a folder, for this thread and the processes and threads that it starts
/// afterwards: in a mount namespace of their own, so nothing else sees it, and the kernel removes
/// it when the last of them ends, however it ends.
///
/// # Errors
/// If unshare(2) or mount(2) fails: `PermissionDenied` if mounting is not allowed.
pub(crate) fn mount_private(folder: &Path) -> io::Result<()> {
    let folder = CString::new(folder.as_os_str().as_bytes())?;
    keep_mounts_private()?;
    mount(c"tmpfs", &folder, libc::MS_NOSUID | libc::MS_NODEV)
}

/// Gives this thread, and what it starts afterwards, a mount namespace of its own: nothing else sees
/// what is mounted then.
///
/// # Errors
/// If unshare(2) or mount(2) fails: `PermissionDenied` if mounting is not allowed.
pub(crate) fn keep_mounts_private() -> io::Result<()> {
    // SAFETY: no memory is passed; open files stay open.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Later mounts must not propagate to the original namespace.
    mount(c"none", c"/", libc::MS_REC | libc::MS_PRIVATE)
}

fn mount(kind: &CStr, target: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    let (source, data) = (kind.as_ptr(), ptr::null());
    // SAFETY: all strings are live C strings, and a null pointer means no data.
    match unsafe { libc::mount(source, target.as_ptr(), kind.as_ptr(), flags, data) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_thread_sees_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        std::fs::write(path.join("below"), "").unwrap();
        let thread = std::thread::spawn(move || {
            if let Err(error) = mount_private(&path) {
                testkit::skip_refused("a tmpfs of its own", &error.to_string());
                return;
            }
            assert!(!path.join("below").exists());
            std::fs::write(path.join("above"), "").unwrap();
            assert!(path.join("above").exists());
        });
        thread.join().unwrap();
        assert!(folder.path().join("below").exists() && !folder.path().join("above").exists());
    }
}
