//! Where the screen's samples come from: this machine, as time passes, or a recording, in which
//! one moves.
//!
//! A step forward reads one sample.  A step back, and any jump, opens the recording anew some way
//! before the wanted moment (whit's own recordings have an index, so that this reads a block, not
//! the file) and reads on: far enough that processes, which may be read once a minute, have the
//! two readings that rates need.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::ensure;
use jiff::tz::TimeZone;
use procfs::{Host, SystemClock};
use recording::Reader;
use sample::{Clock as _, History, Meta, Snapshot, SourceDef, State};
use source::{Limits, RecorderCounters, Sampler};

use crate::play::feed::{self, CollectlFeed, Feed, Origin, WhitFeed};
use crate::play::period::{Period, zone_of};

/// Letters whose sources a screen over collectl's recording shows.
const COLLECTL_LETTERS: &str = "cdmnZ";

/// Reading on from further and further before: twice the second interval, then this much more.
const REACH_GROWTH: i64 = 8;

/// Samples that are read before a moment, so that the CPU's history has something to show.
const HISTORY_SAMPLES: i64 = 30;

/// This machine.
pub(crate) struct Live {
    host: Host,
    sampler: Sampler,
    snapshot: Snapshot,
    /// What whit does besides reading, for its own account.
    pub(crate) counters: Arc<RecorderCounters>,
}

impl Live {
    /// Opens the sources of the screen under `root`.
    pub(crate) fn open(root: &Path, mut limits: Limits) -> Self {
        let counters = Arc::new(RecorderCounters::default());
        limits.recorder = Some(counters.clone());
        let shown =
            |entry: &&'static source::Entry| super::fields::SOURCES.contains(&entry.def.name);
        let entries: Vec<_> = source::ALL.iter().filter(shown).collect();
        let mut host = Host::new(root);
        let sampler = Sampler::open(&mut host, &entries, &Arc::new(limits));
        let snapshot = Snapshot::new(&sampler.defs());
        Live { host, sampler, snapshot, counters }
    }

    /// The sources, in the order of the samples.
    pub(crate) fn defs(&self) -> Vec<&'static SourceDef> {
        self.sampler.defs()
    }

    /// Reads those sources for which `due` is true.
    pub(crate) fn tick(&mut self, history: &mut History, due: impl Fn(&SourceDef) -> bool) {
        let due = |_, def: &SourceDef| if due(def) { State::Ok } else { State::NotRecorded };
        self.sampler.sample(&mut self.host, &mut SystemClock, due, &mut self.snapshot);
        self.counters.samples.add(1);
        history.push(&mut self.snapshot);
    }
}

/// The clock that ticks go by, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    SystemClock.now().monotonic_ns
}

/// Where to go in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// The next sample.
    Forward,
    /// The sample before.
    Back,
    /// By so much time.
    By(i64),
    /// The first sample with a base for rates.
    First,
    /// The last one.
    Last,
    /// The last one that is no later.
    At(i64),
}

/// A recording.
pub(crate) struct Recorded {
    path: PathBuf,
    origin: Origin,
    feed: Box<dyn Feed>,
    defs: Vec<&'static SourceDef>,
    snapshot: Snapshot,
    /// The sample behind the one shown, if it was read already.
    ahead: Option<Snapshot>,
    first_ns: i64,
    /// The moment shown.
    now_ns: i64,
    /// How long before a moment to begin reading.
    reach_ns: i64,
    /// Its own zone.
    pub(crate) zone: TimeZone,
}

impl Recorded {
    /// Opens a recording at its first sample.
    pub(crate) fn open(path: &Path) -> anyhow::Result<(Self, Meta)> {
        let origin = feed::origin_of(path)?;
        let meta = feed::meta_of(path, origin)?;
        let mut feed = open_feed(path, origin, i64::MIN)?;
        let defs = feed.defs();
        let has = |name| defs.iter().any(|def| def.name == name);
        ensure!(
            has("process") || has("exit"),
            "{}: no processes in it (recorded are '{}'); whit record -s +Z records them",
            path.display(),
            meta.subsystems()
        );
        let mut snapshot = Snapshot::new(&defs);
        ensure!(feed.next(&mut snapshot)?, "{}: no samples in it", path.display());
        let first_ns = snapshot.realtime_ns;
        let longest_ns = meta.interval_ns().max(meta.interval2_ns());
        let times = |interval_ns: u64, quarters: i64| {
            i64::try_from(interval_ns).unwrap_or(i64::MAX).saturating_mul(quarters) / 4
        };
        let reach_ns = times(longest_ns, 9).max(times(meta.interval_ns(), 4 * HISTORY_SAMPLES));
        let (zone, _) = zone_of(meta.timezone(), first_ns);
        let recorded = Recorded {
            path: path.to_owned(),
            origin,
            feed,
            ahead: Some(snapshot),
            snapshot: Snapshot::new(&defs),
            defs,
            first_ns,
            now_ns: first_ns,
            reach_ns: reach_ns.max(1_000_000_000),
            zone,
        };
        Ok((recorded, meta))
    }

