//! The command line of `whit run`, which is GNU parallel's.
//!
//! The first word that is not an option ends them: the command, or the first `:::`.  Options of GNU
//! parallel that are not supported are refused by name ([`super::refused`]).

use std::ffi::OsString;
use std::path::PathBuf;

use run::observers::StatisticsFormat;
use run::packing::PackingOptions;

/// Arguments of `whit run`.
#[derive(clap::Args)]
#[command(
    after_help = crate::help::RUN,
    args_override_self = true,
    infer_long_args = true,
    allow_missing_positional = true,
    override_usage = "whit run [OPTIONS] [COMMAND [ARGUMENTS]] [::: VALUES | :::: FILES]…"
)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    #[command(flatten)]
    pub(crate) packing: PackingArguments,
    #[command(flatten)]
    pub(crate) pipe: PipeArguments,
    #[command(flatten)]
    pub(crate) strings: StringArguments,
    #[command(flatten)]
    pub(crate) schedule: ScheduleArguments,
    #[command(flatten)]
    pub(crate) jobs: JobArguments,
    #[command(flatten)]
    pub(crate) hosts: HostArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    #[command(flatten)]
    pub(crate) semaphore: SemaphoreArguments,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// The command line with its replacement strings, then ::: values or :::: files
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) words: Vec<OsString>,
}

/// Where values come from.
#[derive(clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArguments {
    /// Read values from the lines of this file; - is standard input, +FILE is linked to the source before it
    #[arg(short = 'a', long = "arg-file", value_name = "FILE")]
    pub(crate) arg_files: Vec<OsString>,

    /// Values end with a NUL, not with a newline
    #[arg(short = '0', long)]
    pub(crate) null: bool,

    /// Values end with this: a character, \n, \t, \012 or \x0a
    #[arg(short = 'd', long, value_name = "DELIMITER", allow_hyphen_values = true)]
    pub(crate) delimiter: Option<OsString>,

    /// Split each value at this regular expression: {1}, {2} … are the columns
    #[arg(short = 'C', long, value_name = "REGEX", allow_hyphen_values = true)]
    pub(crate) colsep: Option<String>,

    /// Values are lines of comma separated values
    #[arg(long)]
    pub(crate) csv: bool,

    /// The first value of each source is its name (:); 0: the file's name is
    #[arg(long, value_name = "REGEX")]
    pub(crate) header: Option<String>,

    /// Read all sources in parallel, one value of each for a job; short sources start again
    #[arg(long, alias = "xapply")]
    pub(crate) link: bool,

    /// Remove white space from values: n (none), l (left), r (right) or lr
    #[arg(long, value_name = "WHERE")]
    pub(crate) trim: Option<String>,

    /// Skip empty values
    #[arg(short = 'r', long = "no-run-if-empty")]
    pub(crate) no_run_if_empty: bool,

    /// Stop reading at this value
    #[arg(short = 'E', value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) end: Option<OsString>,

    /// As -E; without VALUE no value ends the input
    #[arg(short = 'e', long = "eof", value_name = "VALUE", num_args = 0..=1, require_equals = false,
          default_missing_value = "", hide_short_help = true)]
    pub(crate) eof: Option<OsString>,

    /// Run only jobs for which this condition is true: '{1} < {2}', '"{}" ne "x"'. If given
    /// several times, all must be true
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) filter: Vec<OsString>,

    /// Run the jobs in random order
    #[arg(long)]
    pub(crate) shuf: bool,

    /// Skip the first line of the input
    #[arg(long)]
    pub(crate) skip_first_line: bool,

    /// Another word for :::
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) arg_sep: Option<OsString>,

    /// Another word for ::::
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) arg_file_sep: Option<OsString>,
}

/// How many values a job gets.
#[derive(clap::Args)]
#[command(next_help_heading = "Packing")]
pub(crate) struct PackingArguments {
    /// Number of values for each job: {1} {2} …; 0: read one, insert none
    #[arg(short = 'N', long = "max-replace-args", value_name = "COUNT")]
    pub(crate) replace_args: Option<u64>,

    /// Maximum number of values for each job
    #[arg(short = 'n', long = "max-args", value_name = "COUNT")]
    pub(crate) args: Option<u64>,

    /// Maximum number of lines for each job
    #[arg(short = 'L', value_name = "COUNT")]
    pub(crate) lines: Option<u64>,

