//! The readings of one source of one machine in a period, file after file.
//!
//! A recording that continues the one before, by the rule of the player, gives rates across both.
//! Where two recorders ran at the same time, the one that began first is read, and the other from
//! the end of the first on.  What a side file has is taken from there, but for the segment of the
//! other in which the first one ended.

use std::sync::Arc;

use feed::{CollectlFeed, CollectlSettings, Feed, ImportedFeed, Origin, Position, WhitFeed};
use recording::{SideColumns, SideSegment};
use sample::{Sample, Snapshot, SourceDef};

use crate::Error;
use crate::archive::Recordings;
use crate::archived_file::ArchivedFile;
use crate::held_columns::{ColumnsKey, HeldColumns};
use crate::reading::{Select, SourceReading};
use crate::step_sums::StepSums;
use crate::targets::TARGET;
use crate::tracker::{EachStep, FileColumns, ReadValues, Steps, Tracker};

/// How much earlier the next attempt begins, if the first reading of a period had none before it.
const REACH_GROWTH: i64 = 16;

/// Whether the readings began early enough.
#[derive(PartialEq, Eq)]
enum Base {
    Found,
    /// The first reading of the period has none before it, and there may be one.
    TooLate,
}

/// What takes the readings.
pub(crate) trait Visit {
    fn reading(&mut self, reading: &SourceReading<'_>) -> Result<(), Error>;

    /// Takes the readings of a segment up to the end of the period; false if they are damaged.
    fn columns(&mut self, columns: &FileColumns<'_>) -> Result<bool, Error>;

    /// Whether it takes columns.
    fn takes_columns(&self) -> bool;

    /// Whether it needs no more readings.  Without a default: who passes readings on must pass this on.
    fn is_done(&self) -> bool;

    /// Whether it needs the reading before the period: a block more may have to be decoded for it.
    fn needs_base(&self) -> bool;
}

/// One by one.
struct EachReading<'a>(&'a mut dyn FnMut(&SourceReading<'_>) -> Result<(), Error>);

impl Visit for EachReading<'_> {
    fn reading(&mut self, reading: &SourceReading<'_>) -> Result<(), Error> {
        (self.0)(reading)
    }

    fn columns(&mut self, _: &FileColumns<'_>) -> Result<bool, Error> {
        Ok(false)
    }

    fn takes_columns(&self) -> bool {
        false
    }

    fn is_done(&self) -> bool {
        false
    }

    fn needs_base(&self) -> bool {
        true
    }
}

/// As another one, until who asks wants no more.
struct Looking<'a> {
    recordings: &'a Recordings,
    visit: &'a mut dyn Visit,
}

impl Visit for Looking<'_> {
    fn reading(&mut self, reading: &SourceReading<'_>) -> Result<(), Error> {
        self.recordings.look()?;
        self.visit.reading(reading)
    }

    fn columns(&mut self, columns: &FileColumns<'_>) -> Result<bool, Error> {
        self.recordings.look()?;
        self.visit.columns(columns)
    }

    fn takes_columns(&self) -> bool {
        self.visit.takes_columns()
    }

    fn is_done(&self) -> bool {
        self.visit.is_done()
    }

    fn needs_base(&self) -> bool {
        self.visit.needs_base()
    }
}

/// The values of each step.
struct StepByStep<'a> {
    tracker: &'a mut Tracker,
    steps: &'a Steps<'a>,
    each: &'a mut EachStep<'a>,
}

impl Visit for StepByStep<'_> {
    fn reading(&mut self, reading: &SourceReading<'_>) -> Result<(), Error> {
        let (realtime_ns, file, each) = (reading.realtime_ns, reading.file, &mut *self.each);
        self.tracker.add_reading(reading, self.steps.from_ns, &mut |names, read| {
            let (instance, field, sums) = (read.instance, read.field, StepSums::of(read.value));
            each(&ReadValues { realtime_ns, file, names, instance, field, sums })
        })
    }

    fn columns(&mut self, columns: &FileColumns<'_>) -> Result<bool, Error> {
        self.tracker.take_columns(columns, self.steps, self.each)
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn is_done(&self) -> bool {
        false
    }

    fn needs_base(&self) -> bool {
        true
    }
}

