//! The options of `whit run` as the user gave them: plain structs, which are also the definition of its
//! command line.
//!
//! The text of an option is its help text.  With the feature `arguments`, which only the program itself
//! enables, the structs derive `clap::Args`; nothing else here knows a command line.  Values that are
//! texts are not parsed; [`crate::setup`] parses them and rejects combinations that make no sense.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "help texts write optional parts in brackets, as manuals do"
)]

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cpus::CpuUnit;
use crate::shell_functions::FunctionShell;
#[cfg(feature = "arguments")]
use crate::units;
use crate::user::UserEnvironment;

/// All settings of a run.
#[derive(Debug, Default)]
#[cfg_attr(feature = "arguments", derive(clap::Args))]
pub struct RunSettings {
    /// Where values come from.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub input: InputSettings,
    /// How many values a job gets.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub packing: PackingSettings,
    /// How a stream is split into blocks.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub pipe: PipeSettings,
    /// Replacement strings, and quoting.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub strings: StringSettings,
    /// When jobs start and end.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub schedule: ScheduleSettings,
    /// How jobs run.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub jobs: JobSettings,
    /// Which hosts run them.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub hosts: HostSettings,
    /// What happens to their output.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub output: OutputSettings,
    /// What is told instead of running jobs.
    #[cfg_attr(feature = "arguments", command(flatten))]
    pub information: InformationSettings,
    /// The command line with its replacement strings, then `:::` values or `::::` files.
    #[cfg_attr(feature = "arguments", arg(skip))]
    pub words: Vec<OsString>,
    /// Jobs read our standard input, as the single command of a semaphore does.
    #[cfg_attr(feature = "arguments", arg(skip))]
    pub keeps_stdin: bool,
    /// The environment of this process.
    #[cfg_attr(feature = "arguments", arg(skip))]
    pub user: UserEnvironment,
}

