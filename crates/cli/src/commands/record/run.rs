//! Opens the recorder and its outputs by the options, and runs it.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use feed::collectl_configuration::CollectlConfiguration;
use http_server::HttpSettings;
use jiff::tz::TimeZone;
use layout::{Options, Selection};
use many_hosts::{HostOutputs, HostsRecorded, HostsStop};
use procfs::usage::{Whose, usage};
use procfs::{Host, SystemClock};
use recorder::{
    FileNames, FileSettings, FirstSampleCheck, Intervals, Keep, LiveText, Outputs, PlotOutput,
    PlotStyle, PlotWriter, Recorder, RecorderSettings, RecordingOptions, Roll, RunFacts, Severity,
    StreamOutput, ViewInput, ensure_directory, gather_facts, local, parse_intervals,
};
use sample::{Cadence, Clock, Meta, Moment, SourceDef, State, Table};
use serve::MetricsServer;
use sink::{DescriptorSink, LiveAddress, Sink};
use source::{
    CounterMethod, Entry, InstanceNames, ProcessOptions, RecordFilter, RecorderCounters,
    SharedState, SourceContext,
};
use view::PlotFiles;
use view::export::Setting;
use watch::PidFile;

use super::RecordArguments;
use super::arguments::{CpuWay, ProcessWay};
use super::messages::Messages;
use super::signals::Signals;
use super::start;
use crate::daemon::{self, Parent, User};
use crate::display::{self, LIVE_SUBSYSTEMS, RECORDED_SUBSYSTEMS};
use crate::http::{HttpPlace, HttpSockets};
use crate::{end_signals, stderr};

/// Runs the verb.
pub(crate) fn run(arguments: RecordArguments) -> anyhow::Result<ExitCode> {
    let mut arguments = with_config(arguments)?;
    if arguments.display.lists.showtopopts {
        stderr::print(&crate::display::lists::sort_types())?;
        return Ok(ExitCode::SUCCESS);
    }
    arguments.check()?;
    if arguments.display.showcolheaders {
        // Two readings of everything, as fast as possible.
        (arguments.interval, arguments.count) = (Some("0:1:1".to_owned()), Some(1));
    }
    if let Some(names) = &arguments.hosts {
        return record_hosts(&arguments, names);
    }
    heap::return_program();
    if !arguments.daemon {
        return record(&arguments, None);
    }
    let parent = daemon::leave()?;
    // From here on the waiting parent reports errors.
    let mut parent = Some(parent);
    match record(&arguments, Some(&mut parent)) {
        Err(error) if parent.is_some() => {
            if let Some(parent) = parent {
                parent.failed(&error);
            }
            Ok(ExitCode::from(2))
        }
        done => done,
    }
}

