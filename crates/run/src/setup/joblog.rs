//! The joblog: its file, and the results of earlier runs in it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::engine::IsDone;
use crate::joblog::{self, Format, Log};

use super::error::SetupError;
use crate::settings::{OutputSettings, RunSettings};

/// Jobs by their numbers and command lines.
pub(super) type GivenJobs = Vec<(u64, Vec<u8>)>;

/// The joblog's path, and whether to append to it.
fn joblog(output: &OutputSettings) -> Option<(PathBuf, bool)> {
    let name = output.joblog.as_ref()?;
    let resumes = output.resume || output.resume_failed || output.retry_failed;
    Some(match name.as_bytes().strip_prefix(b"+") {
        Some(name) => (PathBuf::from(OsStr::from_bytes(name)), true),
        // A new joblog needs its header.
        None => (PathBuf::from(name), resumes && !is_empty(Path::new(name))),
    })
}

/// Whether no earlier run has written to a joblog: it does not exist, or has no bytes.
fn is_empty(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Opens the joblogs.
pub(super) fn logs(settings: &RunSettings) -> Result<Vec<Log>, SetupError> {
    let mut logs = Vec::new();
    // A dry run has no results from which a run could be resumed.
    if settings.jobs.dry_run {
        return Ok(logs);
    }
    let output = &settings.output;
    if let Some((path, appends)) = joblog(output) {
        logs.push(match path.as_os_str() == "-" {
            true => Log::on(stdout()?, Format::Columns)?,
            false => Log::create(&path, Format::Columns, appends)?,
        });
    }
    if let Some(path) = &output.joblog_json {
        logs.push(match path.as_os_str() == "-" {
            true => Log::on(stdout()?, Format::Json)?,
            false => Log::create(path, Format::Json, false)?,
        });
    }
    Ok(logs)
}

fn stdout() -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?)
}

/// The results of earlier runs in the joblog, and its path.
fn earlier(
    output: &OutputSettings,
    option: &str,
) -> Result<(joblog::EarlierResults, PathBuf), SetupError> {
    let Some((path, _)) = joblog(output) else { usage!("{option} needs --joblog") };
    Ok((joblog::read(&path)?, path))
}

/// Which jobs are left out because of the joblog.
pub(super) fn is_done(output: &OutputSettings) -> Result<Option<IsDone>, SetupError> {
    if output.resume_failed {
        let (done, path) = earlier(output, "--resume-failed")?;
        let done = done.strict(&path)?;
        return Ok(Some(Box::new(move |seq| done.succeeded(seq))));
    }
    // Without a joblog the results tell.
    if output.resume && (output.joblog.is_some() || output.results.is_none()) {
        let (done, _) = earlier(output, "--resume")?;
        return Ok(Some(Box::new(move |seq| done.was_run(seq))));
    }
    Ok(None)
}

/// Whether jobs that have results are left out.
pub(super) fn resumes_results(output: &OutputSettings) -> Result<bool, SetupError> {
    let Some(name) = output.results.as_ref().filter(|_| output.resume) else { return Ok(false) };
    let is_table =
        [".csv", ".tsv", ".json"].iter().any(|e| name.as_bytes().ends_with(e.as_bytes()));
    if is_table && output.joblog.is_none() {
        usage!("--resume: a table does not tell which jobs have ended: give --joblog");
    }
    Ok(!is_table)
}

/// The jobs of `--retry-failed`; none if there was no earlier run, so that the first run of a script
/// runs its jobs.
pub(super) fn retried(output: &OutputSettings) -> Result<Option<GivenJobs>, SetupError> {
    if !output.retry_failed {
        return Ok(None);
    }
    let (done, path) = earlier(output, "--retry-failed")?;
    if is_empty(&path) {
        return Ok(None);
    }
    Ok(Some(done.strict(&path)?.into_failed()))
}
