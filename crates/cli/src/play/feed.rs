//! Recordings as streams of snapshots, whoever wrote them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use procfs::Host;
use recording::collectl::{CollectlReader, Ending, Interval, is_collectl_name};
use recording::{Next, Reader};
use sample::{Clock, Meta, Moment, Snapshot, SourceDef, State, Wake};
use source::{Limits, Sampler};

use super::writer::Writer;

/// A recording being played.
pub(crate) trait Feed {
    /// The sources, in the order of the snapshots.
    fn defs(&self) -> Vec<&'static SourceDef>;

    /// Reads the next sample; false at the end.
    fn next(&mut self, snapshot: &mut Snapshot) -> anyhow::Result<bool>;

    /// Whether the recording goes on where another stopped, so that the first sample has a base.
    fn continues(&mut self, end: &End) -> anyhow::Result<bool>;

    /// Where it stopped; asked for after the last sample.
    fn end(&self) -> End;

    /// What the user should know about the recording's end, if anything.
    fn complaint(&self) -> Option<Complaint>;
}

/// Where a recording stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct End {
    /// The machine.
    pub(crate) host: String,
    /// The boot, as far as it is known.
    pub(crate) boot_id: String,
    /// The place: for collectl the closing marker, for us the last sample.
    pub(crate) realtime_ns: i64,
    /// The same on the clock that never steps; 0 for collectl.
    pub(crate) monotonic_ns: u64,
}

/// Something is wrong with a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// The sentence.
    pub(crate) text: String,
    /// Whether data was lost other than by the recorder's end.
    pub(crate) is_error: bool,
}

/// How every recording of ours begins; what follows is the format's affair.
const WHIT_START: &[u8] = b"\x89WHIT";

/// Which program wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// collectl.
    Collectl,
    /// whit.
    Whit,
}

/// Tells by the first bytes, or for an empty file by the name, who wrote it.
pub(crate) fn origin_of(path: &Path) -> anyhow::Result<Origin> {
    let mut first = [0; 16];
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        bail!("{} is a folder; name the recordings in it", path.display());
    }
    let count = file.read(&mut first).with_context(|| format!("cannot read {}", path.display()))?;
    let collectl = first.starts_with(b"#") || first.starts_with(&[0x1f, 0x8b]);
    if collectl || count == 0 && is_collectl_name(path) {
        return Ok(Origin::Collectl);
    }
    if count == 0 {
        bail!("{} is empty", path.display());
    }
    if !first.starts_with(WHIT_START) {
        bail!("{}: neither a recording of whit's nor one of collectl's", path.display());
    }
    Ok(Origin::Whit)
}

/// A collectl recording.
pub(crate) struct CollectlFeed {
    path: PathBuf,
    reader: CollectlReader,
    host: Host,
    sampler: Sampler,
    /// For each source, whether the recording has it.
    recorded: Vec<bool>,
    clock: MarkerClock,
    /// Whether an interval was read.
    begun: bool,
    /// Who writes the recording, if it is to be followed.
    writer: Option<Writer>,
}

/// A clock that stands at the latest marker: collectl gives all of an interval one time.
struct MarkerClock {
    now: Moment,
}

impl Clock for MarkerClock {
    fn now(&mut self) -> Moment {
        self.now
    }

    fn sleep_until(&mut self, _monotonic_ns: u64) -> Wake {
        Wake::Due
    }
}

impl CollectlFeed {
    /// Opens a recording for the letters of `selection`; with `each_cpu` every CPU is read though
    /// only their total is shown, for the total of some of them.
    pub(crate) fn open(
        path: &Path,
        selection: &str,
        each_cpu: bool,
        mut limits: Limits,
    ) -> anyhow::Result<Self> {
        let reader = CollectlReader::open(path)?;
        // What was recorded of threads is read.
        limits.process.threads = true;
        limits.process.status = true;
        // Users are numbers there; collectl names them by the list of who plays.
        limits.process.passwd.get_or_insert_with(|| PathBuf::from("/etc/passwd"));
        let extra = if each_cpu && selection.contains('c') { "C" } else { "" };
        let entries = crate::display::sources_for(&format!("{selection}{extra}"));
        let subsystems = reader.meta().subsystems().to_owned();
        let recorded = entries.iter().map(|entry| is_recorded(entry.def, &subsystems)).collect();
        let mut host = Host::in_memory();
        let sampler = Sampler::open(&mut host, &entries, &Arc::new(limits));
        let clock = MarkerClock { now: Moment::default() };
        Ok(CollectlFeed {
            path: path.to_owned(),
            reader,
            host,
            sampler,
            recorded,
            clock,
            begun: false,
            writer: None,
        })
    }