    /// As -L, 1 without a number
    #[arg(short = 'l', long = "max-lines", value_name = "COUNT", num_args = 0..=1,
          default_missing_value = "1", hide_short_help = true)]
    pub(crate) max_lines: Option<u64>,

    /// As many values as the command line holds; the word with the {} is repeated for each
    #[arg(short = 'X')]
    pub(crate) context_replace: bool,

    /// As many values as the command line holds
    #[arg(short = 'm')]
    pub(crate) multiple: bool,

    /// As -m, but do not spread the last values over the slots
    #[arg(long)]
    pub(crate) xargs: bool,

    /// Maximum length of a command line in bytes
    #[arg(short = 's', long = "max-chars", value_name = "BYTES")]
    pub(crate) chars: Option<String>,

    /// End with an error when a command line is too long
    #[arg(short = 'x', long = "exit")]
    pub(crate) exact: bool,
}

/// Standard input in blocks instead of values.
#[derive(clap::Args)]
#[command(next_help_heading = "Blocks")]
pub(crate) struct PipeArguments {
    /// Split standard input into blocks of whole records; each is the standard input of a job
    #[arg(long, visible_alias = "spreadstdin")]
    pub(crate) pipe: bool,

    /// The same for the files of -a or ::::; the kernel copies them, whit does not read them
    #[arg(long, visible_alias = "pipepart")]
    pub(crate) pipe_part: bool,

    /// Size of a block [1M]; with --pipe-part also -N: N blocks for each slot [-10]
    #[arg(long, visible_alias = "block-size", value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) block: Option<String>,

    /// Give an incomplete block to a job after this time
    #[arg(long, visible_alias = "blocktimeout", alias = "bt", value_name = "DURATION")]
    pub(crate) block_timeout: Option<String>,

    /// String that begins a record
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) recstart: Option<OsString>,

    /// String that ends a record [\n]
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) recend: Option<OsString>,

    /// --recstart and --recend are regular expressions
    #[arg(long, alias = "regex")]
    pub(crate) regexp: bool,

    /// Remove the strings of --recstart and --recend from the blocks
    #[arg(long = "remove-rec-sep", visible_alias = "rrs", alias = "removerecsep")]
    pub(crate) remove_separators: bool,

    /// Give the block as a file whose name is {}
    #[arg(long, conflicts_with = "fifo")]
    pub(crate) cat: bool,

    /// Give the block as a pipe whose name is {}
    #[arg(long)]
    pub(crate) fifo: bool,

    /// Give all of the input to the job of each value; the jobs run at the same time
    #[arg(long)]
    pub(crate) tee: bool,

    /// Start one job for each slot and give it one block after the other
    #[arg(long, visible_alias = "round", alias = "robin", alias = "roundrobin")]
    pub(crate) round_robin: bool,
}

/// Replacement strings.
#[derive(clap::Args)]
#[command(next_help_heading = "Replacement strings")]
pub(crate) struct StringArguments {
    /// Another word for {}
    #[arg(short = 'I', value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) replace: Option<OsString>,

    /// As -I, {} without a word
    #[arg(short = 'i', long = "replace", value_name = "WORD", num_args = 0..=1,
          default_missing_value = "{}", hide_short_help = true)]
    pub(crate) replace_default: Option<OsString>,

    /// More replacement strings: {..} {+/} {##} {:2} {#start} {%end} {/from/to} …
    #[arg(long)]
    pub(crate) plus: bool,

    /// Define a replacement string: its name and an expression, as '{up} $_=uc($_)'
    #[arg(long, value_name = "NAME EXPRESSION")]
    pub(crate) rpl: Vec<OsString>,

    /// Strings around expressions instead of {= and =}
    #[arg(long, value_name = "STRINGS")]
    pub(crate) parens: Option<OsString>,

    /// Another word for {.}
    #[arg(
        long = "extensionreplace",
        visible_alias = "er",
        value_name = "WORD",
        hide_short_help = true
    )]
    pub(crate) without_extension: Option<OsString>,

    /// Another word for {/}
    #[arg(
        long = "basenamereplace",
        visible_alias = "bnr",
        value_name = "WORD",
        hide_short_help = true
    )]
    pub(crate) base_name: Option<OsString>,

    /// Another word for {//}
    #[arg(
        long = "dirnamereplace",
        visible_alias = "dnr",
        value_name = "WORD",
        hide_short_help = true
    )]
    pub(crate) directory: Option<OsString>,

    /// Another word for {/.}
    #[arg(
        long = "basenameextensionreplace",
        visible_alias = "bner",
        value_name = "WORD",
        hide_short_help = true
    )]
    pub(crate) base_name_without_extension: Option<OsString>,

    /// Another word for {#}
    #[arg(long, value_name = "WORD", hide_short_help = true)]
    pub(crate) seqreplace: Option<OsString>,

    /// Another word for {%}
    #[arg(long, value_name = "WORD", hide_short_help = true)]
    pub(crate) slotreplace: Option<OsString>,

    /// Quote the command, so that its special characters mean nothing to the shell
    #[arg(short = 'q', long)]
    pub(crate) quote: bool,

    /// Run nothing; print the values quoted for the shell
    #[arg(long, alias = "shellquote", action = clap::ArgAction::Count)]
    pub(crate) shell_quote: u8,
}