impl Recordings {
    /// Gives each reading of a source in a period to `visit`, after the one before the period, if
    /// there is one: rates need it, and what stood at the beginning of a period without readings.
    ///
    /// # Errors
    /// An unknown host or source, a recording that cannot be read, and those of `visit`.
    pub fn scan(
        &self,
        select: &Select<'_>,
        visit: &mut dyn FnMut(&SourceReading<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.visit(select, &mut EachReading(visit))
    }

    /// Gives what a source has in a period to `each`, of each step what its readings have, of those
    /// that are read one by one each alone.  The tracker has the names of the instances, and the latest
    /// texts.
    pub(crate) fn step_sums(
        &self,
        select: &Select<'_>,
        steps: &Steps<'_>,
        each: &mut EachStep<'_>,
    ) -> Result<Tracker, Error> {
        let mut tracker = Tracker::new(select.fields);
        self.visit(select, &mut StepByStep { tracker: &mut tracker, steps, each })?;
        Ok(tracker)
    }

    pub(crate) fn visit(&self, select: &Select<'_>, visit: &mut dyn Visit) -> Result<(), Error> {
        let visit = &mut Looking { recordings: self, visit };
        let def = self.source(select.host, select.source)?;
        let files: Vec<(usize, &ArchivedFile)> = self
            .of_host(select.host)
            .filter(|(_, file)| file.source(select.source).is_some())
            .collect();
        if files.is_empty() && select.source == TARGET {
            return Err(Error::OfDevice(select.host.to_owned()));
        }
        let first_ns = files.iter().map(|(_, file)| file.file.started_ns).min().unwrap_or(0);
        let needs_base = visit.needs_base();
        let reach = files.iter().filter(|_| needs_base).map(|(_, file)| interval_ns(file, &def));
        let mut reach_ns = reach.max().unwrap_or(0);
        loop {
            let base_ns = select.from_ns.saturating_sub(reach_ns);
            let base_ns = if base_ns <= first_ns { i64::MIN } else { base_ns };
            let held = &*self.held;
            let (last, end) = (None, None);
            let mut scan =
                Scan { select, visit, held, needs_base, base_ns, last, end, restart: true };
            if scan.files(&files)? == Base::Found {
                // Of a period without readings.
                scan.give_last()?;
                return Ok(());
            }
            reach_ns = reach_ns.saturating_mul(REACH_GROWTH);
        }
    }
}

/// How long before a time a reading of the source is expected.
fn interval_ns(file: &ArchivedFile, def: &SourceDef) -> i64 {
    let meta = &file.file.meta;
    let interval_ns = i64::try_from(meta.cadence_ns(def.cadence)).unwrap_or(i64::MAX);
    (interval_ns / 4).saturating_mul(9).max(1)
}

/// A scan that begins at one time.
struct Scan<'a, 'b> {
    select: &'a Select<'b>,
    visit: &'a mut dyn Visit,
    held: &'a HeldColumns,
    needs_base: bool,
    /// Samples before this time are not read.
    base_ns: i64,
    /// The reading before the period, kept until the period begins.
    last: Option<EarlierReading>,
    /// Where the recording before ended.
    end: Option<Position>,
    /// Whether the next reading cannot be compared with the one before.
    restart: bool,
}

/// A reading before the period.
struct EarlierReading {
    realtime_ns: i64,
    sample: Sample,
    def: Arc<SourceDef>,
    file: usize,
    single_clock: bool,
}

/// A recording being read.
struct OpenRecording<'a> {
    index: usize,
    file: &'a ArchivedFile,
    feed: OpenFeed,
    /// The index of the source.
    source: usize,
    def: Arc<SourceDef>,
    single_clock: bool,
    /// Samples up to here are of another recorder, too, which was read.
    skipped_thru: Option<Position>,
}

impl OpenRecording<'_> {
    /// Whether what was read up to here is all of another recorder, too.
    fn is_skipped(&self, monotonic_ns: u64, realtime_ns: i64) -> bool {
        self.skipped_thru.as_ref().is_some_and(|thru| match thru.monotonic_ns {
            0 => realtime_ns <= thru.realtime_ns,
            thru_ns => monotonic_ns <= thru_ns,
        })
    }

    /// Whether a side file tells where the samples of another recorder end: segments have the
    /// monotonic clock of their last tick.
    fn is_told_by_segments(&self) -> bool {
        self.skipped_thru.as_ref().is_none_or(|thru| thru.monotonic_ns > 0)
    }

    /// Goes on after a segment of the side file.
    fn pass_over(&mut self, segment: &SideSegment) {
        if let OpenFeed::Whit(feed) = &mut self.feed {
            feed.pass_over(segment);
        }
    }
}

