//! `--tee`: from the options to what all jobs are given.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use super::error::{SetupError, system};
use crate::engine::os::Waker;
use crate::engine::{JobSource, Tee};
use crate::input::{InputSource, Sources};

use crate::settings::RunSettings;

/// What all jobs are given.
#[derive(Debug)]
pub(super) struct TeeInput {
    /// This file; none: standard input.
    file: Option<PathBuf>,
}

/// What is asked for, if anything is.  The file of `--pipe-part` is taken from the sources; what is
/// left of them are values.
///
/// # Errors
///
/// Options that cannot be kept.
pub(super) fn tee_input(
    settings: &RunSettings,
    sources: &mut Sources,
) -> Result<Option<TeeInput>, SetupError> {
    let pipe = &settings.pipe;
    if !pipe.tee {
        return Ok(None);
    }
    if !pipe.pipe && !pipe.pipe_part {
        usage!("--tee is of --pipe and --pipe-part");
    }
    refuse(settings)?;
    let mut file = None;
    if pipe.pipe_part {
        if settings.input.arg_files.len() != 1 {
            usage!("--tee --pipe-part gives all of one file: name it by -a");
        }
        match sources.remove(0) {
            (InputSource::File(path), _) => file = Some(path),
            _ => usage!("--tee --pipe-part gives all of a file: name it by -a"),
        }
    }
    if sources.is_empty() {
        usage!("--tee gives the input to a job for each value: name them by :::");
    }
    if sources.iter().any(|(source, _)| *source == InputSource::Stdin) {
        usage!("--tee gives standard input to the jobs: values come from elsewhere");
    }
    Ok(Some(TeeInput { file }))
}

/// Refuses options that mean nothing where nothing is cut.
fn refuse(settings: &RunSettings) -> Result<(), SetupError> {
    let RunSettings { pipe, input, packing, schedule, jobs, hosts, output, .. } = settings;
    if pipe.pipe && pipe.pipe_part {
        usage!("--pipe is of standard input and --pipe-part of files: only one of them");
    }
    let of_pipe = [(pipe.is_named(), "--cat and no --fifo"), (pipe.round_robin, "--round-robin")];
    let others = [
        (input.header.is_some(), "--header"),
        (packing.replace_args.is_some(), "-N"),
        (packing.args.is_some(), "-n"),
        (packing.lines.is_some() || packing.max_lines.is_some(), "-L"),
        (packing.context_replace, "-X"),
        (packing.multiple, "-m"),
        (packing.xargs, "--xargs"),
        (schedule.retries.is_some(), "--retries"),
        (jobs.tty, "--tty"),
        (output.retry_failed, "--retry-failed"),
        (hosts.is_used() || hosts.takes_no_values, "-S"),
    ];
    for (is_given, name) in of_pipe.into_iter().chain(pipe.of_cutting()).chain(others) {
        if is_given {
            usage!("--tee gives each job all of the input, once: there is no {name}");
        }
    }
    Ok(())
}

impl TeeInput {
    /// Opens what jobs are given; `values` are those of the jobs, of which so many run at once.
    ///
    /// # Errors
    ///
    /// What cannot be opened, or jobs that cannot all run.
    pub(super) fn job_source(
        &self,
        values: JobSource,
        slots: u32,
        waker: Waker,
    ) -> Result<JobSource, SetupError> {
        let JobSource::Known(values) = values else { usage!("--tee knows its jobs beforehand") };
        if values.len() as u64 > u64::from(slots) {
            let jobs = values.len();
            usage!("--tee runs all jobs at the same time: {jobs} jobs need -j{jobs} or -j0");
        }
        let Some(path) = &self.file else {
            let stream = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
            return Ok(JobSource::Tee(values, Tee::stream(File::from(stream), waker)?));
        };
        let name = path.display();
        let mut file = File::open(path).map_err(system(format!("cannot open {name}")))?;
        let bytes = file.seek(SeekFrom::End(0));
        let bytes = bytes.map_err(system(format!("cannot find the size of {name}")))?;
        Ok(JobSource::Tee(values, Tee::File(Arc::new(file), bytes)))
    }
}
