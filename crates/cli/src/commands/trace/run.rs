//! Turns the options into the plain structures of `trace::report`, and traces.

use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use bpf::{CountSettings, Split};
use many_hosts::{HostsTraced, TracedOutputs, TracesStop};
use trace::engine::{CommandUser, FollowScope, TaskChanges, TracedCommand};
use trace::report;
use trace::report::events::{self, EventOptions, EventWriter};
use trace::report::events::{JsonWriter, LineWriter, TableWriter, TaskFileWriter};
use trace::report::marked;
use trace::report::output::TraceOutput;
use trace::report::table::{self, CountFormat, CountRequest, TableOptions};
use trace::report::target::{self, TraceTarget};
use trace::{
    CallSet, CallStatus, CallStatuses, CallSummary, EventSelection, Expression, LineOptions,
    PidPrefix, Precision, Quiet, Stamp, SummaryOrder, ValueStyle, WaitStatus,
};

use super::TraceArguments;
use super::arguments::EventArguments;
use crate::end_signals;

/// Most bytes of a string that are shown: longer lines are not readable, and each string is read
/// from the task.
const TEXT_LIMIT_MAX: usize = 1 << 20;

/// Runs the verb.
pub(crate) fn run(arguments: &TraceArguments) -> anyhow::Result<ExitCode> {
    for name in arguments.idle() {
        crate::stderr::message(format_args!("{name} has no effect without -o"));
    }
    if let Some(names) = &arguments.hosts {
        return run_on_hosts(arguments, names);
    }
    if let Some(mark) = &arguments.report_mark {
        marked::end_with_stdin(mark)?;
    } else {
        ensure!(arguments.by.as_deref() != Some("host"), "--by host: give --hosts too");
    }
    // Paths are compared event by event.
    let only_counts = arguments.count && arguments.events.paths.is_empty();
    let end = if only_counts { run_count(arguments)? } else { run_events(arguments)? };
    Ok(end.map_or(ExitCode::SUCCESS, |end| exit_as(end, arguments.report_mark.is_some())))
}

/// Traces on other hosts; the status is the highest of theirs.
fn run_on_hosts(arguments: &TraceArguments, names: &str) -> anyhow::Result<ExitCode> {
    arguments.check_hosts()?;
    target(arguments)?;
    end_signals::block()?;
    let words = crate::compat::command_line(crate::words::given()).split_off(2);
    let place = (names, arguments.ssh.as_deref());
    let traced = HostsTraced::new(place, &words, arguments.command.len())?;
    let table = table_options(arguments)?;
    let mut output = TraceOutput::open(arguments.output.as_deref(), arguments.append)?;
    let (mut stdout, mut stderr) = (stdout(), stderr());
    let trace = arguments.output.is_some().then_some(&mut output as &mut dyn Write);
    let outputs = TracedOutputs::new(&mut stdout, &mut stderr, trace, arguments.json);
    let end = traced.run(&TracesStop::after(|| end_signals::wait().is_ok()), outputs)?;
    end.write_table(&table, arguments.by.is_some(), &mut output)?;
    output.close()?;
    Ok(ExitCode::from(end.status(arguments.count)))
}

fn run_count(arguments: &TraceArguments) -> anyhow::Result<Option<WaitStatus>> {
    check_count(arguments)?;
    let request = count_request(arguments)?;
    let options = table_options(arguments)?;
    let (mark, name) = (arguments.report_mark.as_deref(), arguments.output.as_deref());
    let mut output = TraceOutput::marked(mark, name, arguments.append)?;
    let end = table::count(&request, &options, &mut output, &mut stderr())?;
    report::keep_status(output.close(), end, &mut stderr())?;
    Ok(end)
}

/// Refuses what is for lines.
fn check_count(arguments: &TraceArguments) -> anyhow::Result<()> {
    ensure!(!arguments.separates(), "-ff and -c exclude each other: one table is for all tasks");
    if let Some(option) = arguments.events.of_lines() {
        ensure!(arguments.strace, "{option} is for lines, and -c shows none: -C shows both");
    }
    Ok(())
}

fn run_events(arguments: &TraceArguments) -> anyhow::Result<Option<WaitStatus>> {
    if arguments.count {
        check_count(arguments)?;
    }
    if let Some(option) = arguments.of_counting() {
        let why = if arguments.count { "excludes -c -P" } else { "is for counting: give -c too" };
        ensure!(arguments.strace, "{option} {why}");
    }
    let target = target(arguments)?;
    let selection = selection(arguments)?;
    let shows = !selection.calls.is_none() || !arguments.events.summary || arguments.strace;
    ensure!(shows, "-C: no calls are selected");
    let options = event_options(arguments, &target, &selection)?;
    let writer = writer(arguments, &options)?;
    Ok(events::trace(&target, &options, writer, &mut stderr())?)
}

