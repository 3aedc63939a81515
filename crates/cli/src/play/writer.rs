//! Whether somebody still writes a file: collectl keeps no lock on its recordings, so the open
//! files of the processes are looked through, once a second at most, and only while nothing comes.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::feed::FOLLOW_PAUSE;

/// How long nothing must have come before the processes are looked through.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// How long a file may stand still, besides some intervals, when processes of others may have it
/// open: collectl itself holds text back for so long at most (`-F`), with some to spare.
const IDLE_MAX: Duration = Duration::from_secs(120);

/// Who writes a file.
pub(super) struct Writer {
    file: File,
    identity: (u64, u64),
    interval: Duration,
    bytes: u64,
    /// When it grew last, as far as was seen.
    grew: Instant,
    looked: Instant,
}

impl Writer {
    /// The writer of a recording with samples every `interval`.
    pub(super) fn of(path: &Path, interval: Duration) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let facts = file.metadata().with_context(|| path.display().to_string())?;
        let now = Instant::now();
        let identity = (facts.dev(), facts.ino());
        Ok(Writer { file, identity, interval, bytes: facts.len(), grew: now, looked: now })
    }

    /// Pauses, and tells whether it is worth to look for more.
    pub(super) fn may_write_more(&mut self) -> bool {
        std::thread::sleep(FOLLOW_PAUSE);
        let Ok(facts) = self.file.metadata() else { return false };
        let now = Instant::now();
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

/// Whether another process has the file open to write to it; `None` if some may not be looked at and none of the
/// others has.
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
                    // proc(5): the link's own mode tells how the file was opened.
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
