//! The command line of `whit run`, which is GNU parallel's.
//!
//! Options end at the first word that is none: the command, or the first `:::`.  What is left out
//! is refused by name ([`super::refused`]).

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
    /// Values from the lines of this file; - is standard input, +FILE goes along with the source before
    #[arg(short = 'a', long = "arg-file", value_name = "FILE")]
    pub(crate) arg_files: Vec<OsString>,

    /// Values end with a NUL, not with a line feed
    #[arg(short = '0', long)]
    pub(crate) null: bool,

    /// Values end with this: a character, \n, \t, \012 or \x0a
    #[arg(short = 'd', long, value_name = "DELIMITER", allow_hyphen_values = true)]
    pub(crate) delimiter: Option<OsString>,

    /// Cut each value at this regular expression: {1}, {2} … are the columns
    #[arg(short = 'C', long, value_name = "REGEX", allow_hyphen_values = true)]
    pub(crate) colsep: Option<String>,

    /// Values are lines of comma separated values
    #[arg(long)]
    pub(crate) csv: bool,

    /// The first value of each source is its name (:); 0: the names of the files are
    #[arg(long, value_name = "REGEX")]
    pub(crate) header: Option<String>,

    /// Take all sources together, value by value; the short ones begin again
    #[arg(long, alias = "xapply")]
    pub(crate) link: bool,

    /// White space to be taken off values: n, l, r or lr
    #[arg(long, value_name = "WHERE")]
    pub(crate) trim: Option<String>,

    /// Pass over values that are empty
    #[arg(short = 'r', long = "no-run-if-empty")]
    pub(crate) no_run_if_empty: bool,

    /// A value that ends the input
    #[arg(short = 'E', value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) end: Option<OsString>,

    /// As -E, without a value as if it were not there
    #[arg(short = 'e', long = "eof", value_name = "VALUE", num_args = 0..=1, require_equals = false,
          default_missing_value = "", hide_short_help = true)]
    pub(crate) eof: Option<OsString>,

    /// Run the jobs for which this holds: a condition with replacement strings, as '{1} < {2}' or
    /// '"{}" ne "x"'; all of them, if there are several
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) filter: Vec<OsString>,

    /// In any order
    #[arg(long)]
    pub(crate) shuf: bool,

    /// Pass over the first line of the input
    #[arg(long)]
    pub(crate) skip_first_line: bool,

    /// Another word for :::
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) arg_sep: Option<OsString>,

    /// Another word for ::::
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) arg_file_sep: Option<OsString>,
}

/// How many values go into a job.
#[derive(clap::Args)]
#[command(next_help_heading = "Packing")]
pub(crate) struct PackingArguments {
    /// So many values for each job, as {1} {2} …; 0: read one, insert none
    #[arg(short = 'N', long = "max-replace-args", value_name = "COUNT")]
    pub(crate) replace_args: Option<u64>,

    /// At most so many values for each job
    #[arg(short = 'n', long = "max-args", value_name = "COUNT")]
    pub(crate) args: Option<u64>,

    /// At most so many lines for each job
    #[arg(short = 'L', value_name = "COUNT")]
    pub(crate) lines: Option<u64>,

    /// As -L, 1 without a number
    #[arg(short = 'l', long = "max-lines", value_name = "COUNT", num_args = 0..=1,
          default_missing_value = "1", hide_short_help = true)]
    pub(crate) max_lines: Option<u64>,

    /// As many values as the command line holds, each in a copy of the word it stands in
    #[arg(short = 'X')]
    pub(crate) context_replace: bool,

    /// As many values as the command line holds
    #[arg(short = 'm')]
    pub(crate) multiple: bool,

    /// As -m, but not spread over the slots
    #[arg(long)]
    pub(crate) xargs: bool,

    /// The longest command line, bytes
    #[arg(short = 's', long = "max-chars", value_name = "BYTES")]
    pub(crate) chars: Option<String>,

    /// A command line that is too long is an error
    #[arg(short = 'x', long = "exit")]
    pub(crate) exact: bool,
}

/// Standard input in blocks, instead of values.
#[derive(clap::Args)]
#[command(next_help_heading = "Blocks")]
pub(crate) struct PipeArguments {
    /// Cut standard input into blocks of whole records: one is a job's standard input
    #[arg(long, visible_alias = "spreadstdin")]
    pub(crate) pipe: bool,

    /// The same with the files of -a or ::::, which are not read but moved
    #[arg(long, visible_alias = "pipepart")]
    pub(crate) pipe_part: bool,

