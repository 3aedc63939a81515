//! `--workdir ...` of jobs on this machine: an empty folder for each, which is removed after it.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Engine, EngineError, Job, OperatingSystem};

impl<W: OperatingSystem> Engine<'_, W> {
    /// Makes the folder of a job that is about to start here; `None` if jobs have none.
    pub(super) fn make_own_folder(&self, job: &Job) -> Result<Option<PathBuf>, EngineError> {
        let Some(path) = self.own_folder(job) else { return Ok(None) };
        make(&path).map_err(failed(&path))?;
        Ok(Some(path))
    }

    /// Removes the folder of a job that has ended, and what it has left there.
    pub(super) fn remove_own_folder(&self, job: &Job) -> Result<(), EngineError> {
        let Some(path) = self.own_folder(job) else { return Ok(()) };
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&path)(error)),
            _ => Ok(()),
        }
    }

    /// The folder of a job, if it runs here and has one.
    fn own_folder(&self, job: &Job) -> Option<PathBuf> {
        let start = self.options.own_folders.as_ref()?;
        if self.remote_host(job).is_some() {
            return None;
        }
        let path = [start, b"-".as_slice(), job.seq.to_string().as_bytes()].concat();
        Some(PathBuf::from(OsStr::from_bytes(&path)))
    }
}

/// Makes an empty folder.  One of this name is from a runner that was killed.
fn make(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_dir_all(path)?;
            fs::create_dir(path)
        }
        made => made,
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> EngineError {
    let path = path.display().to_string();
    move |error| EngineError::OwnFolder { path, error }
}