    /// At the end, waits for more as long as collectl writes.
    pub(crate) fn follow(&mut self) -> anyhow::Result<()> {
        let interval_ns = self.reader.meta().interval_ns();
        self.writer = Some(Writer::of(&self.path, Duration::from_nanos(interval_ns))?);
        self.reader.follow(true);
        Ok(())
    }

    /// The next interval, which may have to be waited for.
    fn next_interval(&mut self) -> anyhow::Result<Option<Interval>> {
        loop {
            let interval = self.reader.next_interval(&mut self.host)?;
            let Some(writer) = self.writer.as_mut().filter(|_| interval.is_none()) else {
                return Ok(interval);
            };
            if !writer.may_write_more() {
                // What was written since the look above is still to be read.
                self.writer = None;
                self.reader.follow(false);
            }
        }
    }

    fn end_ns(&self) -> i64 {
        self.reader.last_marker_ns().unwrap_or_default()
    }
}

/// Whether a recording of these letters has what a source reads.  Summary and detail come from
/// the same text, but for memory and its NUMA nodes.
fn is_recorded(def: &SourceDef, subsystems: &str) -> bool {
    def.letters.chars().any(|letter| {
        let other = match letter {
            'm' | 'M' => letter,
            letter if letter.is_ascii_lowercase() => letter.to_ascii_uppercase(),
            letter => letter.to_ascii_lowercase(),
        };
        subsystems.contains([letter, other])
    })
}

impl Feed for CollectlFeed {
    fn defs(&self) -> Vec<&'static SourceDef> {
        self.sampler.defs()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> anyhow::Result<bool> {
        let Some(interval) = self.next_interval()? else { return Ok(false) };
        self.clock.now = Moment {
            monotonic_ns: interval.realtime_ns.unsigned_abs(),
            realtime_ns: interval.realtime_ns,
        };
        let recorded = &self.recorded;
        let due = |index: usize, def: &SourceDef| {
            let here = match def.name {
                "slab" => interval.has_slabs,
                "process" => interval.has_processes,
                // collectl sees no ends.
                "exit" | "process_total" => false,
                "environment" => interval.has_sensors,
                _ => true,
            };
            // What is not recorded stays as it was: not recorded.
            if here && recorded[index] { State::Ok } else { State::NotRecorded }
        };
        self.sampler.sample(&mut self.host, &mut self.clock, due, snapshot);
        // collectl reckons the first interval of a file as long as it was meant to be.
        snapshot.lasted_ns = match std::mem::replace(&mut self.begun, true) {
            true => interval.ended_ns.saturating_sub(interval.realtime_ns),
            false => i64::try_from(self.reader.meta().interval_ns()).unwrap_or(0),
        };
        Ok(true)
    }

    fn continues(&mut self, end: &End) -> anyhow::Result<bool> {
        let first = self.reader.first_marker_ns()?;
        Ok(end.host == self.reader.meta().host() && first == Some(end.realtime_ns))
    }

    fn end(&self) -> End {
        let host = self.reader.meta().host().to_owned();
        End { host, realtime_ns: self.end_ns(), ..End::default() }
    }

    fn complaint(&self) -> Option<Complaint> {
        let name = self.path.display();
        if self.reader.ending() == Ending::Corrupt {
            let text =
                format!("{name}: the compressed data is corrupt; what stands before it was shown");
            return Some(Complaint { text, is_error: true });
        }
        let broken = self.reader.markers_broken();
        if broken > 0 {
            let text = format!("{name}: {broken} broken interval markers were passed over");
            return Some(Complaint { text, is_error: true });
        }
        None
    }
}