/// How events are traced and written.
fn event_options(
    arguments: &TraceArguments,
    target: &TraceTarget,
    selection: &EventSelection,
) -> anyhow::Result<EventOptions> {
    let mut lines = line_options(&arguments.events, selection)?;
    // As with strace: lines of a command in a file come without messages.
    let is_apart = arguments.output.is_some() && matches!(target, TraceTarget::Command(_));
    let times = if is_apart { arguments.quiet.max(1) } else { arguments.quiet };
    let quiet = selection.quiet.unwrap_or(Quiet::times(times));
    let several = matches!(target, TraceTarget::Processes(list) if list.len() > 1);
    lines.pid_prefix = match &arguments.output {
        _ if arguments.separates() => PidPrefix::Never,
        _ if matches!(target, TraceTarget::Everybody) => PidPrefix::Always,
        None => PidPrefix::WhenSeveral,
        Some(_) if arguments.follow > 0 || several => PidPrefix::Always,
        Some(_) => PidPrefix::Never,
    };
    lines.announce = !quiet.attach() && arguments.output.is_none();
    lines.ends = !quiet.exit();
    lines.supersedes = !quiet.thread_execve();
    let slower_than_ns = u64::try_from(arguments.slower_than.as_nanos()).unwrap_or(u64::MAX);
    lines.whole_lines = slower_than_ns > 0;
    let settings = settings(arguments, target)?;
    let shows_table = arguments.events.summary || arguments.count;
    let summary = shows_table.then(|| summary(arguments)).transpose()?;
    let own_words = !arguments.strace && arguments.quiet == 0 && selection.quiet.is_none();
    Ok(EventOptions {
        lines,
        scope: if arguments.follow > 0 { FollowScope::Tree } else { FollowScope::Thread },
        way: arguments.events.way(),
        quiet,
        own_words,
        // Scripts that call strace by its name rely on every line.
        is_lossless: arguments.strace,
        statuses: if arguments.strace { CallStatuses::all() } else { selection.statuses },
        command: settings.command,
        cgroup: settings.cgroup,
        slower_than_ns,
        time: arguments.time,
        summary,
        interference: interference(arguments, selection, target)?,
        interruption: arguments.interruptible.unwrap_or_default(),
    })
}

/// What is done to tasks besides watching them.
fn interference(
    arguments: &TraceArguments,
    selection: &EventSelection,
    target: &TraceTarget,
) -> anyhow::Result<TaskChanges> {
    let is_command = matches!(target, TraceTarget::Command(_));
    Ok(TaskChanges {
        tampering: selection.tampering.clone(),
        detach_at_exec: arguments.detach_on.is_some(),
        beside: if is_command { target::processes(&arguments.processes)? } else { Vec::new() },
        ..TaskChanges::default()
    })
}

/// What the events are written to.
fn writer(
    arguments: &TraceArguments,
    options: &EventOptions,
) -> anyhow::Result<Box<dyn EventWriter>> {
    let lines = options.lines.clone();
    if let Some(name) = arguments.output.as_deref().filter(|_| arguments.separates()) {
        ensure!(!arguments.json, "--json and -ff exclude each other: each object names its task");
        ensure!(!arguments.events.summary, "-C and -ff exclude each other");
        let is_file = !name.starts_with(['|', '!']) && name != "-";
        ensure!(is_file, "-ff: with -o give a file, to which the numbers of tasks are added");
        return Ok(Box::new(TaskFileWriter::new(lines, name, arguments.append)?));
    }
    let (mark, name) = (arguments.report_mark.as_deref(), arguments.output.as_deref());
    let output = TraceOutput::marked(mark, name, arguments.append)?;
    Ok(match (arguments.json, arguments.count) {
        (false, true) => Box::new(TableWriter::new(lines, output)),
        (true, true) => bail!("--json and -c -P exclude each other: leave -c out"),
        (true, false) => Box::new(JsonWriter::new(lines, output)),
        (false, false) => Box::new(LineWriter::new(lines, output)),
    })
}

