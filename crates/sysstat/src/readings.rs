//! The loop: readings of this host or of recordings, and the report over them.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use feed::{
    Feed as _, LiveFeed, PlaySettings, Playback, RecordedFile, SadcComment, Step, TimeSelection,
};
use jiff::{SignedDuration, Zoned};
use layout::{Frame, Options};
use sample::{Meta, Sample, Snapshot, SourceDef, State};
use source::{Candidate, Choice, Entry, ProcessMethod, ProcessOptions, SourceContext};

use crate::disk_folder::DISKS;
use crate::machine::Clock;
use crate::report::{Facts, Recording, Report, ReportRequest};
use crate::saving::Saving;
use crate::values::{Means, Span};
use crate::words::Pace;
use crate::{ReportTool, SysstatError};

/// What the program that calls a tool lends it.
pub struct ReportSession<'a> {
    /// The folder below which `/proc` and `/sys` are.
    pub root: &'a Path,
    /// The facts about this host.
    pub meta: Meta,
    /// The present, in the zone of this machine.
    pub now: Zoned,
    /// Whether dates are written as ISO 8601.
    pub iso_dates: bool,
    /// The lines of the terminal, after which a heading is repeated; `None` if there is none.
    pub screen_lines: Option<usize>,
    /// How many users are logged in.
    pub users: Option<usize>,
    /// Where reports go.
    pub out: &'a mut dyn Write,
    /// Waits until that long after the previous call, or after the start; false if the user wants to
    /// end.
    pub wait: &'a mut dyn FnMut(Duration) -> bool,
    /// Says what a person should know who sees the report: recordings that are left out.
    pub note: &'a mut dyn FnMut(String),
    /// Starts a program; when it has ended, `wait` gives false.
    pub start: &'a mut dyn FnMut(&[String]) -> Result<u32, String>,
    /// The folder of the recordings that the service of this host makes.
    pub service_folder: &'a dyn Fn() -> Result<PathBuf, String>,
}

/// Runs a tool with the words of its command line.
///
/// # Errors
/// The command line is not understood, a recording cannot be read, or the output cannot be written.
pub fn run(
    tool: &ReportTool,
    words: &[String],
    session: &mut ReportSession<'_>,
) -> Result<(), SysstatError> {
    if words.iter().any(|word| word == "-V" || word == "--version") {
        let version = env!("CARGO_PKG_VERSION");
        return Err(SysstatError::Help(format!("{} of whit {version}\n", tool.name)));
    }
    let mut asked = (tool.make)(words)?;
    let clock = Clock { zone: session.now.time_zone().clone(), is_iso: session.iso_dates };
    let path = match std::mem::take(&mut asked.recording) {
        Recording::Host => return live(asked, &clock, session),
        Recording::File(path) => path,
        Recording::Service => (session.service_folder)().map_err(SysstatError::NotThere)?,
    };
    match asked.whole_file {
        Some(action) => crate::daily_file::run(action, &path, session.out),
        None => recorded(asked, &path, &clock, session),
    }
}

/// Starts a program with its arguments, and calls `ended` when it has ended; its number, or why it was
/// not started.
///
/// # Errors
/// There is no such program, or it cannot be run.
pub fn start_program(
    words: &[String],
    ended: impl FnOnce() + Send + 'static,
) -> Result<u32, String> {
    let (name, arguments) = words.split_first().ok_or("no program is named")?;
    let mut command = Command::new(name);
    spawn::unblock_in(command.args(arguments));
    let started = command.spawn();
    let mut program = started.map_err(|error| format!("cannot start {name}: {error}"))?;
    let process = program.id();
    std::thread::spawn(move || program.wait().map(|_| ended()));
    Ok(process)
}

/// When a reading was taken: since the epoch, and by the monotonic clock.
type ReadAt = (i64, u64);

