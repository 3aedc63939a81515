//! The command line of `whit trace`: strace's switches where it has them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use trace::engine::{TraceWay, TracerPlace};
use trace::report::Interruption;

/// Arguments of `whit trace`.
#[derive(clap::Args)]
#[command(after_help = crate::help::TRACE, args_override_self = true)]
pub(crate) struct TraceArguments {
    /// Count calls and show tables, no lines
    #[arg(short = 'c', long = "summary-only")]
    pub(super) count: bool,

    /// Trace processes that run already, alone or beside a command
    #[arg(short = 'p', long = "attach", value_name = "PID,…", conflicts_with = "all")]
    pub(super) processes: Vec<String>,

    /// Trace every process of the machine but whit
    #[arg(short = 'a', long = "all", conflicts_with = "command")]
    pub(super) all: bool,

    /// Only tasks in or below this control group (version 2)
    #[arg(long, value_name = "DIR")]
    pub(super) cgroup: Option<PathBuf>,

    /// Only tasks of this name, of which the kernel keeps 15 characters
    #[arg(long, value_name = "NAME")]
    pub(super) comm: Option<String>,

    /// Follow children, and with -p all threads; -ff with -o FILE: a file FILE.PID for each task
    #[arg(short = 'f', long = "follow-forks", action = clap::ArgAction::Count)]
    pub(super) follow: u8,

    /// As the second f of -ff
    #[arg(long)]
    pub(super) output_separately: bool,

    /// Order of the rows: time, calls, errors, name, min-time, max-time, avg-time, none
    #[arg(short = 'S', long = "summary-sort-by", value_name = "COLUMN")]
    pub(super) sort: Option<String>,

    /// Columns of the table: time-percent, total-time, min-time, max-time, avg-time, calls,
    /// errors, name; min, p50, p99, max: from entry to exit, with units
    #[arg(short = 'U', long = "summary-columns", value_name = "COLUMN,…")]
    pub(super) columns: Option<String>,

    /// Times from entry to exit of a call instead of time on a CPU
    #[arg(short = 'w', long = "summary-wall-clock")]
    pub(super) wall: bool,

    /// Subtract this from the time of each call: microseconds, or with s, ms, us, ns
    #[arg(short = 'O', long = "summary-syscall-overhead", value_name = "SPAN",
          value_parser = trace::short_time_ns)]
    pub(super) overhead_ns: Option<u64>,

    /// Also count by process, thread or command; with --hosts by host
    #[arg(long, value_name = "WHAT", value_parser = ["process", "thread", "command", "host"])]
    pub(super) by: Option<String>,

    /// Draw histograms of the times of each call
    #[arg(long)]
    pub(super) histogram: bool,

    /// Only calls that failed
    #[arg(short = 'Z', long = "failed-only")]
    pub(super) failed_only: bool,

    /// Only calls that took at least this many seconds
    #[arg(long, value_name = "SECS", default_value = "0", hide_default_value = true,
          value_parser = seconds)]
    pub(super) slower_than: Duration,

    /// Write a table after each interval of this many seconds
    #[arg(short = 'i', long = "interval", value_name = "SECS", value_parser = interval)]
    pub(super) interval: Option<Duration>,

    /// End after this many seconds; a command that still runs continues
    #[arg(long = "for", value_name = "SECS", value_parser = interval)]
    pub(super) time: Option<Duration>,

    /// Write to a file; `-` is stdout, `|COMMAND` a command's stdin
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(super) output: Option<String>,

    /// Append to the file of -o
    #[arg(short = 'A', long = "output-append-mode")]
    pub(super) append: bool,

    /// Only strace's table or lines; -qq: without exits of tasks too
    #[arg(short = 'q', action = clap::ArgAction::Count)]
    pub(super) quiet: u8,

    /// JSON: an object for each event, or with -c one, or one a line with -i
    #[arg(long, conflicts_with = "csv")]
    pub(super) json: bool,

    /// With -c, a line of CSV for each call
    #[arg(long)]
    pub(super) csv: bool,

    /// INT, TERM, HUP and QUIT: 1 or 2, the trace ends, the command too; 3, nothing; 4, nor TSTP
    #[arg(short = 'I', long, value_name = "WHEN")]
    pub(super) interruptible: Option<Interruption>,

    /// Trace from a grandchild: the command stays the caller's child; -DD, -DDD: see --daemonize
    #[arg(short = 'D', action = clap::ArgAction::Count, requires = "command")]
    pub(super) apart: u8,

    /// As -D; =pgroup: as -DD, =session: as -DDD
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true,
          default_missing_value = "grandchild", requires = "command")]
    pub(super) daemonize: Option<TracerPlace>,

    /// Detach from tasks that have called execve (by ptrace)
    #[arg(short = 'b', long, value_name = "execve", value_parser = ["execve"])]
    pub(super) detach_on: Option<String>,

    #[command(flatten)]
    pub(super) events: EventArguments,

    /// Trace the command on these hosts, by whit there: [USER@]HOST[:PORT],…, as web[1-3]; -c adds up
    #[arg(long, value_name = "HOST,…")]
    pub(super) hosts: Option<String>,

    /// The program that logs in to --hosts, with its options [default: ssh]
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    pub(super) ssh: Option<String>,

    /// For --hosts: the trace to stderr, with this in front of each line
    #[arg(long, value_name = "MARK", hide = true)]
    pub(super) report_mark: Option<String>,

    /// Write only what strace writes
    #[arg(long, hide = true)]
    pub(super) strace: bool,

    /// Set a variable of the command's environment, or without `=` remove it
    #[arg(short = 'E', long = "env", value_name = "NAME=VALUE", requires = "command")]
    pub(super) environment: Vec<String>,

    /// Run the command as this user
    #[arg(short = 'u', long = "user", value_name = "USER", requires = "command")]
    pub(super) user: Option<String>,

    /// The name of the command, its argv[0]
    #[arg(long, value_name = "NAME", requires = "command")]
    pub(super) argv0: Option<String>,

    /// The command, with its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(super) command: Vec<OsString>,
}