/// Defines groups of options: plain structs, and with the feature `arguments` the arguments of a
/// command line, with `#[arg]` as of clap.
macro_rules! options {
    ($(
        $(#[doc $($summary:tt)*])+
        #[heading = $heading:literal]
        pub struct $name:ident { $(
            $(#[doc $($help:tt)*])+
            #[arg($($arg:tt)*)]
            pub $field:ident: $type:ty,
        )+ }
    )+) => { $(
        $(#[doc $($summary)*])+
        #[derive(Debug, Default)]
        #[cfg_attr(
            feature = "arguments",
            derive(clap::Args),
            command(next_help_heading = $heading)
        )]
        pub struct $name { $(
            $(#[doc $($help)*])+
            #[cfg_attr(feature = "arguments", arg($($arg)*))]
            pub $field: $type,
        )+ }
    )+ };
}

options! {
    /// Where values come from.
    #[heading = "Input"]
    pub struct InputSettings {
        /// Read values from the lines of this file; - is standard input, +FILE is linked to the source before it
        #[arg(short = 'a', long = "arg-file", value_name = "FILE")]
        pub arg_files: Vec<OsString>,

        /// Values end with a NUL, not with a newline
        #[arg(short = '0', long)]
        pub null: bool,

        /// Values end with this: a character, \n, \t, \012 or \x0a
        #[arg(short = 'd', long, value_name = "DELIMITER", allow_hyphen_values = true)]
        pub delimiter: Option<OsString>,

        /// Split each value at this regular expression: {1}, {2} … are the columns
        #[arg(short = 'C', long, value_name = "REGEX", allow_hyphen_values = true)]
        pub colsep: Option<String>,

        /// Values are lines of comma separated values
        #[arg(long)]
        pub csv: bool,

        /// The first value of each source is its name (:); 0: the file's name is
        #[arg(long, value_name = "REGEX")]
        pub header: Option<String>,

        /// Read all sources in parallel, one value of each for a job; short sources start again
        #[arg(long)]
        pub link: bool,

        /// Remove white space from values: n (none), l (left), r (right) or lr
        #[arg(long, value_name = "WHERE")]
        pub trim: Option<String>,

        /// Skip empty values
        #[arg(short = 'r', long = "no-run-if-empty")]
        pub no_run_if_empty: bool,

        /// Stop reading at this value
        #[arg(short = 'E', value_name = "VALUE", allow_hyphen_values = true)]
        pub end: Option<OsString>,

        /// As -E; without VALUE no value ends the input
        #[arg(short = 'e', long = "eof", value_name = "VALUE", num_args = 0..=1, require_equals = false,
              default_missing_value = "", hide_short_help = true)]
        pub eof: Option<OsString>,

        /// Run only jobs for which this condition is true: '{1} < {2}', '"{}" ne "x"'. If given
        /// several times, all must be true
        #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
        pub filter: Vec<OsString>,

        /// Run the jobs in random order
        #[arg(long)]
        pub shuf: bool,

        /// Skip the first line of the input
        #[arg(long)]
        pub skip_first_line: bool,

        /// Another word for :::
        #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
        pub arg_sep: Option<OsString>,

        /// Another word for ::::
        #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
        pub arg_file_sep: Option<OsString>,
    }

    /// How many values a job gets.
    #[heading = "Packing"]
    pub struct PackingSettings {
        /// Number of values for each job: {1} {2} …; 0: read one, insert none
        #[arg(short = 'N', long = "max-replace-args", value_name = "COUNT", value_parser = units::count)]
        pub replace_args: Option<u64>,

        /// Maximum number of values for each job
        #[arg(short = 'n', long = "max-args", value_name = "COUNT", value_parser = units::count)]
        pub args: Option<u64>,

        /// Maximum number of lines for each job
        #[arg(short = 'L', value_name = "COUNT", value_parser = units::count)]
        pub lines: Option<u64>,

        /// As -L, 1 without a number
        #[arg(short = 'l', long = "max-lines", value_name = "COUNT", value_parser = units::count, num_args = 0..=1,
              default_missing_value = "1", hide_short_help = true)]
        pub max_lines: Option<u64>,

        /// As many values as the command line holds; the word with the {} is repeated for each
        #[arg(short = 'X')]
        pub context_replace: bool,

        /// As many values as the command line holds
        #[arg(short = 'm')]
        pub multiple: bool,

        /// As -m, but do not spread the last values over the slots
        #[arg(long)]
        pub xargs: bool,

        /// Maximum length of a command line in bytes
        #[arg(short = 's', long = "max-chars", value_name = "BYTES")]
        pub chars: Option<String>,

        /// End with an error when a command line is too long
        #[arg(short = 'x', long = "exit")]
        pub exact: bool,
    }

    /// Standard input in blocks instead of values.
    #[heading = "Blocks"]
    pub struct PipeSettings {
        /// Split standard input into blocks of whole records; each is the standard input of a job
        #[arg(long, visible_alias = "spreadstdin")]
        pub pipe: bool,

        /// The same for the files of -a or ::::; the kernel copies them, whit does not read them
        #[arg(long, visible_alias = "pipepart")]
        pub pipe_part: bool,

        /// Size of a block [1M]; with --pipe-part also -N: N blocks for each slot [-10]
        #[arg(long, visible_alias = "block-size", value_name = "SIZE", allow_hyphen_values = true)]
        pub block: Option<String>,

        /// Give an incomplete block to a job after this time
        #[arg(long, visible_alias = "blocktimeout", value_name = "DURATION")]
        pub block_timeout: Option<String>,

        /// String that begins a record
        #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
        pub recstart: Option<OsString>,

        /// String that ends a record [\n]
        #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
        pub recend: Option<OsString>,

        /// --recstart and --recend are regular expressions
        #[arg(long)]
        pub regexp: bool,

        /// Remove the strings of --recstart and --recend from the blocks
        #[arg(long = "remove-rec-sep", visible_alias = "rrs")]
        pub remove_separators: bool,

        /// Give the block as a file whose name is {}
        #[arg(long, conflicts_with = "fifo")]
        pub cat: bool,

        /// Give the block as a pipe whose name is {}
        #[arg(long)]
        pub fifo: bool,

        /// Give all of the input to the job of each value; the jobs run at the same time
        #[arg(long)]
        pub tee: bool,

        /// Start one job for each slot and give it one block after the other
        #[arg(long, visible_alias = "round", alias = "robin")]
        pub round_robin: bool,

        /// Lines with the same key are a record; KEY: [column number or name] [expression]
        #[arg(long, visible_alias = "groupby", value_name = "KEY", allow_hyphen_values = true)]
        pub group_by: Option<OsString>,

        /// One job for each slot; lines with the same KEY (as of --group-by) go to the same job
        #[arg(long, value_name = "KEY", allow_hyphen_values = true, conflicts_with = "bin")]
        pub shard: Option<OsString>,

        /// One job for each slot; a line goes to the job whose number is its KEY (as of --group-by)
        #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
        pub bin: Option<OsString>,
    }

    /// Replacement strings.
    #[heading = "Replacement strings"]
    pub struct StringSettings {
        /// Another word for {}
        #[arg(short = 'I', value_name = "WORD", allow_hyphen_values = true)]
        pub replace: Option<OsString>,

        /// As -I, {} without a word
        #[arg(short = 'i', long = "replace", value_name = "WORD", num_args = 0..=1,
              default_missing_value = "{}", hide_short_help = true)]
        pub replace_default: Option<OsString>,

        /// More replacement strings: {..} {+/} {##} {:2} {#start} {%end} {/from/to} …
        #[arg(long)]
        pub plus: bool,

        /// Define a replacement string: its name and an expression, as '{up} $_=uc($_)'
        #[arg(long, value_name = "NAME EXPRESSION")]
        pub rpl: Vec<OsString>,

        /// Run expressions beyond our own language by one Perl process, if Perl is installed (default)
        #[arg(long, overrides_with = "no_perl", hide = true)]
        pub perl: bool,

        /// Refuse expressions beyond our own language
        #[arg(long, overrides_with = "perl")]
        pub no_perl: bool,

        /// Strings around expressions instead of {= and =}
        #[arg(long, value_name = "STRINGS")]
        pub parens: Option<OsString>,

        /// Another word for {.}
        #[arg(
            long = "extensionreplace",
            visible_alias = "er",
            value_name = "WORD",
            hide_short_help = true
        )]
        pub without_extension: Option<OsString>,

        /// Another word for {/}
        #[arg(
            long = "basenamereplace",
            visible_alias = "bnr",
            value_name = "WORD",
            hide_short_help = true
        )]
        pub base_name: Option<OsString>,

        /// Another word for {//}
        #[arg(
            long = "dirnamereplace",
            visible_alias = "dnr",
            value_name = "WORD",
            hide_short_help = true
        )]
        pub directory: Option<OsString>,

        /// Another word for {/.}
        #[arg(
            long = "basenameextensionreplace",
            visible_alias = "bner",
            value_name = "WORD",
            hide_short_help = true
        )]
        pub base_name_without_extension: Option<OsString>,

        /// Another word for {#}
        #[arg(long, value_name = "WORD", hide_short_help = true)]
        pub seqreplace: Option<OsString>,

        /// Another word for {%}
        #[arg(long, value_name = "WORD", hide_short_help = true)]
        pub slotreplace: Option<OsString>,

        /// Quote the command, so that its special characters mean nothing to the shell
        #[arg(short = 'q', long)]
        pub quote: bool,

        /// Run nothing; print the values quoted for the shell
        #[arg(long, action = clap::ArgAction::Count)]
        pub shell_quote: u8,
    }

    /// When jobs start and end.
    #[heading = "Schedule"]
    pub struct ScheduleSettings {
        /// Number of jobs at once: a number, 0 for as many as possible, N% of the CPU threads, the
        /// CPU threads +N or -N, or a file that contains one of these
        #[arg(short = 'j', long, visible_short_alias = 'P', aliases = ["max-procs", "procs"],
              value_name = "COUNT", allow_hyphen_values = true)]
        pub jobs: Option<String>,

        /// The CPUs of -j are cores
        #[arg(long, hide = true)]
        pub use_cores_instead_of_threads: bool,

        /// The CPUs of -j are sockets
        #[arg(long, hide = true)]
        pub use_sockets_instead_of_threads: bool,

        /// Time between two starts
        #[arg(long, value_name = "DURATION")]
        pub delay: Option<String>,

        /// End jobs that run longer: 10, 1.5m, or 200% of the median run time
        #[arg(long, value_name = "DURATION")]
        pub timeout: Option<String>,

        /// Run a job that fails again, up to this number of attempts, {} is a value; 0: no limit
        #[arg(long, value_name = "COUNT")]
        pub retries: Option<OsString>,

        /// When to stop early: never, or now or soon with ,fail= ,success= or ,done= and N or N%
        #[arg(
            long,
            visible_alias = "halt-on-error",
            value_name = "WHEN,WHY=N",
            allow_hyphen_values = true
        )]
        pub halt: Option<String>,

        /// Signals that end a job, and the milliseconds between them
        #[arg(long, value_name = "SIGNAL,MS,…")]
        pub term_seq: Option<String>,

        /// Start no job while more threads than this run or wait for a disk
        #[arg(long, value_name = "COUNT")]
        pub load: Option<String>,

        /// Start no job while less memory is available; below half of it end the youngest job
        #[arg(long, value_name = "SIZE")]
        pub memfree: Option<String>,

        /// Suspend jobs while less than twice this memory is available
        #[arg(long, value_name = "SIZE")]
        pub memsuspend: Option<String>,

        /// Start no job while the machine swaps in and out
        #[arg(long)]
        pub noswap: bool,

        /// Run this command before a start; exit code 0: start, 1: wait, 2: end the youngest job
        #[arg(long, value_name = "COMMAND")]
        pub limit: Option<OsString>,
    }

    /// How jobs run.
    #[heading = "Jobs"]
    pub struct JobSettings {
        /// Print the command lines, but run nothing
        #[arg(long)]
        pub dry_run: bool,

        /// Print each command line on standard output, before the output of its job
        #[arg(short = 'v', action = clap::ArgAction::Count)]
        pub verbose: u8,

        /// Print each command line on standard error when it starts
        #[arg(short = 't', long = "verbose")]
        pub trace_commands: bool,

        /// Shell that runs jobs: auto (your shell, only where one is needed), never, or a name
        #[arg(long, value_name = "SHELL", default_value = "auto")]
        pub shell: OsString,

        /// Nice value of the jobs; 0: that of whit
        #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 0)]
        pub nice: i32,

        /// Run jobs in this folder; ... is a new folder for each job, removed after it; on another
        /// host . is the current folder below the home folder
        #[arg(short = 'W', long = "workdir", visible_alias = "wd", value_name = "DIR")]
        pub workdir: Option<OsString>,

        /// Environment variable that holds the slot's number, from 0
        #[arg(long, value_name = "NAME")]
        pub process_slot_var: Option<String>,

        /// Let jobs use the terminal; implies -j1 and -u unless -j or --group are given
        #[arg(long)]
        pub tty: bool,

        /// Let jobs read the terminal
        #[arg(short = 'o', long)]
        pub open_tty: bool,

        /// Number of threads that start programs [one for each 16 CPU threads, 1 to 8]
        #[arg(long, value_name = "COUNT")]
        pub spawners: Option<usize>,
    }

    /// Where jobs run.
    #[heading = "Hosts"]
    pub struct HostSettings {
        /// Run jobs on these hosts: [@GROUP/][THREADS/][SSH ][USER@]HOST[:PORT],…; web[01-12] is
        /// twelve hosts, : is this machine
        #[arg(short = 'S', long = "sshlogin", value_name = "LOGINS")]
        pub logins: Vec<String>,

        /// Read hosts from the lines of a file, again when it has changed; - is standard input, .. ~/.parallel/sshloginfile
        #[arg(long = "sshloginfile", visible_alias = "slf", value_name = "FILE")]
        pub login_files: Vec<String>,

        /// Program that logs in, with its options [$PARALLEL_SSH, else ssh]
        #[arg(long, value_name = "COMMAND")]
        pub ssh: Option<String>,

        /// A value x@GROUP+… is x and runs only on hosts of these groups
        #[arg(long, visible_alias = "hgrp", conflicts_with_all = ["onall", "nonall"])]
        pub hostgroups: bool,

        /// Leave out hosts where the login fails or that have no shell
        #[arg(long)]
        pub filter_hosts: bool,

        /// Time between two starts on other hosts
        #[arg(long, value_name = "DURATION")]
        pub ssh_delay: Option<String>,

        /// Open one connection to each host, which its jobs share; OpenSSH only
        #[arg(short = 'M', long)]
        pub controlmaster: bool,

        /// Run all jobs on every host, one at a time and in order, on -j hosts at once
        #[arg(long, conflicts_with = "nonall")]
        pub onall: bool,

        /// Run the command once on every host, without values
        #[arg(long)]
        pub nonall: bool,

        /// Send this file before its job; a relative name is below the jobs' folder
        #[arg(long = "transferfile", visible_alias = "tf", value_name = "NAME")]
        pub send: Vec<OsString>,

        /// As --transferfile {}
        #[arg(long)]
        pub transfer: bool,

        /// Fetch this file after its job
        #[arg(long = "return", value_name = "NAME")]
        pub bring: Vec<OsString>,

        /// Remove from the host the files that were sent and fetched
        #[arg(long)]
        pub cleanup: bool,

        /// As --transfer --return NAME --cleanup
        #[arg(long, value_name = "NAME")]
        pub trc: Vec<OsString>,

        /// Send this file to each host before its first job
        #[arg(long = "basefile", visible_alias = "bf", value_name = "FILE")]
        pub base_files: Vec<OsString>,

        /// Variables and shell functions to be set for jobs on other hosts: NAME,…
        #[arg(long = "env", value_name = "NAMES")]
        pub variables: Vec<String>,
    }

    /// What happens to the jobs' output.
    #[heading = "Output"]
    pub struct OutputSettings {
        /// Print the output of a job when it has ended (default)
        #[arg(long, overrides_with_all = ["ungroup", "line_buffer", "latest_line"])]
        pub group: bool,

        /// Let jobs write their output directly, mixed
        #[arg(short = 'u', long, overrides_with_all = ["group", "line_buffer", "latest_line"])]
        pub ungroup: bool,

        /// Print the output line by line, while jobs run
        #[arg(long, visible_alias = "lb", overrides_with_all = ["group", "ungroup", "latest_line"])]
        pub line_buffer: bool,

        /// Show only the latest line of each running job, in a row of its own
        #[arg(long, visible_alias = "ll", overrides_with_all = ["group", "ungroup", "line_buffer"],
              conflicts_with_all = ["keep_order", "files", "files0", "results"])]
        pub latest_line: bool,

        /// Print the output in the order of the input
        #[arg(short = 'k', long, overrides_with = "no_keep_order")]
        pub keep_order: bool,

        /// Print the output in the order in which jobs end (default)
        #[arg(long, alias = "nk", overrides_with = "keep_order", hide_short_help = true)]
        pub no_keep_order: bool,

        /// Begin each line with the job's values
        #[arg(long)]
        pub tag: bool,

        /// Begin each line with this text; it may have replacement strings
        #[arg(long, value_name = "STRING")]
        pub tagstring: Option<OsString>,

        /// Print the lines of each job in a color of its own
        #[arg(long)]
        pub color: bool,

        /// Print the lines of jobs that fail in red
        #[arg(long, visible_alias = "cf")]
        pub color_failed: bool,

        /// Write the output to files and print their names
        #[arg(long)]
        pub files: bool,

        /// As --files, with a NUL after each name
        #[arg(long)]
        pub files0: bool,

        /// Write the output to a tree of folders, to files named by replacement strings, or to a table
        /// (.csv, .tsv, .json)
        #[arg(long, visible_alias = "res", value_name = "NAME", allow_hyphen_values = true)]
        pub results: Option<OsString>,

        /// Write a line for each job that has ended; +FILE appends, - is standard output
        #[arg(long, visible_alias = "jl", value_name = "FILE")]
        pub joblog: Option<OsString>,

        /// As --joblog, as JSON with the resource usage of each job
        #[arg(long, value_name = "FILE")]
        pub joblog_json: Option<PathBuf>,

        /// Skip the jobs that are in the joblog
        #[arg(long)]
        pub resume: bool,

        /// Skip the jobs that succeeded according to the joblog
        #[arg(long)]
        pub resume_failed: bool,

        /// Run the jobs that failed according to the joblog, and nothing else
        #[arg(long)]
        pub retry_failed: bool,

        /// Folder for temporary files
        #[arg(long, value_name = "DIR")]
        pub tmpdir: Option<PathBuf>,

        /// Compress temporary files, by the first of zstd, lz4, lzop, gzip, bzip2 and xz that is there
        #[arg(long)]
        pub compress: bool,

        /// Compress temporary files by this command
        #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
        pub compress_program: Option<OsString>,

        /// The command that decompresses them, if it is not the other one with -dc
        #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
        pub decompress_program: Option<OsString>,

        /// Show how many jobs run and have ended
        #[arg(long)]
        pub progress: bool,

        /// As --progress, with an estimate of the time left
        #[arg(long)]
        pub eta: bool,

        /// As --eta, as a bar
        #[arg(long)]
        pub bar: bool,

        /// Number of jobs, for --progress, --eta and --bar
        #[arg(long, value_name = "COUNT")]
        pub total_jobs: Option<u64>,
    }

    /// What is told instead of running jobs.
    #[heading = "Information"]
    pub struct InformationSettings {
        /// Print the release of GNU parallel whose options these are
        #[arg(short = 'V', long, hide_short_help = true)]
        pub version: bool,

        /// Print the functions env_parallel and parset for this shell: . <(whit run --env-parallel bash)
        #[arg(long, value_name = "SHELL")]
        pub env_parallel: Option<FunctionShell>,

        /// Print that release's number; exit code 255 if it is below this
        #[arg(long, value_name = "NUMBER", hide_short_help = true)]
        pub minversion: Option<u64>,

        /// Print the number of CPU cores
        #[arg(long, hide_short_help = true)]
        pub number_of_cpus: bool,

        /// Print the number of CPU cores
        #[arg(long, hide_short_help = true)]
        pub number_of_cores: bool,

        /// Print the number of CPU sockets
        #[arg(long, hide_short_help = true)]
        pub number_of_sockets: bool,

        /// Print the number of CPU threads
        #[arg(long, hide_short_help = true)]
        pub number_of_threads: bool,

        /// Print how long a command line may be, in bytes
        #[arg(long, hide_short_help = true)]
        pub max_line_length_allowed: bool,

        /// Print how long a command line may be, then run the jobs
        #[arg(long, hide_short_help = true)]
        pub show_limits: bool,
    }
}

