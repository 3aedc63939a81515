//! The loop: recordings one after the other, each sample into the history, each frame to a view.

use std::io::Write;

use anyhow::ensure;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sample::{History, Meta, Options, Snapshot, SourceDef, State};
use view::{Setup, View};

use super::feed::{CollectlFeed, End, Feed, Origin, WhitFeed};
use super::files::Recording;
use super::period::{Period, Span};
use crate::commands::play::PlayArguments;
use crate::display;

/// What a play came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Frames shown.
    pub(crate) frames: u64,
    /// Sentences for stderr.
    pub(crate) notes: Vec<String>,
    /// Whether any of them is an error.
    pub(crate) failed: bool,
}

/// Recordings that are one whole: those of a host and day.
pub(crate) struct Group<'a> {
    /// In time order.
    pub(crate) recordings: Vec<&'a Recording>,
    /// The letters to show.
    pub(crate) selection: String,
}

/// The key of what a recording of ours holds beside the letters that are shown without `-s`.
pub(crate) const RECORDED_BESIDE: &str = "subsystems_beside";

/// The letters that collectl's own `--all` and `--ALL` stand for.
const COLLECTL_LETTERS: &str = "bcdfijmnstxBCDEFJMNTXYZ";

/// Forms the groups, and finds what each shows: the union of what `-s` makes of each recording's
/// own letters.
pub(crate) fn groups<'a>(
    recordings: &'a [Recording],
    arguments: &PlayArguments,
) -> anyhow::Result<Vec<Group<'a>>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for recording in recordings {
        let own = shown_letters(recording.meta.subsystems());
        let mut letters = match digest_letters(&arguments.digests()) {
            letters if letters.is_empty() => arguments.display.selection(&own)?,
            letters => letters,
        };
        if arguments.display.is_everything() && recording.origin == Origin::Collectl {
            // "All" means what its recorder knows.
            letters.retain(|letter| COLLECTL_LETTERS.contains(letter));
        }
        let letters = without_unrecorded_slabs(letters, recording.meta.subsystems());
        let letters = without_infiniband(letters, recording);
        let same = |group: &&mut Group<'a>| group.recordings[0].prefix() == recording.prefix();
        match groups.iter_mut().rev().find(same) {
            Some(group) => {
                let added: Vec<char> =
                    letters.chars().filter(|letter| !group.selection.contains(*letter)).collect();
                group.selection.extend(added);
                group.recordings.push(recording);
            }
            None => groups.push(Group { recordings: vec![recording], selection: letters }),
        }
    }
    Ok(groups)
}

/// The letters of the sources that have these digests.
fn digest_letters(names: &[&str]) -> String {
    let layouts = source::ALL.iter().flat_map(|entry| entry.def.layouts);
    let has = |layout: &&sample::Layout| layout.digest.is_some_and(|one| names.contains(&one.name));
    let mut letters: Vec<char> = layouts.filter(has).map(|layout| layout.letter).collect();
    letters.dedup();
    letters.into_iter().collect()
}

/// The recorded letters without those that are not shown (Lustre).
pub(crate) fn shown_letters(recorded: &str) -> String {
    let known = display::known_letters();
    recorded.chars().filter(|letter| known.contains(*letter)).collect()
}

/// collectl passes over `y` where no slabs were recorded, so that it does not force verbose mode.
fn without_unrecorded_slabs(letters: String, recorded: &str) -> String {
    if recorded.contains(['y', 'Y']) {
        return letters;
    }
    letters.chars().filter(|letter| *letter != 'y').collect()
}

/// collectl passes over `x` and `X` on machines without an adapter, whatever is asked for.
fn without_infiniband(letters: String, recording: &Recording) -> String {
    let adapters = recording.meta.get("infiniband_adapters");
    if recording.origin != Origin::Collectl || adapters.is_some_and(|count| count != "0") {
        return letters;
    }
    letters.chars().filter(|letter| !matches!(letter, 'x' | 'X')).collect()
}

