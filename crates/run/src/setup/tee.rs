//! `--tee`: the input that all jobs get.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use super::error::{SetupError, system};
use crate::engine::os::Waker;
use crate::engine::{JobSource, Tee};
use crate::input::{InputSource, Sources};

use crate::settings::RunSettings;

/// The input that all jobs get.
#[derive(Debug)]
pub(super) struct TeeInput {
    /// A file; none: standard input.
    file: Option<PathBuf>,
}

/// The input of `--tee`, if that is given.  Removes the file of `--pipe-part` from the sources; the
/// rest are values.
///
/// # Errors
///
/// Options that cannot be combined.
pub(super) fn tee_input(
    settings: &RunSettings,
    sources: &mut Sources,
) -> Result<Option<TeeInput>, SetupError> {
    let pipe = &settings.pipe;
    if !pipe.tee {
        return Ok(None);
    }
    if !pipe.pipe && !pipe.pipe_part {
        usage!("--tee needs --pipe or --pipe-part");
    }
    refuse(settings)?;
    let mut file = None;
    if pipe.pipe_part {
        if settings.input.arg_files.len() != 1 {
            usage!("--tee --pipe-part gives all of one file: name it with -a");
        }
        match sources.remove(0) {
            (InputSource::File(path), _) => file = Some(path),
            _ => usage!("--tee --pipe-part gives all of a file: name it with -a"),
        }
    }
    if sources.is_empty() {
        usage!("--tee gives the input to a job for each value: name them with :::");
    }
    if sources.iter().any(|(source, _)| *source == InputSource::Stdin) {
        usage!("--tee gives standard input to the jobs: values cannot come from there too");
    }
    Ok(Some(TeeInput { file }))
}

/// Rejects options that have no meaning when the input is not split.
fn refuse(settings: &RunSettings) -> Result<(), SetupError> {
    let RunSettings { pipe, input, packing, schedule, jobs, hosts, output, .. } = settings;
    if pipe.pipe && pipe.pipe_part {
        usage!("--pipe reads standard input and --pipe-part files: give only one of them");
    }
    let of_pipe = [
        (pipe.is_named(), "--cat and --fifo"),
        (pipe.round_robin, "--round-robin"),
        (pipe.group_by.is_some(), "--group-by"),
        (pipe.is_binned(), "--shard and --bin"),
    ];
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
        (hosts.is_used() || hosts.nonall, "-S"),
    ];
    for (is_given, name) in of_pipe.into_iter().chain(pipe.of_cutting()).chain(others) {
        if is_given {
            usage!("--tee gives each job all of the input, once: leave out {name}");
        }
    }
    Ok(())
}

impl TeeInput {
    /// Opens the input; `values` are those of the jobs, `slots` is how many run at once, as many as
    /// descriptors allow if `is_short`.
    ///
    /// # Errors
    ///
    /// If the input cannot be opened, or not all jobs can run at once.
    pub(super) fn job_source(
        &self,
        values: JobSource,
        slots: u32,
        is_short: bool,
        waker: Waker,
    ) -> Result<JobSource, SetupError> {
        let JobSource::Known(values) = values else {
            usage!("--tee must know its jobs in advance")
        };
        if values.len() as u64 > u64::from(slots) {
            let jobs = values.len();
            if is_short {
                usage!(
                    "--tee runs all jobs at the same time: descriptors for {jobs} jobs need a higher ulimit -n"
                );
            }
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