/// The readings at the ends of the spans that are shown.
struct ShownReadings<'a, 'b> {
    report: &'b mut dyn Report,
    facts: Facts<'a>,
    defs: Vec<Arc<SourceDef>>,
    first: Vec<Sample>,
    first_ns: i64,
    then: Vec<Sample>,
    then_ns: i64,
    means: Means,
    intervals: u64,
    /// The latest times of what a recording has given, by the monotonic clock and since the epoch.
    seen: Option<(u64, i64)>,
    /// When the reading before was taken, shown or not, by the monotonic clock.
    before_ns: u64,
    /// Comments that are not shown yet.
    comments: VecDeque<SadcComment>,
    /// The latest reading of a recording.
    reached: ReadAt,
    text: String,
}

impl<'a, 'b> ShownReadings<'a, 'b> {
    fn new(report: &'b mut dyn Report, facts: Facts<'a>, defs: Vec<Arc<SourceDef>>) -> Self {
        ShownReadings {
            report,
            facts,
            defs,
            first: Vec::new(),
            first_ns: 0,
            then: Vec::new(),
            then_ns: 0,
            means: Means::default(),
            intervals: 0,
            seen: None,
            before_ns: 0,
            comments: VecDeque::new(),
            reached: (i64::MIN, 0),
            text: String::new(),
        }
    }
}

impl ShownReadings<'_, '_> {
    /// Begins with a reading.
    fn base(&mut self, samples: impl Iterator<Item = Sample>, now_ns: i64) {
        self.then = samples.collect();
        self.first.clone_from(&self.then);
        (self.first_ns, self.then_ns) = (now_ns, now_ns);
        self.before_ns = latest(self.then.iter()).0;
        self.means = Means::default();
        self.intervals = 0;
    }

    /// Whether the sample of a recording follows the one before: what was read before it was seen.  Else
    /// a recorder began anew.
    fn follows(&mut self, frame: &Frame<'_>) -> bool {
        let now = latest(frame.tracks.iter().map(|track| &track.current));
        let Some(seen) = self.seen.replace(now) else { return false };
        let fresh = frame.tracks.iter().filter(|track| track.fresh);
        self.defs.len() == frame.tracks.len()
            && now.0 > seen.0
            && fresh.map(|track| &track.previous).all(|before| {
                before.state != State::NotRecorded
                    && before.monotonic_ns <= seen.0
                    && before.realtime_ns <= seen.1
            })
    }

    /// Begins with what was read before the sample of a recording.
    fn begin_anew(&mut self, frame: &Frame<'_>, path: &Path) -> Result<(), SysstatError> {
        let is_first = self.defs.is_empty();
        let begun_ns = frame.tracks.iter().map(|track| track.previous.realtime_ns).max();
        let begun_ns = begun_ns.unwrap_or(frame.realtime_ns);
        if !is_first {
            self.comments_before((self.reached.0, self.reached.1.saturating_add(1)));
            self.averages();
            self.report.restart(&self.facts, begun_ns, &mut self.text);
        }
        self.defs = frame.tracks.iter().map(|track| track.def.clone()).collect();
        let is_there = |name: &&str| self.defs.iter().any(|def| def.name == **name);
        let missing = self.report.sources().into_iter().find(|name| !is_there(name));
        if let Some(source_name) = missing.filter(|_| self.report.needs_all()) {
            return Err(SysstatError::NotRecorded { path: path.to_owned(), source_name });
        }
        let samples = frame.tracks.iter().map(|track| track.previous.clone());
        self.base(samples, begun_ns);
        if is_first {
            self.report.begin(&self.facts, self.then_ns, &mut self.text);
        }
        Ok(())
    }

    /// Shows the comments that were made after an earlier reading than this one.
    fn comments_before(&mut self, reading: ReadAt) {
        while let Some(comment) = self.comments.pop_front_if(|one| one.after < reading) {
            self.report.comment(&self.facts, &self.defs, &comment, &mut self.text);
        }
    }