/// Everything after the decision whether to go to the background.
fn record(
    arguments: &RecordArguments,
    parent: Option<&mut Option<Parent>>,
) -> anyhow::Result<ExitCode> {
    let mut clock = SystemClock;
    let settings = RecordSettings::new(arguments, clock.now())?;
    if arguments.showheader {
        feed::write_facts(&settings.meta, &mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(mask) = &arguments.umask {
        daemon::set_umask(mask)?;
    }
    if let Some(name) = &arguments.pname {
        daemon::set_name(name)?;
    }
    let _pid_file = if arguments.daemon { Some(settings.enter_daemon(arguments)?) } else { None };
    if arguments.nice {
        daemon::be_nice()?;
    }
    // Loading BPF programs takes most memory: the peak of the whole run.
    heap::return_program();
    let (recorded, interval_ns) = (settings.selection.clone(), settings.intervals.first_ns);
    let (mut recorder, mut outputs, server) = settings.open(arguments, &mut clock)?;
    let mut signals = Signals::install(arguments.filename.is_some());
    let begin = clock.now();
    let line = start::line(arguments, &recorded, interval_ns, &outputs).unwrap_or_default();
    if !line.is_empty() && arguments.messages {
        outputs.log(begin, Severity::Information, &line);
    }
    let is_quiet = arguments.quiet || arguments.messages;
    match parent.and_then(Option::take) {
        Some(parent) if is_quiet => parent.ready(),
        Some(parent) => parent.ready_saying(&line),
        None if !is_quiet && !line.is_empty() => stderr::message(&line),
        None => {}
    }
    heap::return_program();
    let recorded = recorder.run(&mut clock, &mut signals, &mut outputs);
    outputs.log(clock.now(), Severity::Information, "Terminating...");
    let cost = cost_line(&recorder.counters, begin, clock.now());
    outputs.log(clock.now(), Severity::Information, &cost);
    if !is_quiet && !line.is_empty() && !arguments.daemon {
        stderr::message(&cost);
    }
    let too_early = outputs.too_early();
    let closed = outputs.close(clock.now());
    if let Some(NewestServer { server, place }) = server {
        place.end(server.http());
    }
    recorded.and(closed)?;
    Ok(match too_early {
        Some((early, is_nothing)) => {
            stderr::message(early.sentence("there was", is_nothing));
            ExitCode::from(u8::from(is_nothing))
        }
        None => ExitCode::SUCCESS,
    })
}

/// Records other hosts, until all recorders there have ended, or until INT or TERM.
fn record_hosts(arguments: &RecordArguments, names: &str) -> anyhow::Result<ExitCode> {
    end_signals::block()?;
    let words = crate::compat::command_line(crate::words::given()).split_off(2);
    let hosts = HostsRecorded::new((names, arguments.ssh.as_deref()), &words)?;
    let mut settings = RecordSettings::new(arguments, SystemClock.now())?;
    let stop = HostsStop::after(|| end_signals::wait().is_ok());
    let mut outputs = HostOutputs {
        open: &mut |meta, prefix, defs, now| {
            (settings.meta, settings.prefix) = (meta, Some(prefix));
            settings.outputs(arguments, defs, &Arc::default(), now)
        },
        have_files: arguments.filename.is_some(),
        tell: &mut stderr::message,
        clock: &mut SystemClock,
    };
    Ok(if outputs.record(&hosts, &stop)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the recorder used from its start on, in a line; `begin` is the time of the first tick.
fn cost_line(counters: &RecorderCounters, begin: Moment, now: Moment) -> String {
    let own = usage(Whose::Own);
    let own_s = (own.user_us + own.system_us) as f64 / 1e6;
    let bpf_s = counters.bpf_ns.get() as f64 / 1e9;
    let passed_s = now.monotonic_ns.saturating_sub(begin.monotonic_ns) as f64 / 1e9;
    let all_s = own_s + bpf_s;
    let (samples, bytes) = (counters.samples.get(), counters.written_bytes.get());
    let line = format!(
        "{samples} samples, {bytes} bytes written; used {all_s:.3} s of CPU time, start included, in \
         {passed_s:.1} s"
    );
    if counters.bpf_sources.get() == 0 {
        return format!("{line}; no BPF programs ran in other processes");
    }
    format!("{line}: {own_s:.3} s itself, {bpf_s:.3} s its BPF programs in other processes")
}

/// What the command line asks for, checked.
struct RecordSettings {
    selection: Selection,
    /// How it is shown.
    options: Options,
    entries: Vec<&'static Entry>,
    intervals: Intervals,
    duration_ns: Option<u64>,
    zone: TimeZone,
    meta: Meta,
    user: Option<User>,
    address: Option<LiveAddress>,
    /// What stands in front of the lines of text.
    prefix: Option<String>,
    /// Where the newest sample is served.
    http: Option<HttpSockets>,
}

impl RecordSettings {
    fn new(arguments: &RecordArguments, now: Moment) -> anyhow::Result<Self> {
        let default = match &arguments.core {
            Some(core) => core.as_str().into(),
            None if arguments.daemon => RECORDED_SUBSYSTEMS.into(),
            None => LIVE_SUBSYSTEMS.into(),
        };
        let mut selection = arguments.display.selection(&default)?;
        for note in arguments.display.idle_switches(&selection) {
            stderr::message(note);
        }
        let verbose = arguments.display.forces_verbose(&selection);
        let recording = arguments.makes_recording();
        let asked = |entry: &&Entry| {
            entry.asked_by(&selection) || recording && entry.name == source::OWN_SOURCE
        };
        let mut entries: Vec<&'static Entry> = source::ALL.iter().copied().filter(asked).collect();
        anyhow::ensure!(!entries.is_empty(), "-s: nothing to record");
        if !recording && !arguments.display.shows_states() && arguments.hosts.is_none() {
            leave_out_missing(&arguments.root, &mut entries, &mut selection)?;
        }
        let follows = |cadence| entries.iter().any(|entry| entry.cadence == cadence);
        for name in &arguments.third_interval {
            let is_known = source::ALL.iter().any(|entry| entry.name == name);
            anyhow::ensure!(
                is_known,
                "--third-interval {name}: no such source; docs/reference/sources.md names all"
            );
        }
        let is_third = follows(Cadence::Third) || !arguments.third_interval.is_empty();
        let needs = (follows(Cadence::Second), is_third);
        let default_first = if arguments.daemon { "10" } else { "1" };
        let given = arguments.interval.as_deref().unwrap_or("");
        // Processes alone are read at the second interval, though their exits are at every tick:
        // a source of the same letters that is read less often sets the pace.
        let paced_by = |other: &Entry, entry: &Entry| {
            other.cadence != Cadence::First && other.letters == entry.letters
        };
        let paced = |entry: &Entry| entries.iter().any(|other| paced_by(other, entry));
        let first = |entry: &&Entry| entry.cadence == Cadence::First && !paced(entry);
        let listed = arguments.display.lists_instances();
        let is_slow_alone =
            !entries.iter().any(|entry| first(entry) && entry.name != source::OWN_SOURCE);
        // One interval for nothing but slow sources is meant for them, unless a daemon is asked for by
        // habit: `-D -i10 -sZ` of collectl reads processes once a minute.  With 0 the others are
        // ratios, also for collectl: `-i0 -c8640 -sy` stands for a day, in which slabs are read 1,440
        // times.
        let is_zero = given.split(':').next().is_some_and(|first| first.trim().parse() == Ok(0.0));
        let is_for_them = arguments.interval.is_some() && !arguments.daemon && !is_zero;
        let follow = match arguments.filename {
            None => listed || is_slow_alone,
            Some(_) => is_for_them && is_slow_alone,
        };
        let intervals = parse_intervals(given, default_first, needs, follow)
            .with_context(|| format!("-i {given}"))?;
        anyhow::ensure!(
            arguments.budget.is_none() || intervals.first_ns > 0,
            "--budget needs an interval: -i0 uses all there is"
        );
        let mut options = arguments.display.options(selection.clone())?;
        // As many lines as with the hardware that is missing.
        options.verbose = verbose;
        arguments.sources.add_to(&mut options.of_sources)?;
        let runtime = arguments.runtime.as_deref().map(text::quantity::parse_span_ns);
        let zone = crate::zone::local();
        let meta = gather_facts(
            &arguments.root,
            &RunFacts {
                subsystems: &selection.to_string(),
                intervals,
                command_line: &crate::words::line_after(0),
                comment: arguments.comment.as_deref(),
                zone: &zone,
                now,
            },
        );
        let names = |path| std::fs::read_to_string(path).unwrap_or_default();
        let user = arguments.runas.as_deref();
        let user = user.map(|user| User::parse(user, &names("/etc/passwd"), &names("/etc/group")));
        let address = arguments
            .address
            .as_deref()
            .map(|text| LiveAddress::parse(text).with_context(|| format!("-A {text}")));
        // As the user who starts it: another one may not read the files or take the port.
        let http = arguments.listen.as_deref().map(|listen| arguments.http.open(listen));
        Ok(RecordSettings {
            selection,
            options,
            entries,
            intervals,
            duration_ns: runtime.transpose().context("-R")?,
            zone,
            meta,
            user: user.transpose()?,
            address: address.transpose()?,
            prefix: None,
            http: http.transpose()?,
        })
    }

    /// The pid file, and the other user.
    fn enter_daemon(&self, arguments: &RecordArguments) -> anyhow::Result<PidFile> {
        let directory = arguments.filename.as_deref().map(directory_of);
        let name = match &arguments.pname {
            Some(name) => format!("whit-{name}"),
            None => "whit".to_owned(),
        };
        // Another user may not write to /run.
        let own = directory.map(|directory| directory.join(format!("{name}.pid")));
        let run = self.user.is_none().then(|| format!("/run/{name}.pid").into());
        let pid_file = PidFile::at_first(&run.into_iter().chain(own).collect::<Vec<_>>())?;
        if let Some(user) = &self.user {
            if let Some(directory) = directory {
                user.check_owns(directory)?;
            }
            pid_file.give_to(user.uid, user.gid);
            user.become_it()?;
        }
        Ok(pid_file)
    }

    /// Opens sources and outputs.
    fn open(
        mut self,
        arguments: &RecordArguments,
        clock: &mut SystemClock,
    ) -> anyhow::Result<(Recorder, Outputs, Option<NewestServer>)> {
        let counters = Arc::new(RecorderCounters::default());
        let filter = RecordFilter {
            given: self.options.of_sources.clone(),
            process: ProcessOptions {
                method: arguments.process_way.map(Into::into),
                ..ProcessOptions::of(&self.options, arguments.display.plot)
            },
            counters: counter_method(arguments),
            // A recording and a page keep all details, for every way to read them, unless a way that
            // has none is demanded.
            selection: (arguments.filename.is_none() && arguments.listen.is_none()
                || arguments.cpu_way.is_some())
            .then(|| self.selection.clone()),
            third_interval: arguments.third_interval.clone(),
            ..RecordFilter::default()
        };
        let shared = SharedState { recorder: Some(counters.clone()), ..SharedState::default() };
        let context = Arc::new(SourceContext { filter, shared, ..SourceContext::default() });
        if !arguments.no_check && self.meta.cpus() >= doctor::CHECK_CPUS_MIN {
            let intervals = &self.intervals;
            let intervals_ns = [intervals.first_ns, intervals.second_ns(), intervals.third_ns()];
            for slow in doctor::check(&arguments.root, &self.entries, &context, intervals_ns) {
                stderr::message(slow);
            }
        }
        let mut host = Host::new(&arguments.root);
        if arguments.raw {
            host.keep_texts();
        }
        let now = clock.now();
        let recorder =
            Recorder::open(host, &self.entries, &context, &self.recorder_settings(arguments), now);
        refuse_other_way(arguments.process_way, &recorder, &context)?;
        refuse_other_counters(arguments.cpu_way, &context)?;
        let defs = recorder.sampler.defs();
        let mut outputs = self.outputs(arguments, &defs, &counters, now)?;
        let named = arguments.display.subsystems.as_deref().map(display::named).unwrap_or_default();
        outputs.context = Some(context.clone());
        outputs.first_sample = Some(FirstSampleCheck { defs: defs.clone(), named, context });
        let stream = arguments.stream.then(|| StreamOutput::open(io::stdout(), &self.meta, &defs));
        outputs.stream = stream.transpose()?;
        outputs.stream.as_ref().map_or(Ok(()), |stream| stream.when_unread(Signals::stop_own))?;
        let server = self.http.take().map(|sockets| {
            serve_newest(sockets, self.meta.clone(), &defs, &mut outputs, arguments.quiet)
        });
        outputs.purge(now);
        Ok((recorder, outputs, server.transpose()?))
    }

    /// Views and files, of this machine or of another one whose facts are set.
    fn outputs(
        &self,
        arguments: &RecordArguments,
        defs: &[Arc<SourceDef>],
        counters: &Arc<RecorderCounters>,
        now: Moment,
    ) -> anyhow::Result<Outputs> {
        let mut options = self.options.clone();
        options.zone = calendar::CivilZone::new(self.zone.clone());
        arguments.display.settle_list(&mut options, false, arguments.address.is_some())?;
        let mut outputs = Outputs::new(Box::new(self.messages(arguments)), self.zone.clone());
        if arguments.makes_text() || arguments.makes_plot_files() {
            let names = InstanceNames::of(&options.of_sources, false);
            let mut input = ViewInput::new(self.meta.clone(), options, defs.to_vec());
            input.names = names;
            self.open_views(arguments, &mut outputs, input, counters, now)?;
        }
        self.open_files(arguments, &mut outputs, defs.to_vec(), counters, now)?;
        Ok(outputs)
    }
}

impl RecordSettings {
    fn recorder_settings(&self, arguments: &RecordArguments) -> RecorderSettings<'static> {
        let is_asked_for = |entry: &&'static Entry| {
            entry.name == source::OWN_SOURCE && entry.asked_by(&self.selection)
        };
        RecorderSettings {
            intervals: self.intervals,
            align: arguments.align || arguments.daemon,
            budget_percent: arguments.budget,
            seldom: (!self.entries.iter().any(is_asked_for)).then_some(source::OWN_SOURCE),
            at_ends: false,
            // As in collectl: the first sample only starts rates, so N intervals need N + 1
            // samples.
            samples: arguments.count.map(|count| count.saturating_add(1)),
            duration_ns: self.duration_ns,
        }
    }

    fn messages(&self, arguments: &RecordArguments) -> Messages {
        Messages {
            logged: arguments.messages,
            quiet: arguments.quiet,
            daemon: arguments.daemon,
            names: self.file_names(arguments),
            zone: self.zone.clone(),
        }
    }

    fn file_names(&self, arguments: &RecordArguments) -> Option<FileNames> {
        let path = arguments.filename.as_deref().filter(|_| !arguments.stream)?;
        Some(FileNames::new(path, self.meta.host()))
    }

    /// Plot files, and text for the screen or a socket.
    fn open_views(
        &self,
        arguments: &RecordArguments,
        outputs: &mut Outputs,
        input: ViewInput,
        counters: &Arc<RecorderCounters>,
        now: Moment,
    ) -> anyhow::Result<()> {
        if let Some(names) = self.file_names(arguments).filter(|_| arguments.makes_plot_files()) {
            ensure_directory(&names)?;
            let style = PlotStyle::of(&input.options.letters);
            let lines = PlotFiles::new(self.zone.clone());
            let output = PlotOutput::new(names, style, local(now, &self.zone));
            let command_line = self.meta.get("command_line").unwrap_or_default().to_owned();
            let flush_ns = arguments.flush.unwrap_or(PLOT_FLUSH_SECONDS) * 1_000_000_000;
            let counters = counters.clone();
            outputs.plots =
                Some(PlotWriter::new(lines, output, command_line, counters, flush_ns, &input));
        }
        if arguments.makes_text() {
            outputs.live = Some(self.open_live(arguments, &input, counters)?);
        }
        outputs.view_input = Some(input);
        Ok(())
    }

    /// The host name with its domain, which only exports need and only a resolver knows.
    fn full_host_name(&self, arguments: &RecordArguments) -> Option<String> {
        arguments.display.formats.export()?;
        let host = self.meta.host();
        crate::export::full_host_name(host).or_else(|| Some(host.to_owned()))
    }

    fn open_live(
        &self,
        arguments: &RecordArguments,
        input: &ViewInput,
        counters: &Arc<RecorderCounters>,
    ) -> anyhow::Result<LiveText> {
        let setting = Setting {
            playing: false,
            aligned: arguments.align || arguments.daemon,
            file: arguments.filename.clone(),
            sending: arguments.address.is_some(),
            writing: arguments.display.plot || arguments.rawtoo,
            full_host_name: self.full_host_name(arguments),
            daemon: crate::export::caching_daemon(),
        };
        let setup = view::Setup {
            command_line: crate::words::line_after(1),
            ..view::Setup::of(self.zone.clone())
        };
        let view = arguments.display.open_view(&input.options, &setup, &setting)?;
        let Some(view) = view else { std::process::exit(0) };
        let shown = view::ShownSources::new(arguments.display.shows_values());
        let sink: Box<dyn Sink> = match &self.address {
            Some(address) => address.open()?,
            None => Box::new(DescriptorSink::new(rustix::stdio::stdout())),
        };
        let sink = many_hosts::prefixed(self.prefix.as_deref(), sink);
        if self.address.is_none() && !arguments.quiet && self.intervals.first_ns > 0 {
            announce(self.intervals);
        }
        Ok(LiveText::open(view, shown, sink, counters.clone(), input)?)
    }

    /// The recording, and the retention of all files.
    fn open_files(
        &self,
        arguments: &RecordArguments,
        outputs: &mut Outputs,
        defs: Vec<Arc<SourceDef>>,
        counters: &Arc<RecorderCounters>,
        now: Moment,
    ) -> anyhow::Result<()> {
        let Some(names) = self.file_names(arguments) else { return Ok(()) };
        let roll = arguments
            .roll
            .as_deref()
            .map(|text| Roll::parse(text).with_context(|| format!("-r {text}")));
        let roll = roll.transpose()?;
        let keep = arguments.keep.as_deref().map(Keep::parse).transpose().context("--keep")?;
        let recording = arguments.makes_recording().then(|| RecordingOptions {
            keeps_text: arguments.raw,
            sync_ns: arguments
                .sync
                .or(arguments.flush)
                .map(|seconds| seconds.saturating_mul(1_000_000_000)),
            beside_others: false,
        });
        let settings = FileSettings { names, recording, roll, keep };
        Ok(outputs.open_files(settings, &self.meta, defs, counters, now)?)
    }
}

/// A server of the newest sample.
struct NewestServer {
    server: MetricsServer,
    place: HttpPlace,
}

/// Serves the newest sample.  The server has a thread of its own; signals of the process still reach the
/// recorder, since the kernel gives them to the first thread that takes them, and that is the main one.
fn serve_newest(
    sockets: HttpSockets,
    meta: Meta,
    defs: &[Arc<SourceDef>],
    outputs: &mut Outputs,
    is_quiet: bool,
) -> anyhow::Result<NewestServer> {
    let HttpSockets { listeners, access, place } = sockets;
    let (mut publisher, pages) = serve::live_samples(meta, defs);
    outputs.observer = Some(Box::new(move |snapshot| publisher.publish(snapshot)));
    let settings = HttpSettings { access, ..HttpSettings::default() };
    let server = MetricsServer::start(listeners, settings, Arc::new(pages))?;
    if !is_quiet {
        stderr::message(format!("serves {} (/metrics)", place.addresses(server.http())));
    }
    Ok(NewestServer { server, place })
}

/// Leaves out adapters and sensors that this machine does not have, with a message, because views
/// would show only headings.  A recording keeps them: they may be added later.
///
/// # Errors
/// When nothing is left.
fn leave_out_missing(
    root: &Path,
    entries: &mut Vec<&'static Entry>,
    selection: &mut Selection,
) -> anyhow::Result<()> {
    if !entries.iter().any(|entry| entry.hardware.is_some()) {
        return Ok(());
    }
    let (mut host, context) = (Host::new(root), Arc::new(SourceContext::default()));
    host.begin_tick();
    let mut missing = Vec::new();
    entries.retain(|entry| {
        let Some(what) = entry.hardware else { return true };
        let mut table = Table::new(entry.fields.len());
        let state = (entry.open)(&mut host, &context).read(&mut host, &mut table);
        if state == State::Absent {
            let before = selection.clone();
            selection.remove_source(&entry.def());
            let mut here = before;
            here.remove(selection);
            let here = here.to_string();
            let here = here.trim_start_matches(',');
            missing.push(format!("-s {here}: this machine has no {what}"));
        }
        state != State::Absent
    });
    let message = missing.join("; ");
    anyhow::ensure!(!entries.is_empty(), "no subsystems selected: {message}; see whit doctor");
    if !missing.is_empty() {
        stderr::message(format_args!("{message}; see whit doctor"));
    }
    Ok(())
}

/// Refuses to record processes in another way than the one that `--process-way` demands.
fn refuse_other_way(
    way: Option<ProcessWay>,
    recorder: &Recorder,
    context: &SourceContext,
) -> anyhow::Result<()> {
    let reads = recorder.sampler.defs().iter().any(|def| def.name == "process");
    let processes = &context.shared.processes;
    if way != Some(ProcessWay::Iterator) || !reads || processes.method() == Some("iterator") {
        return Ok(());
    }
    let reason = processes.method_reason();
    let reason = if reason.is_empty() { "it works on this machine only" } else { &reason };
    anyhow::bail!("--process-way iterator: {reason}; see whit doctor")
}

/// The samples from which the cost of loading the program for the counters of CPUs comes back.
const SAMPLES_BY_BPF_MIN: u64 = 10_000;

/// How to read the counters of CPUs.
fn counter_method(arguments: &RecordArguments) -> CounterMethod {
    let is_short = arguments.count.is_some_and(|count| count < SAMPLES_BY_BPF_MIN);
    let default = if is_short { CounterMethod::Proc } else { CounterMethod::Best };
    arguments.cpu_way.map_or(default, Into::into)
}

/// Refuses to read counters in another way than the one that `--cpu-way` demands.
fn refuse_other_counters(way: Option<CpuWay>, context: &SourceContext) -> anyhow::Result<()> {
    match context.shared.counters.reasons().first() {
        Some((source, reason)) if way == Some(CpuWay::Bpf) => {
            anyhow::bail!("--cpu-way bpf: {source}: {reason}; see whit doctor")
        }
        _ => Ok(()),
    }
}

/// How long plot lines wait in the compressor unless `-F` says otherwise.
const PLOT_FLUSH_SECONDS: u64 = 60;

/// Says on a terminal that the first line takes two samples.
fn announce(intervals: Intervals) {
    if daemon::is_terminal(rustix::stdio::stdout()) {
        stderr::line(format_args!(
            "waiting for {} second sample...",
            intervals.first_ns as f64 / 1e9
        ));
    }
}

/// The directory that `-f path` writes to.
fn directory_of(path: &Path) -> &Path {
    if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return path;
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Puts what a configuration of collectl says before the switches given.
fn with_config(arguments: RecordArguments) -> anyhow::Result<RecordArguments> {
    use clap::{Args, FromArgMatches};
    let Some(path) = &arguments.config else { return Ok(arguments) };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration {}", path.display()))?;
    let configured = CollectlConfiguration::parse(&text);
    let configured = configured.with_context(|| format!("-C {}", path.display()))?;
    // The first two words are the program and the verb, however it was called.
    let given = crate::compat::command_line(crate::words::given());
    let (program, rest) = given.split_at(given.len().min(2));
    let all = program[..1].iter().cloned();
    let all = all.chain(configured.switches.iter().map(Into::into)).chain(rest.iter().cloned());
    let command = RecordArguments::augment_args(clap::Command::new("whit record"));
    let matches = command.try_get_matches_from(all).map_err(|error| {
        let text = crate::usage::explain(&error, &["whit".to_owned(), "record".to_owned()]);
        anyhow::anyhow!("-C {}: {}", path.display(), text.unwrap_or_else(|| error.to_string()))
    })?;
    let mut arguments = RecordArguments::from_arg_matches(&matches)?;
    arguments.interval = configured.interval(arguments.interval.as_deref());
    arguments.address = arguments.address.map(|address| configured.address(&address));
    arguments.core = configured.core;
    Ok(arguments)
}
