//! `--tee`: from the command line to what all jobs are given.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use run::engine::world::Waker;
use run::engine::{Feed, Tee};
use run::input::{Source, Sources};

use super::arguments::RunArguments;

/// What all jobs are given.
#[derive(Debug)]
pub(crate) struct Asked {
    /// This file; none: standard input.
    file: Option<PathBuf>,
}

/// What is asked for, if anything is.  The file of `--pipe-part` is taken from the sources; what is
/// left of them are values.
///
/// # Errors
///
/// Options that cannot be kept.
pub(crate) fn asked(
    arguments: &RunArguments,
    sources: &mut Sources,
) -> anyhow::Result<Option<Asked>> {
    let pipe = &arguments.pipe;
    if !pipe.tee {
        return Ok(None);
    }
    if !pipe.pipe && !pipe.pipe_part {
        bail!("--tee is of --pipe and --pipe-part");
    }
    refuse(arguments)?;
    let mut file = None;
    if pipe.pipe_part {
        if arguments.input.arg_files.len() != 1 {
            bail!("--tee --pipe-part gives all of one file: name it by -a");
        }
        match sources.remove(0) {
            (Source::File(path), _) => file = Some(path),
            _ => bail!("--tee --pipe-part gives all of a file: name it by -a"),
        }
    }
    if sources.is_empty() {
        bail!("--tee gives the input to a job for each value: name them by :::");
    }
    if sources.iter().any(|(source, _)| *source == Source::Stdin) {
        bail!("--tee gives standard input to the jobs: values come from elsewhere");
    }
    Ok(Some(Asked { file }))
}

/// Refuses options that mean nothing where nothing is cut.
fn refuse(arguments: &RunArguments) -> anyhow::Result<()> {
    let RunArguments { pipe, input, packing, schedule, jobs, hosts, output, .. } = arguments;
    if pipe.pipe && pipe.pipe_part {
        bail!("--pipe is of standard input and --pipe-part of files: only one of them");
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
        (hosts.is_used() || hosts.nonall, "-S"),
    ];
    for (is_given, name) in of_pipe.into_iter().chain(pipe.of_cutting()).chain(others) {
        if is_given {
            bail!("--tee gives each job all of the input, once: there is no {name}");
        }
    }
    Ok(())
}

impl Asked {
    /// Opens what jobs are given; `values` are those of the jobs, of which so many run at once.
    ///
    /// # Errors
    ///
    /// What cannot be opened, or jobs that cannot all run.
    pub(crate) fn feed(&self, values: Feed, slots: u32, waker: Waker) -> anyhow::Result<Feed> {
        let Feed::Known(values) = values else { bail!("--tee knows its jobs beforehand") };
        if values.len() as u64 > u64::from(slots) {
            let jobs = values.len();
            bail!("--tee runs all jobs at the same time: {jobs} jobs need -j{jobs} or -j0");
        }
        let Some(path) = &self.file else {
            let stream = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
            return Ok(Feed::Tee(values, Tee::stream(File::from(stream), waker)?));
        };
        let name = path.display();
        let mut file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let bytes = file.seek(SeekFrom::End(0));
        let bytes = bytes.with_context(|| format!("cannot tell how large {name} is"))?;
        Ok(Feed::Tee(values, Tee::File(Arc::new(file), bytes)))
    }
}
