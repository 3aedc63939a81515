//! Files below `/proc`, read by descriptors that are kept or opened each time, or from memory.
//!
//! `/proc` itself is opened once, and files are opened relative to it: the kernel looks up fewer
//! names.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use procfs::Host;
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, openat, seek};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use sample::State;

/// The most bytes read of a file; `status` on a machine with 4,096 CPUs is about 4 KiB.
pub(super) const FILE_BYTES: usize = 16 * 1024;

/// Buffer of one `getdents`: about 500 processes.
const NAMES_BYTES: usize = 16 * 1024;

/// The most processes, which is the kernel's limit.
const NUMBERS_MAX: usize = 1 << 22;

/// The most descriptors kept, even if `RLIMIT_NOFILE` allows more.
const DESCRIPTORS_MAX: u64 = 65_536;

/// A file of a process between two readings.
#[derive(Debug, Default)]
pub(super) enum Handle {
    /// Opened each time.
    #[default]
    Closed,
    /// Kept open.
    Kept(OwnedFd),
    /// May not be read; not tried again while the process runs the same program.
    Denied,
}

/// Why a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The process is gone.
    Gone,
    /// It may not be read.
    Denied,
    /// Something else.
    Failed(i32),
}

/// The files of processes.
pub(super) struct Files {
    /// `/proc`, unless the host is in memory or has none.
    root: Option<OwnedFd>,
    kept: u64,
    kept_max: u64,
    calls: u64,
    bytes: u64,
}

impl Files {
    pub(super) fn new() -> Self {
        // Half of the limit is for cgroups and other files; use a part of the rest.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Files::with_descriptors(limit.min(DESCRIPTORS_MAX * 4) / 4)
    }

    pub(super) fn with_descriptors(kept_max: u64) -> Self {
        Files { root: None, kept: 0, kept_max, calls: 0, bytes: 0 }
    }

    /// Whether the files are those of a host in memory.
    pub(super) fn are_in_memory(&self) -> bool {
        self.root.is_none()
    }

    /// Begins a reading.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub(super) fn begin(&mut self, host: &mut Host) -> Result<(), State> {
        if self.root.is_none() && host.root().is_some() {
            self.root = Some(host.open(Path::new("/proc"))?);
        }
        Ok(())
    }

    /// Ends a reading: adds its cost to the host's.
    pub(super) fn end(&mut self, host: &mut Host) {
        host.add_calls(std::mem::take(&mut self.calls));
        host.add_bytes(std::mem::take(&mut self.bytes));
    }

    /// The numbers in a directory below `/proc` (itself, if `path` is empty), in ascending order.
    pub(super) fn numbers(
        &mut self,
        host: &mut Host,
        path: &[u8],
        out: &mut Vec<i32>,
    ) -> Result<(), State> {
        out.clear();
        let mut note = |name: &[u8]| {
            let number = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
            if name.first().is_some_and(u8::is_ascii_digit)
                && let Some(number) = number
                && out.len() < NUMBERS_MAX
            {
                out.push(number);
            }
        };
        match &self.root {
            None => {
                let folder = [b"/proc/", path].concat();
                let folder = String::from_utf8_lossy(&folder);
                let names = host.list(folder.trim_end_matches('/'))?;
                names.iter().for_each(|name| note(name));
            }
            Some(root) if path.is_empty() => {
                seek(root, SeekFrom::Start(0)).map_err(state_of)?;
                self.calls += 1 + names_of(root, note)?;
            }
            Some(root) => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
                let folder = openat(root, path, flags, Mode::empty()).map_err(state_of)?;
                self.calls += 2 + names_of(&folder, note)?;
            }
        }
        // The kernel's list is sorted; that of another filesystem may not be.
        if !out.is_sorted() {
            out.sort_unstable();
        }
        Ok(())
    }

    /// Reads a file into `buffer`, by its handle or else by its path below `/proc`.
    #[inline]
    pub(super) fn read<'a>(
        &mut self,
        host: &mut Host,
        path: &[u8],
        handle: &mut Handle,
        keep: bool,
        buffer: &'a mut [u8],
    ) -> Result<&'a [u8], Failure> {
        match handle {
            Handle::Denied => return Err(Failure::Denied),
            Handle::Kept(file) => {
                self.calls += 1;
                match rustix::io::pread(&*file, &mut *buffer, 0) {
                    Ok(count) => {
                        self.bytes += count as u64;
                        return Ok(&buffer[..count]);
                    }
                    // The process is gone; its id may already be reused.
                    Err(Errno::SRCH) => self.close(handle),
                    Err(errno) => return Err(failure(errno)),
                }
            }
            Handle::Closed => {}
        }
        let Some(root) = &self.root else { return read_memory(host, path, buffer) };
        self.calls += 2;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(root, path, flags, Mode::empty()).map_err(failure)?;
        let count = rustix::io::pread(&file, &mut *buffer, 0).map_err(failure)?;
        self.bytes += count as u64;
        if keep && self.kept < self.kept_max {
            self.kept += 1;
            *handle = Handle::Kept(file);
        } else {
            self.calls += 1;
        }
        Ok(&buffer[..count])
    }

    /// Closes a file that was kept.
    pub(super) fn close(&mut self, handle: &mut Handle) {
        if matches!(std::mem::take(handle), Handle::Kept(_)) {
            self.kept -= 1;
            self.calls += 1;
        }
    }
}

fn read_memory<'a>(
    host: &mut Host,
    path: &[u8],
    buffer: &'a mut [u8],
) -> Result<&'a [u8], Failure> {
    let path = format!("/proc/{}", String::from_utf8_lossy(path));
    let text = host.read_once(&path).map_err(|_| Failure::Gone)?;
    let count = text.len().min(buffer.len());
    buffer[..count].copy_from_slice(&text[..count]);
    Ok(&buffer[..count])
}

/// Calls `note` with every name; returns the number of system calls.
fn names_of(folder: &OwnedFd, mut note: impl FnMut(&[u8])) -> Result<u64, State> {
    let mut space = [MaybeUninit::uninit(); NAMES_BYTES];
    let mut entries = RawDir::new(folder, &mut space);
    let mut calls = 1;
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(state_of)?;
        note(entry.file_name().to_bytes());
        calls += u64::from(entries.is_buffer_empty());
    }
    Ok(calls)
}

fn failure(errno: Errno) -> Failure {
    match errno {
        Errno::NOENT | Errno::SRCH => Failure::Gone,
        Errno::ACCESS | Errno::PERM => Failure::Denied,
        other => Failure::Failed(other.raw_os_error()),
    }
}

fn state_of(errno: Errno) -> State {
    match failure(errno) {
        Failure::Gone => State::Absent,
        Failure::Denied => State::Denied,
        Failure::Failed(errno) => State::Failed(errno),
    }
}
