//! `whit trace`: system calls of a command, of processes or of the whole machine.
//!
//! Takes strace's switches where it has them; what it leaves out is refused by name.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use bpf::{CountSettings, Split};
use trace::engine::Scope;
use trace::{End, Naming, Quiet, Sort, Status, Summary};

use crate::trace::count::counter::{Counter, Wish};
use crate::trace::count::{self, Form, Show};
use crate::trace::events::arguments::{EventArguments, Selection, WayWanted};
use crate::trace::events::{self, FilesSink, JsonSink, LinesSink, Plan, Sink};
use crate::trace::output::Output;
use crate::trace::target::{self, Target};

/// Arguments of `whit trace`.
#[derive(clap::Args)]
#[command(after_help = crate::help::TRACE)]
pub(crate) struct TraceArguments {
    /// Count calls and show tables, no lines
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

    /// Follow children, and with -p all threads; -ff with -o FILE: a file FILE.PID for each task
    #[arg(short = 'f', long = "follow-forks", action = clap::ArgAction::Count)]
    follow: u8,

    /// As the second f of -ff
    #[arg(long, requires = "output")]
    output_separately: bool,

    /// Order of the rows: time, calls, errors, name, min-time, max-time, avg-time, none
    #[arg(short = 'S', long = "summary-sort-by", value_name = "COLUMN")]
    sort: Option<String>,

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

    /// Only calls that gave an error
    #[arg(short = 'Z', long = "failed-only")]
    failed_only: bool,

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

    /// Less: strace's table or lines and nothing else; -qq without ends of tasks
    #[arg(short = 'q', action = clap::ArgAction::Count)]
    quiet: u8,

    /// JSON: an object for each event, or with -c one, or one a line with -i
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// With -c, a line of CSV for each call
    #[arg(long)]
    csv: bool,

    #[command(flatten)]
    events: EventArguments,

    /// No word that strace does not say
    #[arg(long, hide = true)]
    strace: bool,

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
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// Runs the verb.
pub(crate) fn run(arguments: &TraceArguments) -> anyhow::Result<ExitCode> {
    let end = if arguments.count { run_count(arguments)? } else { run_events(arguments)? };
    Ok(end.map_or(ExitCode::SUCCESS, exit_as))
}

fn run_count(arguments: &TraceArguments) -> anyhow::Result<Option<End>> {
    ensure!(!arguments.separates(), "-ff and -c exclude each other: one table is for all tasks");
    if let Some(option) = arguments.events.of_lines() {
        ensure!(arguments.strace, "{option} is for lines, and -c shows none: -C shows both");
    }
    ensure!(!arguments.events.has_paths(), "-P: lines can be told by paths, counts cannot: use -C");
    let wish = wish(arguments)?;
    let show = show(arguments)?;
    let mut output = Output::open(arguments.output.as_deref(), arguments.append)?;
    let counter = counter(&wish, arguments.events.way(), arguments.strace)?;
    let end = count::run(counter, &show, &mut output)?;
    output.close()?;
    Ok(end)
}

fn run_events(arguments: &TraceArguments) -> anyhow::Result<Option<End>> {
    if let Some(option) = arguments.of_counting() {
        bail!("{option} is for counting: give -c too");
    }
    let target = target(arguments)?;
    let selection = arguments.events.selection(arguments.failed_only)?;
    ensure!(!selection.calls.is_none() || !arguments.events.summary, "-C: no calls are selected");
    let plan = plan(arguments, &target, &selection)?;
    let sink = sink(arguments, &plan)?;
    events::run(&target, &plan, sink)
}

impl TraceArguments {
    /// Whether each task has a file of its own.
    fn separates(&self) -> bool {
        (self.follow > 1 || self.output_separately) && self.output.is_some()
    }