    /// Whether a reading is shown when one in so many seconds is: if no other one is nearer to a
    /// multiple of the interval since the first.  In whole seconds, as `sar -i` reckons.
    fn is_due(&mut self, now_ns: u64, interval_s: i64) -> bool {
        let seconds = |from_ns: u64| crate::values::whole_seconds(now_ns.saturating_sub(from_ns));
        let first_ns = latest(self.first.iter()).0;
        let (at, gap) = (seconds(first_ns), seconds(self.before_ns));
        self.before_ns = now_ns;
        if interval_s <= 0 {
            return true;
        }
        let (from, until) = (at - gap / 2, at + gap / 2 + gap % 2);
        let before = at.div_euclid(interval_s) * interval_s;
        [before, before + interval_s].iter().any(|multiple| (from..until).contains(multiple))
    }

    /// Shows the time since boot.
    fn since_boot(&mut self) -> Result<(), SysstatError> {
        let span = Span {
            defs: &self.defs,
            then: None,
            now: &self.then,
            means: None,
            began_ns: self.then_ns,
            ended_ns: self.then_ns,
        };
        self.report.interval(&self.facts, &span, &mut self.text)
    }

    /// Shows the interval that ends with these samples.
    fn interval(&mut self, now: Vec<Sample>, now_ns: i64) -> Result<(), SysstatError> {
        self.means.add(&now);
        let span = Span {
            defs: &self.defs,
            then: Some(&self.then),
            now: &now,
            means: None,
            began_ns: self.then_ns,
            ended_ns: now_ns,
        };
        self.report.interval(&self.facts, &span, &mut self.text)?;
        self.then = now;
        self.then_ns = now_ns;
        self.intervals += 1;
        Ok(())
    }

    /// Shows the averages, if there is an interval.
    fn averages(&mut self) {
        if self.intervals == 0 {
            return;
        }
        let span = Span {
            defs: &self.defs,
            then: Some(&self.first),
            now: &self.then,
            means: Some(&self.means),
            began_ns: self.first_ns,
            ended_ns: self.then_ns,
        };
        self.report.averages(&self.facts, &span, &mut self.text);
    }

    fn write(&mut self, out: &mut dyn Write) -> Result<(), SysstatError> {
        out.write_all(self.text.as_bytes())?;
        out.flush()?;
        self.text.clear();
        Ok(())
    }
}

/// Reports of this host.
fn live(
    mut asked: ReportRequest,
    clock: &Clock,
    session: &mut ReportSession<'_>,
) -> Result<(), SysstatError> {
    if let Some(words) = &asked.program {
        let process = (session.start)(words).map_err(SysstatError::NotThere)?;
        asked.report.started(process);
    }
    let mut names = asked.report.sources();
    if asked.saving.is_some() {
        names.extend(Saving::sources());
    }
    let entries: Vec<&'static Entry> =
        known().filter(|entry| names.contains(&entry.name)).collect();
    let context = SourceContext::with_process(process_options(asked.report.as_ref()));
    let mut feed = LiveFeed::open(session.root, &entries, context);
    let defs = feed.defs();
    let mut snapshot = Snapshot::new(&defs);
    let saving = asked.saving.as_ref();
    let mut saver = saving.map(|saving| saving.begin(session.root, &session.meta, &session.now));
    let disk_folder = asked.disk_folder.as_ref();
    let mut read = || -> Result<(Vec<Sample>, i64), SysstatError> {
        feed.next(&mut snapshot)?;
        for (entry, sample) in entries.iter().zip(&mut snapshot.samples) {
            if let Some(folder) = disk_folder.filter(|_| entry.name == DISKS) {
                folder.add_to(entry, sample)?;
            }
        }
        if let Some(saver) = &mut saver {
            let times = (snapshot.monotonic_ns, snapshot.realtime_ns);
            saver.write(&entries, &snapshot.samples, times)?;
        }
        Ok((snapshot.samples.clone(), snapshot.realtime_ns))
    };
    let (samples, now_ns) = read()?;
    let ReportSession { screen_lines, users, .. } = *session;
    let facts = Facts {
        meta: &session.meta,
        root: Some(session.root),
        devices: Some(session.root),
        clock,
        here: clock,
        screen_lines,
        users,
    };
    let report = asked.report.as_mut();
    let mut shown = ShownReadings::new(report, facts, defs);
    shown.base(samples.into_iter(), now_ns);
    shown.report.begin(&shown.facts, now_ns, &mut shown.text);
    let Pace { interval, count, .. } = asked.pace;
    let mut left = count.unwrap_or(if interval.is_some() { u64::MAX } else { 1 });
    if asked.since_boot {
        shown.since_boot()?;
        left = left.saturating_sub(1);
    }
    shown.write(session.out)?;
    let interval = interval.unwrap_or(Duration::from_secs(1));
    while left > 0 {
        if !(session.wait)(interval) {
            break;
        }
        let (samples, now_ns) = read()?;
        shown.interval(samples, now_ns)?;
        shown.write(session.out)?;
        left -= 1;
    }
    shown.averages();
    shown.report.end(&mut shown.text);
    shown.write(session.out)
}