/// Help heading of the options for lines.
const LINES: &str = "Lines (without -c)";

/// How tasks are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum WayWanted {
    /// By BPF programs in the kernel: cheapest; needs root
    Kernel,
    /// By ptrace at selected calls only: a command and its children, with -e trace= and -f
    Seccomp,
    /// By ptrace at every call
    Ptrace,
}

/// Options of lines.
#[derive(clap::Args, Debug)]
pub(crate) struct EventArguments {
    /// Lines, and the table of -c at the end
    #[arg(short = 'C', long, conflicts_with = "count", help_heading = LINES)]
    pub(super) summary: bool,

    /// Only these: trace=, signal=, status=, raw=, abbrev=, inject=, … and a list; see --help
    ///
    /// trace=open,read: calls by name; trace=%file: a class of them (file, desc, process, network,
    /// signal, ipc, memory, …); trace=/^get: names that match; trace=!futex: all but these.
    /// status=successful, failed, unfinished, detached; signal=CHLD,INT; raw=SET: arguments in
    /// hexadecimal; abbrev=SET: structures cut short for these only; verbose=SET: structures decoded
    /// for these only; quiet=attach, exit, …; read=3,5, write=1: the data of these descriptors is
    /// dumped; inject=SET:WHAT, WHAT being error=, retval=, signal=, delay_enter=, delay_exit=,
    /// when=FIRST..LAST+STEP: done to these calls, by ptrace; fault=SET: they fail.
    #[arg(short = 'e', value_name = "EXPRESSION")]
    pub(super) expressions: Vec<String>,

    // Each as -e NAME=SET.
    #[arg(long, value_name = "SET", hide = true)]
    pub(super) trace: Vec<String>,
    #[arg(long, alias = "signals", value_name = "SET", hide = true)]
    pub(super) signal: Vec<String>,
    #[arg(long, value_name = "WHAT", hide = true)]
    pub(super) inject: Vec<String>,
    #[arg(long, value_name = "WHAT", hide = true)]
    pub(super) fault: Vec<String>,
    #[arg(long, value_name = "SET", hide = true)]
    pub(super) read: Vec<String>,
    #[arg(long, value_name = "SET", hide = true)]
    pub(super) write: Vec<String>,
    #[arg(long, value_name = "SET", hide = true)]
    pub(super) status: Vec<String>,
    #[arg(long, value_name = "SET", hide = true)]
    pub(super) raw: Vec<String>,
    #[arg(long, value_name = "SET", hide = true)]
    pub(super) verbose: Vec<String>,
    #[arg(long, value_name = "SET", hide = true)]
    pub(super) abbrev: Vec<String>,

