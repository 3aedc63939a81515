//! `--pipe` and `--pipe-part`: from the command line to what jobs read.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use run::engine::world::Waker;
use run::engine::{Blocks, By, Feed, Ranges};
use run::input::{Linked, Source, Sources};
use run::pipe::{self, BlockSize, Cutter, Header};
use run::units;

use super::arguments::{InputArguments, PackingArguments, PipeArguments, RunArguments};

/// What jobs are to read.
#[derive(Debug)]
pub(crate) struct Asked {
    options: pipe::Options,
    timeout: Option<Duration>,
    /// Files to be cut where they lie; none: standard input.
    files: Option<Vec<PathBuf>>,
}

/// What is asked for, if anything is.  The sources are taken: they are cut, not read as values.
///
/// # Errors
///
/// Options that cannot be kept.
pub(crate) fn asked(
    arguments: &RunArguments,
    sources: &mut Sources,
) -> anyhow::Result<Option<Asked>> {
    let RunArguments { pipe, input, packing, .. } = arguments;
    if pipe.tee {
        return Ok(None);
    }
    if !pipe.is_used() {
        return match without_pipe(pipe) {
            Some(option) => bail!("{option} is of --pipe and --pipe-part"),
            None => Ok(None),
        };
    }
    refuse(arguments)?;
    let options = options(pipe, packing, input)?;
    let taken = std::mem::replace(sources, vec![(Source::Arguments(Vec::new()), Linked::No)]);
    let files = if pipe.pipe_part {
        Some(files(taken)?)
    } else if let Some((source, _)) = taken.iter().find(|(source, _)| *source != Source::Stdin) {
        match source {
            Source::File(file) => bail!(
                "--pipe cuts standard input: give it < {0}, or use --pipe-part -a {0}",
                file.display()
            ),
            _ => bail!("--pipe cuts standard input: there is no place for values"),
        }
    } else {
        None
    };
    let duration =
        |text: &String| units::duration(text).with_context(|| format!("--block-timeout {text}"));
    let timeout = pipe.block_timeout.as_ref().map(duration).transpose()?;
    Ok(Some(Asked { options, timeout, files }))
}

/// How jobs get at their blocks.
pub(crate) fn by(arguments: &RunArguments) -> By {
    match () {
        () if arguments.pipe.cat => By::File(arguments.output.temporary_folder()),
        () if arguments.pipe.fifo => By::Fifo,
        () => By::Stdin,
    }
}

impl Asked {
    /// Opens what is to be cut; `slots` is how many jobs run at once.
    ///
    /// # Errors
    ///
    /// What cannot be opened or cut.
    pub(crate) fn feed(&self, slots: u32, waker: Waker) -> anyhow::Result<Feed> {
        let Some(files) = &self.files else {
            let stream = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
            let cutter = Cutter::new(&self.options)?;
            return Ok(Feed::Blocks(Blocks::thread(
                File::from(stream),
                cutter,
                self.timeout,
                waker,
            )?));
        };
        let mut ranges = Ranges::default();
        for path in files {
            let name = path.display();
            let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
            let kind = file.metadata().with_context(|| format!("cannot look at {name}"))?;
            if kind.is_dir() {
                bail!("{name} is a folder: --pipe-part cuts files");
            }
            let parts = pipe::parts(&file, &self.options, slots)
                .with_context(|| format!("cannot cut {name} (--pipe-part)"))?;
            ranges.add(file, parts);
        }
        Ok(Feed::Ranges(ranges))
    }

    /// Whether the number of jobs is known before they start.
    pub(crate) fn knows_total(&self) -> bool {
        self.files.is_some()
    }
}

fn files(sources: Sources) -> anyhow::Result<Vec<PathBuf>> {
    let file = |(source, _)| match source {
        Source::File(path) => Ok(path),
        _ => bail!("--pipe-part cuts files: name them by -a or ::::"),
    };
    let files: Vec<PathBuf> = sources.into_iter().map(file).collect::<anyhow::Result<_>>()?;
    if files.is_empty() {
        bail!("--pipe-part cuts files: name them by -a or ::::");
    }
    Ok(files)
}

