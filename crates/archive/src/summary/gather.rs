//! The values of a period: windows of summaries where they are known to be what every sample gives,
//! and samples for the rest.
//!
//! A plan divides the period.  Read sample by sample is what no window has: the ends of the period,
//! what is not in a summary yet, damaged segments, and where the windows of one recording alone do
//! not tell the values: where the first of two recorders that ran at the same time ended, and the
//! first reading of a recording if the last one before it is not known.  Until then that recorder's
//! windows are the values, and those of the other one count for nothing.

use std::ops::Range;

use feed::{Beginning, Position};
use recording::Corrupt;
use sample::{Interner, Kind, increase};

use super::head::Edge;
use super::read::{Segment, SourceWindows, Summary};
use super::{HOUR_NS, SECOND_NS, ceil, common_window_ns, floor, has_windows};
use crate::archive::Recordings;
use crate::archived_file::ArchivedFile;
use crate::reading::Select;
use crate::step_sums::StepSums;
use crate::tracker::{INSTANCES_MAX, Steps, took};
use crate::{Error, FieldValue};

/// Up to so many steps windows are used within a step that does not begin with a window; the ends of
/// more steps would cost more than they save.
const UNALIGNED_STEPS_MAX: usize = 4;

/// It is looked once in so many values whether who asks wants no more.
const LOOK_TURNS: u32 = 4096;

/// The steps of a question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spans<'a> {
    pub(crate) step_ns: i64,
    pub(crate) steps: usize,
    /// The instances that are asked for, or none for all.
    pub(crate) instances: &'a [Vec<u8>],
}

/// Something of a period.  What is of one instance and field comes in the order of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathered<'a> {
    /// A time of the step that it is in.
    pub(crate) realtime_ns: i64,
    pub(crate) file: usize,
    /// The number of the instance, from 0, and its name.
    pub(crate) instance: usize,
    pub(crate) name: &'a [u8],
    pub(crate) field: usize,
    pub(crate) what: What<'a>,
}

/// What was gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
    /// The sums of one reading or more of one step.
    Values(StepSums),
    /// The latest text of a field so far.
    Text(Option<&'a [u8]>),
}

/// What was read for an answer: it does not grow with the length of the period if there are
/// summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeCost {
    /// Readings that were read one by one, or as columns.
    pub readings: u64,
    /// Windows of summaries.
    pub windows: u64,
    /// Bytes that were read of summaries.
    pub summary_bytes: u64,
}

impl RangeCost {
    /// Adds what was read for another part of the answer.
    pub(crate) fn add(&mut self, other: &RangeCost) {
        self.readings += other.readings;
        self.windows += other.windows;
        self.summary_bytes += other.summary_bytes;
    }
}

/// What the whole period has.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) names: Interner,
    /// Readings of the source, and the time that they cover.
    pub(crate) readings: u64,
    pub(crate) covered_ns: u64,
    pub(crate) cost: RangeCost,
}

impl Totals {
    /// Adds what a source has in some windows of a segment.
    fn add_windows(&mut self, found: &SourceWindows, windows: &Range<u32>) {
        self.cost.summary_bytes += found.bytes;
        let facts = found.head.windows.iter().take(windows.end as usize);
        for window in facts.skip(windows.start as usize) {
            self.readings += u64::from(window.readings);
            self.covered_ns = self.covered_ns.saturating_add(window.covered_ns);
        }
    }

    fn instance(&mut self, name: &[u8]) -> Result<usize, Error> {
        if let Some(instance) = self.names.find(name, |_| true) {
            return Ok(instance);
        }
        if self.names.len() == INSTANCES_MAX {
            return Err(Error::TooMuch { what: "instances", limit: INSTANCES_MAX });
        }
        Ok(self.names.push(name))
    }
}

/// Why a plan cannot be followed.
enum Fault {
    Error(Error),
    /// A part is damaged.
    Corrupt,
    /// This part of a recording must be read sample by sample.
    Damaged(Bad),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Error(error)
    }
}

