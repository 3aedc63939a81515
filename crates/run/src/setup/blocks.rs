//! `--pipe` and `--pipe-part`: the input that is split into blocks.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use template::PerlProcess;

use super::error::{SetupError, option, system};
use crate::engine::os::Waker;
use crate::engine::{Bins, BlockAccess, Blocks, JobSource, Ranges};
use crate::input::{InputSource, Linked, Sources};
use crate::pipe::{self, BlockSize, Cutter, PipeHeader};
use crate::units;

use crate::settings::{InputSettings, PackingSettings, PipeSettings, RunSettings};

/// The input that is split into blocks.
#[derive(Debug)]
pub(super) struct CutInput {
    options: pipe::PipeOptions,
    /// Which job a line is for, and whether by a hash (`--shard`, `--bin`).
    binning: Option<(pipe::LineKey, bool)>,
    timeout: Option<Duration>,
    /// Files for `--pipe-part`; none: standard input.
    files: Option<Vec<PathBuf>>,
}

/// The input to split, if the options ask for it.  Removes the sources, which are split and not
/// read as values.
///
/// # Errors
///
/// Options that cannot be combined.
pub(super) fn cut_input(
    settings: &RunSettings,
    sources: &mut Sources,
) -> Result<Option<CutInput>, SetupError> {
    let RunSettings { pipe, input, packing, .. } = settings;
    if pipe.tee {
        return Ok(None);
    }
    if !pipe.is_used() {
        return match without_pipe(pipe) {
            Some(option) => usage!("{option} needs --pipe or --pipe-part"),
            None => Ok(None),
        };
    }
    refuse(settings)?;
    let mut options = options(pipe, packing, input)?;
    options.group_by = pipe.group_by.as_ref().map(|text| key(settings, "--group-by", text));
    let shard = pipe.shard.as_ref().map(|text| (key(settings, "--shard", text), true));
    let bin = || pipe.bin.as_ref().map(|text| (key(settings, "--bin", text), false));
    let binning = shard.or_else(bin);
    let taken = std::mem::replace(sources, vec![(InputSource::Arguments(Vec::new()), Linked::No)]);
    let files = if pipe.pipe_part {
        // As with parallel: values beside files of -a have no effect on blocks.
        let is_file = |(source, _): &(InputSource, Linked)| matches!(source, InputSource::File(_));
        let taken = match input.arg_files.is_empty() {
            true => taken,
            false => taken.into_iter().filter(is_file).collect(),
        };
        Some(files(taken)?)
    } else if let Some((source, _)) = taken.iter().find(|(source, _)| *source != InputSource::Stdin)
    {
        match source {
            InputSource::File(file) => usage!(
                "--pipe splits standard input: give it < {0}, or use --pipe-part -a {0}",
                file.display()
            ),
            _ => usage!("--pipe splits standard input, so values cannot be given"),
        }
    } else {
        None
    };
    let duration =
        |text: &String| units::duration(text).map_err(option(format!("--block-timeout {text}")));
    let timeout = pipe.block_timeout.as_ref().map(duration).transpose()?;
    Ok(Some(CutInput { options, binning, timeout, files }))
}

/// How jobs read their blocks.
pub(super) fn access(settings: &RunSettings) -> BlockAccess {
    match () {
        () if settings.pipe.cat => BlockAccess::File(settings.temporary_folder()),
        () if settings.pipe.fifo => BlockAccess::Fifo,
        () => BlockAccess::Stdin,
    }
}

