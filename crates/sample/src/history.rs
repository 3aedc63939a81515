//! The latest two readings of every source, from which rates are computed.
//!
//! A [`History`] takes snapshots one after the other and keeps the latest two readings of each
//! source.  `Frame` and `Row` of crate `layout` compute gauges, deltas and rates from them.
//!
//! Rates use the true time between the two readings *of that source*.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::{Interner, Sample, Snapshot, SourceDef, State};

/// Marks a row that the previous reading does not have.
const NONE: u32 = u32::MAX;

/// The latest two readings of one source.
#[derive(Debug)]
pub struct Track {
    /// The source.
    pub def: Arc<SourceDef>,
    /// The previous reading; [`State::NotRecorded`] if there is none to compare with.
    pub previous: Sample,
    /// The latest reading.
    pub current: Sample,
    /// The reading before `previous`, for values that collectl carries over (`--exact` only).
    pub older: Sample,
    /// Whether `current` was read at the latest tick.
    pub fresh: bool,
    /// Whether both readings have the same instances in the same order, so that rows need not be
    /// searched by name.
    aligned: bool,
    /// Otherwise the index of each row in the previous reading, or [`NONE`].
    before: Vec<u32>,
    /// Names of the previous reading, used while searching.
    names: Interner,
    /// The rows of the latest reading by their second label, once they were asked for.
    by_second_label: OnceLock<HashMap<Vec<u8>, Vec<usize>>>,
}

impl Track {
    /// Finds each row of the latest reading in the previous one.  Rows in both readings have the
    /// same order (processes by rising id), so most are found at the expected index; the others
    /// are looked up by name, which costs some tens of nanoseconds each.
    fn align(&mut self) {
        let (previous, current) = (&self.previous.table, &self.current.table);
        self.aligned = previous.same_rows(current);
        if self.aligned {
            return;
        }
        self.by_second_label.take();
        self.before.clear();
        let (mut expected, mut indexed) = (0, false);
        for row in 0..current.rows() {
            let name = current.name(row);
            let mut found =
                (expected < previous.rows() && previous.name(expected) == name).then_some(expected);
            if found.is_none() {
                if !indexed {
                    self.names.clear();
                    for row in 0..previous.rows() {
                        self.names.push(previous.name(row));
                    }
                    indexed = true;
                }
                found = self.names.find(name, |_| true);
            }
            expected = found.map_or(expected, |row| row + 1);
            self.before.push(found.map_or(NONE, |row| u32::try_from(row).unwrap_or(NONE)));
        }
    }

    /// The row of the previous reading that has the name of row `index` of the latest; `None` if
    /// there is none.
    #[inline]
    pub fn previous_row(&self, index: usize) -> Option<usize> {
        if self.previous.state != State::Ok {
            None
        } else if self.aligned {
            Some(index)
        } else {
            let row = self.before.get(index).copied().filter(|&row| row != NONE);
            row.map(|row| row as usize)
        }
    }

    /// The rows of the latest reading whose instances have this second label, in order: the
    /// interrupts of a CPU.  A machine has as many rows for each CPU as it has interrupts, so to look
    /// at all rows for each of its CPUs would take the square of their number; the rows are sorted
    /// once, and again only when they have changed.
    pub fn rows_of_second_label(&self, label: &[u8]) -> &[usize] {
        let sorted = self.by_second_label.get_or_init(|| {
            let mut sorted: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
            let table = &self.current.table;
            for row in 0..table.rows() {
                let mut labels = table.name(row).splitn(2, |b| *b == SourceDef::INSTANCE_SEPARATOR);
                let Some(second) = labels.nth(1) else { continue };
                match sorted.get_mut(second) {
                    Some(rows) => rows.push(row),
                    None => drop(sorted.insert(second.to_vec(), vec![row])),
                }
            }
            sorted
        });
        sorted.get(label).map_or(&[], Vec::as_slice)
    }

