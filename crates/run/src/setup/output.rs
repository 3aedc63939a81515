//! The output of jobs: `--group`, `-k`, `--tag`, `--results`, `--progress` and related options.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::collect::{self, Collector, CompressionCommands, Results};
use crate::progress::Style;
use template::Template;

use super::command::Command;
use super::error::SetupError;
use crate::settings::{OutputSettings, RunSettings};

/// What comes before each line of a job (`--tag`, `--tagstring`).
pub(super) fn tag(
    output: &OutputSettings,
    command: &Command,
) -> Result<Option<Template>, SetupError> {
    let value = command.syntax.renames.value.as_deref().unwrap_or(b"{}");
    let text = match &output.tagstring {
        Some(text) => unescaped(text.as_bytes()),
        None if output.tag => value.to_vec(),
        None => return Ok(None),
    };
    command.option(OsStr::from_bytes(&text)).map(Some)
}

/// The text of `--tagstring` with the bytes that `\t`, `\n`, `\r`, `\0` and three octal digits stand
/// for; parallel knows no others there.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| {
            let is_octal = digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
            let number = std::str::from_utf8(digits).ok().filter(|_| is_octal)?;
            u8::from_str_radix(number, 8).ok()
        });
        let (byte, used) = match (first, after.first()) {
            (b'\\', _) if octal.is_some() => (octal.unwrap_or_default(), 4),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b'0')) => (0, 2),
            _ => (first, 1),
        };
        out.push(byte);
        rest = &rest[used..];
    }
    out
}

/// The value of `--results`, and the template if it contains replacement strings.
pub(super) fn results(
    output: &OutputSettings,
    command: &Command,
) -> Result<(Option<Results>, Option<Template>), SetupError> {
    use collect::TableFormat::{Csv, Json, Tsv};
    let Some(name) = output.results.as_deref() else { return Ok((None, None)) };
    let path = Path::new(name);
    for (ending, format) in [(".csv", Csv), (".tsv", Tsv), (".json", Json)] {
        if let Some(stem) = name.as_bytes().strip_suffix(ending.as_bytes()) {
            let file = (stem != b"-").then(|| path.to_owned());
            return Ok((Some(Results::Table(format, file)), None));
        }
    }
    let template = command.option(name)?;
    Ok(match template.has_values() {
        true => (Some(Results::Template), Some(template)),
        false => (Some(Results::Tree(path.to_owned())), None),
    })
}

/// The templates that are rendered for each job beside its command: tag, directory, file.
pub(super) fn beside(
    settings: &RunSettings,
    command: &Command,
) -> Result<Vec<Template>, SetupError> {
    let tag = tag(&settings.output, command)?;
    let directory = settings.jobs.workdir.as_deref();
    let directory = directory.map(|text| command.option(text)).transpose()?;
    let (_, place) = results(&settings.output, command)?;
    Ok([tag, directory, place].into_iter().flatten().collect())
}

/// The style of the progress line, and whether it is shown before SIGUSR2 asks for it.
pub(super) fn progress_style(output: &OutputSettings) -> (Style, bool) {
    let OutputSettings { progress, eta, bar, .. } = *output;
    match () {
        () if bar => (Style::Bar, true),
        () if eta => (Style::Eta, true),
        () => (Style::Progress, progress),
    }
}

/// The programs that `--compress` looks for, the fastest first.
const COMPRESSORS: [&str; 6] = ["zstd", "lz4", "lzop", "gzip", "bzip2", "xz"];

/// How temporary files are compressed, if they are.
fn compression(settings: &RunSettings) -> Result<Option<CompressionCommands>, SetupError> {
    let OutputSettings { compress_program, decompress_program, .. } = &settings.output;
    let output = &settings.output;
    if !output.compresses() {
        if decompress_program.is_some() {
            usage!("--decompress-program is of --compress, which is not there: give it, too");
        }
        return Ok(None);
    }
    // These are no temporary files, or go on while they are read.
    for (is_given, options) in [
        (output.results.is_some(), "--results"),
        (output.files || output.files0, "--files"),
        (output.keep_order && output.line_buffer, "--keep-order --line-buffer"),
    ] {
        if is_given {
            usage!("--compress and {options} cannot go together: leave one of them out");
        }
    }
    if settings.jobs.dry_run {
        return Ok(None);
    }
    let and = |command: &OsStr, options: &str| {
        let mut command = command.to_owned();
        command.push(options);
        command
    };
    let (compress, program) = match compress_program {
        Some(command) => (command.clone(), command.clone()),
        None => {
            let path = settings.user.bytes("PATH");
            let is_there = |name: &&str| spawn::find_program(name.as_bytes(), &path).is_some();
            let Some(name) = COMPRESSORS.into_iter().find(is_there) else {
                usage!("--compress finds no compressor: name one with --compress-program");
            };
            (and(name.as_ref(), " -c -1"), OsString::from(name))
        }
    };
    let decompress = decompress_program.clone().unwrap_or_else(|| and(&program, " -dc"));
    Ok(Some(CompressionCommands { compress, decompress }))
}

/// The collector; `stdout_unused` if no job writes to its standard output, `grouped` if the output
/// of a host is written in one piece.
pub(super) fn collector(
    settings: &RunSettings,
    results: Option<Results>,
    command: &Command,
    stdout_unused: bool,
    grouped: bool,
    held_files_max: usize,
) -> Result<Collector, SetupError> {
    let output = &settings.output;
    let mode = match () {
        () if output.ungroup => collect::Mode::Ungroup,
        // With -k, one host after the other.
        () if grouped && output.keep_order => collect::Mode::Group,
        () if output.line_buffer || output.latest_line => collect::Mode::LineBuffer,
        () => collect::Mode::Group,
    };
    let files = match () {
        () if output.files0 => Some(0),
        () if output.files => Some(b'\n'),
        () => None,
    };
    let directory = settings.temporary_folder();
    let OutputSettings { keep_order, color, color_failed, .. } = *output;
    Ok(Collector::new(
        collect::OutputOptions {
            mode,
            keep_order,
            files,
            removes_files: settings.jobs.dry_run,
            results,
            names: command.syntax.names.clone(),
            directory,
            compression: compression(settings)?,
            color,
            color_failed,
            stdout_unused,
            grouped,
            held_files_max,
            latest_line: output.latest_line.then(|| settings.user.output_size.unwrap_or(|| None)),
        },
        rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?,
        rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?,
    )?)
}