/// When jobs start and end.
#[derive(clap::Args)]
#[command(next_help_heading = "Schedule")]
pub(crate) struct ScheduleArguments {
    /// Number of jobs at once: a number, 0 for as many as possible, N% of the CPU threads, the
    /// CPU threads +N or -N, or a file that contains one of these
    #[arg(short = 'j', long, visible_short_alias = 'P', aliases = ["max-procs", "procs"],
          value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) jobs: Option<String>,

    /// Time between two starts
    #[arg(long, value_name = "DURATION")]
    pub(crate) delay: Option<String>,

    /// End jobs that run longer: 10, 1.5m, or 200% of the median run time
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,

    /// Run a job that fails again, up to this number of attempts; 0: no limit
    #[arg(long, value_name = "COUNT")]
    pub(crate) retries: Option<u32>,

    /// When to stop early: never, or now or soon with ,fail= ,success= or ,done= and N or N%
    #[arg(
        long,
        visible_alias = "halt-on-error",
        value_name = "WHEN,WHY=N",
        allow_hyphen_values = true
    )]
    pub(crate) halt: Option<String>,

    /// Signals that end a job, and the milliseconds between them
    #[arg(long, alias = "termseq", value_name = "SIGNAL,MS,…")]
    pub(crate) term_seq: Option<String>,

    /// Start no job while more threads than this run or wait for a disk
    #[arg(long, value_name = "COUNT")]
    pub(crate) load: Option<String>,

    /// Start no job while less memory is available; below half of it end the youngest job
    #[arg(long, value_name = "SIZE")]
    pub(crate) memfree: Option<String>,

    /// Suspend jobs while less than twice this memory is available
    #[arg(long, value_name = "SIZE")]
    pub(crate) memsuspend: Option<String>,

    /// Start no job while the machine swaps in and out
    #[arg(long)]
    pub(crate) noswap: bool,

    /// Run this command before a start; exit code 0: start, 1: wait, 2: end the youngest job
    #[arg(long, value_name = "COMMAND")]
    pub(crate) limit: Option<OsString>,
}

/// How jobs run.
#[derive(clap::Args)]
#[command(next_help_heading = "Jobs")]
pub(crate) struct JobArguments {
    /// Print the command lines, but run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print each command line on standard output, before the output of its job
    #[arg(short = 'v', action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Print each command line on standard error when it starts
    #[arg(short = 't', long = "verbose")]
    pub(crate) trace_commands: bool,

    /// Shell that runs jobs: auto (your shell, only where one is needed), never, or a name
    #[arg(long, value_name = "SHELL", default_value = "auto")]
    pub(crate) shell: OsString,

    /// Nice value of the jobs; 0: that of whit
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 0)]
    pub(crate) nice: i32,

    /// Run jobs in this folder; on another host . is the current folder below the home folder, and
    /// ... a new folder for each job
    #[arg(short = 'W', long = "workdir", visible_alias = "wd", value_name = "DIR")]
    pub(crate) workdir: Option<OsString>,

    /// Environment variable that holds the slot's number, from 0
    #[arg(long, value_name = "NAME")]
    pub(crate) process_slot_var: Option<String>,

    /// Let jobs use the terminal
    #[arg(long)]
    pub(crate) tty: bool,

    /// Number of threads that start programs [one for each 16 CPU threads, 1 to 8]
    #[arg(long, value_name = "COUNT")]
    pub(crate) spawners: Option<usize>,

    /// Read options from the file ~/.parallel/NAME (may be repeated)
    #[arg(short = 'J', long, value_name = "NAME")]
    pub(crate) profile: Vec<OsString>,

    /// Accepted for scripts that use it; does nothing
    #[arg(long, aliases = ["no-notice", "gnu"], hide = true)]
    pub(crate) will_cite: bool,

    /// Ignore the options of files and of $PARALLEL
    #[arg(long)]
    pub(crate) plain: bool,
}