    #[arg(long, value_name = "SET", num_args = 0..=1, require_equals = true, hide = true,
          default_missing_value = "path")]
    pub(super) decode_fds: Vec<String>,

    /// The names of processes behind their numbers
    #[arg(short = 'Y', long, value_name = "comm", num_args = 0..=1, require_equals = true,
          default_missing_value = "comm", help_heading = LINES)]
    pub(super) decode_pids: Vec<String>,

    /// Only calls that name this path, or use a descriptor that points to it
    #[arg(short = 'P', long = "trace-path", value_name = "PATH")]
    pub(super) paths: Vec<String>,

    /// Only calls that succeeded
    #[arg(short = 'z', long, overrides_with = "failed_only")]
    pub(super) successful_only: bool,

    /// Time of day before each line; -tt with microseconds, -ttt since 1970
    #[arg(short = 't', action = clap::ArgAction::Count, help_heading = LINES)]
    pub(super) stamps: u8,

    /// As -t, with a format (time, unix, none) and a precision (s, ms, us, ns)
    #[arg(long, alias = "timestamps", value_name = "FORMAT,PRECISION", num_args = 0..=1,
          require_equals = true, default_missing_value = "time", help_heading = LINES)]
    pub(super) absolute_timestamps: Option<String>,

    /// Time since the line before
    #[arg(short = 'r', help_heading = LINES)]
    pub(super) relative: bool,

    /// As -r, with a precision (s, ms, us, ns)
    #[arg(long, value_name = "PRECISION", num_args = 0..=1, require_equals = true,
          default_missing_value = "us", help_heading = LINES)]
    pub(super) relative_timestamps: Option<String>,

    /// Time spent in the call, at the end of each line
    #[arg(short = 'T', help_heading = LINES)]
    pub(super) took: bool,

    /// As -T, with a precision (s, ms, us, ns)
    #[arg(long, value_name = "PRECISION", num_args = 0..=1, require_equals = true,
          default_missing_value = "us", help_heading = LINES)]
    pub(super) syscall_times: Option<String>,

    /// Show what descriptors point to; -yy: with addresses of sockets and numbers of devices
    #[arg(short = 'y', action = clap::ArgAction::Count, help_heading = LINES)]
    pub(super) descriptors: u8,

    /// Bytes of a string that are shown
    #[arg(short = 's', long, value_name = "BYTES", default_value_t = 32, help_heading = LINES)]
    pub(super) string_limit: usize,

    /// Show structures whole
    #[arg(short = 'v', long = "no-abbrev", help_heading = LINES)]
    pub(super) whole: bool,

    /// Strings in hexadecimal if they are not all ASCII; -xx: all strings
    #[arg(short = 'x', action = clap::ArgAction::Count, help_heading = LINES)]
    pub(super) hex: u8,

    /// As -xx; or =non-ascii, =non-ascii-chars (only what is octal otherwise), =none
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true,
          default_missing_value = "all", value_parser = ["all", "non-ascii", "non-ascii-chars", "none"], help_heading = LINES)]
    pub(super) strings_in_hex: Option<String>,

    /// Numbers with names: abbrev, the names; raw, the numbers; verbose, both
    #[arg(short = 'X', long = "const-print-style", value_name = "STYLE", default_value = "abbrev", help_heading = LINES)]
    pub(super) constants: trace::ConstantStyle,

    /// The number of the call before its name
    #[arg(short = 'n', long = "syscall-number", help_heading = LINES)]
    pub(super) numbers: bool,

    /// The instruction pointer before each line (by ptrace)
    #[arg(long = "instruction-pointer", help_heading = LINES)]
    pub(super) pointers: bool,

    /// The column of the result
    #[arg(long = "columns", value_name = "COLUMN", default_value_t = 40, help_heading = LINES)]
    pub(super) column: usize,

    /// Leave out messages: attach, exit, path-resolution, personality, thread-execve, all
    #[arg(long = "quiet", aliases = ["silent", "silence"], value_name = "WHAT", num_args = 0..=1,
          require_equals = true, default_missing_value = "attach,personality", help_heading = LINES)]
    pub(super) quiet_words: Option<String>,

    /// How to trace [default: the cheapest way that is allowed]
    #[arg(long, value_name = "WAY", conflicts_with = "seccomp")]
    pub(super) way: Option<WayWanted>,

    /// As --way seccomp
    #[arg(long = "seccomp-bpf")]
    pub(super) seccomp: bool,
}

impl From<WayWanted> for TraceWay {
    fn from(way: WayWanted) -> Self {
        match way {
            WayWanted::Kernel => TraceWay::Kernel,
            WayWanted::Seccomp => TraceWay::Seccomp,
            WayWanted::Ptrace => TraceWay::Ptrace,
        }
    }
}

impl TraceArguments {
    /// Whether each task has a file of its own.
    pub(super) fn separates(&self) -> bool {
        (self.follow > 1 || self.output_separately) && self.output.is_some()
    }