/// The feed of a recording.
enum OpenFeed {
    Whit(Box<WhitFeed>),
    Other(Box<dyn Feed>),
}

impl OpenFeed {
    fn feed(&mut self) -> &mut dyn Feed {
        match self {
            OpenFeed::Whit(feed) => feed.as_mut(),
            OpenFeed::Other(feed) => feed.as_mut(),
        }
    }
}

impl Scan<'_, '_> {
    fn files(&mut self, files: &[(usize, &ArchivedFile)]) -> Result<Base, Error> {
        for &(index, file) in files {
            if file.ended_ns < self.base_ns {
                continue;
            }
            // None of the next ones has a part in the period, either.
            if file.file.started_ns >= self.select.thru_ns {
                break;
            }
            if self.file(index, file)? == Base::TooLate {
                return Ok(Base::TooLate);
            }
            if self.visit.is_done() {
                break;
            }
        }
        Ok(Base::Found)
    }

    fn file(&mut self, index: usize, file: &ArchivedFile) -> Result<Base, Error> {
        let mut feed = self.open(file)?;
        let defs = feed.feed().defs();
        let Some(source) = defs.iter().position(|def| def.name == self.select.source) else {
            return Ok(Base::Found);
        };
        let (mut skipped_thru, mut continues) = (None, false);
        if let Some(end) = &self.end {
            skipped_thru = feed.feed().overlaps(end)?.then(|| end.clone());
            continues = skipped_thru.is_some() || feed.feed().continues(end)?;
        }
        self.restart |= !continues;
        let single_clock = file.file.meta.has_single_clock();
        let def = defs[source].clone();
        let mut open = OpenRecording { index, file, feed, source, def, single_clock, skipped_thru };
        let mut snapshot = Snapshot::new(&defs);
        let mut base = None;
        if open.is_told_by_segments() && self.visit.takes_columns() {
            base = self.side(&mut open, &mut snapshot)?;
        }
        let base = match base {
            Some(base) => base,
            None => self.readings(&mut open, &mut snapshot, None)?,
        };
        let end = open.feed.feed().position();
        let is_within = |thru: &Position| {
            (end.monotonic_ns, end.realtime_ns) <= (thru.monotonic_ns, thru.realtime_ns)
        };
        if !open.skipped_thru.as_ref().is_some_and(is_within) {
            self.end = Some(end);
        }
        Ok(base)
    }

    fn open(&self, file: &ArchivedFile) -> Result<OpenFeed, Error> {
        let path = &file.file.path;
        Ok(match file.file.origin {
            Origin::Collectl => {
                let entries = ArchivedFile::entries(self.select.source);
                let feed = CollectlFeed::open(path, &entries, &CollectlSettings::default())?;
                OpenFeed::Other(Box::new(feed))
            }
            origin @ (Origin::Atop | Origin::Sadc) => {
                let entries = ArchivedFile::entries(self.select.source);
                OpenFeed::Other(Box::new(ImportedFeed::open(path, origin, &entries)?))
            }
            Origin::Whit => {
                let feed = WhitFeed::open(path, self.base_ns, false)?;
                let feed = feed.focused(self.select.source, self.select.fields);
                OpenFeed::Whit(Box::new(feed))
            }
        })
    }

    /// Takes what the side file has of the period, and goes on after it.  `None` if the recording may
    /// have more of it.
    fn side(
        &mut self,
        open: &mut OpenRecording<'_>,
        snapshot: &mut Snapshot,
    ) -> Result<Option<Base>, Error> {
        let OpenFeed::Whit(feed) = &open.feed else { return Ok(None) };
        let Some(side) = feed.side() else { return Ok(None) };
        let places: Vec<Option<usize>> = self
            .select
            .fields
            .iter()
            .map(|field| feed.recorded_field(open.source, field))
            .collect();
        let wanted: Vec<usize> = places.iter().copied().flatten().collect();
        let mut numbers = 0..wanted.len();
        let fields: Vec<Option<usize>> =
            places.iter().map(|place| place.and_then(|_| numbers.next())).collect();
        let recording = open.file.identity.recording;
        let of = ColumnsKey { recording, source: open.source, fields: &wanted };
        let mut is_joined = open.skipped_thru.is_none();
        for segment in side.segments() {
            if segment.latest_realtime_ns < self.base_ns {
                continue;
            }
            if segment.first_realtime_ns >= self.select.thru_ns {
                return Ok(Some(Base::Found));
            }
            if open.is_skipped(segment.end_monotonic_ns, segment.end_realtime_ns) {
                open.pass_over(segment);
                continue;
            }
            let ends_within = segment.latest_realtime_ns >= self.select.thru_ns;
            let base = if std::mem::replace(&mut is_joined, true) {
                // What is damaged is read from the recording, as is all after it.
                let Some(columns) = self.held.columns(&of, &side, segment, ends_within) else {
                    return Ok(None);
                };
                self.segment(open, &columns, &fields)?
            } else {
                self.readings(open, snapshot, Some(segment))?
            };
            open.pass_over(segment);
            if base == Base::TooLate || ends_within || self.visit.is_done() {
                return Ok(Some(base));
            }
        }
        Ok(None)
    }