/// Where jobs run.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Hosts")]
pub(crate) struct HostArguments {
    /// Run jobs on these hosts: [@GROUP/][THREADS/][SSH ][USER@]HOST[:PORT],…; web[01-12] is
    /// twelve hosts, : is this machine
    #[arg(short = 'S', long = "sshlogin", value_name = "LOGINS")]
    pub(crate) logins: Vec<String>,

    /// Read hosts from the lines of a file, again when it has changed; - is standard input, .. ~/.parallel/sshloginfile
    #[arg(long = "sshloginfile", visible_alias = "slf", value_name = "FILE")]
    pub(crate) login_files: Vec<String>,

    /// Program that logs in, with its options [$PARALLEL_SSH, else ssh]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) ssh: Option<String>,

    /// A value x@GROUP+… is x and runs only on hosts of these groups
    #[arg(long, visible_alias = "hgrp", conflicts_with_all = ["onall", "nonall"])]
    pub(crate) hostgroups: bool,

    /// Leave out hosts where the login fails or that have no shell
    #[arg(long)]
    pub(crate) filter_hosts: bool,

    /// Time between two starts on other hosts
    #[arg(long, alias = "sshdelay", value_name = "DURATION")]
    pub(crate) ssh_delay: Option<String>,

    /// Open one connection to each host, which its jobs share; OpenSSH only
    #[arg(short = 'M', long)]
    pub(crate) controlmaster: bool,

    /// Run all jobs on every host, one at a time and in order, on -j hosts at once
    #[arg(long, conflicts_with = "nonall")]
    pub(crate) onall: bool,

    /// Run the command once on every host, without values
    #[arg(long)]
    pub(crate) nonall: bool,

    /// Send this file before its job; a relative name is below the jobs' folder
    #[arg(long = "transferfile", visible_alias = "tf", value_name = "NAME")]
    pub(crate) send: Vec<OsString>,

    /// As --transferfile {}
    #[arg(long)]
    pub(crate) transfer: bool,

    /// Fetch this file after its job
    #[arg(long = "return", value_name = "NAME")]
    pub(crate) bring: Vec<OsString>,

    /// Remove from the host the files that were sent and fetched
    #[arg(long)]
    pub(crate) cleanup: bool,

    /// As --transfer --return NAME --cleanup
    #[arg(long, value_name = "NAME")]
    pub(crate) trc: Vec<OsString>,

    /// Send this file to each host before its first job
    #[arg(long = "basefile", visible_alias = "bf", value_name = "FILE")]
    pub(crate) base_files: Vec<OsString>,

    /// Variables and shell functions to be set for jobs on other hosts: NAME,…
    #[arg(long = "env", value_name = "NAMES")]
    pub(crate) variables: Vec<String>,
}

impl HostArguments {
    /// Whether every host runs all jobs.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.onall || self.nonall
    }
}

/// What happens to the jobs' output.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// Print the output of a job when it has ended (default)
    #[arg(long, overrides_with_all = ["ungroup", "line_buffer"])]
    pub(crate) group: bool,

    /// Let jobs write their output directly, mixed
    #[arg(short = 'u', long, overrides_with_all = ["group", "line_buffer"])]
    pub(crate) ungroup: bool,

    /// Print the output line by line, while jobs run
    #[arg(long, visible_alias = "lb", overrides_with_all = ["group", "ungroup"])]
    pub(crate) line_buffer: bool,

    /// Print the output in the order of the input
    #[arg(short = 'k', long, overrides_with = "no_keep_order")]
    pub(crate) keep_order: bool,

    /// Print the output in the order in which jobs end (default)
    #[arg(long, alias = "nk", overrides_with = "keep_order", hide_short_help = true)]
    pub(crate) no_keep_order: bool,

    /// Begin each line with the job's values
    #[arg(long)]
    pub(crate) tag: bool,

    /// Begin each line with this text; it may have replacement strings
    #[arg(long, alias = "tag-string", value_name = "STRING")]
    pub(crate) tagstring: Option<OsString>,

    /// Print the lines of each job in a color of its own
    #[arg(long)]
    pub(crate) color: bool,

    /// Print the lines of jobs that fail in red
    #[arg(long, visible_alias = "cf")]
    pub(crate) color_failed: bool,

    /// Write the output to files and print their names
    #[arg(long, alias = "output-as-files", alias = "outputasfiles")]
    pub(crate) files: bool,

    /// As --files, with a NUL after each name
    #[arg(long)]
    pub(crate) files0: bool,

    /// Write the output to a tree of folders, to files named by replacement strings, or to a table
    /// (.csv, .tsv, .json)
    #[arg(long, visible_alias = "res", value_name = "NAME")]
    pub(crate) results: Option<OsString>,

    /// Write a line for each job that has ended; +FILE appends, - is standard output
    #[arg(long, visible_alias = "jl", value_name = "FILE")]
    pub(crate) joblog: Option<OsString>,

    /// As --joblog, as JSON with the resource usage of each job
    #[arg(long, value_name = "FILE")]
    pub(crate) joblog_json: Option<PathBuf>,

    /// Skip the jobs that are in the joblog
    #[arg(long)]
    pub(crate) resume: bool,

    /// Skip the jobs that succeeded according to the joblog
    #[arg(long)]
    pub(crate) resume_failed: bool,

    /// Run the jobs that failed according to the joblog, and nothing else
    #[arg(long)]
    pub(crate) retry_failed: bool,

    /// Folder for temporary files
    #[arg(long, value_name = "DIR")]
    pub(crate) tmpdir: Option<PathBuf>,

    /// Show how many jobs run and have ended
    #[arg(long)]
    pub(crate) progress: bool,

    /// As --progress, with an estimate of the time left
    #[arg(long)]
    pub(crate) eta: bool,

    /// As --eta, as a bar
    #[arg(long)]
    pub(crate) bar: bool,

    /// Number of jobs, for --progress, --eta and --bar
    #[arg(long, alias = "total", value_name = "COUNT")]
    pub(crate) total_jobs: Option<u64>,
}

