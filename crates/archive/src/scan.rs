//! The readings of one source of one machine in a period, file after file.
//!
//! A recording that continues the one before, by the rule of the player, gives rates across both.
//! Where two recorders ran at the same time, the one that began first is read.

use std::sync::Arc;

use feed::{CollectlFeed, CollectlSettings, Feed, Origin, Position, WhitFeed};
use sample::{Cadence, Sample, Snapshot, SourceDef};

use crate::archive::{ArchivedFile, Recordings};
use crate::reading::{Select, SourceReading};
use crate::{Error, ReadValue, Tracker};

/// The third of collectl's intervals, which recordings do not tell.
const THIRD_INTERVAL_NS: i64 = 120_000_000_000;

/// How much earlier the next attempt begins, if the first reading of a period had none before it.
const REACH_GROWTH: i64 = 16;

/// Whether the readings began early enough.
#[derive(PartialEq, Eq)]
enum Base {
    Found,
    /// The first reading of the period has none before it, and there may be one.
    TooLate,
}

impl Recordings {
    /// Gives each reading of a source in a period to `visit`, after the one before the period, if
    /// there is one: rates need it.
    ///
    /// # Errors
    /// An unknown host or source, a recording that cannot be read, and those of `visit`.
    pub fn scan(
        &self,
        select: &Select<'_>,
        visit: &mut dyn FnMut(&SourceReading<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let def = self.source(select.host, select.source)?;
        let files: Vec<(usize, &ArchivedFile)> = self
            .of_host(select.host)
            .filter(|(_, file)| file.source(select.source).is_some())
            .collect();
        let first_ns = files.iter().map(|(_, file)| file.file.started_ns).min().unwrap_or(0);
        let mut reach_ns = files.iter().map(|(_, file)| interval_ns(file, &def)).max().unwrap_or(0);
        loop {
            let base_ns = select.from_ns.saturating_sub(reach_ns);
            let whole = base_ns <= first_ns;
            let base_ns = if whole { i64::MIN } else { base_ns };
            let (last, end, restart) = (None, None, true);
            let mut scan = Scan { select, visit: &mut *visit, base_ns, last, end, restart };
            if scan.files(&files)? == Base::Found {
                return Ok(());
            }
            reach_ns = reach_ns.saturating_mul(REACH_GROWTH);
        }
    }

    /// Gives each value of a source in a period to `each`; counters are rates.
    ///
    /// # Errors
    /// As [`scan`](Self::scan), and an unknown field.
    pub fn values(
        &self,
        select: &Select<'_>,
        each: &mut dyn FnMut(&ReadValue<'_>) -> Result<(), Error>,
    ) -> Result<Tracker, Error> {
        let mut tracker = Tracker::new(select.fields);
        self.scan(select, &mut |reading| tracker.take(reading, select.from_ns, each))?;
        Ok(tracker)
    }
}

/// How long before a time a reading of the source is expected.
fn interval_ns(file: &ArchivedFile, def: &SourceDef) -> i64 {
    let meta = &file.file.meta;
    let signed = |interval_ns: u64| i64::try_from(interval_ns).unwrap_or(i64::MAX);
    let interval_ns = match def.cadence {
        Cadence::First => signed(meta.interval_ns()),
        Cadence::Second => signed(meta.interval2_ns()),
        Cadence::Third => signed(meta.interval2_ns()).max(THIRD_INTERVAL_NS),
    };
    (interval_ns / 4).saturating_mul(9).max(1)
}

/// A scan that begins at one time.
struct Scan<'a, 'b> {
    select: &'a Select<'b>,
    visit: &'a mut dyn FnMut(&SourceReading<'_>) -> Result<(), Error>,
    /// Samples before this time are not read.
    base_ns: i64,
    /// The reading before the period, kept until the period begins.
    last: Option<Kept>,
    /// Where the recording before ended.
    end: Option<Position>,
    /// Whether the next reading cannot be compared with the one before.
    restart: bool,
}

/// A reading before the period.
struct Kept {
    realtime_ns: i64,
    sample: Sample,
    def: Arc<SourceDef>,
    file: usize,
}

/// A recording being read.
struct Open<'a> {
    index: usize,
    file: &'a ArchivedFile,
    feed: Box<dyn Feed>,
    /// The index of the source.
    source: usize,
    def: Arc<SourceDef>,
    /// Samples up to here are of another recorder, too, which was read.
    skipped_thru: Option<Position>,
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
        }
        Ok(Base::Found)
    }

    fn file(&mut self, index: usize, file: &ArchivedFile) -> Result<Base, Error> {
        let mut feed = self.open(file)?;
        let defs = feed.defs();
        let Some(source) = defs.iter().position(|def| def.name == self.select.source) else {
            return Ok(Base::Found);
        };
        let (mut skipped_thru, mut continues) = (None, false);
        if let Some(end) = &self.end {
            skipped_thru = feed.overlaps(end)?.then(|| end.clone());
            continues = skipped_thru.is_some() || feed.continues(end)?;
        }
        let def = defs[source].clone();
        let mut open = Open { index, file, feed, source, def, skipped_thru };
        self.restart |= !continues;
        let base = self.readings(&mut open, Snapshot::new(&defs))?;
        let end = open.feed.position();
        let is_within = |thru: &Position| {
            (end.monotonic_ns, end.realtime_ns) <= (thru.monotonic_ns, thru.realtime_ns)
        };
        if !open.skipped_thru.as_ref().is_some_and(is_within) {
            self.end = Some(end);
        }
        Ok(base)
    }

    fn open(&self, file: &ArchivedFile) -> Result<Box<dyn Feed>, Error> {
        let path = &file.file.path;
        Ok(match file.file.origin {
            Origin::Collectl => {
                let entries = ArchivedFile::entries(self.select.source);
                Box::new(CollectlFeed::open(path, &entries, &CollectlSettings::default())?)
            }
            Origin::Whit => {
                let feed = WhitFeed::open(path, self.base_ns, false)?;
                Box::new(feed.focused(self.select.source, self.select.fields))
            }
        })
    }

    fn readings(&mut self, open: &mut Open<'_>, mut snapshot: Snapshot) -> Result<Base, Error> {
        while open.feed.next(&mut snapshot)? {
            if snapshot.realtime_ns < self.base_ns {
                continue;
            }
            let is_skipped = |thru: &Position| match thru.monotonic_ns {
                0 => snapshot.realtime_ns <= thru.realtime_ns,
                thru_ns => snapshot.monotonic_ns <= thru_ns,
            };
            if open.skipped_thru.as_ref().is_some_and(is_skipped) {
                continue;
            }
            if snapshot.realtime_ns >= self.select.thru_ns {
                break;
            }
            self.restart |= snapshot.restart;
            if !snapshot.fresh[open.source] {
                continue;
            }
            let single_clock = open.file.file.meta.has_single_clock();
            let sample = &mut snapshot.samples[open.source];
            if snapshot.realtime_ns < self.select.from_ns {
                self.keep(open, snapshot.realtime_ns, sample);
                continue;
            }
            if let Some(kept) = self.last.take() {
                (self.visit)(&SourceReading {
                    realtime_ns: kept.realtime_ns,
                    sample: &kept.sample,
                    def: &kept.def,
                    file: kept.file,
                    restart: true,
                    single_clock,
                })?;
                self.base_ns = i64::MIN;
            } else if self.base_ns != i64::MIN {
                return Ok(Base::TooLate);
            }
            let reading = SourceReading {
                realtime_ns: snapshot.realtime_ns,
                sample,
                def: &open.def,
                file: open.index,
                restart: std::mem::take(&mut self.restart),
                single_clock,
            };
            (self.visit)(&reading)?;
        }
        Ok(Base::Found)
    }

    /// Keeps a reading before the period, and gives its memory to the next one.
    fn keep(&mut self, open: &Open<'_>, realtime_ns: i64, sample: &mut Sample) {
        let fits = self.last.take().filter(|kept| kept.file == open.index);
        let mut kept = fits.unwrap_or_else(|| Kept {
            realtime_ns,
            sample: Sample::new(&open.def),
            def: open.def.clone(),
            file: open.index,
        });
        std::mem::swap(&mut kept.sample, sample);
        kept.realtime_ns = realtime_ns;
        self.restart = false;
        self.last = Some(kept);
    }
}