    /// Bytes of a block [1M]; of --pipe-part also -N: so many blocks for each slot [-10]
    #[arg(long, visible_alias = "block-size", value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) block: Option<String>,

    /// Give what there is of a block after so long
    #[arg(long, visible_alias = "blocktimeout", alias = "bt", value_name = "DURATION")]
    pub(crate) block_timeout: Option<String>,

    /// What a record begins with
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) recstart: Option<OsString>,

    /// What a record ends with [\n]
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) recend: Option<OsString>,

    /// The two are regular expressions
    #[arg(long, alias = "regex")]
    pub(crate) regexp: bool,

    /// Take the two off what jobs are given
    #[arg(long = "remove-rec-sep", visible_alias = "rrs", alias = "removerecsep")]
    pub(crate) remove_separators: bool,

    /// A block is a file, whose name is {}
    #[arg(long, conflicts_with = "fifo")]
    pub(crate) cat: bool,

    /// A block is a pipe that has a name, which is {}
    #[arg(long)]
    pub(crate) fifo: bool,

    /// Each job of the values is given all of the input; they run at the same time
    #[arg(long)]
    pub(crate) tee: bool,

    /// A job for each slot, which is given one block after the other
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

    /// More of them: {..} {+/} {##} {:2} {#start} {%end} {/from/to} …
    #[arg(long)]
    pub(crate) plus: bool,

    /// One more: its name and what it computes, as '{up} $_=uc($_)'
    #[arg(long, value_name = "NAME EXPRESSION")]
    pub(crate) rpl: Vec<OsString>,

    /// What stands around expressions instead of {= and =}
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

    /// Quote the command: its special characters mean nothing to the shell
    #[arg(short = 'q', long)]
    pub(crate) quote: bool,

    /// Run nothing: print the values quoted for the shell
    #[arg(long, alias = "shellquote", action = clap::ArgAction::Count)]
    pub(crate) shell_quote: u8,
}

/// When jobs start and end.
#[derive(clap::Args)]
#[command(next_help_heading = "Schedule")]
pub(crate) struct ScheduleArguments {
    /// Jobs at once: a number, 0 for as many as can be, N% of the CPU threads, +N or -N beside
    /// them, or a file that says so
    #[arg(short = 'j', long, visible_short_alias = 'P', aliases = ["max-procs", "procs"],
          value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) jobs: Option<String>,

    /// Wait so long between two starts
    #[arg(long, value_name = "DURATION")]
    pub(crate) delay: Option<String>,

    /// End jobs that take longer: 10, 1.5m, or 200% of the median
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,

    /// Try each job so often, until it does well; 0 is without end
    #[arg(long, value_name = "COUNT")]
    pub(crate) retries: Option<u32>,

    /// When to give up: never, or now or soon, with fail, success or done =N or =N%
    #[arg(
        long,
        visible_alias = "halt-on-error",
        value_name = "WHEN,WHY=N",
        allow_hyphen_values = true
    )]
    pub(crate) halt: Option<String>,

    /// How jobs are ended: signals, and milliseconds between them
    #[arg(long, alias = "termseq", value_name = "SIGNAL,MS,…")]
    pub(crate) term_seq: Option<String>,

    /// Start nothing while more threads than this run or wait for a disk
    #[arg(long, value_name = "COUNT")]
    pub(crate) load: Option<String>,

    /// Start nothing with less memory; with less than half of it end the youngest job
    #[arg(long, value_name = "SIZE")]
    pub(crate) memfree: Option<String>,

    /// Suspend jobs with less memory than twice this
    #[arg(long, value_name = "SIZE")]
    pub(crate) memsuspend: Option<String>,

    /// Start nothing while the machine swaps in and out
    #[arg(long)]
    pub(crate) noswap: bool,

    /// A command that lets a job start (exit 0), not yet (1), or ends the youngest (2)
    #[arg(long, value_name = "COMMAND")]
    pub(crate) limit: Option<OsString>,
}

/// How jobs run.
#[derive(clap::Args)]
#[command(next_help_heading = "Jobs")]
pub(crate) struct JobArguments {
    /// Print the command lines, run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print each command line on standard output before it runs
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Print each command line on standard error when it starts
    #[arg(short = 't')]
    pub(crate) trace_commands: bool,

    /// The shell that runs them: auto (none where none is needed, else yours), never, or a name
    #[arg(long, value_name = "SHELL", default_value = "auto")]
    pub(crate) shell: OsString,