impl ScheduleSettings {
    /// What counts as a CPU for `-j`.
    pub fn cpu_unit(&self) -> CpuUnit {
        match (self.use_sockets_instead_of_threads, self.use_cores_instead_of_threads) {
            (true, _) => CpuUnit::Socket,
            (_, true) => CpuUnit::Core,
            _ => CpuUnit::Thread,
        }
    }
}

impl PipeSettings {
    /// Whether the input is split into blocks.
    pub fn is_used(&self) -> bool {
        self.pipe || self.pipe_part || self.is_named()
    }

    /// Whether jobs get further blocks while they run.
    pub fn goes_on(&self) -> bool {
        self.round_robin || self.is_binned()
    }

    /// Whether each line is for one of the jobs.
    pub fn is_binned(&self) -> bool {
        self.shard.is_some() || self.bin.is_some()
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

impl HostSettings {
    /// Whether any host is named.
    pub fn is_used(&self) -> bool {
        !self.logins.is_empty()
            || !self.login_files.is_empty()
            || self.on_all_hosts()
            || self.hostgroups
    }

    /// Whether every host runs all jobs.
    pub fn on_all_hosts(&self) -> bool {
        self.onall || self.nonall
    }

    /// Whether the value of a job is the name of a file to send.
    pub fn sends_value(&self) -> bool {
        self.transfer || !self.trc.is_empty()
    }

    /// Whether files are removed from a host after a job.
    pub fn removes_files(&self) -> bool {
        self.cleanup || !self.trc.is_empty()
    }

    /// Names of files to fetch after a job.
    pub fn fetched(&self) -> impl Iterator<Item = &OsString> {
        self.bring.iter().chain(&self.trc)
    }

    /// The given options that have an effect only on other hosts.
    pub fn remote_only(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (!self.send.is_empty(), "--transferfile"),
            (self.transfer, "--transfer"),
            (!self.bring.is_empty(), "--return"),
            (!self.trc.is_empty(), "--trc"),
            (self.cleanup, "--cleanup"),
            (!self.base_files.is_empty(), "--basefile"),
        ];
        given.into_iter().filter_map(|(is_given, name)| is_given.then_some(name))
    }

    /// The names of `--env`.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().flat_map(|names| names.split(','))
    }
}

impl RunSettings {
    /// The directory of temporary files.
    pub fn temporary_folder(&self) -> PathBuf {
        self.output.tmpdir.clone().unwrap_or_else(|| self.user.temporary_folder.clone())
    }
}

impl OutputSettings {
    /// Whether temporary files are compressed.
    pub fn compresses(&self) -> bool {
        self.compress || self.compress_program.is_some()
    }
}