impl CutInput {
    /// Opens the input; `slots` is how many jobs run at once.
    ///
    /// # Errors
    ///
    /// If the input cannot be opened or split.
    pub(super) fn job_source(&self, slots: u32, waker: Waker) -> Result<JobSource, SetupError> {
        let Some(files) = &self.files else {
            let stream = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
            let cutter = Cutter::new(&self.options)?;
            let stream = File::from(stream);
            let binning = |(key, hashes): &(pipe::LineKey, bool)| pipe::Binning {
                key: key.clone(),
                hashes: *hashes,
                jobs: slots,
            };
            let binning = self.binning.as_ref().map(binning);
            let is_binned = binning.is_some();
            let blocks = Blocks::thread(stream, cutter, self.timeout, binning, waker)?;
            return Ok(match is_binned {
                true => JobSource::Bins(Bins::new(blocks, slots)),
                false => JobSource::Blocks(blocks),
            });
        };
        let mut opened = Vec::new();
        let mut total_bytes = 0;
        for path in files {
            let name = path.display();
            let file = File::open(path).map_err(system(format!("cannot open {name}")))?;
            let kind = file.metadata().map_err(system(format!("cannot stat {name}")))?;
            if kind.is_dir() {
                usage!("{name} is a directory: --pipe-part splits files");
            }
            let failed = option(format!("cannot split {name} (--pipe-part)"));
            total_bytes += pipe::file_bytes(&file).map_err(failed)?;
            opened.push((path, file));
        }
        let mut ranges = Ranges::default();
        for (path, file) in opened {
            let failed = option(format!("cannot split {} (--pipe-part)", path.display()));
            let parts = pipe::parts(&file, &self.options, slots, total_bytes).map_err(failed)?;
            ranges.add(file, parts);
        }
        Ok(JobSource::Ranges(ranges))
    }

    /// Whether the number of jobs is known before they start.
    pub(super) fn knows_total(&self) -> bool {
        self.files.is_some() || self.binning.is_some()
    }
}

fn files(sources: Sources) -> Result<Vec<PathBuf>, SetupError> {
    let file = |(source, _)| match source {
        InputSource::File(path) => Ok(path),
        _ => usage!("--pipe-part splits files: name them with -a or ::::"),
    };
    let files: Vec<PathBuf> = sources.into_iter().map(file).collect::<Result<_, SetupError>>()?;
    if files.is_empty() {
        usage!("--pipe-part splits files: name them with -a or ::::");
    }
    Ok(files)
}

/// The first given option that has no meaning without --pipe and --pipe-part.
fn without_pipe(pipe: &PipeSettings) -> Option<&'static str> {
    let others = [
        (pipe.round_robin, "--round-robin"),
        (pipe.group_by.is_some(), "--group-by"),
        (pipe.shard.is_some(), "--shard"),
        (pipe.bin.is_some(), "--bin"),
    ];
    let mut given = pipe.of_cutting().into_iter().chain(others);
    given.find_map(|(is_given, name)| is_given.then_some(name))
}

/// Rejects options that have no meaning for blocks.
fn refuse(settings: &RunSettings) -> Result<(), SetupError> {
    let RunSettings { pipe, input, packing, schedule, output, hosts, strings, .. } = settings;
    if pipe.pipe && pipe.pipe_part {
        usage!("--pipe splits standard input and --pipe-part files: give only one of them");
    }
    let given = [
        (input.null, "-0 (use --recend '\\0')"),
        (input.delimiter.is_some(), "-d (use --recend)"),
        (input.colsep.is_some() && !has_key(pipe), "--colsep"),
        (!input.filter.is_empty(), "--filter"),
        (input.link, "--link"),
        (input.trim.is_some(), "--trim"),
        (input.end.is_some() || input.eof.is_some(), "-E"),
        (input.shuf, "--shuf"),
        (packing.context_replace, "-X"),
        (packing.multiple, "-m"),
        (packing.xargs, "--xargs"),
        (packing.chars.is_some(), "-s"),
        (packing.exact, "-x"),
        (output.retry_failed, "--retry-failed"),
    ];
    for (is_given, name) in given {
        if is_given {
            usage!("--pipe and --pipe-part split bytes, not values: leave out {name}");
        }
    }
    if pipe.pipe_part && pipe.block_timeout.is_some() {
        usage!("--pipe-part never waits for input: leave out --block-timeout");
    }
    refuse_beside_keys(settings)?;
    if pipe.round_robin && schedule.retries.is_some() {
        usage!("--round-robin keeps no blocks: leave out --retries");
    }
    if pipe.round_robin && pipe.cat {
        usage!("--round-robin gives one block after the other, which --cat cannot: use --fifo");
    }
    if pipe.is_named() && strings.quote {
        usage!("-q would quote the variable that holds the name of a block (--cat, --fifo)");
    }
    if pipe.is_named() && hosts.is_used() {
        usage!(
            "--cat and --fifo work on this machine only: on other hosts a block is standard input"
        );
    }
    Ok(())
}