/// One command at a time, over all processes of a user.
#[derive(clap::Args)]
#[command(next_help_heading = "Semaphore")]
pub(crate) struct SemaphoreArguments {
    /// Run one command in the background as soon as fewer than -j (1) commands of this name run;
    /// the same as sem
    #[arg(long)]
    pub(crate) semaphore: bool,

    /// The semaphore's name [that of the terminal]
    #[arg(
        id = "semaphore_name",
        long = "id",
        visible_alias = "semaphore-name",
        alias = "semaphorename",
        value_name = "NAME",
        allow_hyphen_values = true
    )]
    pub(crate) name: Option<OsString>,

    /// Run the command anyway after this time; -DURATION: give up after it
    #[arg(
        id = "semaphore_timeout",
        long = "semaphore-timeout",
        visible_alias = "st",
        alias = "semaphoretimeout",
        value_name = "DURATION",
        allow_hyphen_values = true
    )]
    pub(crate) timeout: Option<String>,

    /// Wait for the command and end with its exit code
    #[arg(long = "fg")]
    pub(crate) foreground: bool,

    /// Do not wait for the command (default)
    #[arg(long = "bg")]
    pub(crate) background: bool,

    /// Run nothing; wait until all commands of this name have ended
    #[arg(long)]
    pub(crate) wait: bool,
}

impl SemaphoreArguments {
    /// Whether a command line is one of a semaphore: it is if any of these options is given.
    pub(crate) fn is_asked(&self) -> bool {
        let SemaphoreArguments { semaphore, name, timeout, foreground, background, wait } = self;
        *semaphore || *foreground || *background || *wait || name.is_some() || timeout.is_some()
    }
}

impl PackingArguments {
    /// The options as the library takes them.
    pub(crate) fn options(&self) -> PackingOptions {
        PackingOptions {
            replace_args: self.replace_args,
            args: self.args,
            lines: self.lines,
            max_lines: self.max_lines,
            context_replace: self.context_replace,
            multiple: self.multiple,
            xargs: self.xargs,
            exact: self.exact,
        }
    }
}

/// What is shown and recorded of the machine meanwhile.
#[derive(Default, clap::Args)]
#[command(next_help_heading = "Seeing the machine")]
pub(crate) struct WatchArguments {
    /// Show once a second, on standard error, the jobs and the load of the machine
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print statistics of the jobs and the machine at the end, on standard error
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true,
          default_missing_value = "text")]
    pub(crate) stats: Option<StatisticsForm>,

    /// Record the machine and the jobs once a second, for whit play; PATH is a folder or prefix,
    /// as with -f of whit record
    #[arg(long, value_name = "PATH")]
    pub(crate) record: Option<PathBuf>,

    /// Count and time the system calls of jobs; print a table at the end, on standard error
    #[arg(long, conflicts_with = "tty")]
    pub(crate) trace: bool,
}

/// How statistics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StatisticsForm {
    /// Lines of text
    Text,
    /// One JSON object on one line
    Json,
}

impl From<StatisticsForm> for StatisticsFormat {
    fn from(form: StatisticsForm) -> Self {
        match form {
            StatisticsForm::Text => StatisticsFormat::Text,
            StatisticsForm::Json => StatisticsFormat::Json,
        }
    }
}
