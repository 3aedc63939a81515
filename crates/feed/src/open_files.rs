//! Whether a process still writes a file.  collectl does not lock its recordings, so the file
//! descriptors of all processes are searched, at most once a second, and only while the file does
//! not grow.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use procfs::SystemClock;
use sample::Clock as _;

use crate::FeedError;
use crate::whit::FOLLOW_PAUSE;

/// The file must not have grown for this time before the processes are searched.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// If descriptors of another user's processes cannot be read, a file that did not grow for this
/// time and a few intervals counts as complete; collectl buffers text for less (`-F`).
const IDLE_MAX: Duration = Duration::from_secs(120);

/// The process that writes a file, if there still is one.
pub(crate) struct FileWriter {
    file: File,
    identity: (u64, u64),
    interval: Duration,
    bytes: u64,
    /// When it was last seen to have grown.
    grew: Duration,
    looked: Duration,
}

impl FileWriter {
    /// The writer of a recording with samples every `interval`.
    pub(crate) fn of(path: &Path, interval: Duration) -> Result<Self, FeedError> {
        let failed = |source| FeedError::Io { path: path.to_owned(), what: None, source };
        let file = File::open(path).map_err(failed)?;
        let facts = file.metadata().map_err(failed)?;
        let now = boot_time();
        let identity = (facts.dev(), facts.ino());
        Ok(FileWriter { file, identity, interval, bytes: facts.len(), grew: now, looked: now })
    }

    /// Pauses; returns false if no more will be written.
    pub(crate) fn may_write_more(&mut self) -> bool {
        std::thread::sleep(FOLLOW_PAUSE);
        let Ok(facts) = self.file.metadata() else { return false };
        let now = boot_time();
        if facts.len() != self.bytes {
            (self.bytes, self.grew) = (facts.len(), now);
            return true;
        }
        if facts.nlink() == 0 {
            return false;
        }
        if now - self.grew < LOOK_PAUSE || now - self.looked < LOOK_PAUSE {
            return true;
        }
        self.looked = now;
        match is_open(self.identity) {
            Some(open) => open,
            None => now - self.grew < IDLE_MAX + self.interval * 3,
        }
    }
}

/// The time since boot.
fn boot_time() -> Duration {
    Duration::from_nanos(SystemClock.now().monotonic_ns)
}

/// Whether another process has the file open for writing; `None` if none was found, but some
/// processes may not be examined.
fn is_open(identity: (u64, u64)) -> Option<bool> {
    let own = std::process::id().to_string();
    let mut denied = false;
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = process.file_name();
        let name = name.to_string_lossy();
        if name == own.as_str() || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let directory: PathBuf = process.path().join("fd");
        match fs::read_dir(&directory) {
            Ok(files) => {
                let is_it = |file: fs::DirEntry| {
                    // proc(5): the link's own mode shows how the file was opened.
                    let writes = file.metadata().is_ok_and(|link| link.mode() & 0o200 != 0);
                    let facts = fs::metadata(file.path()).ok().filter(|_| writes);
                    facts.is_some_and(|facts| (facts.dev(), facts.ino()) == identity)
                };
                if files.flatten().any(is_it) {
                    return Some(true);
                }
            }
            Err(error) => denied |= error.kind() == ErrorKind::PermissionDenied,
        }
    }
    if denied { None } else { Some(false) }
}