    /// Add so much to their nice value
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 0)]
    pub(crate) nice: i32,

    /// Run them in this folder; on another host . is ours below the home folder, and ... one for
    /// each job alone
    #[arg(short = 'W', long = "workdir", visible_alias = "wd", value_name = "DIR")]
    pub(crate) workdir: Option<OsString>,

    /// A variable that holds the slot, from 0
    #[arg(long, value_name = "NAME")]
    pub(crate) process_slot_var: Option<String>,

    /// Let them use the terminal
    #[arg(long)]
    pub(crate) tty: bool,

    /// Threads that start programs [one for each 16 CPU threads, 1 to 8]
    #[arg(long, value_name = "COUNT")]
    pub(crate) spawners: Option<usize>,

    /// Options of a file ~/.parallel/NAME (may be repeated)
    #[arg(short = 'J', long, value_name = "NAME")]
    pub(crate) profile: Vec<OsString>,

    /// Taken for the sake of scripts: nothing is to be cited, and there is one way only
    #[arg(long, aliases = ["no-notice", "gnu"], hide = true)]
    pub(crate) will_cite: bool,

    /// Without the options of files and of $PARALLEL
    #[arg(long)]
    pub(crate) plain: bool,
}

/// Where jobs run.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Hosts")]
pub(crate) struct HostArguments {
    /// Run jobs there: [@GROUP/][THREADS/][SSH ][USER@]HOST[:PORT],…; web[01-12] is twelve, : is
    /// here
    #[arg(short = 'S', long = "sshlogin", value_name = "LOGINS")]
    pub(crate) logins: Vec<String>,

    /// Logins from the lines of a file, read again when it has changed; - is standard input, .. ~/.parallel/sshloginfile
    #[arg(long = "sshloginfile", visible_alias = "slf", value_name = "FILE")]
    pub(crate) login_files: Vec<String>,

    /// The program that logs in, with its options [$PARALLEL_SSH, else ssh]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) ssh: Option<String>,

    /// A value x@GROUP+… is x, for hosts of these groups alone
    #[arg(long, visible_alias = "hgrp", conflicts_with_all = ["onall", "nonall"])]
    pub(crate) hostgroups: bool,

    /// Leave out hosts that let nobody in or have no shell
    #[arg(long)]
    pub(crate) filter_hosts: bool,

    /// Wait so long between two starts on other hosts
    #[arg(long, alias = "sshdelay", value_name = "DURATION")]
    pub(crate) ssh_delay: Option<String>,

    /// One connection to each host, which its jobs share; of OpenSSH's ssh alone
    #[arg(short = 'M', long)]
    pub(crate) controlmaster: bool,

    /// Run all jobs on each host, one at a time and in order, on -j hosts at once
    #[arg(long, conflicts_with = "nonall")]
    pub(crate) onall: bool,

    /// Run the command once on each host, without values
    #[arg(long)]
    pub(crate) nonall: bool,

    /// Send this file before its job, by tar; below the folder of the jobs if it is relative
    #[arg(long = "transferfile", visible_alias = "tf", value_name = "NAME")]
    pub(crate) send: Vec<OsString>,

    /// As --transferfile {}
    #[arg(long)]
    pub(crate) transfer: bool,

    /// Bring this file back after its job
    #[arg(long = "return", value_name = "NAME")]
    pub(crate) bring: Vec<OsString>,

    /// Remove there what was sent and brought back
    #[arg(long)]
    pub(crate) cleanup: bool,

    /// As --transfer --return NAME --cleanup
    #[arg(long, value_name = "NAME")]
    pub(crate) trc: Vec<OsString>,

    /// Send this file to each host before its first job
    #[arg(long = "basefile", visible_alias = "bf", value_name = "FILE")]
    pub(crate) base_files: Vec<OsString>,

    /// Variables and functions that jobs there get too: NAME,…
    #[arg(long = "env", value_name = "NAMES")]
    pub(crate) variables: Vec<String>,
}

impl HostArguments {
    /// Whether every host runs all jobs.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.onall || self.nonall
    }
}