/// An option that means nothing where nothing is cut.
fn without_pipe(pipe: &PipeArguments) -> Option<&'static str> {
    let mut given = pipe.of_cutting().into_iter().chain([(pipe.round_robin, "--round-robin")]);
    given.find_map(|(is_given, name)| is_given.then_some(name))
}

/// Refuses options that mean nothing for blocks.
fn refuse(arguments: &RunArguments) -> anyhow::Result<()> {
    let RunArguments { pipe, input, packing, jobs, schedule, output, hosts, strings, .. } =
        arguments;
    if pipe.pipe && pipe.pipe_part {
        bail!("--pipe cuts standard input and --pipe-part files: only one of them");
    }
    let given = [
        (input.null, "-0 (use --recend '\\0')"),
        (input.delimiter.is_some(), "-d (use --recend)"),
        (input.colsep.is_some(), "--colsep"),
        (!input.filter.is_empty(), "--filter"),
        (input.link, "--link"),
        (input.trim.is_some(), "--trim"),
        (input.end.is_some() || input.eof.is_some(), "-E"),
        (input.shuf, "--shuf"),
        (input.skip_first_line, "--skip-first-line"),
        (packing.context_replace, "-X"),
        (packing.multiple, "-m"),
        (packing.xargs, "--xargs"),
        (packing.chars.is_some(), "-s"),
        (packing.exact, "-x"),
        (jobs.tty, "--tty"),
        (output.retry_failed, "--retry-failed"),
    ];
    for (is_given, name) in given {
        if is_given {
            bail!("--pipe and --pipe-part cut bytes, not values: there is no {name}");
        }
    }
    if pipe.pipe_part && pipe.block_timeout.is_some() {
        bail!("--pipe-part waits for nothing: there is no --block-timeout");
    }
    if pipe.round_robin && schedule.retries.is_some() {
        bail!("--round-robin keeps no blocks: there is no --retries");
    }
    if pipe.round_robin && pipe.cat {
        bail!("--round-robin gives one block after the other, which --cat cannot: use --fifo");
    }
    if pipe.is_named() && strings.quote {
        bail!("-q would quote the variable that holds the name of a block (--cat, --fifo)");
    }
    if pipe.is_named() && hosts.is_used() {
        bail!("--cat and --fifo work on this machine alone: elsewhere a block is standard input");
    }
    Ok(())
}

fn options(
    pipe: &PipeArguments,
    packing: &PackingArguments,
    input: &InputArguments,
) -> anyhow::Result<pipe::Options> {
    let text = |text: &Option<OsString>| {
        let text = text.as_ref()?.as_bytes();
        // A pattern has its own escapes.
        Some(if pipe.regexp { text.to_vec() } else { pipe::unescape(text) })
    };
    let block = pipe.block.as_ref().map(|text| block_size(text)).transpose()?;
    let header = match input.header.as_deref() {
        None => Header::None,
        Some(":") => Header::Lines(1),
        Some(text) => match text.parse() {
            Ok(lines) => Header::Lines(lines),
            Err(_) => Header::Pattern(text.to_owned()),
        },
    };
    Ok(pipe::Options {
        block,
        record_start: text(&pipe.recstart),
        record_end: text(&pipe.recend),
        regexp: pipe.regexp,
        remove_separators: pipe.remove_separators,
        records_max: packing.replace_args.or(packing.args),
        record_lines: packing.lines.or(packing.max_lines),
        header,
        csv: input.csv,
        drop_blank_lines: input.no_run_if_empty,
    })
}

fn block_size(text: &str) -> anyhow::Result<BlockSize> {
    let named = || format!("--block {text}");
    match text.strip_prefix('-') {
        Some(count) => {
            let count = count.parse().ok().filter(|count| *count > 0).with_context(named)?;
            Ok(BlockSize::PerSlot(count))
        }
        None => Ok(BlockSize::Bytes(units::size(text).with_context(named)?)),
    }
}