impl From<Corrupt> for Fault {
    fn from(_: Corrupt) -> Self {
        Fault::Corrupt
    }
}

/// A recording by its index, and the time that its windows do not tell.
type Bad = (usize, Range<i64>);

impl Recordings {
    /// Gathers what a period has into what `begin` makes.
    pub(crate) fn gather<S>(
        &self,
        select: &Select<'_>,
        spans: Spans<'_>,
        begin: impl Fn() -> S,
        mut each: impl FnMut(&mut S, &Gathered<'_>) -> Result<(), Error>,
    ) -> Result<(S, Totals), Error> {
        let mut damaged: Vec<Bad> = Vec::new();
        loop {
            let (mut state, mut totals) = (begin(), Totals::default());
            let plan = Plan::of(self, select, spans, &damaged);
            let mut turns = 0_u32;
            let mut take = |found: &Gathered<'_>| {
                turns = turns.wrapping_add(1);
                if turns % LOOK_TURNS == 1 {
                    self.look()?;
                }
                each(&mut state, found)
            };
            match plan.follow(self, &mut totals, &mut take) {
                Ok(()) => return Ok((state, totals)),
                Err(Fault::Damaged(bad)) if !damaged.contains(&bad) => damaged.push(bad),
                Err(Fault::Error(error)) => return Err(error),
                Err(Fault::Damaged(_) | Fault::Corrupt) => {
                    let path = |bad: &Bad| self.path(bad.0).map(super::path);
                    let path = damaged.last().and_then(path).unwrap_or_default();
                    return Err(Error::SideFile(path));
                }
            }
        }
    }
}

/// A recording whose windows are used.
struct SummarizedRecording<'a> {
    index: usize,
    file: &'a ArchivedFile,
    source: usize,
    summary: Summary,
    /// Whether hours may be used.
    hours: bool,
    /// Windows before this time are not used: another recording has it.
    from_ns: i64,
    /// The first reading, if it continues that of the recording with this index in the plan.
    joins: Option<(usize, Edge, Edge)>,
}

/// What is read of a period.
struct Plan<'a> {
    select: &'a Select<'a>,
    spans: Spans<'a>,
    known: Vec<SummarizedRecording<'a>>,
    /// The period, piece by piece, and whether it is read by windows.
    pieces: Vec<(Range<i64>, bool)>,
}

/// Which recording has the time of one.
#[derive(PartialEq, Eq)]
enum Within {
    Itself,
    /// One that began before it and ended after it: it is not read.
    Another,
}

/// A plan while it is made.
struct Planner<'a> {
    known: Vec<SummarizedRecording<'a>>,
    bad: Vec<Range<i64>>,
    /// Where the recordings so far end, if all of it is known, and which one it was.
    end: Option<(Position, usize)>,
    /// Whether there is a recording before whose end is not known, and a time at or after its end.
    unknown_thru: Option<i64>,
}