/// Whether lines have a key.
fn has_key(pipe: &PipeSettings) -> bool {
    pipe.group_by.is_some() || pipe.is_binned()
}

/// The key of the value of an option.
fn key(settings: &RunSettings, option: &'static str, text: &OsStr) -> pipe::LineKey {
    let RunSettings { input, strings, .. } = settings;
    pipe::LineKey {
        option,
        text: text.as_bytes().to_vec(),
        separator: input.colsep.as_ref().map(|text| text.as_bytes().to_vec()),
        takes_lines: option == "--group-by",
        perl: (!strings.no_perl).then(PerlProcess::default),
    }
}

/// Rejects options that have no meaning for lines with keys.
fn refuse_beside_keys(settings: &RunSettings) -> Result<(), SetupError> {
    let RunSettings { pipe, input, packing, schedule, .. } = settings;
    if !has_key(pipe) {
        return Ok(());
    }
    let mut others = vec![
        (pipe.recstart.is_some(), "--recstart"),
        (pipe.recend.is_some(), "--recend"),
        (pipe.regexp, "--regexp"),
        (pipe.remove_separators, "--remove-rec-sep"),
        (input.csv, "--csv"),
        (packing.lines.is_some() || packing.max_lines.is_some(), "-L"),
    ];
    if pipe.is_binned() {
        others.extend([
            (pipe.pipe_part, "--pipe-part (use --pipe)"),
            (pipe.group_by.is_some(), "--group-by"),
            (pipe.round_robin, "--round-robin"),
            (pipe.cat, "--cat (use --fifo)"),
            (packing.replace_args.is_some() || packing.args.is_some(), "-N"),
            (schedule.retries.is_some(), "--retries"),
        ]);
        if schedule.jobs.as_deref() == Some("0") {
            usage!("--shard and --bin start as many jobs as -j says: give a number from 1");
        }
    }
    match others.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, name)) => usage!("--group-by, --shard and --bin sort lines: leave out {name}"),
        None => Ok(()),
    }
}

fn options(
    pipe: &PipeSettings,
    packing: &PackingSettings,
    input: &InputSettings,
) -> Result<pipe::PipeOptions, SetupError> {
    let text = |text: &Option<OsString>| {
        let text = text.as_ref()?.as_bytes();
        // A regular expression has its own escapes.
        Some(if pipe.regexp { text.to_vec() } else { pipe::unescape(text) })
    };
    let block = pipe.block.as_ref().map(|text| block_size(text)).transpose()?;
    let header = match input.header.as_deref() {
        None => PipeHeader::None,
        Some(":") => PipeHeader::Lines(1),
        Some(text) => match text.parse() {
            Ok(lines) => PipeHeader::Lines(lines),
            Err(_) => PipeHeader::Pattern(text.to_owned()),
        },
    };
    Ok(pipe::PipeOptions {
        block,
        record_start: text(&pipe.recstart),
        record_end: text(&pipe.recend),
        regexp: pipe.regexp,
        remove_separators: pipe.remove_separators,
        records_max: packing.replace_args.or(packing.args),
        record_lines: packing.lines.or(packing.max_lines),
        header,
        skips_first_line: input.skip_first_line,
        csv: input.csv,
        drop_blank_lines: input.no_run_if_empty,
        group_by: None,
    })
}

fn block_size(text: &str) -> Result<BlockSize, SetupError> {
    let named = format!("--block {text}");
    match text.strip_prefix('-') {
        Some(count) => match units::small_count(count) {
            Ok(count) if count > 0 => Ok(BlockSize::PerSlot(count)),
            _ => usage!("{named}: -N is a number of blocks for each slot, from 1"),
        },
        None => Ok(BlockSize::Bytes(units::size(text).map_err(option(named))?)),
    }
}