fn target(arguments: &TraceArguments) -> anyhow::Result<TraceTarget> {
    if !arguments.command.is_empty() {
        return Ok(TraceTarget::Command(command(arguments)?));
    }
    let processes = target::processes(&arguments.processes)?;
    if !processes.is_empty() {
        return Ok(TraceTarget::Processes(processes));
    }
    if arguments.all || arguments.cgroup.is_some() || arguments.comm.is_some() {
        return Ok(TraceTarget::Everybody);
    }
    bail!("nothing to trace: give a command, -p PID, -a, --cgroup DIR or --comm NAME")
}

/// The command, with the environment changed as `-E` says.
fn command(arguments: &TraceArguments) -> anyhow::Result<TracedCommand> {
    ensure!(!arguments.command.is_empty(), "no command given");
    let is_piped = arguments.output.as_deref().is_some_and(|name| name.starts_with(['|', '!']));
    ensure!(arguments.apart <= 3, "-D: given {} times, at most 3", arguments.apart);
    ensure!(!is_piped || arguments.tracer().is_none(), "-D excludes -o |COMMAND: give a file");
    let mut environment = std::env::vars_os().collect();
    target::change_environment(&mut environment, &arguments.environment)?;
    let folders = std::env::var_os("PATH").unwrap_or_default();
    Ok(TracedCommand {
        name: arguments.argv0.as_deref().map(Into::into),
        user: arguments.user.as_deref().map(CommandUser::by_name).transpose()?,
        closed: crate::descriptors::closed(),
        handed_over: [true, arguments.output.as_deref() != Some("-")],
        tracer: arguments.tracer(),
        ..TracedCommand::new(&arguments.command, environment, folders)
    })
}

/// What `-e` and its like select.
fn selection(arguments: &TraceArguments) -> anyhow::Result<EventSelection> {
    let mut selection = EventSelection::default();
    if arguments.events.whole {
        selection.abbreviated = CallSet::none();
    }
    if arguments.events.successful_only {
        selection.statuses = CallStatuses::only(CallStatus::Successful);
    }
    if arguments.failed_only {
        selection.statuses = CallStatuses::only(CallStatus::Failed);
    }
    for (given, text) in arguments.events.expressions() {
        selection.apply(Expression::parse(&text).context(given)?);
    }
    if let Some(words) = &arguments.events.quiet_words {
        let set = Quiet::parse(words).with_context(|| format!("--quiet={words}"))?;
        selection.quiet = Some(set);
    }
    Ok(selection)
}

/// How lines look, except what depends on where they go.
fn line_options(
    arguments: &EventArguments,
    selection: &EventSelection,
) -> anyhow::Result<LineOptions> {
    let limit = arguments.string_limit;
    ensure!(limit <= TEXT_LIMIT_MAX, "-s {limit}: at most {TEXT_LIMIT_MAX}");
    let stamp = match (&arguments.absolute_timestamps, arguments.stamps) {
        (Some(text), _) => {
            Stamp::parse(text).with_context(|| format!("--absolute-timestamps={text}"))?
        }
        (None, 0) => None,
        (None, 1) => Some(Stamp::OfDay(Precision::Seconds)),
        (None, 2) => Some(Stamp::OfDay(Precision::Microseconds)),
        (None, _) => Some(Stamp::Unix(Precision::Microseconds)),
    };
    let precision = |is_wanted: bool, named: &Option<String>, option| match named {
        Some(name) => Precision::parse(name).map(Some).context(option),
        None => Ok(is_wanted.then_some(Precision::Microseconds)),
    };
    Ok(LineOptions {
        calls: selection.calls.clone(),
        raw: selection.raw.clone(),
        abbreviated: selection.abbreviated.clone(),
        verbose: selection.verbose.clone(),
        dumps: selection.dumps.clone(),
        signals: selection.signals,
        statuses: selection.statuses,
        paths: paths(&arguments.paths, selection.quiet)?,
        stamp,
        relative: precision(
            arguments.relative,
            &arguments.relative_timestamps,
            "--relative-timestamps",
        )?,
        took: precision(arguments.took, &arguments.syscall_times, "--syscall-times")?,
        numbers: arguments.numbers,
        pointers: arguments.pointers,
        column: arguments.column,
        style: ValueStyle {
            text_limit: limit,
            whole: arguments.whole,
            plain: false,
            hex_texts: match arguments.strings_in_hex.as_deref() {
                Some("all") => 2,
                Some("non-ascii") => 1,
                Some("non-ascii-chars") => 3,
                Some(_) => 0,
                None => arguments.hex.min(2),
            },
            descriptors: arguments.descriptors.min(2).max(selection.descriptors),
            commands: selection.commands,
            constants: arguments.constants,
            zone_s: crate::zone::local().to_offset(jiff::Timestamp::now()).seconds(),
        },
        wall_offset_ns: trace::wall_offset_ns(),
        ..LineOptions::default()
    })
}