/// Who gets the frames.
pub(crate) trait Audience {
    /// Another group begins: its facts, sources, options and zone.
    fn begin(&mut self, group: &Scene<'_>, out: &mut dyn Write) -> anyhow::Result<()>;

    /// Another recording of the group follows.
    fn next_recording(&mut self, out: &mut dyn Write) -> anyhow::Result<()>;

    /// A frame.  False when enough was seen.
    fn frame(&mut self, frame: &sample::Frame<'_>, out: &mut dyn Write) -> anyhow::Result<bool>;

    /// No frame follows.
    fn end(&mut self, out: &mut dyn Write) -> anyhow::Result<Vec<String>>;
}

/// What a group is played with.
pub(crate) struct Scene<'a> {
    /// The first recording's facts.
    pub(crate) meta: &'a Meta,
    /// The sources, in the feed's order.
    pub(crate) defs: &'a [&'static SourceDef],
    /// How to show them.
    pub(crate) options: &'a Options,
    /// The zone of the recordings' times.
    pub(crate) zone: &'a TimeZone,
    /// The recordings.
    pub(crate) recordings: &'a [&'a Recording],
}

/// Frames go to one view on standard output.
pub(crate) struct OneView<'a> {
    arguments: &'a PlayArguments,
    view: Option<(TimeZone, Box<dyn View>)>,
    notes: Vec<String>,
}

impl<'a> OneView<'a> {
    /// Opens the view when the first group is known.
    pub(crate) fn new(arguments: &'a PlayArguments) -> Self {
        OneView { arguments, view: None, notes: Vec::new() }
    }
}

impl Audience for OneView<'_> {
    fn begin(&mut self, scene: &Scene<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
        let same = self.view.as_ref().is_some_and(|(zone, _)| zone == scene.zone);
        if !same {
            self.notes = self.end(out)?;
            let words: Vec<String> = std::env::args().skip(1).collect();
            let setup =
                Setup { zone: scene.zone.clone(), command_line: words.join(" "), playing: true };
            let setting = view::export::Setting { playing: true, ..Default::default() };
            let view = self.arguments.display.open_view(scene.options, &setup, &setting)?;
            self.view = view.map(|view| (scene.zone.clone(), view));
        }
        if let Some((_, view)) = &mut self.view {
            view.begin(scene.meta, scene.defs, scene.options, out)?;
        }
        Ok(())
    }

    fn next_recording(&mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some((_, view)) = &mut self.view {
            view.next_recording(out)?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &sample::Frame<'_>, out: &mut dyn Write) -> anyhow::Result<bool> {
        if let Some((_, view)) = &mut self.view {
            view.frame(frame, out)?;
        }
        Ok(true)
    }

    fn end(&mut self, out: &mut dyn Write) -> anyhow::Result<Vec<String>> {
        let mut notes = std::mem::take(&mut self.notes);
        if let Some((_, mut view)) = self.view.take() {
            view.end(out)?;
            notes.extend(view.notes());
        }
        Ok(notes)
    }
}

/// Shows only the headings, `--showcolheaders`: the comment lines of the first frame.
pub(crate) struct Headings<'a> {
    view: OneView<'a>,
}

impl<'a> Headings<'a> {
    /// Headings of the view that the arguments ask for.
    pub(crate) fn new(arguments: &'a PlayArguments) -> Self {
        Headings { view: OneView::new(arguments) }
    }
}

impl Audience for Headings<'_> {
    fn begin(&mut self, scene: &Scene<'_>, _out: &mut dyn Write) -> anyhow::Result<()> {
        self.view.begin(scene, &mut std::io::sink())
    }

    fn next_recording(&mut self, _out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(())
    }

    fn frame(&mut self, frame: &sample::Frame<'_>, out: &mut dyn Write) -> anyhow::Result<bool> {
        let mut text = Vec::new();
        self.view.frame(frame, &mut text)?;
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let mut any = false;
        // CSV has one heading, the first line, without a mark.
        let (csv, mut first) = (self.view.arguments.display.csv, true);
        let is_heading = |line: &&[u8]| {
            let is_first = std::mem::replace(&mut first, false);
            if csv { is_first } else { line.first() == Some(&b'#') }
        };
        for line in lines.filter(is_heading) {
            any = true;
            out.write_all(line)?;
        }
        Ok(!any)
    }

    fn end(&mut self, _out: &mut dyn Write) -> anyhow::Result<Vec<String>> {
        self.view.end(&mut std::io::sink())
    }
}

