//! The lock file of a configuration, which MRTG respects too: a second link to a file of the holder,
//! with the holder's pid.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process polls this configuration.
    #[error("{0}")]
    Running(String),
    /// The file cannot be made.
    #[error("cannot make the lock file {path}: {error}")]
    Make {
        /// The file.
        path: String,
        /// What the kernel said.
        error: io::Error,
    },
}

/// How long a lock that names no process is respected, in seconds.
const NAMELESS_S: i64 = 30 * 60;

/// The holder of a lock, for messages; `None` if nobody does: the process has ended, or the file has no
/// second link.
fn holder(path: &Path, now_s: i64) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let text = fs::read_to_string(path).unwrap_or_default();
    let pid = text.trim();
    if found.nlink() < 2 {
        return None;
    }
    if pid.parse::<u32>().is_ok() {
        return Path::new("/proc").join(pid).exists().then(|| format!(" with pid {pid}"));
    }
    // Its holder has not written it yet, or wrote something else.
    (now_s - found.mtime() < NAMELESS_S).then(String::new)
}

/// A lock; dropping it removes the files that are ours.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    own: PathBuf,
    is_held: bool,
}

impl LockFile {
    /// Takes the lock for the process `pid`; one whose holder is no more is taken over.  `now_s` is in
    /// seconds since 1970.
    ///
    /// # Errors
    /// If another process has it, or the file cannot be made.
    pub fn acquire(path: &Path, pid: u32, now_s: i64) -> Result<Self, LockError> {
        let failed = |error| LockError::Make { path: path.display().to_string(), error };
        let mut name = path.as_os_str().to_owned();
        name.push(format!("_{pid}"));
        let own = PathBuf::from(name);
        fs::write(&own, pid.to_string()).map_err(failed)?;
        let mut lock = LockFile { path: path.to_owned(), own, is_held: false };
        for _ in 0..2 {
            match fs::hard_link(&lock.own, path) {
                Ok(()) => {
                    lock.is_held = true;
                    return Ok(lock);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
            if let Some(holder) = holder(path, now_s) {
                let text = format!("already running{holder}: {} is held", path.display());
                return Err(LockError::Running(text));
            }
            let _ = fs::remove_file(path);
        }
        let text = format!("another process has just taken {}", path.display());
        Err(LockError::Running(text))
    }

    /// Writes the pid again, which a process that goes to the background changes.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn rewrite(&mut self, pid: u32) -> io::Result<()> {
        fs::write(&self.own, pid.to_string())
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if self.is_held {
            let _ = fs::remove_file(&self.path);
        }
        let _ = fs::remove_file(&self.own);
    }
}