impl<'a> Plan<'a> {
    fn of(
        recordings: &'a Recordings,
        select: &'a Select<'a>,
        spans: Spans<'a>,
        damaged: &[Bad],
    ) -> Plan<'a> {
        let of_source: Vec<(usize, &ArchivedFile, usize)> = recordings
            .of_host(select.host)
            .filter_map(|(index, file)| Some((index, file, file.source(select.source)?)))
            .filter(|(_, file, _)| file.file.started_ns < select.thru_ns)
            .collect();
        // The one before the period has the base of the first rates.
        let first = of_source.iter().position(|(_, file, _)| file.ended_ns >= select.from_ns);
        let mut first = first.unwrap_or(of_source.len()).saturating_sub(1);
        // Of two recorders the one that began first counts.
        let is_within = |files: &[(usize, &ArchivedFile, usize)]| {
            files.len() > 1 && files[0].1.ended_ns >= files[1].1.file.started_ns
        };
        while first > 0 && is_within(&of_source[first - 1..]) {
            first -= 1;
        }
        let mut planner =
            Planner { known: Vec::new(), bad: Vec::new(), end: None, unknown_thru: None };
        for &(index, file, source) in &of_source[first..] {
            planner.file(index, file, source, select.from_ns, spans);
        }
        planner.bad.extend(damaged.iter().map(|bad| bad.1.clone()));
        let mut cuts: Vec<i64> = Vec::new();
        if spans.steps <= UNALIGNED_STEPS_MAX {
            let steps = 1..i64::try_from(spans.steps).unwrap_or(0);
            let begin = |step| select.from_ns.saturating_add(spans.step_ns.saturating_mul(step));
            cuts.extend(steps.map(begin));
        }
        // No window is in two steps, and no hour.
        planner.bad.extend(cuts.iter().map(|&at_ns| at_ns..at_ns));
        let period = select.from_ns..select.thru_ns;
        let known = planner.known.iter();
        let windows_ns: Vec<i64> = known.map(|known| known.summary.window_ns).collect();
        let mut pieces = match windows_ns.is_empty() {
            true => vec![(period, false)],
            false => pieces(period, common_window_ns(&windows_ns), planner.bad),
        };
        for at_ns in cuts {
            let is_cut = |piece: &&mut (Range<i64>, bool)| piece.1 && piece.0.contains(&at_ns);
            if let Some((piece, _)) = pieces.iter_mut().find(is_cut) {
                let later = at_ns..std::mem::replace(&mut piece.end, at_ns);
                pieces.push((later, true));
            }
        }
        pieces.sort_by_key(|piece| piece.0.start);
        Plan { select, spans, known: planner.known, pieces }
    }

    fn follow(
        &self,
        recordings: &Recordings,
        totals: &mut Totals,
        each: &mut dyn FnMut(&Gathered<'_>) -> Result<(), Error>,
    ) -> Result<(), Fault> {
        for (piece, by_windows) in &self.pieces {
            if !by_windows {
                self.samples(recordings, piece, totals, each)?;
                continue;
            }
            for known in &self.known {
                self.join(known, piece, totals, each)?;
                for (segment, windows) in known.takes(piece) {
                    let hours = segment.times(&windows);
                    if self.windows(known, segment, windows, totals, each)? || segment.tier == 0 {
                        continue;
                    }
                    for (segment, windows) in known.minutes(&hours) {
                        self.windows(known, segment, windows, totals, each)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a piece sample by sample.
    fn samples(
        &self,
        recordings: &Recordings,
        piece: &Range<i64>,
        totals: &mut Totals,
        each: &mut dyn FnMut(&Gathered<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let select = Select { from_ns: piece.start, thru_ns: piece.end, ..*self.select };
        let mut own: Vec<usize> = Vec::new();
        let steps = Steps {
            from_ns: piece.start,
            thru_ns: piece.end,
            begins_ns: self.select.from_ns,
            step_ns: self.spans.step_ns,
            instances: self.spans.instances,
        };
        let tracker = recordings.step_sums(&select, &steps, &mut |read| {
            while own.len() <= read.instance {
                own.push(totals.instance(read.names.get(own.len()).unwrap_or_default())?);
            }
            each(&Gathered {
                realtime_ns: read.realtime_ns,
                file: read.file,
                instance: own[read.instance],
                name: read.names.get(read.instance).unwrap_or_default(),
                field: read.field,
                what: What::Values(read.sums),
            })
        })?;
        totals.readings += tracker.readings();
        totals.covered_ns = totals.covered_ns.saturating_add(tracker.covered_ns());
        totals.cost.readings += tracker.readings();
        for (instance, &own) in own.iter().enumerate() {
            for field in 0..select.fields.len() {
                each(&Gathered {
                    realtime_ns: piece.start,
                    file: 0,
                    instance: own,
                    name: tracker.name(instance),
                    field,
                    what: What::Text(tracker.text(instance, field)),
                })?;
            }
        }
        Ok(())
    }

    /// Gives the windows of a segment.  False if it has none of the source: hours are only made of
    /// sources that have fewer of them.
    fn windows(
        &self,
        known: &SummarizedRecording<'_>,
        segment: &Segment,
        windows: Range<u32>,
        totals: &mut Totals,
        each: &mut dyn FnMut(&Gathered<'_>) -> Result<(), Error>,
    ) -> Result<bool, Fault> {
        let fields = known.fields(self.select);
        let found = known.read(segment, &fields)?;
        if found.head.windows.is_empty() {
            totals.cost.summary_bytes += found.bytes;
            return Ok(false);
        }
        totals.add_windows(&found, &windows);
        let mut own = Vec::with_capacity(found.head.slots.len());
        for slot in 0..found.head.slots.len() {
            own.push(totals.instance(found.head.names.get(slot).unwrap_or_default())?);
        }
        let taken = SummarizedSegment { known, segment, windows, found: &found, own: &own };
        for (place, (field, kind)) in known.asked(self.select).into_iter().enumerate() {
            let given = match kind {
                Kind::Text => taken.texts(place, field, each),
                _ => taken.cells(place, (field, kind), &mut totals.cost, each),
            };
            given.map_err(|fault| known.damaged(segment, fault))?;
        }
        Ok(true)
    }

    /// The rates of the first reading of a recording that continues another one.
    fn join(
        &self,
        known: &SummarizedRecording<'_>,
        piece: &Range<i64>,
        totals: &mut Totals,
        each: &mut dyn FnMut(&Gathered<'_>) -> Result<(), Error>,
    ) -> Result<(), Fault> {
        let Some((before, last, first)) = &known.joins else { return Ok(()) };
        let time = took(known.single_clock(), Some(last.clocks), first.clocks);
        let is_restart = last.restart || first.restart || !last.is_ok || !first.is_ok;
        let Some((seconds, took_ns)) = time.filter(|_| !is_restart) else { return Ok(()) };
        if !piece.contains(&first.realtime_ns) {
            return Ok(());
        }
        totals.covered_ns = totals.covered_ns.saturating_add(took_ns);
        let before = &self.known[*before];
        let (Some(end), Some(begin)) = (before.last_segment(), known.first_segment()) else {
            return Ok(());
        };
        let ending = before.read(end, &before.fields(self.select))?;
        let beginning = known.read(begin, &known.fields(self.select))?;
        totals.cost.summary_bytes += ending.bytes + beginning.bytes;
        let asked_before = before.asked(self.select);
        for (place, (field, kind)) in known.asked(self.select).into_iter().enumerate() {
            let place_before = asked_before.iter().position(|asked| asked.0 == field);
            let Some(place_before) = place_before.filter(|_| kind == Kind::Counter) else {
                continue;
            };
            let raws = ending.raw_edges(place_before, 1).map_err(Fault::from);
            let raws = raws.map_err(|fault| before.damaged(end, fault))?;
            let mut then = std::collections::HashMap::new();
            then.extend(raws);
            let raws = beginning.raw_edges(place, 0).map_err(Fault::from);
            for (name, now) in raws.map_err(|fault| known.damaged(begin, fault))? {
                let then = then.get(name).copied().flatten();
                let Some(increase) = then.zip(now).and_then(|(then, now)| increase(then, now))
                else {
                    continue;
                };
                let value = FieldValue::Growth { increase, seconds, took_ns };
                let instance = totals.instance(name)?;
                let (realtime_ns, file) = (first.realtime_ns, known.index);
                let what = What::Values(StepSums::of(value));
                each(&Gathered { realtime_ns, file, instance, name, field, what })?;
            }
        }
        Ok(())
    }
}

/// A segment of which windows are taken.
struct SummarizedSegment<'a> {
    known: &'a SummarizedRecording<'a>,
    segment: &'a Segment,
    windows: Range<u32>,
    found: &'a SourceWindows,
    /// For each of its instances the number of the answer.
    own: &'a [usize],
}

impl SummarizedSegment<'_> {
    /// Gives the windows of a field that is a number.
    fn cells(
        &self,
        place: usize,
        (field, kind): (usize, Kind),
        cost: &mut RangeCost,
        each: &mut dyn FnMut(&Gathered<'_>) -> Result<(), Error>,
    ) -> Result<(), Fault> {
        self.found.cells(place, kind, self.known.single_clock(), |slot, window, _, cell| {
            if let Some(cell) = cell.filter(|_| self.windows.contains(&window)) {
                cost.windows += 1;
                let what = What::Values(cell.sums());
                each(&self.gathered((slot, window), field, what))?;
            }
            Ok(())
        })
    }

    /// Gives the latest text of each window of a field that is a text.
    fn texts(
        &self,
        place: usize,
        field: usize,
        each: &mut dyn FnMut(&Gathered<'_>) -> Result<(), Error>,
    ) -> Result<(), Fault> {
        self.found.texts(place, |slot, window, text| {
            if self.windows.contains(&window) {
                each(&self.gathered((slot, window), field, What::Text(text)))?;
            }
            Ok(())
        })
    }

    fn gathered<'b>(
        &'b self,
        (slot, window): (usize, u32),
        field: usize,
        what: What<'b>,
    ) -> Gathered<'b> {
        Gathered {
            realtime_ns: self.segment.from_ns + i64::from(window) * self.segment.window_ns,
            file: self.known.index,
            instance: self.own[slot],
            name: self.found.head.names.get(slot).unwrap_or_default(),
            field,
            what,
        }
    }
}

impl<'a> Planner<'a> {
    /// Adds the next recording of the source.
    fn file(
        &mut self,
        index: usize,
        file: &'a ArchivedFile,
        source: usize,
        from_ns: i64,
        spans: Spans<'_>,
    ) {
        let fits = |window_ns: i64| {
            let is_aligned = spans.step_ns % window_ns == 0 && from_ns.rem_euclid(window_ns) == 0;
            is_aligned || spans.steps <= UNALIGNED_STEPS_MAX
        };
        let summary = has_windows(&file.defs[source]).then(|| Summary::open(file)).flatten();
        let summary = summary.and_then(|summary| summary.usable(file));
        let summary = summary.map(|(all, is_whole)| (all.of_source(file, source), is_whole));
        let usable = summary.filter(|(summary, _)| fits(summary.window_ns));
        let last = usable.as_ref().and_then(|(summary, _)| summary.tier(0).last().cloned());
        let Some(((summary, is_whole), last)) = usable.zip(last) else {
            return self.unknown(file.file.started_ns, file.ended_ns);
        };
        let hours = fits(HOUR_NS);
        let mut known = SummarizedRecording {
            index,
            file,
            source,
            summary,
            hours,
            from_ns: i64::MIN,
            joins: None,
        };
        let Some(beginning) = last.beginning else {
            return self.unknown(file.file.started_ns, file.file.started_ns);
        };
        let end = known.position(&last);
        if self.follow_others(&mut known, &beginning, &end, is_whole) == Within::Another {
            return;
        }
        if is_whole {
            self.end = Some((end, self.known.len()));
        } else {
            self.unknown(last.thru_ns(), i64::MAX);
        }
        self.known.push(known);
    }

    /// Marks what the windows of a recording do not tell because of those before it.
    fn follow_others(
        &mut self,
        known: &mut SummarizedRecording<'_>,
        beginning: &Beginning,
        own_end: &Position,
        is_whole: bool,
    ) -> Within {
        let meta = &known.file.file.meta;
        let begun_ns = floor(beginning.realtime_ns, known.summary.window_ns);
        if let Some(thru_ns) = self.unknown_thru.take() {
            self.overlap(known, begun_ns..thru_ns);
            return Within::Itself;
        }
        let Some((end, before)) = self.end.take() else { return Within::Itself };
        if beginning.overlaps(meta, &end) {
            let is_within =
                (own_end.monotonic_ns, own_end.realtime_ns) <= (end.monotonic_ns, end.realtime_ns);
            if is_whole && is_within {
                self.end = Some((end, before));
                return Within::Another;
            }
            // Before its last window all is of the other one.
            let last_ns = floor(end.realtime_ns, known.summary.window_ns);
            self.overlap(known, last_ns.max(begun_ns)..end.realtime_ns);
        } else if beginning.continues(meta, &end) {
            let edges = self.known[before].last_reading().zip(known.first_reading());
            match edges {
                Some((last, first)) => known.joins = Some((before, last, first)),
                None => self.bad.extend(known.first_readings(begun_ns)),
            }
        }
        Within::Itself
    }

    /// The windows of a recording do not tell what it has until another one ended, nor what its first
    /// reading after that has.  Those of neither tell it in this time.
    fn overlap(&mut self, known: &mut SummarizedRecording<'_>, unknown: Range<i64>) {
        // Ticks of two recorders are apart by less than a second.
        let ended_ns = unknown.end.saturating_add(SECOND_NS);
        let after_ns = unknown.start.max(ceil(ended_ns, known.summary.window_ns));
        known.from_ns = after_ns;
        self.bad.push(unknown.start..after_ns);
        self.bad.extend(known.first_readings(after_ns));
    }

    /// A recording whose windows are not known in this time.
    fn unknown(&mut self, from_ns: i64, thru_ns: i64) {
        self.bad.push(from_ns..thru_ns.saturating_add(1));
        self.end = None;
        let known_thru = self.unknown_thru.unwrap_or(i64::MIN);
        self.unknown_thru = Some(known_thru.max(thru_ns));
    }
}

impl Summary {
    /// The summary without what is not true any more, and whether it has all of the recording.
    fn usable(mut self, file: &ArchivedFile) -> Option<(Summary, bool)> {
        let length = std::fs::metadata(&file.file.path).ok()?.len();
        self.segments.retain(|segment| !segment.ends() || segment.recording_bytes == length);
        let is_whole = self.tier(0).any(Segment::ends);
        (!self.clock_set_back).then_some((self, is_whole))
    }
}

impl SummarizedRecording<'_> {
    fn single_clock(&self) -> bool {
        self.file.file.meta.has_single_clock()
    }

    /// The end of what its segments have.
    fn position(&self, last: &Segment) -> Position {
        let meta = &self.file.file.meta;
        Position {
            host: meta.host().to_owned(),
            boot_id: meta.boot_id().to_owned(),
            realtime_ns: last.latest.1,
            monotonic_ns: last.latest.0,
        }
    }

    /// Those fields of the question that the recording has: the index of each among those asked
    /// for, and its kind.
    fn asked(&self, select: &Select<'_>) -> Vec<(usize, Kind)> {
        let def = &self.file.defs[self.source];
        let asked = select.fields.iter().enumerate();
        asked.filter_map(|(field, name)| Some((field, def.fields[def.field(name)?].kind))).collect()
    }

    /// The fields of the question by their places in the recording.
    fn fields(&self, select: &Select<'_>) -> Vec<usize> {
        let def = &self.file.defs[self.source];
        select.fields.iter().filter_map(|name| def.field(name)).collect()
    }

    fn read(&self, segment: &Segment, fields: &[usize]) -> Result<SourceWindows, Fault> {
        let read = self.summary.source(segment, self.file, self.source, fields);
        read.ok_or_else(|| self.damaged(segment, Fault::Corrupt))
    }

    /// A segment that is damaged is read from the recording.
    fn damaged(&self, segment: &Segment, fault: Fault) -> Fault {
        match fault {
            Fault::Corrupt => Fault::Damaged((self.index, segment.from_ns..segment.thru_ns())),
            fault => fault,
        }
    }

    fn first_segment(&self) -> Option<&Segment> {
        self.summary.tier(0).next().filter(|segment| segment.has_edges())
    }

    fn last_segment(&self) -> Option<&Segment> {
        self.summary.tier(0).last().filter(|segment| segment.has_edges())
    }

    /// The first reading of the recording, if it is in the first segment.
    fn first_reading(&self) -> Option<Edge> {
        self.read(self.first_segment()?, &[]).ok()?.head.edges[0]
    }

    /// The last reading of the recording, if it is in the last segment.
    fn last_reading(&self) -> Option<Edge> {
        self.read(self.last_segment()?, &[]).ok()?.head.edges[1]
    }

    /// The first window with a reading that begins at `from_ns` or later.
    fn first_readings(&self, from_ns: i64) -> Option<Range<i64>> {
        for segment in self.summary.tier(0).filter(|segment| segment.thru_ns() > from_ns) {
            let Ok(found) = self.read(segment, &[]) else {
                return Some(segment.from_ns..segment.thru_ns());
            };
            for (number, window) in found.head.windows.iter().enumerate() {
                let begins_ns = segment.from_ns + number as i64 * segment.window_ns;
                if begins_ns >= from_ns && window.readings > 0 {
                    return Some(begins_ns..begins_ns + segment.window_ns);
                }
            }
        }
        None
    }

    /// The windows that are read of a piece, by time: hours where there are some.
    fn takes(&self, piece: &Range<i64>) -> Vec<(&Segment, Range<u32>)> {
        let mut takes = Vec::new();
        let piece = piece.start.max(self.from_ns)..piece.end;
        let mut at_ns = piece.start;
        let hours = ceil(piece.start, HOUR_NS)..floor(piece.end, HOUR_NS);
        for segment in self.summary.tier(1).filter(|_| self.hours) {
            let inner = within(segment, &hours);
            if inner.start < inner.end {
                takes.extend(self.minutes(&(at_ns..inner.start)));
                at_ns = inner.end;
                takes.push((segment, segment.numbers(&inner)));
            }
        }
        takes.extend(self.minutes(&(at_ns..piece.end)));
        takes
    }

    /// The windows of the smaller tier of a piece.
    fn minutes(&self, piece: &Range<i64>) -> impl Iterator<Item = (&Segment, Range<u32>)> {
        let piece = piece.clone();
        self.summary.tier(0).filter_map(move |segment| {
            let inner = within(segment, &piece);
            (inner.start < inner.end).then(|| (segment, segment.numbers(&inner)))
        })
    }
}

/// The part of a piece that a segment has.
fn within(segment: &Segment, piece: &Range<i64>) -> Range<i64> {
    segment.from_ns.max(piece.start)..segment.thru_ns().min(piece.end)
}

/// A period, piece by piece: those without a bad part by windows.
fn pieces(period: Range<i64>, window_ns: i64, bad: Vec<Range<i64>>) -> Vec<(Range<i64>, bool)> {
    let inner = ceil(period.start, window_ns)..floor(period.end, window_ns);
    if inner.start >= inner.end {
        return vec![(period, false)];
    }
    let aligned = |bad: Range<i64>| floor(bad.start, window_ns)..ceil(bad.end, window_ns);
    let mut bad: Vec<Range<i64>> = bad.into_iter().map(aligned).collect();
    bad.extend([period.start..inner.start, inner.end..period.end]);
    bad.retain(|bad| bad.start < bad.end && bad.end > period.start && bad.start < period.end);
    bad.sort_by_key(|bad| bad.start);
    let mut pieces: Vec<(Range<i64>, bool)> = Vec::new();
    let mut at_ns = period.start;
    for bad in bad {
        let (begins_ns, ends_ns) = (bad.start.max(at_ns), bad.end.min(period.end));
        if begins_ns > at_ns {
            pieces.push((at_ns..begins_ns, true));
        }
        if ends_ns > at_ns.max(begins_ns) {
            match pieces.last_mut().filter(|last| !last.1) {
                Some((last, _)) => last.end = ends_ns,
                None => pieces.push((begins_ns..ends_ns, false)),
            }
        }
        at_ns = at_ns.max(ends_ns);
    }
    if at_ns < period.end {
        pieces.push((at_ns..period.end, true));
    }
    pieces
}