/// Plays all groups to an audience.
pub(crate) fn play(
    groups: &[Group<'_>],
    period: &Period,
    arguments: &PlayArguments,
    audience: &mut dyn Audience,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let mut stage = Stage {
        presence: Presence::default(),
        ends_lost: EndsLost::default(),
        arguments,
        history: None,
        end: None,
        outcome: Outcome::default(),
    };
    for group in groups {
        if group.selection.is_empty() {
            continue;
        }
        if !stage.play_group(group, period, audience, out)? {
            break;
        }
    }
    let mut outcome = stage.outcome;
    outcome.notes.extend(stage.ends_lost.told());
    if !arguments.display.tells_states() {
        let (told, nothing) = stage.presence.told();
        outcome.notes.extend(told);
        outcome.failed |= nothing;
    }
    outcome.notes.extend(audience.end(out)?);
    Ok(outcome)
}

/// Opens a recording for what the options show.
fn open(
    recording: &Recording,
    options: &Options,
    base_ns: i64,
    arguments: &PlayArguments,
    follow: bool,
) -> anyhow::Result<Box<dyn Feed>> {
    match recording.origin {
        Origin::Collectl => {
            let each_cpu = options.cpufilt.is_set();
            let sensors = arguments.sensor_rules()?;
            let passwd = arguments.display.passwd.clone();
            let process = source::ProcessLimits {
                passwd,
                first_thread_switches: options.exact,
                ..source::ProcessLimits::default()
            };
            let limits = source::Limits { sensors, process, ..source::Limits::default() };
            let letters = &options.subsystems;
            let mut feed = CollectlFeed::open(&recording.path, letters, each_cpu, limits)?;
            if follow {
                feed.follow()?;
            }
            Ok(Box::new(feed))
        }
        Origin::Whit => Ok(Box::new(WhitFeed::open(&recording.path, base_ns, follow)?)),
    }
}

/// Which of the sources that are shown were on the recorded machines: `false` as long as every
/// reading says [`State::Absent`].
#[derive(Default)]
struct Presence(Vec<(&'static SourceDef, bool)>);

/// Ends of processes of which nothing is known but that they happened.
#[derive(Default)]
struct EndsLost(f64);

impl EndsLost {
    /// Adds up those of a frame.
    fn note(&mut self, frame: &sample::Frame<'_>) {
        for track in frame.tracks.iter().filter(|track| track.fresh) {
            if !track.def.asked_by(&frame.options.subsystems) {
                continue;
            }
            let balances = track.def.layouts.iter().filter_map(|layout| layout.balance);
            let whole = frame.whole(track);
            self.0 += balances.filter_map(|balance| (balance.ends_lost)(&whole)).sum::<f64>();
        }
    }

    fn told(&self) -> Option<String> {
        (self.0 > 0.0).then(|| display::processes::ends_lost(self.0 as u64))
    }
}

impl Presence {
    /// Looks at a frame.
    fn note(&mut self, frame: &sample::Frame<'_>) {
        for track in frame.tracks {
            let state = track.current.state;
            if state == State::NotRecorded || !track.def.asked_by(&frame.options.subsystems) {
                continue;
            }
            let here = state != State::Absent;
            match self.0.iter_mut().find(|(def, _)| std::ptr::eq(*def, track.def)) {
                Some((_, present)) => *present |= here,
                None => self.0.push((track.def, here)),
            }
        }
    }

    /// A sentence about adapters and sensors that no machine had, and whether nothing else was
    /// shown.
    fn told(&self) -> (Option<String>, bool) {
        let is_missing = |(def, present): &&(&'static SourceDef, bool)| {
            !present && display::hardware(def.name).is_some()
        };
        let missing: Vec<&str> = self
            .0
            .iter()
            .filter(is_missing)
            .filter_map(|(def, _)| display::hardware(def.name))
            .collect();
        let nothing = missing.len() == self.0.len();
        if missing.is_empty() {
            return (None, false);
        }
        let told = format!("the recorded machine had no {}", missing.join(", no "));
        (Some(if nothing { format!("nothing to show: {told}") } else { told }), nothing)
    }
}

/// What lasts from one recording to the next.
struct Stage<'a> {
    presence: Presence,
    ends_lost: EndsLost,
    arguments: &'a PlayArguments,
    history: Option<(Vec<&'static str>, History)>,
    end: Option<End>,
    outcome: Outcome,
}

/// One recording to be played.
struct Part<'a> {
    recording: &'a Recording,
    feed: &'a mut dyn Feed,
    options: &'a Options,
    span: Span,
    shift_ns: i64,
}

impl Stage<'_> {
    /// Plays the recordings of a group.  False when the audience has seen enough.
    fn play_group(
        &mut self,
        group: &Group<'_>,
        period: &Period,
        audience: &mut dyn Audience,
        out: &mut dyn Write,
    ) -> anyhow::Result<bool> {
        let first = group.recordings[0];
        let mut options = self.arguments.options_for(group)?;
        let (zone, shift_ns) = self.clock_of(first);
        options.local_offset = display::local_offset(&zone);
        let mut shown: Option<Vec<&'static str>> = None;
        for (index, recording) in group.recordings.iter().enumerate() {
            let span = span_of(recording, period)?;
            // A recording that the next one follows before the period begins has nothing of it.
            let next = group.recordings.get(index + 1);
            if next.is_some_and(|next| next.started_ns <= span.base_ns) {
                continue;
            }
            let follow = self.arguments.follow && next.is_none();
            let mut feed = open(recording, &options, span.base_ns, self.arguments, follow)?;
            let defs = feed.defs();
            let names: Vec<&'static str> = defs.iter().map(|def| def.name).collect();
            let unique = self.arguments.makes_plot_files() && options.has('u');
            if shown.as_ref() == Some(&names) && !unique {
                audience.next_recording(out)?;
            } else {
                let (meta, recordings) = (&recording.meta, &group.recordings[index..]);
                let scene = Scene { meta, defs: &defs, options: &options, zone: &zone, recordings };
                audience.begin(&scene, out)?;
            }
            self.take_over(&names, &defs, feed.as_mut())?;
            shown = Some(names);
            let feed = feed.as_mut();
            let part = Part { recording, feed, options: &options, span, shift_ns };
            if !self.play_one(part, audience, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The zone to show times in, and what to add to them: collectl moves the times themselves
    /// when it plays a recording of another zone, and prints them as if they were true.
    fn clock_of(&self, recording: &Recording) -> (TimeZone, i64) {
        let offset_ns = self.arguments.offset_ns;
        if !self.arguments.display.exact {
            return (recording.zone.clone(), offset_ns);
        }
        let local = crate::zone::local();
        let moment = Timestamp::from_nanosecond(i128::from(recording.started_ns));
        let moment = moment.unwrap_or_default();
        let seconds =
            recording.zone.to_offset(moment).seconds() - local.to_offset(moment).seconds();
        (local, offset_ns + i64::from(seconds) * 1_000_000_000)
    }

    /// Keeps the base of the recording before if this one goes on where it stopped.
    fn take_over(
        &mut self,
        names: &[&'static str],
        defs: &[&'static SourceDef],
        feed: &mut dyn Feed,
    ) -> anyhow::Result<()> {
        let same_sources = self.history.as_ref().is_some_and(|(held, _)| held == names);
        let continues = match &self.end {
            Some(end) if same_sources => feed.continues(end)?,
            _ => false,
        };
        if !same_sources {
            self.history = Some((names.to_vec(), History::new(defs)));
        } else if !continues && let Some((_, history)) = &mut self.history {
            history.forget();
        }
        Ok(())
    }

    /// Plays one recording.  False when the audience has seen enough.
    fn play_one(
        &mut self,
        part: Part<'_>,
        audience: &mut dyn Audience,
        out: &mut dyn Write,
    ) -> anyhow::Result<bool> {
        let Part { recording, feed, options, span, shift_ns } = part;
        let Some((_, history)) = &mut self.history else { return Ok(true) };
        let defs = feed.defs();
        let mut snapshot = Snapshot::new(&defs);
        // The sensors of a collectl recording get their names as they are read.
        let mut names = self.arguments.display.names(recording.origin == Origin::Whit)?;
        while feed.next(&mut snapshot)? {
            if snapshot.realtime_ns < span.base_ns {
                continue;
            }
            if snapshot.realtime_ns > span.thru_ns {
                break;
            }
            shift(&mut snapshot, shift_ns);
            names.apply(&mut snapshot, &defs);
            history.push(&mut snapshot);
            // The first sample is only a base.
            if history.ticks() < 2 {
                continue;
            }
            self.outcome.frames += 1;
            let frame = history.frame(&recording.meta, options);
            self.presence.note(&frame);
            self.ends_lost.note(&frame);
            if !audience.frame(&frame, out)? {
                return Ok(false);
            }
            if self.arguments.follow {
                out.flush()?;
            }
        }
        self.end = Some(feed.end());
        if let Some(complaint) = feed.complaint() {
            self.outcome.failed |= complaint.is_error;
            self.outcome.notes.push(complaint.text);
        }
        Ok(true)
    }
}

/// The period on one recording.
pub(crate) fn span_of(recording: &Recording, period: &Period) -> anyhow::Result<Span> {
    let interval_ns = i64::try_from(recording.meta.interval_ns()).unwrap_or(i64::MAX);
    match period.is_all() {
        true => Ok(Span::ALL),
        false => period.of(recording.day, &recording.zone, interval_ns),
    }
}

/// Moves a sample's wall-clock times, for `--offsettime`.
fn shift(snapshot: &mut Snapshot, offset_ns: i64) {
    if offset_ns == 0 {
        return;
    }
    snapshot.realtime_ns = snapshot.realtime_ns.saturating_add(offset_ns);
    for sample in &mut snapshot.samples {
        sample.realtime_ns = sample.realtime_ns.saturating_add(offset_ns);
    }
}

/// Whether a recording has what a letter shows.  collectl's text serves a summary and its detail
/// alike; of ours, a source that serves the letter must have been asked for by any of its letters.
fn holds(recording: &Recording, letter: char) -> bool {
    let letters = recording.meta.subsystems();
    match recording.origin {
        Origin::Collectl => letters.to_lowercase().contains(letter.to_ascii_lowercase()),
        // Every recording of ours has what its recorder cost.
        Origin::Whit => {
            let serves = |entry: &&source::Entry| entry.def.letters.contains(letter);
            let mut serving = source::ALL.iter().filter(serves);
            let beside = recording.meta.get(RECORDED_BESIDE).unwrap_or_default();
            letter == 'w'
                || serving.any(|entry| entry.def.asked_by(letters) || entry.def.asked_by(beside))
        }
    }
}

/// Fails when nothing of what was asked for is in any recording.
pub(crate) fn check_recorded(groups: &[Group<'_>]) -> anyhow::Result<()> {
    let asked: String = groups.iter().map(|group| group.selection.as_str()).collect();
    let recorded: Vec<&str> = groups
        .iter()
        .flat_map(|group| group.recordings.iter().map(|recording| recording.meta.subsystems()))
        .collect();
    let recordings = || groups.iter().flat_map(|group| group.recordings.iter());
    let here = asked.chars().any(|letter| recordings().any(|recording| holds(recording, letter)));
    ensure!(
        here,
        "nothing to show: of '{}' nothing is recorded (recorded are '{}')",
        asked,
        recorded.join("', '")
    );
    Ok(())
}