/// The paths of `-P`, and what they resolve to.
fn paths(given: &[String], quiet: Option<Quiet>) -> anyhow::Result<Vec<Vec<u8>>> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut paths = Vec::new();
    for path in given {
        ensure!(!path.is_empty(), "-P: give a path");
        paths.push(path.clone().into_bytes());
        let Ok(resolved) = std::fs::canonicalize(path) else { continue };
        if resolved.as_os_str() != path.as_str() {
            if !quiet.is_some_and(Quiet::path_resolution) {
                crate::stderr::message(format_args!(
                    "Requested path {path:?} resolved into {resolved:?}"
                ));
            }
            paths.push(resolved.as_os_str().as_bytes().to_vec());
        }
    }
    Ok(paths)
}

fn count_request(arguments: &TraceArguments) -> anyhow::Result<CountRequest> {
    let target = target(arguments)?;
    let settings = settings(arguments, &target)?;
    let selection = selection(arguments)?;
    let interference = interference(arguments, &selection, &target)?;
    let EventSelection { calls, statuses, .. } = selection;
    // strace counts calls however they end.
    let statuses = if arguments.strace { CallStatuses::all() } else { statuses };
    if let Some(option) = arguments.events.of_lines_selected() {
        ensure!(
            arguments.strace,
            "-e {option}: for lines, and -c shows none; trace= and status= select"
        );
    }
    ensure!(!calls.is_none() || arguments.strace, "-e trace= leaves nothing to trace");
    let any = statuses.has(CallStatus::Successful) || statuses.has(CallStatus::Failed);
    ensure!(any, "-e status=: calls that end are successful or failed; -c counts those");
    Ok(CountRequest { target, calls, statuses, interference, settings })
}

fn settings(arguments: &TraceArguments, target: &TraceTarget) -> anyhow::Result<CountSettings> {
    let mut settings = CountSettings {
        everybody: matches!(target, TraceTarget::Everybody),
        own_process: std::process::id().cast_signed(),
        follow: arguments.follow > 0,
        whole_processes: arguments.follow > 0,
        from_exec: matches!(target, TraceTarget::Command(_)),
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
fn summary(arguments: &TraceArguments) -> anyhow::Result<CallSummary> {
    let overhead_ns = arguments.overhead_ns.unwrap_or_default();
    let mut summary = CallSummary { wall: arguments.wall, overhead_ns, ..CallSummary::default() };
    if let Some(columns) = &arguments.columns {
        summary.set_columns(columns).map_err(|error| anyhow::anyhow!("-U: {error}"))?;
    }
    if let Some(name) = &arguments.sort {
        summary.sort = SummaryOrder::parse(name).with_context(|| {
            format!("-S {name}: not an order; try time, calls, errors, name or none")
        })?;
    }
    Ok(summary)
}

fn table_options(arguments: &TraceArguments) -> anyhow::Result<TableOptions> {
    let format = match (arguments.json, arguments.csv) {
        _ if arguments.report_mark.is_some() => CountFormat::Counts,
        (true, _) => CountFormat::Json,
        (_, true) => CountFormat::Csv,
        _ => CountFormat::Text,
    };
    Ok(TableOptions {
        format,
        room: TraceOutput::columns(arguments.output.as_deref()),
        interruption: arguments.interruptible.unwrap_or_default(),
        summary: summary(arguments)?,
        brief: arguments.quiet > 0 || arguments.strace,
        histograms: arguments.histogram,
        interval: arguments.interval,
        time: arguments.time,
        way: arguments.events.way(),
        explain: !arguments.strace,
    })
}

/// Ends as the command did: with its status, or by its signal, as strace does.
fn exit_as(end: WaitStatus, is_marked: bool) -> ExitCode {
    match end {
        // ssh has no word for a signal.
        _ if is_marked => ExitCode::from(end.status()),
        WaitStatus::Exited(_) => ExitCode::from(end.status()),
        WaitStatus::Signaled { number, .. } => {
            // SAFETY: plain system calls; the default action of the signal is restored, and whit
            // itself dumps no core.
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
            // A signal that does not end a process.
            ExitCode::from(end.status())
        }
    }
}