    /// True time between the two readings, `None` unless both are there.
    pub fn seconds(&self, single_clock: bool) -> Option<f64> {
        let both = self.previous.state == State::Ok && self.current.state == State::Ok;
        let then = (self.previous.monotonic_ns, self.previous.realtime_ns);
        let now = (self.current.monotonic_ns, self.current.realtime_ns);
        Some(seconds_between(single_clock, then, now)).filter(|&seconds| both && seconds > 0.0)
    }
}

/// Seconds between two moments (monotonic, realtime).  For a feed with a single clock (collectl's
/// recordings) this computes as collectl does, in floating-point seconds since the epoch: the last
/// bit decides whether 5.0 is printed as 5 or as 4.
#[must_use]
pub fn seconds_between(single_clock: bool, then: (u64, i64), now: (u64, i64)) -> f64 {
    if single_clock {
        let floating = |realtime_ns: i64| (realtime_ns / 1_000) as f64 / 1e6;
        floating(now.1) - floating(then.1)
    } else {
        now.0.saturating_sub(then.0) as f64 / 1e9
    }
}

/// How much a counter grew between two readings; `None` if it became smaller: it was reset, and that
/// interval has no rate.
#[must_use]
#[inline]
pub fn increase(then: u64, now: u64) -> Option<u64> {
    now.checked_sub(then)
}

/// The latest two readings of every source of a feed.
#[derive(Debug)]
pub struct History {
    tracks: Vec<Track>,
    ticks: u64,
    previous: (u64, i64),
    current: (u64, i64),
    lasted_ns: i64,
}

impl History {
    /// An empty history of these sources, in the feed's order.
    pub fn new(defs: &[Arc<SourceDef>]) -> Self {
        let track = |def: &Arc<SourceDef>| Track {
            def: def.clone(),
            previous: Sample::new(def),
            current: Sample::new(def),
            older: Sample::new(def),
            fresh: false,
            aligned: false,
            before: Vec::new(),
            names: Interner::default(),
            by_second_label: OnceLock::new(),
        };
        History {
            tracks: defs.iter().map(track).collect(),
            ticks: 0,
            previous: (0, 0),
            current: (0, 0),
            lasted_ns: 0,
        }
    }

    /// Takes the readings of a tick.  Swaps fresh samples with older ones, which the caller fills
    /// again: nothing is copied.
    pub fn push(&mut self, snapshot: &mut Snapshot) {
        if snapshot.restart {
            self.forget();
        }
        self.ticks += 1;
        self.previous = self.current;
        self.current = (snapshot.monotonic_ns, snapshot.realtime_ns);
        self.lasted_ns = snapshot.lasted_ns;
        for (index, track) in self.tracks.iter_mut().enumerate() {
            track.fresh = snapshot.fresh[index];
            if track.fresh {
                std::mem::swap(&mut track.older, &mut track.previous);
                std::mem::swap(&mut track.previous, &mut track.current);
                std::mem::swap(&mut track.current, &mut snapshot.samples[index]);
                track.align();
            }
        }
    }

    /// Discards all readings, for example at the start of another machine's recording.
    pub fn forget(&mut self) {
        self.ticks = 0;
        for track in &mut self.tracks {
            track.older.state = State::NotRecorded;
            track.previous.state = State::NotRecorded;
            track.current.state = State::NotRecorded;
        }
    }

    /// Ticks taken since the start or the last restart.  The first is only a base for rates.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// The sources, in the feed's order, each with its latest two readings.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// When the latest tick began, since the epoch.
    pub fn realtime_ns(&self) -> i64 {
        self.current.1
    }

    /// Seconds from the previous tick to the latest; 0 at the first.
    pub fn seconds(&self, single_clock: bool) -> f64 {
        if self.ticks < 2 {
            return 0.0;
        }
        seconds_between(single_clock, self.previous, self.current)
    }

    /// From the latest tick to the next ([`Snapshot::lasted_ns`]); 0 if unknown.
    pub fn lasted_seconds(&self) -> f64 {
        self.lasted_ns as f64 / 1e9
    }
}
