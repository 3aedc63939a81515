//! The input of jobs: `:::`, `-a` and the options that say how values are read.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::input::{self, Input, InputSource, Linked};

use super::blocks::{self, CutInput};
use super::error::SetupError;
use super::joblog::{self, GivenJobs};
use super::tee::{self, TeeInput};
use crate::settings::{InputSettings, RunSettings};

/// The input of jobs.
pub(super) struct GivenInput {
    /// The values; only the names of `--header` are read yet.
    pub(super) values: Input,
    /// The input that is split into blocks instead (`--pipe`, `--pipe-part`).
    pub(super) blocks: Option<CutInput>,
    /// The input that each job gets in addition to its values (`--tee`).
    pub(super) tee: Option<TeeInput>,
    /// The command lines that are run again instead (`--retry-failed`).
    pub(super) retried: Option<GivenJobs>,
    /// Whether there is one job, without values (`--nonall`).
    pub(super) takes_no_values: bool,
    /// Whether values come from standard input.
    pub(super) reads_stdin: bool,
}

impl GivenInput {
    /// Opens the sources that the words name; returns the words of the command.
    pub(super) fn open(settings: &mut RunSettings) -> Result<(Vec<Vec<u8>>, Self), SetupError> {
        let words = std::mem::take(&mut settings.words);
        let (command, mut sources) = take_sources(words, &settings.input);
        let blocks = blocks::cut_input(settings, &mut sources)?;
        let tee = tee::tee_input(settings, &mut sources)?;
        let RunSettings { input, packing, hosts, output, .. } = &*settings;
        if hosts.nonall && (blocks.is_some() || !sources.is_empty()) {
            usage!("--nonall takes no values");
        }
        let takes_no_values = hosts.nonall;
        let reads_stdin = !takes_no_values
            && (sources.iter().any(|(source, _)| *source == InputSource::Stdin)
                || sources.is_empty());
        let retried = joblog::retried(output)?;
        let mut options = match &blocks {
            Some(_) => input::InputOptions::default(),
            None => options(input)?,
        };
        options.continued = packing.lines.or(packing.max_lines).is_some();
        let stdin = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
        let values = input::open(sources, &options, Box::new(File::from(stdin)))?;
        Ok((command, GivenInput { values, blocks, tee, retried, takes_no_values, reads_stdin }))
    }
}

/// The words of the command, and the sources, with those of `-a` first.
fn take_sources(words: Vec<OsString>, input: &InputSettings) -> (Vec<Vec<u8>>, input::Sources) {
    let mut separators = input::Separators::default();
    if let Some(word) = &input.arg_sep {
        separators.arguments = word.as_bytes().to_vec();
    }
    if let Some(word) = &input.arg_file_sep {
        separators.files = word.as_bytes().to_vec();
    }
    let words = words.into_iter().map(OsString::into_vec).collect();
    let (command, given) = input::split(words, &separators);
    let mut sources: input::Sources = input
        .arg_files
        .iter()
        .map(|file| {
            let bytes = file.as_bytes();
            let (name, linked) = match bytes.strip_prefix(b"+") {
                Some(name) => (name, Linked::Previous),
                None => (bytes, Linked::No),
            };
            (input::file(name.to_vec()), linked)
        })
        .collect();
    sources.extend(given);
    (command, sources)
}

/// How sources are read.
fn options(input: &InputSettings) -> Result<input::InputOptions, SetupError> {
    let mut options = input::InputOptions {
        link: input.link,
        shuffle: input.shuf.then(seed),
        skip_first_line: input.skip_first_line,
        no_run_if_empty: input.no_run_if_empty,
        ..input::InputOptions::default()
    };
    if input.null {
        options.delimiter = vec![0];
    } else if let Some(text) = &input.delimiter {
        options.delimiter = input::delimiter(text.as_bytes())?;
    }
    options.columns = match (&input.colsep, input.csv) {
        (Some(separator), true) => input::Columns::Csv(separator.as_bytes().to_vec()),
        (None, true) => input::Columns::Csv(b",".to_vec()),
        (Some(regex), false) => input::Columns::Separator(regex.as_bytes().to_vec()),
        (None, false) => input::Columns::None,
    };
    options.header = match input.header.as_deref() {
        None => input::ValueNames::None,
        Some("0") => input::ValueNames::FileNames,
        Some(":" | ".*\\n") => input::ValueNames::First,
        Some(other) => usage!("--header {other}: only :, .*\\n and 0 are supported"),
    };
    options.trim = match input.trim.as_deref() {
        None => None,
        Some("n") => Some(input::Trim::None),
        Some("l") => Some(input::Trim::Left),
        Some("r") => Some(input::Trim::Right),
        Some("lr" | "rl") => Some(input::Trim::Both),
        Some(other) => usage!("--trim {other}: must be n, l, r, lr or rl"),
    };
    let end = input.end.as_ref().or(input.eof.as_ref());
    options.end_of_file = end.filter(|end| !end.is_empty()).map(|end| end.as_bytes().to_vec());
    Ok(options)
}

/// A random seed.
fn seed() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    RandomState::new().build_hasher().finish()
}
