//! The options of `whit run` as the user gave them, without the command line parser.
//!
//! Texts are not parsed; [`crate::setup`] parses them and rejects combinations that make no sense.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::hosts::HostOptions;
use crate::packing::PackingOptions;

/// All settings of a run.
#[derive(Debug, Default)]
pub struct RunSettings {
    /// The input of jobs.
    pub input: InputSettings,
    /// How many values a job gets.
    pub packing: PackingOptions,
    /// `-s`: the longest command line.
    pub max_chars: Option<String>,
    /// Splitting a stream into blocks.
    pub pipe: PipeSettings,
    /// Replacement strings.
    pub strings: StringSettings,
    /// When jobs start and end.
    pub schedule: ScheduleSettings,
    /// How jobs run.
    pub jobs: JobSettings,
    /// Which hosts run them.
    pub hosts: HostOptions,
    /// Where output goes.
    pub output: OutputSettings,
    /// Jobs read our standard input, as the single command of a semaphore does.
    pub keeps_stdin: bool,
    /// The command line with its replacement strings, then `:::` values or `::::` files.
    pub words: Vec<OsString>,
    /// The environment of this process.
    pub user: UserEnvironment,
}

/// The environment of this process, on which jobs and shells depend.
#[derive(Debug, Default)]
pub struct UserEnvironment {
    /// The environment variables.
    pub variables: Vec<(OsString, OsString)>,
    /// The user's shell.
    pub shell: PathBuf,
    /// The directory of temporary files unless an option sets it.
    pub temporary_folder: PathBuf,
    /// Offset of local time from UTC in seconds.
    pub zone_offset_s: i64,
}

impl UserEnvironment {
    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_os_str())
    }
}

/// The input of jobs.
#[derive(Debug, Default)]
pub struct InputSettings {
    /// `-a`, `--arg-file`.
    pub arg_files: Vec<OsString>,
    /// `-0`, `--null`.
    pub null: bool,
    /// `-d`, `--delimiter`.
    pub delimiter: Option<OsString>,
    /// `-C`, `--colsep`.
    pub colsep: Option<String>,
    /// `--csv`.
    pub csv: bool,
    /// `--header`.
    pub header: Option<String>,
    /// `--link`.
    pub link: bool,
    /// `--trim`.
    pub trim: Option<String>,
    /// `-r`, `--no-run-if-empty`.
    pub no_run_if_empty: bool,
    /// `-E`.
    pub end: Option<OsString>,
    /// `-e`, `--eof`.
    pub eof: Option<OsString>,
    /// `--filter`.
    pub filter: Vec<OsString>,
    /// `--shuf`.
    pub shuf: bool,
    /// `--skip-first-line`.
    pub skip_first_line: bool,
    /// `--arg-sep`.
    pub arg_sep: Option<OsString>,
    /// `--arg-file-sep`.
    pub arg_file_sep: Option<OsString>,
}

/// Splitting a stream into blocks.
#[derive(Debug, Default)]
pub struct PipeSettings {
    /// `--pipe`.
    pub pipe: bool,
    /// `--pipe-part`.
    pub pipe_part: bool,
    /// `--block`.
    pub block: Option<String>,
    /// `--block-timeout`.
    pub block_timeout: Option<String>,
    /// `--recstart`.
    pub recstart: Option<OsString>,
    /// `--recend`.
    pub recend: Option<OsString>,
    /// `--regexp`.
    pub regexp: bool,
    /// `--remove-rec-sep`.
    pub remove_separators: bool,
    /// `--cat`.
    pub cat: bool,
    /// `--fifo`.
    pub fifo: bool,
    /// `--tee`.
    pub tee: bool,
    /// `--round-robin`.
    pub round_robin: bool,
}

/// Replacement strings.
#[derive(Debug, Default)]
pub struct StringSettings {
    /// `-I`.
    pub replace: Option<OsString>,
    /// `-i`, `--replace`.
    pub replace_default: Option<OsString>,
    /// `--plus`.
    pub plus: bool,
    /// `--rpl`.
    pub rpl: Vec<OsString>,
    /// `--parens`.
    pub parens: Option<OsString>,
    /// `--extensionreplace`.
    pub without_extension: Option<OsString>,
    /// `--basenamereplace`.
    pub base_name: Option<OsString>,
    /// `--dirnamereplace`.
    pub directory: Option<OsString>,
    /// `--basenameextensionreplace`.
    pub base_name_without_extension: Option<OsString>,
    /// `--seqreplace`.
    pub seqreplace: Option<OsString>,
    /// `--slotreplace`.
    pub slotreplace: Option<OsString>,
    /// `-q`, `--quote`.
    pub quote: bool,
    /// `--shell-quote`.
    pub shell_quote: u8,
}

