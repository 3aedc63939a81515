//! `whit trace`: system calls of a command, of processes or of the whole machine.
//!
//! Takes strace's switches where it has them; what it leaves out is refused by name.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use bpf::{CountSettings, Split};
use trace::{CallSet, End, Expression, Sort, Status, Statuses, Summary};

use crate::trace::count::counter::{Counter, Wish};
use crate::trace::count::{self, Form, Show};
use crate::trace::output::Output;
use crate::trace::target::{self, Target};

/// Arguments of `whit trace`.
#[derive(clap::Args)]
#[command(after_help = crate::help::TRACE)]
pub(crate) struct TraceArguments {
    /// Count calls and show tables
    #[arg(short = 'c', long = "summary-only")]
    count: bool,

    /// Trace processes that run already
    #[arg(short = 'p', long = "attach", value_name = "PID,…", conflicts_with_all = ["all", "command"])]
    processes: Vec<String>,

    /// Trace every process of the machine but whit
    #[arg(short = 'a', long = "all", conflicts_with = "command")]
    all: bool,

    /// Only tasks in or below this control group (version 2)
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,

    /// Only tasks of this name, of which the kernel keeps 15 characters
    #[arg(long, value_name = "NAME")]
    comm: Option<String>,

    /// Follow children, and with -p all threads
    #[arg(short = 'f', long = "follow-forks")]
    follow: bool,

    /// Order of the rows: time, calls, errors, name, min-time, max-time, avg-time, none
    #[arg(short = 'S', long = "summary-sort-by", value_name = "COLUMN", default_value = "time")]
    sort: String,

    /// Columns of the table: time-percent, total-time, min-time, max-time, avg-time, calls,
    /// errors, name
    #[arg(short = 'U', long = "summary-columns", value_name = "COLUMN,…")]
    columns: Option<String>,

    /// Times from begin to end of a call, not those on a CPU
    #[arg(short = 'w', long = "summary-wall-clock")]
    wall: bool,

    /// Split by process, thread or command too
    #[arg(long, value_name = "WHAT", value_parser = ["process", "thread", "command"])]
    by: Option<String>,

    /// Draw how the times of each call are spread
    #[arg(long)]
    histogram: bool,

    /// What to trace: trace=CALL,…, trace=%CLASS, trace=/REGEX, trace=!…; status=failed and others
    #[arg(short = 'e', long = "trace", value_name = "EXPR")]
    expressions: Vec<String>,

    /// Only calls that gave no error
    #[arg(short = 'z', long = "successful-only", conflicts_with = "failed_only")]
    successful_only: bool,

    /// Only calls that gave an error
    #[arg(short = 'Z', long = "failed-only")]
    failed_only: bool,

    /// How to watch; by default the cheapest that works
    #[arg(long, value_name = "WAY", value_parser = ["kernel", "seccomp", "ptrace"])]
    way: Option<String>,

    /// Only calls that took at least so many seconds
    #[arg(long, value_name = "SECS", default_value = "0", hide_default_value = true,
          value_parser = seconds)]
    slower_than: Duration,

    /// A table each so many seconds
    #[arg(short = 'i', long = "interval", value_name = "SECS", value_parser = interval)]
    interval: Option<Duration>,

    /// End after so many seconds; a command that still runs is let go on
    #[arg(long = "for", value_name = "SECS", value_parser = interval)]
    time: Option<Duration>,

    /// Write to a file; `-` is stdout, `|COMMAND` a command's stdin
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<String>,

    /// Append to the file of -o
    #[arg(short = 'A', long = "output-append-mode", requires = "output")]
    append: bool,

    /// Strace's table and nothing else
    #[arg(short = 'q', long)]
    quiet: bool,

    /// One JSON object, or one a line with -i
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// A line of CSV for each call
    #[arg(long)]
    csv: bool,

    /// Set a variable of the command's environment, or without `=` remove it
    #[arg(short = 'E', long = "env", value_name = "NAME=VALUE", requires = "command")]
    environment: Vec<String>,

    /// Run the command as this user
    #[arg(short = 'u', long = "user", value_name = "USER", requires = "command")]
    user: Option<String>,

    /// What the command is told it is called
    #[arg(long, value_name = "NAME", requires = "command")]
    argv0: Option<String>,

    /// The command, with its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs the verb.
pub(crate) fn run(arguments: &TraceArguments) -> anyhow::Result<ExitCode> {
    ensure!(arguments.count, "only counting is built so far: give -c");
    let wish = wish(arguments)?;
    let show = show(arguments)?;
    let mut output = Output::open(arguments.output.as_deref(), arguments.append)?;
    let counter = counter(&wish, arguments.way.as_deref())?;
    let end = count::run(counter, &show, &mut output)?;
    output.close()?;
    Ok(end.map_or(ExitCode::SUCCESS, exit_as))
}