/// The process that a kernel may hide from programs of BPF: the first one, in guests whose host guards it.
const INIT: i32 = 1;

/// How processes are read: by the best way, but by its files one that other ways may not show.
fn process_options(report: &dyn Report) -> ProcessOptions {
    let threads = report.threads();
    let named = report.named_processes();
    if !named.contains(&INIT) {
        return ProcessOptions { threads, ..ProcessOptions::default() };
    }
    ProcessOptions {
        choose: Some(Box::new(move |candidate: &Candidate<'_>| {
            match (named.contains(&candidate.pid), threads) {
                (true, true) => Choice::KeepWithThreads,
                (true, false) => Choice::Keep,
                (false, _) => Choice::Leave,
            }
        })),
        threads,
        status: true,
        schedstat: true,
        first_thread_switches: true,
        method: Some(ProcessMethod::Proc),
        ..ProcessOptions::default()
    }
}

/// Reports of recordings.
fn recorded(
    mut asked: ReportRequest,
    path: &Path,
    clock: &Clock,
    session: &mut ReportSession<'_>,
) -> Result<(), SysstatError> {
    let now = session.now.clone();
    let (files, left_out) = feed::find(&[path.to_owned()], None, &now)?;
    left_out.into_iter().for_each(&mut *session.note);
    let newest = files.iter().max_by_key(|file| file.started_ns);
    let newest = newest.ok_or_else(|| SysstatError::NoReadings(path.to_owned()))?;
    let (here, clock) = (clock, Clock { zone: newest.zone.clone(), is_iso: clock.is_iso });
    let of_host = |file: &&RecordedFile| file.meta.host() == newest.meta.host();
    let files: Vec<&RecordedFile> = files.iter().filter(of_host).collect();
    // What the recorder notes of itself is in every recording: by it is seen that samples follow.
    let mut sources = asked.report.sources();
    sources.push(source::OWN_SOURCE);
    if let Some(days) = asked.days_ago {
        let day = now.date().saturating_sub(SignedDuration::from_hours(24 * i64::from(days)));
        let of_day = |time: Option<String>| match time {
            Some(time) => format!("{day}T{time}"),
            None => day.to_string(),
        };
        (asked.from, asked.thru) = (Some(of_day(asked.from)), Some(of_day(asked.thru)));
    }
    let selection = TimeSelection::parse(asked.from.as_deref(), asked.thru.as_deref(), &now)?;
    let selection = selection.beginning_with_base();
    let comments = if asked.has_comments { comments(&files, &selection)? } else { Vec::new() };
    let settings =
        PlaySettings { selection, entries: known().collect(), sources, ..PlaySettings::default() };
    let options = Options::default();
    let mut playback = Playback::default();
    playback.begin(&files, settings);
    let ReportSession { screen_lines, .. } = *session;
    let meta = &newest.meta;
    let is_here = !meta.host().is_empty() && meta.host() == session.meta.host();
    let devices = Some(session.root).filter(|_| is_here);
    let facts = Facts { meta, root: None, devices, clock: &clock, here, screen_lines, users: None };
    let mut shown = ShownReadings::new(asked.report.as_mut(), facts, Vec::new());
    shown.comments = comments.into();
    let interval_s = asked.pace.interval.map_or(0, |length| length.as_secs() as i64);
    let count = asked.pace.count.unwrap_or(u64::MAX);
    let mut left = count;
    loop {
        match playback.step()? {
            Step::End => break,
            Step::Recording { .. } => continue,
            Step::Frame => {}
        }
        let Some(frame) = playback.frame(&options) else { continue };
        // A sample of other sources alone, as the last one of a recorder, has nothing to show.
        if frame.tracks.iter().all(|track| !track.fresh) {
            continue;
        }
        if !shown.follows(&frame) {
            shown.begin_anew(&frame, path)?;
            if shown.report.counts_anew() {
                left = count;
            }
        }
        let now = latest(frame.tracks.iter().map(|track| &track.current));
        shown.reached = (now.1, now.0);
        shown.comments_before(shown.reached);
        if left == 0 {
            match shown.report.counts_anew() {
                true => continue,
                false => break,
            }
        }
        if !shown.is_due(now.0, interval_s) {
            continue;
        }
        let samples = frame.tracks.iter().map(|track| track.current.clone()).collect();
        shown.interval(samples, frame.realtime_ns)?;
        shown.write(session.out)?;
        left -= 1;
    }
    if shown.seen.is_none() {
        match nothing_seen(&*shown.report, &files, path) {
            SysstatError::NoReadings(_) if shown.report.is_whole_when_empty() => {
                shown.report.begin(&shown.facts, newest.started_ns, &mut shown.text);
            }
            error => return Err(error),
        }
    }
    shown.comments_before((i64::MAX, u64::MAX));
    shown.averages();
    shown.report.end(&mut shown.text);
    shown.write(session.out)
}