    /// The sources, in the order of the samples.
    pub(crate) fn defs(&self) -> &[&'static SourceDef] {
        &self.defs
    }

    /// `--at`, as a moment: to the end of the second that it names.
    pub(crate) fn moment(&self, text: &str) -> anyhow::Result<i64> {
        ensure!(!text.contains('-'), "--at {text}: write [yyyymmdd:]hh:mm[:ss]");
        let day = jiff::Timestamp::from_nanosecond(i128::from(self.first_ns))?;
        let day = day.to_zoned(self.zone.clone()).date();
        let period = Period::parse(Some(text), None)
            .map_err(|_| anyhow::anyhow!("--at {text}: write [yyyymmdd:]hh:mm[:ss]"))?;
        Ok(period.of(day, &self.zone, 0)?.from_ns.saturating_add(999_999_999))
    }

    /// Goes somewhere.  `taken` hears of every sample that is read on the way, and of a jump with
    /// `true`, before which nothing counts.  False at either end.
    pub(crate) fn go(
        &mut self,
        motion: Motion,
        history: &mut History,
        taken: &mut dyn FnMut(&History, bool),
    ) -> anyhow::Result<bool> {
        let before_ns = self.now_ns;
        match motion {
            Motion::Forward => {
                if !self.read_ahead()? {
                    return Ok(false);
                }
                self.take(history, taken);
                return Ok(true);
            }
            Motion::Back => self.jump(before_ns.saturating_sub(1), history, taken)?,
            Motion::By(step_ns) => {
                self.jump(before_ns.saturating_add(step_ns), history, taken)?;
            }
            Motion::First => self.jump(self.first_ns, history, taken)?,
            Motion::Last => self.jump(i64::MAX, history, taken)?,
            Motion::At(moment_ns) => self.jump(moment_ns, history, taken)?,
        }
        Ok(self.now_ns != before_ns)
    }

    /// Shows the last sample that is no later than `limit_ns`, or else the first.
    fn jump(
        &mut self,
        limit_ns: i64,
        history: &mut History,
        taken: &mut dyn FnMut(&History, bool),
    ) -> anyhow::Result<()> {
        let limit_ns = limit_ns.max(self.first_ns);
        let mut reach_ns = self.reach_ns;
        // Far behind the end there is nothing to find; what is known of it is where to look.
        let from_ns = if limit_ns == i64::MAX { self.near_end_ns()? } else { limit_ns };
        loop {
            let base_ns = from_ns.saturating_sub(reach_ns);
            let whole = base_ns <= self.first_ns;
            self.feed = open_feed(&self.path, self.origin, if whole { i64::MIN } else { base_ns })?;
            // Its memory is read into again.
            if let Some(ahead) = self.ahead.take() {
                self.snapshot = ahead;
            }
            history.forget();
            taken(history, true);
            let mut found = 0;
            while self.read_ahead()? {
                let at_ns = self.ahead.as_ref().map_or(i64::MAX, |ahead| ahead.realtime_ns);
                if at_ns > limit_ns {
                    break;
                }
                self.take(history, taken);
                found += 1;
            }
            if whole || found > 0 && self.has_base(history) {
                return Ok(());
            }
            reach_ns = reach_ns.saturating_mul(REACH_GROWTH);
        }
    }

    /// A moment that is known to be there, as late as can be told without reading everything.
    fn near_end_ns(&self) -> anyhow::Result<i64> {
        Ok(match self.origin {
            Origin::Collectl => self.now_ns,
            Origin::Whit => {
                let latest = Reader::open(&self.path, &[])?.latest_closed_realtime_ns();
                latest.map_or(self.now_ns, |latest| latest.max(self.now_ns))
            }
        })
    }

    /// Whether processes have two readings, if they are recorded at all.
    fn has_base(&self, history: &History) -> bool {
        let (meta, options) = (Meta::new(), sample::Options::default());
        let frame = history.frame(&meta, &options);
        let process = frame.tracks.iter().find(|track| track.def.name == "process");
        process.is_none_or(|track| track.previous.state != State::NotRecorded)
    }

    /// Reads the sample behind the one shown, unless that was done already.
    fn read_ahead(&mut self) -> anyhow::Result<bool> {
        if self.ahead.is_none() {
            // What was pushed gave its memory to this one.
            if !self.feed.next(&mut self.snapshot)? {
                return Ok(false);
            }
            self.ahead = Some(std::mem::take(&mut self.snapshot));
        }
        Ok(true)
    }

    fn take(&mut self, history: &mut History, taken: &mut dyn FnMut(&History, bool)) {
        if let Some(mut ahead) = self.ahead.take() {
            history.push(&mut ahead);
            self.now_ns = ahead.realtime_ns;
            self.snapshot = ahead;
            taken(history, false);
        }
    }
}

fn open_feed(path: &Path, origin: Origin, base_ns: i64) -> anyhow::Result<Box<dyn Feed>> {
    Ok(match origin {
        Origin::Collectl => {
            Box::new(CollectlFeed::open(path, COLLECTL_LETTERS, false, Limits::default())?)
        }
        Origin::Whit => Box::new(WhitFeed::open(path, base_ns, false)?),
    })
}
