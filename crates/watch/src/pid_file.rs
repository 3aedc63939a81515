//! A pid file, locked while its process runs: a stale one is recognized, whatever process has its number
//! now.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

/// Why there is no pid file.
#[derive(Debug, thiserror::Error)]
pub enum PidFileError {
    /// It cannot be written.
    #[error("cannot write the pid file {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// Another process holds it.
    #[error("already running with pid {pid}: {} is held", path.display())]
    Held {
        /// The file.
        path: PathBuf,
        /// What is in it.
        pid: String,
    },
}

/// A pid file, locked while this lives, then deleted.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    _file: File,
}

impl PidFile {
    /// Writes it at the first of the places where that is possible.
    ///
    /// # Errors
    /// If another process holds it, or it can be written nowhere.
    pub fn at_first(places: &[PathBuf]) -> Result<Self, PidFileError> {
        let mut refused = None;
        for path in places {
            match Self::at(path) {
                Err(error @ PidFileError::Write { .. }) => refused = Some(error),
                done => return done,
            }
        }
        Err(refused.unwrap_or_else(|| PidFileError::Write {
            path: PathBuf::new(),
            error: io::Error::other("a daemon needs a folder for it"),
        }))
    }

    /// Writes it at a place.
    ///
    /// # Errors
    /// If another process holds it, or it cannot be written.
    pub fn at(path: &Path) -> Result<Self, PidFileError> {
        let failed = |error| PidFileError::Write { path: path.to_owned(), error };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(failed)?;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            return Err(PidFileError::Held { path: path.to_owned(), pid: pid.trim().to_owned() });
        }
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(failed)?;
        Ok(PidFile { path: path.to_owned(), _file: file })
    }

    /// Gives the file to another user, who must be able to delete it.
    pub fn give_to(&self, user: u32, group: Option<u32>) {
        let _ = std::os::unix::fs::chown(&self.path, Some(user), group);
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_pid_file_names_its_holder_and_a_stale_one_is_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("whit-test.pid");
        std::fs::write(&path, "999999\n").unwrap();
        let nowhere = directory.path().join("missing/whit-test.pid");
        let held = PidFile::at_first(&[nowhere.clone(), path.clone()]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim(), std::process::id().to_string());
        let refused = PidFile::at(&path).unwrap_err();
        assert!(refused.to_string().contains(text.trim()), "{refused}");
        drop(held);
        assert!(!path.exists());
        assert!(matches!(PidFile::at_first(&[nowhere]), Err(PidFileError::Write { .. })));
    }
}