    /// Options for the file of -o without one: as with strace, no error.  Of other hosts, who asked says it.
    pub(super) fn idle(&self) -> impl Iterator<Item = &'static str> {
        let is_alone = self.output.is_none() && self.report_mark.is_none();
        let given = [(self.append, "-A"), (self.output_separately, "--output-separately")];
        given.into_iter().filter(move |(is_given, _)| is_alone && *is_given).map(|(_, name)| name)
    }

    /// Where a tracer runs that is no parent of the command.
    pub(super) fn tracer(&self) -> Option<TracerPlace> {
        self.daemonize.or(TracerPlace::of_count(self.apart))
    }

    /// Refuses what cannot be traced on other hosts.
    pub(super) fn check_hosts(&self) -> anyhow::Result<()> {
        let by = self.by.as_deref().is_some_and(|by| by != "host");
        let given = [
            (!self.processes.is_empty(), "-p: a number is another process on each: give --comm"),
            (self.tracer().is_some(), "-D: the shell there starts the command"),
            (self.interval.is_some(), "-i: each host begins when it is reached"),
            (self.separates(), "-ff -o: leave the second f out"),
            (by, "--by: only --by host is added up"),
            (self.count && !self.events.paths.is_empty(), "-c -P: leave -P out"),
        ];
        let refused = given.iter().find(|(is_given, _)| *is_given);
        refused.map_or(Ok(()), |(_, why)| Err(anyhow::anyhow!("--hosts excludes {why}")))
    }

    /// A given option that has no meaning for lines.
    pub(super) fn of_counting(&self) -> Option<&'static str> {
        let table = self.events.summary || self.count;
        let given = [
            (self.by.is_some(), "--by"),
            (self.histogram, "--histogram"),
            (self.interval.is_some(), "-i"),
            (self.csv, "--csv"),
            (self.columns.is_some() && !table, "-U"),
            (self.wall && !table, "-w"),
            (self.sort.is_some() && !table, "-S"),
            (self.overhead_ns.is_some() && !table, "-O"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}

impl EventArguments {
    /// The way that is asked for.
    pub(super) fn way(&self) -> Option<TraceWay> {
        if self.seccomp { Some(TraceWay::Seccomp) } else { self.way.map(TraceWay::from) }
    }

    /// All expressions, each as it was given and as `-e` takes it.
    pub(super) fn expressions(&self) -> impl Iterator<Item = (String, String)> {
        let words = [
            ("trace", &self.trace),
            ("signal", &self.signal),
            ("status", &self.status),
            ("raw", &self.raw),
            ("abbrev", &self.abbrev),
            ("decode-fds", &self.decode_fds),
            ("decode-pids", &self.decode_pids),
            ("verbose", &self.verbose),
            ("inject", &self.inject),
            ("fault", &self.fault),
            ("read", &self.read),
            ("write", &self.write),
        ];
        let long = words.into_iter().flat_map(|(word, sets)| {
            sets.iter().map(move |set| (format!("--{word}={set}"), format!("{word}={set}")))
        });
        let short = self.expressions.iter().map(|text| (format!("-e {text}"), text.clone()));
        short.chain(long)
    }

    /// A given word of -e that has no meaning for a table alone.
    pub(super) fn of_lines_selected(&self) -> Option<&'static str> {
        let words = self.expressions.iter().filter_map(|text| Some(text.split_once('=')?.0));
        let mut of_lines = words.filter_map(|word| match word {
            "signal" | "signals" | "s" => Some("signal="),
            "raw" | "x" => Some("raw="),
            "abbrev" | "a" => Some("abbrev="),
            "quiet" | "silent" | "silence" | "q" => Some("quiet="),
            "decode-fds" | "decode-fd" => Some("decode-fds="),
            "verbose" | "v" => Some("verbose="),
            "read" | "reads" | "r" => Some("read="),
            "write" | "writes" | "w" => Some("write="),
            _ => None,
        });
        let long = [(&self.signal, "signal="), (&self.raw, "raw="), (&self.abbrev, "abbrev=")];
        let mut long = long.into_iter().filter(|(sets, _)| !sets.is_empty());
        of_lines.next().or_else(|| long.next().map(|(_, word)| word))
    }

    /// A given option of lines, which has no meaning for a table alone.
    pub(super) fn of_lines(&self) -> Option<&'static str> {
        let given = [
            (self.stamps > 0, "-t"),
            (self.absolute_timestamps.is_some(), "--absolute-timestamps"),
            (self.relative, "-r"),
            (self.relative_timestamps.is_some(), "--relative-timestamps"),
            (self.took, "-T"),
            (self.syscall_times.is_some(), "--syscall-times"),
            (self.descriptors > 0, "-y"),
            (self.whole, "-v"),
            (self.hex > 0, "-x"),
            (self.strings_in_hex.is_some(), "--strings-in-hex"),
            (self.numbers, "-n"),
            (self.pointers, "--instruction-pointer"),
            (self.quiet_words.is_some(), "--quiet="),
            (!self.decode_fds.is_empty(), "--decode-fds"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "give seconds, such as 0.5".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = seconds(text)?;
    match interval.as_secs_f64() {
        0.01..=86_400.0 => Ok(interval),
        _ => Err("give seconds, from 0.01 to 86400".to_owned()),
    }
}