fn target(arguments: &TraceArguments) -> anyhow::Result<Target> {
    if !arguments.command.is_empty() {
        let name = arguments.argv0.as_deref();
        let user = arguments.user.as_deref();
        let command = target::command(&arguments.command, &arguments.environment, user, name)?;
        return Ok(Target::Command(command));
    }
    let processes = target::processes(&arguments.processes)?;
    if !processes.is_empty() {
        return Ok(Target::Processes(processes));
    }
    if arguments.all || arguments.cgroup.is_some() || arguments.comm.is_some() {
        return Ok(Target::Everybody);
    }
    bail!("nothing to trace: give a command, -p PID, -a, --cgroup DIR or --comm NAME")
}

fn wish(arguments: &TraceArguments) -> anyhow::Result<Wish> {
    let target = target(arguments)?;
    let settings = settings(arguments, &target)?;
    let mut wish = Wish { target, calls: CallSet::all(), statuses: Statuses::all(), settings };
    if arguments.successful_only {
        wish.statuses = Statuses::only(Status::Successful);
    } else if arguments.failed_only {
        wish.statuses = Statuses::only(Status::Failed);
    }
    for text in &arguments.expressions {
        match Expression::parse(text)? {
            Expression::Trace(calls) => wish.calls = calls,
            Expression::Status(statuses) => wish.statuses = statuses,
            _ => bail!("-e {text}: for lines, and -c shows none; trace= and status= select"),
        }
    }
    ensure!(!wish.calls.is_none(), "-e trace= leaves nothing to trace");
    let Wish { statuses, .. } = &wish;
    let any = statuses.has(Status::Successful) || statuses.has(Status::Failed);
    ensure!(any, "-e status=: calls that end are successful or failed; -c counts those");
    Ok(wish)
}

/// The cheapest way that works, or the one that is asked for.
fn counter(wish: &Wish, way: Option<&str>) -> anyhow::Result<Counter> {
    match way {
        Some("kernel") => return Counter::kernel(wish),
        Some(way) => return Counter::ptrace(wish, way == "seccomp"),
        None => {}
    }
    let refused = match Counter::kernel(wish) {
        Err(error) if error.is::<bpf::Error>() => error,
        other => return other,
    };
    // A filter holds every process that comes of the command, so it is worth it only if few calls
    // are wanted.
    let selected = matches!(wish.target, Target::Command(_)) && !wish.calls.is_all();
    let counter = Counter::ptrace(wish, selected)
        .with_context(|| format!("not in the kernel ({refused}), nor by ptrace"))?;
    eprintln!("whit: counting by ptrace, which slows calls down: {refused}");
    Ok(counter)
}

fn settings(arguments: &TraceArguments, target: &Target) -> anyhow::Result<CountSettings> {
    let mut settings = CountSettings {
        everybody: matches!(target, Target::Everybody),
        own_process: std::process::id().cast_signed(),
        follow: arguments.follow,
        seed_threads: arguments.follow,
        from_exec: matches!(target, Target::Command(_)),
        slower_than_ns: u64::try_from(arguments.slower_than.as_nanos()).unwrap_or(u64::MAX),
        ..CountSettings::default()
    };
    if let Some(name) = &arguments.comm {
        ensure!(!name.is_empty() && !name.contains('\0'), "--comm: give a name");
        let mut command = [0; 16];
        let kept = name.len().min(15);
        command[..kept].copy_from_slice(&name.as_bytes()[..kept]);
        settings.command = Some(command);
    }
    settings.cgroup = arguments.cgroup.as_deref().map(target::control_group).transpose()?;
    settings.split = match arguments.by.as_deref() {
        Some("process") => Split::Process,
        Some("thread") => Split::Thread,
        Some("command") => Split::Command,
        _ => Split::None,
    };
    Ok(settings)
}

fn show(arguments: &TraceArguments) -> anyhow::Result<Show> {
    let mut summary = Summary { wall: arguments.wall, ..Summary::default() };
    if let Some(columns) = &arguments.columns {
        summary.set_columns(columns).map_err(|error| anyhow::anyhow!("-U: {error}"))?;
    }
    let order = Sort::parse(&arguments.sort);
    let Some(order) = order else {
        bail!("-S {}: not an order; try time, calls, errors, name or none", arguments.sort)
    };
    summary.sort = order;
    let form = match (arguments.json, arguments.csv) {
        (true, _) => Form::Json,
        (_, true) => Form::Csv,
        _ => Form::Text,
    };
    Ok(Show {
        form,
        summary,
        brief: arguments.quiet,
        histograms: arguments.histogram,
        interval: arguments.interval,
        time: arguments.time,
    })
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

/// Ends as the command did: with its status, or by its signal, as strace does.
fn exit_as(end: End) -> ExitCode {
    match end {
        End::Status(status) => ExitCode::from(u8::try_from(status & 0xff).unwrap_or(u8::MAX)),
        End::Signal { number, .. } => {
            // SAFETY: plain system calls; the signal's own action is put back first, and no core
            // is wanted of us.
            unsafe {
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                libc::signal(number, libc::SIG_DFL);
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut set);
                libc::sigaddset(&raw mut set, number);
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
                libc::raise(number);
            }
            // A signal that ends nothing by itself.
            ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))
        }
    }
}
