//! The joblog: what was run, when, for how long and with what result; and going on after it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::job::Finished;

/// What a line of a [`Log`] looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Nine columns separated by TAB, under a header: the joblog as GNU parallel has it.
    Columns,
    /// A JSON object with everything of [`Finished`] and its account.
    Json,
}

/// Why a joblog could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It could not be opened, read or written.
    #[error("cannot {verb} the joblog {}: {source}", path.display())]
    Io {
        /// What was tried: open, read, write.
        verb: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// A joblog being written.  Each line is one write(2), so that a killed runner loses none.
#[derive(Debug)]
pub struct Log {
    file: OwnedFd,
    path: PathBuf,
    line: Vec<u8>,
    format: Format,
}

impl Log {
    /// Opens a file: a new one with a header (where the format has one), or, with `append`, one
    /// that is added to.
    pub fn create(path: &Path, format: Format, append: bool) -> Result<Self, LogError> {
        let _ = (path, format, append);
        let source = io::Error::from(io::ErrorKind::Unsupported);
        Err(LogError::Io { verb: "open", path: path.into(), source })
    }

    /// Writes to an open descriptor (`--joblog -`), beginning with the header.
    pub fn on(file: OwnedFd, format: Format) -> Result<Self, LogError> {
        Ok(Log { file, path: "-".into(), line: Vec::new(), format })
    }

    /// Adds a job.
    pub fn write(&mut self, finished: &Finished) -> Result<(), LogError> {
        let _ = (finished, &self.file, &self.path, &self.line, self.format);
        Ok(())
    }
}

/// What a joblog says about jobs that were run before.
#[derive(Clone, Debug, Default)]
pub struct Done {}

impl Done {
    /// `--resume`: whether this job was run, whatever came of it.
    pub fn was_run(&self, seq: u64) -> bool {
        let _ = seq;
        false
    }

    /// `--resume-failed`: whether this job was run and did well.
    pub fn succeeded(&self, seq: u64) -> bool {
        let _ = seq;
        false
    }

    /// `--retry-failed`: the jobs that were run and failed, with their command lines, in order.
    pub fn into_failed(self) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }
}

/// Reads a joblog.  A file that is not there has run nothing.
pub fn read(path: &Path) -> Result<Done, LogError> {
    let _ = path;
    Ok(Done::default())
}