/// What becomes of their output.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// What a job wrote comes when it has ended (this is what happens)
    #[arg(long, overrides_with_all = ["ungroup", "line_buffer"])]
    pub(crate) group: bool,

    /// What jobs write comes as they write it, mixed
    #[arg(short = 'u', long, overrides_with_all = ["group", "line_buffer"])]
    pub(crate) ungroup: bool,

    /// What jobs write comes line by line
    #[arg(long, visible_alias = "lb", overrides_with_all = ["group", "ungroup"])]
    pub(crate) line_buffer: bool,

    /// In the order of the input
    #[arg(short = 'k', long, overrides_with = "no_keep_order")]
    pub(crate) keep_order: bool,

    /// In the order in which jobs end (this is what happens)
    #[arg(long, alias = "nk", overrides_with = "keep_order", hide_short_help = true)]
    pub(crate) no_keep_order: bool,

    /// Each line begins with the job's values
    #[arg(long)]
    pub(crate) tag: bool,

    /// Each line begins with this, replacement strings included
    #[arg(long, alias = "tag-string", value_name = "STRING")]
    pub(crate) tagstring: Option<OsString>,

    /// Lines of each job in a color of their own
    #[arg(long)]
    pub(crate) color: bool,

    /// Lines of jobs that fail in red
    #[arg(long, visible_alias = "cf")]
    pub(crate) color_failed: bool,

    /// Keep output in files and print their names
    #[arg(long, alias = "output-as-files", alias = "outputasfiles")]
    pub(crate) files: bool,

    /// The same with a NUL behind each name
    #[arg(long)]
    pub(crate) files0: bool,

    /// Keep output in a tree of folders, in files named by replacement strings, or in a table
    /// (.csv, .tsv, .json)
    #[arg(long, visible_alias = "res", value_name = "NAME")]
    pub(crate) results: Option<OsString>,

    /// Write a line for each job that has ended; +FILE appends, - is standard output
    #[arg(long, visible_alias = "jl", value_name = "FILE")]
    pub(crate) joblog: Option<OsString>,

    /// The same as JSON, with what each job used
    #[arg(long, value_name = "FILE")]
    pub(crate) joblog_json: Option<PathBuf>,

    /// Leave out the jobs that the joblog has
    #[arg(long)]
    pub(crate) resume: bool,

    /// Leave out those that it has as done well
    #[arg(long)]
    pub(crate) resume_failed: bool,

    /// Run those that failed, by the joblog alone
    #[arg(long)]
    pub(crate) retry_failed: bool,

    /// Where temporary files are made
    #[arg(long, value_name = "DIR")]
    pub(crate) tmpdir: Option<PathBuf>,

    /// Show how far all jobs are
    #[arg(long)]
    pub(crate) progress: bool,

    /// The same, and when they will be done
    #[arg(long)]
    pub(crate) eta: bool,

    /// The same as a bar
    #[arg(long)]
    pub(crate) bar: bool,

    /// How many jobs there are, for those three
    #[arg(long, alias = "total", value_name = "COUNT")]
    pub(crate) total_jobs: Option<u64>,
}

/// One command at a time, over all processes.
#[derive(clap::Args)]
#[command(next_help_heading = "Semaphore")]
pub(crate) struct SemaphoreArguments {
    /// Run one command in the background as soon as fewer than -j of them (1) run: the same as
    /// the name sem
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

    /// Run the command after so long anyway; with -DURATION give up then
    #[arg(
        id = "semaphore_timeout",
        long = "semaphore-timeout",
        visible_alias = "st",
        alias = "semaphoretimeout",
        value_name = "DURATION",
        allow_hyphen_values = true
    )]
    pub(crate) timeout: Option<String>,

    /// Wait for the command, and end with its exit code
    #[arg(long = "fg")]
    pub(crate) foreground: bool,

    /// Do not wait for the command (this is what happens)
    #[arg(long = "bg")]
    pub(crate) background: bool,

    /// Run nothing: wait until all commands of this name have ended
    #[arg(long)]
    pub(crate) wait: bool,
}

impl SemaphoreArguments {
    /// Whether a command line is one of a semaphore: any of these options says so.
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

/// What is seen of the machine meanwhile.
#[derive(Default, clap::Args)]
#[command(next_help_heading = "Seeing the machine")]
pub(crate) struct WatchArguments {
    /// Show once a second, on standard error, what jobs and machine do
    #[arg(long)]
    pub(crate) watch: bool,

    /// Tell at the end, on standard error, what jobs and machine did
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true,
          default_missing_value = "text")]
    pub(crate) stats: Option<StatisticsForm>,

    /// Record the machine and what becomes of the jobs, a sample a second, for whit play: a folder
    /// or prefix, as -f of whit record
    #[arg(long, value_name = "PATH")]
    pub(crate) record: Option<PathBuf>,

    /// Count and time the system calls of jobs; the table comes at the end, on standard error
    #[arg(long, conflicts_with = "tty")]
    pub(crate) trace: bool,
}

/// How statistics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StatisticsForm {
    /// Lines for people
    Text,
    /// One JSON object in a line
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