/// The comments within recordings, in the order of their times.
fn comments(
    files: &[&RecordedFile],
    selection: &TimeSelection,
) -> Result<Vec<SadcComment>, SysstatError> {
    let mut comments = Vec::new();
    for file in files {
        comments.extend(file.comments(selection)?);
    }
    comments.sort_by_key(|comment| comment.after);
    Ok(comments)
}

/// The sources of recorders, and those that only `sar` shows.
fn known() -> impl Iterator<Item = &'static Entry> {
    source::ALL.iter().copied().chain(crate::sources::OWN.iter().copied())
}

/// Why recordings have no interval to show: nothing of the report is in them, or not twice.
fn nothing_seen(report: &dyn Report, files: &[&RecordedFile], path: &Path) -> SysstatError {
    let is_recorded = |name: &&str| {
        let entry = known().find(|entry| entry.name == *name);
        entry.is_some_and(|entry| files.iter().any(|file| feed::holds(file, entry)))
    };
    let missing = report.sources().into_iter().find(|name| !is_recorded(name));
    match missing.filter(|_| report.needs_all()) {
        Some(source_name) => SysstatError::NotRecorded { path: path.to_owned(), source_name },
        None => SysstatError::NoReadings(path.to_owned()),
    }
}

/// The latest time of samples, by the monotonic clock and since the epoch.
fn latest<'a>(samples: impl Iterator<Item = &'a Sample>) -> (u64, i64) {
    samples.map(|sample| (sample.monotonic_ns, sample.realtime_ns)).max().unwrap_or_default()
}