/// When jobs start and end.
#[derive(Debug, Default)]
pub struct ScheduleSettings {
    /// `-j`, `--jobs`.
    pub jobs: Option<String>,
    /// `--delay`.
    pub delay: Option<String>,
    /// `--timeout`.
    pub timeout: Option<String>,
    /// `--retries`.
    pub retries: Option<u32>,
    /// `--halt`.
    pub halt: Option<String>,
    /// `--term-seq`.
    pub term_seq: Option<String>,
    /// `--load`.
    pub load: Option<String>,
    /// `--memfree`.
    pub memfree: Option<String>,
    /// `--memsuspend`.
    pub memsuspend: Option<String>,
    /// `--noswap`.
    pub noswap: bool,
    /// `--limit`.
    pub limit: Option<OsString>,
}

/// How jobs run.
#[derive(Debug, Default)]
pub struct JobSettings {
    /// `--dry-run`.
    pub dry_run: bool,
    /// `-v`, `--verbose`.
    pub verbose: u8,
    /// `-t`.
    pub trace_commands: bool,
    /// `--shell`.
    pub shell: OsString,
    /// `--nice`.
    pub nice: i32,
    /// `-W`, `--workdir`.
    pub workdir: Option<OsString>,
    /// `--process-slot-var`.
    pub process_slot_var: Option<String>,
    /// `--tty`.
    pub tty: bool,
    /// `--spawners`.
    pub spawners: Option<usize>,
}

/// Where output goes.
#[derive(Debug, Default)]
pub struct OutputSettings {
    /// `-u`, `--ungroup`.
    pub ungroup: bool,
    /// `--line-buffer`.
    pub line_buffer: bool,
    /// `-k`, `--keep-order`.
    pub keep_order: bool,
    /// `--tag`.
    pub tag: bool,
    /// `--tagstring`.
    pub tagstring: Option<OsString>,
    /// `--color`.
    pub color: bool,
    /// `--color-failed`.
    pub color_failed: bool,
    /// `--files`.
    pub files: bool,
    /// `--files0`.
    pub files0: bool,
    /// `--results`.
    pub results: Option<OsString>,
    /// `--joblog`.
    pub joblog: Option<OsString>,
    /// `--joblog-json`.
    pub joblog_json: Option<PathBuf>,
    /// `--resume`.
    pub resume: bool,
    /// `--resume-failed`.
    pub resume_failed: bool,
    /// `--retry-failed`.
    pub retry_failed: bool,
    /// `--tmpdir`.
    pub tmpdir: Option<PathBuf>,
    /// `--progress`.
    pub progress: bool,
    /// `--eta`.
    pub eta: bool,
    /// `--bar`.
    pub bar: bool,
    /// `--total-jobs`.
    pub total_jobs: Option<u64>,
}

impl PipeSettings {
    /// Whether the input is split into blocks.
    pub fn is_used(&self) -> bool {
        self.pipe || self.pipe_part || self.is_named()
    }

    /// The options for splitting the input, and whether they are given.
    pub fn of_cutting(&self) -> [(bool, &'static str); 6] {
        [
            (self.block.is_some(), "--block"),
            (self.block_timeout.is_some(), "--block-timeout"),
            (self.recstart.is_some(), "--recstart"),
            (self.recend.is_some(), "--recend"),
            (self.regexp, "--regexp"),
            (self.remove_separators, "--remove-rec-sep"),
        ]
    }

    /// Whether jobs get the name of a file or pipe with their block.
    pub fn is_named(&self) -> bool {
        self.cat || self.fifo
    }
}

impl RunSettings {
    /// The directory of temporary files.
    pub fn temporary_folder(&self) -> PathBuf {
        self.output.tmpdir.clone().unwrap_or_else(|| self.user.temporary_folder.clone())
    }
}