    /// Takes the columns of a segment.
    fn segment(
        &mut self,
        open: &OpenRecording<'_>,
        columns: &SideColumns,
        fields: &[Option<usize>],
    ) -> Result<Base, Error> {
        let is_late = columns.readings.first().is_some_and(|reading| {
            reading.realtime_ns >= self.select.from_ns
                && self.last.is_none()
                && self.may_lack_base()
        });
        if is_late {
            return Ok(Base::TooLate);
        }
        if !columns.readings.is_empty() {
            self.give_last()?;
            let taken = FileColumns {
                columns,
                fields,
                def: &open.def,
                file: open.index,
                single_clock: open.single_clock,
                restart: std::mem::take(&mut self.restart),
            };
            if !self.visit.columns(&taken)? {
                let path = recording::side_path(&open.file.file.path);
                return Err(Error::SideFile(path));
            }
            self.base_ns = i64::MIN;
        }
        self.restart |= columns.restart_after;
        Ok(Base::Found)
    }

    /// Takes the readings of a recording, or those up to the end of a segment.
    fn readings(
        &mut self,
        open: &mut OpenRecording<'_>,
        snapshot: &mut Snapshot,
        until: Option<&SideSegment>,
    ) -> Result<Base, Error> {
        let is_after = |snapshot: &Snapshot| {
            until.is_some_and(|segment| snapshot.monotonic_ns > segment.end_monotonic_ns)
        };
        while open.feed.feed().next(snapshot)? && !is_after(snapshot) {
            if snapshot.realtime_ns < self.base_ns
                || open.is_skipped(snapshot.monotonic_ns, snapshot.realtime_ns)
            {
                continue;
            }
            if snapshot.realtime_ns >= self.select.thru_ns {
                break;
            }
            self.restart |= snapshot.restart;
            if !snapshot.fresh[open.source] {
                continue;
            }
            let sample = &mut snapshot.samples[open.source];
            if snapshot.realtime_ns < self.select.from_ns {
                self.keep(open, snapshot.realtime_ns, sample);
                continue;
            }
            if !self.give_last()? && self.may_lack_base() {
                return Ok(Base::TooLate);
            }
            self.base_ns = i64::MIN;
            self.visit.reading(&SourceReading {
                realtime_ns: snapshot.realtime_ns,
                sample,
                def: &open.def,
                file: open.index,
                restart: std::mem::take(&mut self.restart),
                single_clock: open.single_clock,
            })?;
            if self.visit.is_done() {
                break;
            }
        }
        Ok(Base::Found)
    }

    /// Whether the first reading of the period has one before it that was not read.
    fn may_lack_base(&self) -> bool {
        self.needs_base && self.base_ns != i64::MIN
    }

    /// Keeps a reading before the period, and gives its memory to the next one.
    fn keep(&mut self, open: &OpenRecording<'_>, realtime_ns: i64, sample: &mut Sample) {
        let fits = self.last.take().filter(|kept| kept.file == open.index);
        let mut kept = fits.unwrap_or_else(|| EarlierReading {
            realtime_ns,
            sample: Sample::new(&open.def),
            def: open.def.clone(),
            file: open.index,
            single_clock: open.single_clock,
        });
        std::mem::swap(&mut kept.sample, sample);
        kept.realtime_ns = realtime_ns;
        self.restart = false;
        self.last = Some(kept);
    }

    /// Gives the reading before the period, if there is one.
    fn give_last(&mut self) -> Result<bool, Error> {
        let Some(kept) = self.last.take() else { return Ok(false) };
        self.visit.reading(&SourceReading {
            realtime_ns: kept.realtime_ns,
            sample: &kept.sample,
            def: &kept.def,
            file: kept.file,
            restart: true,
            single_clock: kept.single_clock,
        })?;
        Ok(true)
    }
}