/// A recording of our own.
pub(crate) struct WhitFeed {
    reader: Reader,
    /// The first sample, read ahead to see whether the recording goes on where another stopped.
    ahead: Option<Snapshot>,
    latest: (i64, u64),
    follow: bool,
}

/// How long `--follow` waits before it looks again.
pub(super) const FOLLOW_PAUSE: Duration = Duration::from_millis(100);

impl WhitFeed {
    /// Opens a recording.  With `follow`, its end is waited at as long as its recorder lives.
    pub(crate) fn open(path: &Path, base_ns: i64, follow: bool) -> anyhow::Result<Self> {
        let known: Vec<&'static SourceDef> = source::ALL.iter().map(|entry| entry.def).collect();
        let mut reader = Reader::open(path, &known)?;
        if base_ns != i64::MIN {
            reader.seek(base_ns);
        }
        Ok(WhitFeed { reader, ahead: None, latest: (0, 0), follow })
    }

    fn read(&mut self, snapshot: &mut Snapshot) -> anyhow::Result<bool> {
        loop {
            match self.reader.next(snapshot)? {
                Next::Sample => return Ok(true),
                Next::End => return Ok(false),
                Next::NoMoreYet if self.follow && self.reader.is_being_written() => {
                    std::thread::sleep(FOLLOW_PAUSE);
                }
                Next::NoMoreYet => return Ok(false),
            }
        }
    }
}

impl Feed for WhitFeed {
    fn defs(&self) -> Vec<&'static SourceDef> {
        self.reader.defs()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> anyhow::Result<bool> {
        if let Some(ahead) = self.ahead.take() {
            *snapshot = ahead;
        } else if !self.read(snapshot)? {
            return Ok(false);
        }
        self.latest = (snapshot.realtime_ns, snapshot.monotonic_ns);
        Ok(true)
    }

    fn continues(&mut self, end: &End) -> anyhow::Result<bool> {
        let meta = self.reader.meta();
        let same = end.host == meta.host() && end.boot_id == meta.boot_id();
        // Half an interval more than one: the next tick after the last of the file before.
        let interval_ns = meta.interval_ns();
        if !same || end.boot_id.is_empty() {
            return Ok(false);
        }
        let mut first = Snapshot::new(&self.reader.defs());
        if !self.read(&mut first)? {
            // Rolled twice within an interval: what follows goes on where the one before stopped.
            self.latest = (end.realtime_ns, end.monotonic_ns);
            return Ok(true);
        }
        // What the recorder missed in between it would have missed within a file, too.
        let missed = first.gap.ticks_missed.saturating_add(first.gap.samples_unwritten);
        let reach_ns =
            (interval_ns.saturating_mul(3) / 2).saturating_add(interval_ns.saturating_mul(missed));
        let begins_ns = first.monotonic_ns;
        self.ahead = Some(first);
        Ok(begins_ns > end.monotonic_ns && begins_ns - end.monotonic_ns <= reach_ns)
    }

    fn end(&self) -> End {
        let meta = self.reader.meta();
        End {
            host: meta.host().to_owned(),
            boot_id: meta.boot_id().to_owned(),
            realtime_ns: self.latest.0,
            monotonic_ns: self.latest.1,
        }
    }

    fn complaint(&self) -> Option<Complaint> {
        let damage = self.reader.damage();
        let name = self.reader.path().display();
        if damage.samples_unreadable > 0 || damage.bytes_skipped > 0 {
            let text = format!(
                "{name}: {} samples and {} bytes could not be read; the rest was shown",
                damage.samples_unreadable, damage.bytes_skipped
            );
            return Some(Complaint { text, is_error: true });
        }
        if damage.samples_unwritten > 0 {
            let text =
                format!("{name}: {} samples at the end were not written", damage.samples_unwritten);
            return Some(Complaint { text, is_error: false });
        }
        None
    }
}

/// The facts of a recording, whoever wrote it.
pub(crate) fn meta_of(path: &Path, origin: Origin) -> anyhow::Result<Meta> {
    match origin {
        Origin::Collectl => Ok(CollectlReader::open(path)?.meta().clone()),
        Origin::Whit => Ok(Reader::open(path, &[])?.meta().clone()),
    }
}