    /// An option that was given and means nothing to lines.
    fn of_counting(&self) -> Option<&'static str> {
        let table = self.events.summary;
        let given = [
            (self.by.is_some(), "--by"),
            (self.histogram, "--histogram"),
            (self.interval.is_some(), "-i"),
            (self.csv, "--csv"),
            (self.columns.is_some() && !table, "-U"),
            (self.wall && !table, "-w"),
            (self.sort.is_some() && !table, "-S"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}

/// How events are traced and shown.
fn plan(
    arguments: &TraceArguments,
    target: &Target,
    selection: &Selection,
) -> anyhow::Result<Plan> {
    let mut lines = arguments.events.lines(selection)?;
    // As with strace: who wants lines of a command in a file wants nothing else said.
    let is_apart = arguments.output.is_some() && matches!(target, Target::Command(_));
    let times = if is_apart { arguments.quiet.max(1) } else { arguments.quiet };
    let quiet = selection.quiet.unwrap_or(Quiet::times(times));
    let several = matches!(target, Target::Processes(list) if list.len() > 1);
    lines.naming = match &arguments.output {
        _ if arguments.separates() => Naming::Nobody,
        _ if matches!(target, Target::Everybody) => Naming::Always,
        None => Naming::Several,
        Some(_) if arguments.follow > 0 || several => Naming::Always,
        Some(_) => Naming::Nobody,
    };
    lines.announce = !quiet.attach() && arguments.output.is_none();
    lines.ends = !quiet.exit();
    let slower_than_ns = u64::try_from(arguments.slower_than.as_nanos()).unwrap_or(u64::MAX);
    lines.whole_lines = slower_than_ns > 0;
    let settings = settings(arguments, target)?;
    let summary = arguments.events.summary.then(|| summary(arguments)).transpose()?;
    let own_words = !arguments.strace && arguments.quiet == 0 && selection.quiet.is_none();
    Ok(Plan {
        lines,
        scope: if arguments.follow > 0 { Scope::Tree } else { Scope::Thread },
        way: arguments.events.way(),
        quiet,
        own_words,
        // Scripts that call strace by its name rely on every line.
        is_lossless: arguments.strace,
        statuses: selection.statuses,
        command: settings.command,
        cgroup: settings.cgroup,
        slower_than_ns,
        time: arguments.time,
        summary,
    })
}

/// What the events are written to.
fn sink(arguments: &TraceArguments, plan: &Plan) -> anyhow::Result<Box<dyn Sink>> {
    let lines = plan.lines.clone();
    if let Some(name) = arguments.output.as_deref().filter(|_| arguments.separates()) {
        ensure!(!arguments.json, "--json and -ff exclude each other: each object names its task");
        ensure!(!arguments.events.summary, "-C and -ff exclude each other");
        let is_file = !name.starts_with(['|', '!']) && name != "-";
        ensure!(is_file, "-ff: with -o give a file, to which the numbers of tasks are added");
        return Ok(Box::new(FilesSink::new(lines, name, arguments.append)?));
    }
    let output = Output::open(arguments.output.as_deref(), arguments.append)?;
    Ok(match arguments.json {
        true => Box::new(JsonSink::new(lines, output)),
        false => Box::new(LinesSink::new(lines, output)),
    })
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
    let selection = arguments.events.selection(arguments.failed_only)?;
    if let Some(option) = arguments.events.of_lines_selected() {
        ensure!(
            arguments.strace,
            "-e {option}: for lines, and -c shows none; trace= and status= select"
        );
    }
    let Selection { calls, statuses, .. } = selection;
    let wish = Wish { target, calls, statuses, settings };
    ensure!(!wish.calls.is_none(), "-e trace= leaves nothing to trace");
    let Wish { statuses, .. } = &wish;
    let any = statuses.has(Status::Successful) || statuses.has(Status::Failed);
    ensure!(any, "-e status=: calls that end are successful or failed; -c counts those");
    Ok(wish)
}

/// The cheapest way that works, or the one that is asked for.
fn counter(wish: &Wish, way: Option<WayWanted>, brief: bool) -> anyhow::Result<Counter> {
    match way {
        Some(WayWanted::Kernel) => return Counter::kernel(wish),
        Some(way) => return Counter::ptrace(wish, way == WayWanted::Seccomp),
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
    if !brief {
        eprintln!("whit: counting by ptrace, which slows calls down: {refused}");
    }
    Ok(counter)
}

fn settings(arguments: &TraceArguments, target: &Target) -> anyhow::Result<CountSettings> {
    let mut settings = CountSettings {
        everybody: matches!(target, Target::Everybody),
        own_process: std::process::id().cast_signed(),
        follow: arguments.follow > 0,
        whole_processes: arguments.follow > 0,
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

/// The table of -c and -C.
fn summary(arguments: &TraceArguments) -> anyhow::Result<Summary> {
    let mut summary = Summary { wall: arguments.wall, ..Summary::default() };
    if let Some(columns) = &arguments.columns {
        summary.set_columns(columns).map_err(|error| anyhow::anyhow!("-U: {error}"))?;
    }
    if let Some(name) = &arguments.sort {
        summary.sort = Sort::parse(name).with_context(|| {
            format!("-S {name}: not an order; try time, calls, errors, name or none")
        })?;
    }
    Ok(summary)
}

fn show(arguments: &TraceArguments) -> anyhow::Result<Show> {
    let form = match (arguments.json, arguments.csv) {
        (true, _) => Form::Json,
        (_, true) => Form::Csv,
        _ => Form::Text,
    };
    Ok(Show {
        form,
        summary: summary(arguments)?,
        brief: arguments.quiet > 0 || arguments.strace,
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
